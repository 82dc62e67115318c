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

use super::pattern::{Join, Pattern, has};
use super::wall::{Month, Wall, weekday};

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
        // Exclusive from one second before, since the inclusive search has had faults of its own.
        let before = Civil(Wall(from.0.checked_sub(1)?));
        self.cron.find_next_occurrence(&before, false).ok().map(|found| found.0)
    }

    /// The last match at or before `from`; none when croner cannot tell.
    pub(super) fn prev(&self, from: Wall) -> Option<Wall> {
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
