//! What a quiet team schedules, and when that is due: as a cron text for the product, and as arithmetic of minutes for the
//! judge, which asks nothing of the product (SEMANTICS §3).

use campanile_core::time::Timestamp;
use serde_json::{Value, json};

use super::zones::{MINUTE, Meant, Zone};

/// Minutes of a day.
const DAY: i64 = 24 * 60;

/// How often, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rhythm {
    /// At every minute of an hour that this divides.
    Each(i64),
    /// At this minute of every hour.
    Hourly(i64),
    /// At this minute of every day,
    Daily(i64),
    /// from Monday to Friday,
    Workdays(i64),
    /// and on this day of the week, from 0 for Sunday.
    Weekly(i64, i64),
}

/// A schedule of the team.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habit {
    /// How often.
    pub(super) rhythm: Rhythm,
    /// By which clocks.
    pub(super) zone: &'static Zone,
}

impl Rhythm {
    /// In five fields.
    pub(super) fn cron(self) -> String {
        let clock = |minute: i64| format!("{} {}", minute % 60, minute / 60);
        match self {
            Self::Each(minutes) => format!("*/{minutes} * * * *"),
            Self::Hourly(minute) => format!("{minute} * * * *"),
            Self::Daily(minute) => format!("{} * * *", clock(minute)),
            Self::Workdays(minute) => format!("{} * * 1-5", clock(minute)),
            Self::Weekly(day, minute) => format!("{} * * {day}", clock(minute)),
        }
    }

    /// Whether one that goes by the hands is due at that minute of an hour; nothing for one that goes by the day.
    const fn is_at(self, minute_of_hour: i64) -> Option<bool> {
        match self {
            Self::Each(minutes) => Some(minute_of_hour % minutes == 0),
            Self::Hourly(minute) => Some(minute_of_hour == minute),
            _ => None,
        }
    }

    /// The minute of that day, counted from 1970-01-01, a Thursday, at which one that goes by the day is due.
    const fn on(self, day: i64) -> Option<i64> {
        let weekday = (day + 4).rem_euclid(7);
        match self {
            Self::Daily(minute) => Some(minute),
            Self::Workdays(minute) if 1 <= weekday && weekday <= 5 => Some(minute),
            Self::Weekly(on, minute) if weekday == on => Some(minute),
            _ => None,
        }
    }
}

impl Habit {
    /// As it is put: a webhook, and the default of everything else.
    pub(super) fn definition(&self, host: usize) -> Value {
        json!({
            "specs": [{ "cron": self.rhythm.cron(), "time_zone": self.zone.name }],
            "target": { "webhook": { "url": format!("http://receiver-{host}.example/ok") } },
        })
    }

    /// The first instant after this one.
    pub(super) fn after(&self, at: Timestamp) -> Timestamp {
        let at = at.as_millis();
        Timestamp::from_millis(match self.rhythm {
            Rhythm::Each(_) | Rhythm::Hourly(_) => self.by_hands(at),
            Rhythm::Daily(_) | Rhythm::Workdays(_) | Rhythm::Weekly(..) => self.by_day(at),
        })
    }

    /// Whether it is due at this instant.
    pub(super) fn is_due(&self, at: Timestamp) -> bool {
        self.after(Timestamp::from_millis(at.as_millis() - 1)) == at
    }

    /// Every real instant at which the wall shows it: in a gap never, in both passes of what comes twice.
    fn by_hands(&self, at: i64) -> i64 {
        let mut next = at.div_euclid(MINUTE) * MINUTE + MINUTE;
        while self.rhythm.is_at(self.zone.wall(next).div_euclid(MINUTE).rem_euclid(60)) != Some(true) {
            next += MINUTE;
        }
        next
    }

    /// Once a day: behind a gap, in the first pass of what comes twice.
    fn by_day(&self, at: i64) -> i64 {
        // A day earlier, since a wall that was put back shows a day that has begun already.
        let mut day = self.zone.wall(at).div_euclid(DAY * MINUTE) - 1;
        loop {
            let meant = self.rhythm.on(day).map(|minute| self.zone.meant((day * DAY + minute) * MINUTE));
            let next = meant.map(|meant| match meant {
                Meant::Once(at) | Meant::Jumped(at) | Meant::Twice(at, _) => at,
            });
            if let Some(next) = next.filter(|next| *next > at) {
                return next;
            }
            day += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::zones::{FROM, TO, ZONES};
    use super::*;

    fn count(rhythm: Rhythm, zone: &'static Zone) -> usize {
        let habit = Habit { rhythm, zone };
        let first = Timestamp::from_millis(FROM - 1);
        let instants = std::iter::successors(Some(habit.after(first)), |at| Some(habit.after(*at)));
        instants.take_while(|at| at.as_millis() < TO).count()
    }

    #[test]
    fn a_season_has_as_many_instants_as_it_has_days_and_real_hours() {
        let [utc, berlin, _, howe, santiago, kathmandu] = &ZONES;
        let daily = [utc, berlin, howe, santiago, kathmandu].map(|zone| count(Rhythm::Daily(150), zone));
        assert_eq!(daily, [184; 5]);
        // Each real hour once, and two of them half an hour apart on Lord Howe.
        let hourly = [utc, berlin, howe, santiago].map(|zone| count(Rhythm::Hourly(45), zone));
        assert_eq!(hourly, [184 * 24; 4]);
        assert_eq!(count(Rhythm::Each(15), howe), 184 * 96);
        assert_eq!(count(Rhythm::Weekly(0, 150), berlin), 27);
        assert_eq!(count(Rhythm::Workdays(150), utc), 184 - 2 * 27);
    }

    #[test]
    fn what_the_hands_jump_over_is_due_behind_it_once() {
        let habit = Habit { rhythm: Rhythm::Daily(150), zone: &ZONES[1] };
        let change = Timestamp::from_millis(FROM + (29 * 24 + 1) * 60 * MINUTE);
        assert!(habit.is_due(change));
        assert_eq!(habit.after(change).as_millis() - change.as_millis(), (23 * 60 + 30) * MINUTE);
    }
}
