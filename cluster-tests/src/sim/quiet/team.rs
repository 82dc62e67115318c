//! The schedules of a quiet team: what most have, and some that are due where the hands are put.

use super::habit::{Habit, Rhythm};
use super::zones::ZONES;
use crate::seed::Dice;

/// Minutes of a day at which the hands are put somewhere: 02:30, 01:45, 23:30.
const AWKWARD: [i64; 3] = [150, 105, 23 * 60 + 30];

/// So many, the same for a seed.
pub(super) fn of(count: usize, dice: &mut Dice) -> Vec<Habit> {
    (0..count).map(|place| habit(place, dice)).collect()
}

/// Of a hundred five are due every 15 minutes, 15 hourly, 50 daily, 15 on workdays and 15 weekly; of fewer about as many.
fn habit(place: usize, dice: &mut Dice) -> Habit {
    // 37 and 100 have no common divisor.
    let share = place as u64 * 37 % 100;
    let minute = minute_of_day(dice);
    let rhythm = match share {
        0..5 => Rhythm::Each(15),
        5..20 => Rhythm::Hourly(minute % 60),
        20..70 => Rhythm::Daily(minute),
        70..85 => Rhythm::Workdays(minute),
        _ => Rhythm::Weekly(dice.below(7) as i64, minute),
    };
    Habit { rhythm, zone: &ZONES[dice.below(ZONES.len() as u64) as usize] }
}

/// People like whole hours, and halves of them; a tenth is where it hurts.
fn minute_of_day(dice: &mut Dice) -> i64 {
    match dice.below(100) {
        0..10 => dice.pick(&AWKWARD),
        10..55 => 60 * dice.below(24) as i64,
        55..70 => 30 * dice.below(48) as i64,
        _ => dice.below(24 * 60) as i64,
    }
}
