//! A rule in English, told from its parts.
//!
//! Must never say something that is not so, and must say all of it: two rules of one zone that are told alike have the same
//! instants. What has no short form is told part by part.

use std::collections::BTreeSet;

use super::parts::{Day, End, Frequency, Parts};
use super::walls::RuleWalls;
use crate::cron::describe::{MONTHS, WEEK, join, place};
use crate::cron::wall::{Wall, clock_text};
use crate::cron::{DstGap, DstOverlap, instant_text};
use crate::time::Timestamp;

/// Up to so many times of day are listed one by one.
const MAX_CLOCKS: usize = 6;

/// The whole sentence, without a full stop.
pub(super) fn describe(rule: &RuleWalls) -> String {
    let parts = &rule.filled;
    let mut told = days(parts);
    told.push_str(&format!(" at {}", clocks(parts)));
    if !parts.positions.is_empty() {
        let positions: Vec<String> = parts.positions.iter().map(|nth| ordinal(*nth)).collect();
        told.push_str(&format!(
            ", of these only the {} of each {}",
            join(&positions, "and"),
            unit(parts.frequency)
        ));
    }
    if parts.depends_on_weeks() {
        told.push_str(&format!(", with weeks that begin on {}", weekday(parts.week_start)));
    }
    let (zone, from) = (place::called(rule.zone.name()), start(parts, rule.start));
    format!("{told}, {zone}, from {from}{}{}", end(parts.end), changes(rule))
}

/// What clocks being moved do to it, told where it is not the default.
fn changes(rule: &RuleWalls) -> String {
    let gap = (rule.dst_gap == DstGap::Skip).then_some("not run when clocks skip it");
    let overlap = match rule.dst_overlap {
        DstOverlap::First => None,
        DstOverlap::Second => Some("run the second time only when clocks repeat it"),
        DstOverlap::Both => Some("run both times when clocks repeat it"),
    };
    let told: Vec<&str> = gap.into_iter().chain(overlap).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

/// `Every 2 weeks on Monday`, `On the last Friday of every month`.
fn days(parts: &Parts) -> String {
    let Parts { frequency, interval, months, weeks, year_days, .. } = parts;
    let plain = *interval == 1 && weeks.is_empty() && year_days.is_empty();
    let weekdays_only = parts.month_days.is_empty() && !parts.days.is_empty();
    let of_months = if months.is_empty() { "every month".to_owned() } else { month_names(months) };
    let every_year = if months.is_empty() { "" } else { " every year" };
    match (frequency, on_days(parts)) {
        (Frequency::Daily | Frequency::Weekly, Some(_)) if plain && weekdays_only => {
            let in_months = if months.is_empty() { String::new() } else { format!(" in {of_months}") };
            format!("Every {}{in_months}", join(&weekdays(parts, Plain::Bare), "and"))
        }
        (Frequency::Daily | Frequency::Monthly, Some(on)) if plain => {
            format!("On {}{every_year}", of(&on, &of_months))
        }
        (Frequency::Yearly, Some(on)) if plain && !months.is_empty() => {
            format!("On {}{every_year}", of(&on, &of_months))
        }
        (_, on) => part_by_part(parts, on),
    }
}

/// `day 13 of every month, but only when that is Friday`: the period goes behind the first of two conditions.
fn of(on: &str, period: &str) -> String {
    match on.split_once(", but") {
        Some((first, rest)) => format!("{first} of {period}, but{rest}"),
        None => format!("{on} of {period}"),
    }
}

/// Every condition in the order in which RFC 5545 applies them.
fn part_by_part(parts: &Parts, on: Option<String>) -> String {
    let unit = unit(parts.frequency);
    let mut told = match parts.interval {
        1 => format!("Every {unit}"),
        n => format!("Every {n} {unit}s"),
    };
    if !parts.months.is_empty() {
        // A step of years has them all; of anything else it may step over them.
        let filter = parts.interval > 1 && parts.frequency != Frequency::Yearly;
        let (before, behind) = if filter { (", but only", ",") } else { ("", "") };
        told.push_str(&format!("{before} in {}{behind}", month_names(&parts.months)));
    }
    if !parts.weeks.is_empty() {
        told.push_str(&format!(" in {} of the year", counted("week", &parts.weeks)));
    }
    if !parts.year_days.is_empty() {
        told.push_str(&format!(" on {} of the year", counted("day", &parts.year_days)));
    }
    let Some(on) = on else { return told.trim_end_matches(',').to_owned() };
    let filter = !parts.year_days.is_empty() || parts.frequency == Frequency::Daily;
    told.push_str(if filter { ", but only on " } else { " on " });
    let period = if parts.month_days.is_empty() {
        parts.days.iter().any(|day| day.nth != 0).then(|| period(parts))
    } else {
        Some("the month")
    };
    told.push_str(&period.map_or(on.clone(), |period| of(&on, period)));
    told.replace(",,", ",")
}

/// In what a numbered weekday is counted.
fn period(parts: &Parts) -> &'static str {
    if parts.counts_in_month() { "the month" } else { "the year" }
}

/// The days of the month and of the week; none when neither is named.
fn on_days(parts: &Parts) -> Option<String> {
    let dates = counted("day", &parts.month_days);
    let each = matches!(parts.frequency, Frequency::Monthly | Frequency::Yearly);
    match (parts.month_days.is_empty(), parts.days.is_empty()) {
        (true, true) => None,
        (false, true) => Some(dates),
        (true, false) => Some(join(&weekdays(parts, if each { Plain::Every } else { Plain::Bare }), "and")),
        (false, false) => {
            Some(format!("{dates}, but only when that is {}", join(&weekdays(parts, Plain::Full), "or")))
        }
    }
}

/// How weekdays are told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plain {
    /// `Friday`.
    Bare,
    /// `every Friday`, where it stands beside numbered ones.
    Every,
    /// `Friday`, and `the last Friday of the month` with its period.
    Full,
}

/// `Monday to Friday`, `the last Friday`.
fn weekdays(parts: &Parts, how: Plain) -> Vec<String> {
    let plain = |weekday: u32| parts.days.contains(&Day { nth: 0, weekday });
    let every = if how == Plain::Every { "every " } else { "" };
    let behind = if how == Plain::Full { format!(" of {}", period(parts)) } else { String::new() };
    let mut told = runs(WEEK.iter().map(|(weekday, name)| (plain(*weekday), format!("{every}{name}"))));
    let mut numbered: Vec<&Day> = parts.days.iter().filter(|day| day.nth != 0).collect();
    numbered.sort_by_key(|day| (day.nth < 0, day.nth.abs(), (day.weekday + 6) % 7));
    told.extend(
        numbered.into_iter().map(|day| format!("the {} {}{behind}", ordinal(day.nth), weekday(day.weekday))),
    );
    told
}

fn weekday(number: u32) -> &'static str {
    WEEK[(number as usize + 6) % 7].1
}

fn month_names(months: &BTreeSet<i32>) -> String {
    join(&runs((1..).zip(MONTHS).map(|(number, name)| (months.contains(&number), name.to_owned()))), "and")
}

/// `days 1 to 3, day 15 and the last day`: what counts from the end is told by ordinals.
fn counted(unit: &str, set: &BTreeSet<i32>) -> String {
    let positive = set.range(1..).count();
    let numbers = runs((1..=366).map(|number| (set.contains(&number), number.to_string())));
    let mut told = match positive {
        0 => Vec::new(),
        1 => vec![format!("{unit} {}", numbers.join(""))],
        _ => vec![format!("{unit}s {}", join(&numbers, "and"))],
    };
    told.extend(set.range(..0).rev().map(|nth| format!("the {} {unit}", ordinal(*nth))));
    join(&told, "and")
}

/// The members of a set in their order, three or more in a row as `first to last`; two of them in a row one by one.
fn runs(values: impl Iterator<Item = (bool, String)>) -> Vec<String> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut open = false;
    for (member, name) in values {
        match rows.last_mut().filter(|_| open && member) {
            Some(row) => row.push(name),
            None if member => rows.push(vec![name]),
            None => {}
        }
        open = member;
    }
    let told = rows.into_iter().flat_map(|row| match &row[..] {
        [first, _, .., last] => vec![format!("{first} to {}", last.trim_start_matches("every "))],
        _ => row,
    });
    told.collect()
}

/// `09:00 and 17:00`, or the sets whose product the times are.
fn clocks(parts: &Parts) -> String {
    let times = parts.times();
    if times.len() <= MAX_CLOCKS {
        let clocks: Vec<String> =
            times.iter().map(|time| clock_text(time / 3600, time / 60 % 60, time % 60)).collect();
        return join(&clocks, "and");
    }
    let mut told = Vec::new();
    if !parts.seconds.iter().eq([0].iter()) {
        told.push(unsigned("second", &parts.seconds));
    }
    told.push(unsigned("minute", &parts.minutes));
    told.push(unsigned("hour", &parts.hours));
    told.join(" of ")
}

fn unsigned(unit: &str, set: &BTreeSet<i32>) -> String {
    let numbers = runs((0..60).map(|number| (set.contains(&number), number.to_string())));
    let plural = if set.len() == 1 { "" } else { "s" };
    format!("{unit}{plural} {}", join(&numbers, "and"))
}

const fn unit(frequency: Frequency) -> &'static str {
    match frequency {
        Frequency::Daily => "day",
        Frequency::Weekly => "week",
        Frequency::Monthly => "month",
        Frequency::Yearly => "year",
    }
}

/// `first`, `20th`, `last`, `second to last`.
fn ordinal(nth: i32) -> String {
    let number = nth.abs();
    let told = match number {
        1 if nth < 0 => return "last".to_owned(),
        1 => "first".to_owned(),
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        4 => "fourth".to_owned(),
        5 => "fifth".to_owned(),
        _ => match (number % 100, number % 10) {
            (11..=13, _) => format!("{number}th"),
            (_, 1) => format!("{number}st"),
            (_, 2) => format!("{number}nd"),
            (_, 3) => format!("{number}rd"),
            _ => format!("{number}th"),
        },
    };
    if nth < 0 { format!("{told} to last") } else { told }
}

/// The date; with its time when that leaves out a time of the first day.
fn start(parts: &Parts, start: Wall) -> String {
    let text = start.text();
    let all_of_the_day = parts.times().first().is_some_and(|first| *first >= start.second_of_day());
    if all_of_the_day { text[..10].to_owned() } else { text }
}

fn end(end: End) -> String {
    match end {
        End::Never => String::new(),
        End::Count(1) => ", once".to_owned(),
        End::Count(count) => format!(", {count} times"),
        End::Local(wall) if wall.second_of_day() == 86_399 => {
            format!(", until the end of {}", &wall.text()[..10])
        }
        End::Local(wall) => format!(", until {}", wall.text()),
        End::Instant(second) => format!(", until {}", instant_text(Timestamp::from_millis(second * 1000))),
    }
}
