//! rrule as the engine that finds the matches of one year.
//!
//! The types of rrule, and of chrono below it, end here. It is asked about walls as if they were UTC, so its tz data decide
//! nothing. Known traps, each walked around or refused before:
//! - A rule without a match runs on to year 10,000. So a year is asked for by a stand-in: the last year of the same shape
//!   before that end, of which there is one in every 28.
//! - Plain weekdays beside numbered ones (`MO,1TU`) are intersected, not united: the plain ones are numbered too.
//! - A week that lies in two years is numbered wrongly in some of them (`BYWEEKNO=-53`): weeks are given as days of the year.
//! - A number of -5 is refused by the month, and -53 by the year.

use std::fmt::Write;

use rrule::{RRule, RRuleSet, Unvalidated};

use super::parts::{Day, Frequency, Parts, Phase, week_of};
use crate::cron::wall::{DAY, Month, weekday};

/// The last year in which rrule looks.
const LAST_YEAR: i32 = 10_000;
/// A calendar year has the shape of one of these: the cycle of weekdays and leap days, without a century that breaks it.
const STAND_INS: std::ops::RangeInclusive<i32> = LAST_YEAR - 27..=LAST_YEAR;

const WEEKDAYS: [&str; 7] = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];

/// What two years must share for a rule to match on the same days of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    /// Of the first of January.
    weekday: u32,
    leap: bool,
    /// Its neighbours decide the number of a week that reaches into them.
    after_leap: bool,
    before_leap: bool,
}

impl Shape {
    pub(super) fn of(year: i32) -> Self {
        let leap = |year| Month { year, month: 2 }.len() == 29;
        let (after_leap, before_leap) = (leap(year - 1), leap(year + 1));
        Self { weekday: weekday(first_day(year)), leap: leap(year), after_leap, before_leap }
    }

    /// The last year of this shape that rrule can be asked about.
    fn stand_in(self) -> i32 {
        STAND_INS.rev().find(|year| Self::of(*year) == self).unwrap_or(LAST_YEAR)
    }
}

/// A rule as rrule reads it: without an end, and with its interval only where a year holds several periods.
pub(super) struct Engine {
    rule: RRule<Unvalidated>,
    parts: Parts,
    /// 1970-01-01T00:00:00, from which the first day of a search is counted.
    epoch: RRuleSet,
}

impl Engine {
    /// None when rrule refuses what this room accepts, which the tests rule out.
    pub(super) fn build(parts: &Parts) -> Option<Self> {
        let text = spelled(parts);
        let rule = text.parse().ok()?;
        let epoch: RRuleSet = "DTSTART:19700101T000000Z\nRRULE:FREQ=DAILY".parse().ok()?;
        let engine = Self { rule, parts: parts.clone(), epoch };
        engine.set_from(engine.rule.clone(), 0)?;
        Some(engine)
    }

    /// The matches of a year of this shape in seconds from its beginning, ascending; the times of a day only where the rule
    /// picks positions among them, else its midnight.
    pub(super) fn matches(&self, shape: Shape, phase: Phase) -> Vec<u32> {
        let year = shape.stand_in();
        let new_year = first_day(year);
        let from = match phase {
            Phase::Day(offset) => new_year + offset,
            Phase::Month(month) => Month { year, month }.first_day(),
            Phase::Year => new_year,
        };
        let rule = self.rule_of(year);
        let Some(set) = rule.and_then(|rule| self.set_from(rule, from)) else { return Vec::new() };
        let second_of_year = |second: i64| second - new_year * DAY;
        let end = second_of_year(first_day(year + 1) * DAY);
        let seconds = set.into_iter().map(|found| second_of_year(found.timestamp()));
        // A week may have begun in the year before.
        seconds
            .skip_while(|second| *second < 0)
            .take_while(|second| *second < end)
            .map(|second| second as u32)
            .collect()
    }

    /// The rule with the weeks of a year as days; none when it has none of these days.
    fn rule_of(&self, year: i32) -> Option<RRule<Unvalidated>> {
        if self.parts.weeks.is_empty() {
            return Some(self.rule.clone());
        }
        let days = days_of_weeks(&self.parts, year);
        (!days.is_empty()).then(|| self.rule.clone().by_year_day(days))
    }

    fn set_from(&self, rule: RRule<Unvalidated>, day: i64) -> Option<RRuleSet> {
        let ahead = std::time::Duration::from_secs(u64::try_from(day * DAY).ok()?);
        rule.build(*self.epoch.get_dt_start() + ahead).ok()
    }
}

fn first_day(year: i32) -> i64 {
    Month { year, month: 1 }.first_day()
}

/// The days of a year, from 1, that lie in the weeks of the rule and in its days of the year if it names any.
fn days_of_weeks(parts: &Parts, year: i32) -> Vec<i16> {
    let (new_year, next) = (first_day(year), first_day(year + 1));
    let length = (next - new_year) as i32;
    let in_weeks = |day: i64| {
        let (week, weeks) = week_of_year(parts.week_start, day, year);
        parts.weeks.contains(&week) || parts.weeks.contains(&(week - weeks - 1))
    };
    let in_days = |number: i32| {
        let days = &parts.year_days;
        days.is_empty() || days.contains(&number) || days.contains(&(number - length - 1))
    };
    let days = (new_year..next).zip(1..).filter(|(day, number)| in_weeks(*day) && in_days(*number));
    days.map(|(_, number)| number as i16).collect()
}

/// The number of the week that holds a day of a calendar year, and how many weeks that week's own year has. The first week
/// of a year is the first with four days or more in it (RFC 5545, BYWEEKNO).
fn week_of_year(week_start: u32, day: i64, year: i32) -> (i32, i32) {
    let first = |year| week_of(first_day(year) + 3, week_start);
    let year = if day >= first(year + 1) {
        year + 1
    } else if day < first(year) {
        year - 1
    } else {
        year
    };
    (((day - first(year)) / 7 + 1) as i32, ((first(year + 1) - first(year)) / 7) as i32)
}

/// The rule as a text in which nothing is left to be taken from the start.
fn spelled(parts: &Parts) -> String {
    // One year is asked for at a time, so a step of many years ends the search behind it at once.
    let interval = if parts.frequency == Frequency::Yearly { 100 } else { parts.interval };
    let mut text = format!("FREQ={};INTERVAL={interval}", parts.frequency.name());
    // Writing to a string cannot fail.
    let _ = write!(text, ";WKST={}", WEEKDAYS[parts.week_start as usize % 7]);
    for (name, set) in [
        ("BYMONTH", &parts.months),
        ("BYYEARDAY", &parts.year_days),
        ("BYMONTHDAY", &parts.month_days),
        ("BYSETPOS", &parts.positions),
    ] {
        list(&mut text, name, set.iter().map(ToString::to_string));
    }
    list(
        &mut text,
        "BYDAY",
        numbered(parts).into_iter().map(|day| match day {
            Day { nth: 0, weekday } => WEEKDAYS[weekday as usize % 7].to_owned(),
            Day { nth, weekday } => format!("{nth}{}", WEEKDAYS[weekday as usize % 7]),
        }),
    );
    if parts.positions.is_empty() {
        text.push_str(";BYHOUR=0;BYMINUTE=0;BYSECOND=0");
    } else {
        for (name, set) in
            [("BYHOUR", &parts.hours), ("BYMINUTE", &parts.minutes), ("BYSECOND", &parts.seconds)]
        {
            list(&mut text, name, set.iter().map(ToString::to_string));
        }
    }
    text
}

/// The weekdays, all of them numbered if one of them is.
fn numbered(parts: &Parts) -> Vec<Day> {
    let last = if parts.counts_in_month() { 5 } else { 53 };
    let mixed = parts.days.iter().any(|day| day.nth != 0);
    let spread = |day: &Day| match day.nth {
        0 if mixed => (1..=last).map(|nth| Day { nth, ..*day }).collect(),
        _ => vec![*day],
    };
    parts.days.iter().flat_map(spread).collect()
}

fn list(text: &mut String, name: &str, values: impl Iterator<Item = String>) {
    let values: Vec<String> = values.collect();
    if !values.is_empty() {
        let _ = write!(text, ";{name}={}", values.join(","));
    }
}
