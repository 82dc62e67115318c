//! croner behind our own reading: the ordinary search for matching wall clocks.
//!
//! croner never sees what a user wrote, nor a time zone. It is handed a text that we print from our sets and walks a
//! wall clock without time changes, because with them it errs (4.0.3, measured): it takes lists for intervals across a
//! change and loses a fixed time in a gap that crosses midnight. Its day rule is ours only when it is told
//! which one to use, and its `L` next to `LW` in one list means `LW` alone: such a pattern has no engine, and
//! `Pattern` searches instead, as it does beyond year 5000, where croner ends.

use std::cmp::Ordering;
use std::fmt::Write;

use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use croner::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday};

use super::bits::has;
use super::pattern::{Join, Pattern};
use super::wall::{Month, Wall, weekday};

/// Where croner's calendar ends (its year 5000). Forwards it says so with an error; backwards from beyond it would
/// answer with the last match of year 5000, whatever lies between.
const END: Wall = Wall::at(Month { year: 5000, month: 1 }.first_day(), 0);

/// A pattern in croner's form.
pub(super) struct Engine {
    cron: croner::Cron,
}

impl Engine {
    /// croner's form of a pattern; none for what it would get wrong.
    pub(super) fn build(pattern: &Pattern) -> Option<Self> {
        let month_days = &pattern.days.month_days;
        if month_days.last && month_days.last_weekday {
            return None;
        }
        let cron = CronParser::builder()
            .seconds(Seconds::Required)
            .year(Year::Disallowed)
            .dom_and_dow(pattern.days.join == Join::Both)
            .build()
            .parse(&spelled(pattern))
            .ok();
        debug_assert!(cron.is_some(), "croner refuses {}", spelled(pattern));
        cron.map(|cron| Self { cron })
    }

    /// The first match at or after `from`; none when croner cannot tell.
    pub(super) fn next(&self, from: Wall) -> Option<Wall> {
        if from >= END {
            return None;
        }
        // Exclusive from one second before, since the inclusive search has had faults of its own.
        let before = Civil(Wall(from.0.checked_sub(1)?));
        self.cron.find_next_occurrence(&before, false).ok().map(|found| found.0)
    }

    /// The last match at or before `from`; none when croner cannot tell.
    pub(super) fn prev(&self, from: Wall) -> Option<Wall> {
        if from >= END {
            return None;
        }
        let after = Civil(Wall(from.0.checked_add(1)?));
        self.cron.find_previous_occurrence(&after, false).ok().map(|found| found.0)
    }
}

/// The pattern as a text of six fields in which every value is a number: nothing is left for croner to interpret.
fn spelled(pattern: &Pattern) -> String {
    let (times, days) = (&pattern.times, &pattern.days);
    let mut text = String::with_capacity(160);
    for (set, top) in [(times.seconds, 59), (times.minutes, 59), (times.hours, 23)] {
        numbers(&mut text, set, top, "");
        close(&mut text);
    }
    numbers(&mut text, days.month_days.plain, 31, "");
    numbers(&mut text, days.month_days.nearest, 31, "W");
    text.push_str(if days.month_days.last { "L," } else { "" });
    text.push_str(if days.month_days.last_weekday { "LW," } else { "" });
    close(&mut text);
    numbers(&mut text, days.months, 12, "");
    close(&mut text);
    numbers(&mut text, days.weekdays.plain, 6, "");
    for (set, nth) in days.weekdays.nth.iter().zip(["#1", "#2", "#3", "#4", "#5"]) {
        numbers(&mut text, *set, 6, nth);
    }
    numbers(&mut text, days.weekdays.last, 6, "L");
    close(&mut text);
    text
}

/// Adds each value of `set` up to `top`, with `mark` behind it and a comma.
fn numbers(text: &mut String, set: u64, top: u32, mark: &str) {
    for value in (0..=top).filter(|value| has(set, *value)) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{value}{mark},");
    }
}

/// Turns the comma behind the last value of a field into the blank between fields.
fn close(text: &mut String) {
    text.pop();
    text.push(' ');
}

/// A wall clock on which croner may walk: every reading exists exactly once.
#[derive(Clone)]
struct Civil(Wall);

impl CronDateTime for Civil {
    fn to_civil(&self) -> CivilDateTime {
        let (year, month, day, hour, minute, second) = self.0.parts();
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(year, month, day),
            CivilTime::from_parts_unchecked(hour, minute, second),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        Weekday::from_days_from_sunday(weekday(self.0.day()))
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let month = Month { year: civil.year(), month: civil.month() };
        let day = month.first_day() + i64::from(civil.day()) - 1;
        let second = civil.hour() * 3600 + civil.minute() * 60 + civil.second();
        Ok(Resolution::Single(Self(Wall::at(day, second))))
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0.0.checked_add(seconds).map(|moved| Self(Wall(moved)))
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cron::pattern::{Days, MonthDays, Times, Weekdays};

    /// A set of some of the values `low..=high`, never empty: few of them, all of them, or any.
    fn set(low: u32, high: u32) -> impl Strategy<Value = u64> {
        let all = ((1_u64 << (high - low + 1)) - 1) << low;
        prop_oneof![
            (low..=high).prop_map(|value| 1 << value),
            Just(all),
            (low..=high, any::<u64>()).prop_map(move |(value, bits)| bits & all | 1 << value),
        ]
    }

    fn marks(low: u32, high: u32) -> impl Strategy<Value = u64> {
        prop_oneof![4 => Just(0), 1 => (low..=high).prop_map(|value| 1 << value)]
    }

    fn month_days() -> impl Strategy<Value = MonthDays> {
        let none = MonthDays::default;
        prop_oneof![
            4 => set(1, 31).prop_map(move |plain| MonthDays { plain, ..none() }),
            1 => set(1, 31).prop_map(move |nearest| MonthDays { nearest, ..none() }),
            1 => (set(1, 31), set(1, 31)).prop_map(move |(plain, nearest)| MonthDays { plain, nearest, ..none() }),
            1 => marks(1, 31).prop_map(move |plain| MonthDays { plain, last: true, ..none() }),
            1 => marks(1, 31).prop_map(move |nearest| MonthDays { nearest, last_weekday: true, ..none() }),
        ]
    }

    fn weekdays() -> impl Strategy<Value = Weekdays> {
        (set(0, 6), marks(0, 6), marks(0, 6), 0..5_usize, any::<bool>()).prop_map(
            |(plain, nth, last, place, alone)| {
                let mut weekdays = Weekdays { plain, last, ..Weekdays::default() };
                weekdays.nth[place] = nth;
                if alone && (nth | last) != 0 {
                    weekdays.plain = 0;
                }
                weekdays
            },
        )
    }

    fn pattern() -> impl Strategy<Value = Pattern> {
        let times = (set(0, 23), set(0, 59), set(0, 59));
        let join = prop_oneof![Just(Join::Both), Just(Join::Either)];
        (times, set(1, 12), month_days(), weekdays(), join).prop_map(
            |((hours, minutes, seconds), months, month_days, weekdays, join)| Pattern {
                times: Times { hours, minutes, seconds },
                days: Days { months, month_days, weekdays, join },
            },
        )
    }

    /// Some second between the years 1 and 5010, more often in our time.
    fn wall() -> impl Strategy<Value = Wall> {
        let year = |year| Month { year, month: 1 }.first_day() * crate::cron::wall::DAY;
        prop_oneof![
            6 => year(1900)..year(2200),
            1 => year(1)..year(30),
            1 => year(1)..year(4900),
            1 => year(4980)..year(5010),
        ]
        .prop_map(Wall)
    }

    // PROPTEST_CASES=20000 looks further.
    proptest! {
        #[test]
        fn croner_and_the_sets_find_the_same_walls(pattern in pattern(), from in wall()) {
            prop_assume!(pattern.days.any());
            let engine = Engine::build(&pattern);
            prop_assert!(engine.is_some(), "croner refuses {}", spelled(&pattern));
            if let Some(engine) = engine {
                if let Some(found) = engine.next(from) {
                    prop_assert_eq!(Some(found), pattern.next(from), "next of {}", spelled(&pattern));
                }
                if let Some(found) = engine.prev(from) {
                    prop_assert_eq!(Some(found), pattern.prev(from), "prev of {}", spelled(&pattern));
                }
            }
        }

        #[test]
        fn croner_answers_wherever_it_is_asked_in_our_time(pattern in pattern(), second in 0_i64..4_000_000_000) {
            prop_assume!(pattern.days.any());
            let engine = Engine::build(&pattern);
            prop_assert!(engine.as_ref().and_then(|engine| engine.next(Wall(second))).is_some());
            prop_assert!(engine.as_ref().and_then(|engine| engine.prev(Wall(second))).is_some());
        }

        #[test]
        fn the_count_is_the_number_of_steps(pattern in pattern(), from in wall(), length in 0_i64..200_000) {
            let to = Wall(from.0 + length);
            let steps = std::iter::successors(pattern.next(from), |wall| pattern.next(Wall(wall.0 + 1)));
            let steps = steps.take_while(|wall| *wall < to).count();
            prop_assert_eq!(pattern.count(from, to), steps as u64);
        }
    }
}
