//! A cron text as an exclusion: a test of the wall clock, not a source of instants.
//!
//! Five fields cover whole minutes, six cover seconds. The classes and options of daylight saving must play no part: a
//! wall time that exists twice is covered twice, and what was moved out of a gap is judged by the wall that it really has.

use super::bits::{at_or_above, lower};
use super::field::Field;
use super::parsed::Parsed;
use super::pattern::{Days, Times};
use super::seconds::{SecondSet, each_segment};
use super::wall::{DAY, Month, Wall};
use super::zone::{FIRST, LAST};
use crate::time::Timestamp;

/// Whether the wall clock at an instant matches; never outside the years that are searched.
pub(super) fn covers(cron: &Parsed, at: Timestamp) -> bool {
    let second = at.as_millis().div_euclid(1000);
    (FIRST..=LAST).contains(&second) && {
        let wall = Wall(second + cron.zone.offset_at(second));
        covered_times(cron).has(wall.second_of_day()) && cron.pattern.days.contains(wall.day())
    }
}

/// The first instant at or after `at` that is not covered; none when all are, up to the end of year 9999.
pub(super) fn uncovered_from(cron: &Parsed, at: Timestamp) -> Option<Timestamp> {
    if !covers(cron, at) {
        return Some(at);
    }
    let times = covered_times(cron);
    let mut second = at.as_millis().div_euclid(1000) + 1;
    // A hole in years, and the wall it was sought from: asked for once, not at each time change on the way.
    let mut known: Option<(Wall, Wall)> = None;
    while second <= LAST {
        let segment = cron.zone.segment_at(second);
        let from = segment.wall(second);
        let hole = known.filter(|(sought, hole)| (*sought..=*hole).contains(&from)).map(|(_, hole)| hole);
        let hole = match hole {
            Some(hole) => hole,
            // The calendar repeats, so that none from here on is none at all.
            None => hole_from(&cron.pattern.days, times, from)?,
        };
        known = Some((from, hole));
        if segment.second(hole) < segment.end() {
            return Some(segment.second(hole)).filter(|second| *second <= LAST).map(instant);
        }
        second = segment.end();
    }
    None
}

/// Adds every covered second of the block.
pub(super) fn cover(cron: &Parsed, into: &mut SecondSet) {
    let times = covered_times(cron);
    each_segment(cron, into, |into, segment, from, to| {
        into.insert_walls(&cron.pattern.days, times, segment, from, to);
    });
}

/// The times of day that are covered: a minute without a seconds field is a minute long.
fn covered_times(cron: &Parsed) -> Times {
    let times = cron.pattern.times;
    if cron.with_seconds { times } else { Times { seconds: Field::Second.all(), ..times } }
}

fn instant(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

/// The first reading at or after `from` that does not match; none when all of them match.
fn hole_from(days: &Days, times: Times, from: Wall) -> Option<Wall> {
    let day = from.day();
    if !days.contains(day) {
        return Some(from);
    }
    if let Some(second) = times.hole_from(from.second_of_day()) {
        return Some(Wall::at(day, second));
    }
    match times.hole_from(0) {
        None => days.free_from(day + 1).map(|free| Wall::at(free, 0)),
        Some(second) if days.contains(day + 1) => Some(Wall::at(day + 1, second)),
        Some(_) => Some(Wall::at(day + 1, 0)),
    }
}

impl Times {
    /// The first second of the day at or after `from` that does not match: at most 60 steps, each as far as all match.
    fn hole_from(self, from: u32) -> Option<u32> {
        let step = match (self.minutes == Field::Minute.all(), self.seconds == Field::Second.all()) {
            (true, true) => 3600,
            (false, true) => 60,
            (_, false) => 1,
        };
        let mut second = from;
        while second < DAY as u32 && self.has(second) {
            second = (second / step + 1) * step;
        }
        (second < DAY as u32).then_some(second)
    }
}

impl Days {
    /// The first day at or after `from` that does not match; none when all of them do, since after 400 years the
    /// calendar repeats.
    fn free_from(&self, from: i64) -> Option<i64> {
        let (mut month, mut day) = Month::of(from);
        let end = month.year + 400;
        while month.year <= end {
            let free = !self.of_month(month) & lower(month.len() + 1);
            if let Some(found) = at_or_above(free, day) {
                return Some(month.first_day() + i64::from(found) - 1);
            }
            (month, day) = (month.next(), 1);
        }
        None
    }
}
