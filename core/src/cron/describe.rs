//! A cron text in English, told from its sets.
//!
//! Must never say something that is not so: where a phrase would need a condition it lists the values instead. "Every 7
//! minutes" is not said of `*/7`, which begins anew each hour. Two specs with the same text run at the same instants.

use super::bits::{has, size};
use super::field::Field;
use super::parsed::Parsed;
use super::pattern::{Days, Join, MonthDays, Times, Weekdays};
use super::wall::clock_text;

pub(crate) mod place;

mod changes;

/// Up to so many times of day are listed one by one.
const MAX_CLOCKS: u64 = 6;

pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// The week begins on Monday in English prose, so that a weekend is "Saturday and Sunday".
pub(crate) const WEEK: [(u32, &str); 7] = [
    (1, "Monday"),
    (2, "Tuesday"),
    (3, "Wednesday"),
    (4, "Thursday"),
    (5, "Friday"),
    (6, "Saturday"),
    (0, "Sunday"),
];
const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

/// The whole sentence, without a full stop.
pub(super) fn describe(cron: &Parsed) -> String {
    let Times { hours, minutes, seconds } = cron.pattern.times;
    let listed = size(hours) * size(minutes) * size(seconds) <= MAX_CLOCKS;
    let when = if listed { clocks(&cron.pattern.times) } else { pace(&cron.pattern.times) };
    // "Every minute every day" says nothing more than "every minute".
    let days = match days(&cron.pattern.days) {
        None if listed => " every day".to_owned(),
        None => String::new(),
        Some(days) => format!(" {days}"),
    };
    let months = match cron.pattern.days.months {
        all if all == Field::Month.all() => String::new(),
        some => {
            format!(" in {}", join(&names(MONTHS.iter().zip(1..).map(|(name, n)| (n, *name)), some), "and"))
        }
    };
    format!("{when}{days}{months}, {}{}", place::called(cron.zone.name()), changes::told(cron))
}

/// `At 10:15 and 12:15`.
fn clocks(times: &Times) -> String {
    let mut clocks = Vec::new();
    for hour in members(times.hours) {
        for minute in members(times.minutes) {
            clocks.extend(members(times.seconds).map(|second| clock_text(hour, minute, second)));
        }
    }
    format!("At {}", join(&clocks, "and"))
}

/// `Every 5 minutes from 09:00 to 17:59`, or the values one by one.
fn pace(times: &Times) -> String {
    let Times { hours, minutes, seconds } = *times;
    let every_minute = minutes == Field::Minute.all();
    let on_the_minute = seconds == 1;
    let pace = match (every(seconds), every(minutes)) {
        (Some(step), _) if every_minute => amount(step, "second"),
        (_, Some(step)) if on_the_minute => amount(step, "minute"),
        _ if on_the_minute && minutes == 1 => return hourly(hours),
        _ => return values(times),
    };
    let during = match run(hours) {
        _ if hours == Field::Hour.all() => String::new(),
        Some((first, last)) => format!(" from {first:02}:00 to {last:02}:59"),
        None => format!(" during the hours {}", numbers(hours)),
    };
    format!("{pace}{during}")
}

/// `Every hour from 09:00 to 17:00`.
fn hourly(hours: u64) -> String {
    match run(hours) {
        _ if hours == Field::Hour.all() => "Every hour".to_owned(),
        Some((first, last)) => format!("Every hour from {first:02}:00 to {last:02}:00"),
        None => format!("At minute 0 of {}", counted("hour", hours)),
    }
}

/// `At minutes 0, 7 and 14 of every hour`, `At second 30 of every minute of hours 9 to 17`.
fn values(times: &Times) -> String {
    let Times { hours, minutes, seconds } = *times;
    let mut parts = Vec::new();
    if seconds != 1 {
        parts.push(counted("second", seconds));
    }
    match minutes {
        all if all == Field::Minute.all() => parts.push("every minute".to_owned()),
        some => parts.push(counted("minute", some)),
    }
    match hours {
        all if all != Field::Hour.all() => parts.push(counted("hour", hours)),
        _ if minutes != Field::Minute.all() => parts.push("every hour".to_owned()),
        _ => {}
    }
    format!("At {}", parts.join(" of "))
}

/// The distance of a set of seconds or minutes that runs evenly through the hour or minute and into the next.
fn every(set: u64) -> Option<u32> {
    (1..=30).filter(|step| 60 % step == 0).find(|step| {
        let even = (0..60).step_by(*step as usize).fold(0_u64, |even, value| even | 1 << value);
        even == set
    })
}

fn amount(step: u32, unit: &str) -> String {
    if step == 1 { format!("Every {unit}") } else { format!("Every {step} {unit}s") }
}

/// Which days of a month; none when all do.
fn days(days: &Days) -> Option<String> {
    let any_date = days.month_days.plain == Field::DayOfMonth.all();
    let any_weekday = days.weekdays.plain == Field::DayOfWeek.all();
    match days.join {
        Join::Both if any_date && any_weekday => None,
        Join::Both if any_date => Some(format!("on {}", weekdays(&days.weekdays, "and"))),
        Join::Both if any_weekday => Some(format!("on {}", dates(&days.month_days))),
        Join::Both => {
            let (dates, weekdays) = (dates(&days.month_days), weekdays(&days.weekdays, "or"));
            Some(format!("on {dates}, but only when that is {weekdays}"))
        }
        Join::Either if any_date || any_weekday => None,
        Join::Either => {
            let (dates, weekdays) = (dates(&days.month_days), weekdays(&days.weekdays, "and"));
            Some(format!("on {dates} and also on {weekdays}"))
        }
    }
}

/// `days 1 and 15 and the last day of the month`.
fn dates(days: &MonthDays) -> String {
    let mut parts = Vec::new();
    if days.plain != 0 {
        parts.push(counted("day", days.plain));
    }
    parts.extend(members(days.nearest).map(|day| format!("the weekday nearest to day {day}")));
    if days.last {
        parts.push("the last day".to_owned());
    }
    if days.last_weekday {
        parts.push("the last weekday from Monday to Friday".to_owned());
    }
    format!("{} of the month", join(&parts, "and"))
}

/// `Monday to Friday`, `the last Friday of the month`.
fn weekdays(days: &Weekdays, last_word: &str) -> String {
    let mut parts = names(WEEK.into_iter(), days.plain);
    for (ordinal, set) in ORDINALS.iter().zip(days.nth) {
        parts.extend(in_week(set).map(|name| format!("the {ordinal} {name} of the month")));
    }
    parts.extend(in_week(days.last).map(|name| format!("the last {name} of the month")));
    join(&parts, last_word)
}

fn in_week(set: u64) -> impl Iterator<Item = &'static str> {
    WEEK.into_iter().filter(move |(value, _)| has(set, *value)).map(|(_, name)| name)
}

/// The names of the values in a set; three or more in a row as `Monday to Friday`.
fn names<'a>(order: impl Iterator<Item = (u32, &'a str)>, set: u64) -> Vec<String> {
    let mut parts: Vec<Vec<&str>> = Vec::new();
    let mut open = false;
    for (value, name) in order {
        let member = has(set, value);
        match parts.last_mut().filter(|_| open && member) {
            Some(part) => part.push(name),
            None if member => parts.push(vec![name]),
            None => {}
        }
        open = member;
    }
    let told = parts.into_iter().flat_map(|part| match part[..] {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        _ => part.into_iter().map(str::to_owned).collect(),
    });
    told.collect()
}

/// `minute 5`, `minutes 0 to 29 and 45`.
fn counted(unit: &str, set: u64) -> String {
    if size(set) == 1 { format!("{unit} {}", numbers(set)) } else { format!("{unit}s {}", numbers(set)) }
}

fn numbers(set: u64) -> String {
    let texts: Vec<String> = (0..60).map(|value: u32| value.to_string()).collect();
    join(&names((0..).zip(texts.iter().map(String::as_str)), set), "and")
}

/// The first and last value of a set without holes.
fn run(set: u64) -> Option<(u32, u32)> {
    let (first, last) = (members(set).next()?, members(set).last()?);
    (u64::from(last - first) + 1 == size(set)).then_some((first, last))
}

fn members(set: u64) -> impl Iterator<Item = u32> {
    (0..60).filter(move |value| has(set, *value))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn join(parts: &[String], last_word: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {last_word} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::cron::{Cron, CronText, DayMatch, DstGap, DstOverlap};

    #[test]
    fn texts_are_told_in_english() {
        for (text, time_zone, told) in [
            ("30 2 * * *", "Europe/Berlin", "At 02:30 every day, Berlin time"),
            ("* * * * *", "UTC", "Every minute, UTC"),
            ("* * * * * *", "UTC", "Every second, UTC"),
            ("*/5 * * * *", "America/New_York", "Every 5 minutes, New York time"),
            ("*/30 * * * * *", "UTC", "Every 30 seconds, UTC"),
            ("0 * * * *", "UTC", "Every hour, UTC"),
            ("30 * * * *", "UTC", "At minute 30 of every hour, UTC"),
            ("*/7 * * * *", "UTC", "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour, UTC"),
            ("0-29,45 * * * *", "UTC", "At minutes 0 to 29 and 45 of every hour, UTC"),
            ("*/15 9-17 * * 1-5", "UTC", "Every 15 minutes from 09:00 to 17:59 on Monday to Friday, UTC"),
            ("0 9-17 * * *", "UTC", "Every hour from 09:00 to 17:00, UTC"),
            ("* 2,14 * * *", "UTC", "Every minute during the hours 2 and 14, UTC"),
            ("15 10,12 * * 0,6", "UTC", "At 10:15 and 12:15 on Saturday and Sunday, UTC"),
            ("30 0 12 * * *", "UTC", "At 12:00:30 every day, UTC"),
            ("5,10 * * * * *", "UTC", "At seconds 5 and 10 of every minute, UTC"),
            ("30 * 9-17 * * *", "UTC", "At second 30 of every minute of hours 9 to 17, UTC"),
            ("30 0-5 0-7 * * *", "UTC", "At second 30 of minutes 0 to 5 of hours 0 to 7, UTC"),
            ("0 0,2,4,6,8,10,13 * * *", "UTC", "At minute 0 of hours 0, 2, 4, 6, 8, 10 and 13, UTC"),
            ("0 0 1 1 *", "Etc/GMT+5", "At 00:00 on day 1 of the month in January, Etc/GMT+5 time"),
            (
                "0 0 L 2,3,4,6 *",
                "UTC",
                "At 00:00 on the last day of the month in February to April and June, UTC",
            ),
            (
                "0 0 15W,LW * *",
                "UTC",
                "At 00:00 on the weekday nearest to day 15 and the last weekday from Monday to Friday of the month, UTC",
            ),
            (
                "0 0 * * MON#1,FRIL",
                "UTC",
                "At 00:00 on the first Monday of the month and the last Friday of the month, UTC",
            ),
            ("0 0 13 * 5", "UTC", "At 00:00 on day 13 of the month and also on Friday, UTC"),
            ("0 0 13 * +5", "UTC", "At 00:00 on day 13 of the month, but only when that is Friday, UTC"),
            ("0 0 1-31 * 5", "UTC", "At 00:00 every day, UTC"),
            ("0 0 * * 5-7", "UTC", "At 00:00 on Friday to Sunday, UTC"),
        ] {
            let spec = CronText {
                text,
                time_zone,
                day_match: DayMatch::Any,
                dst_gap: DstGap::RunAfter,
                dst_overlap: DstOverlap::First,
            };
            assert_eq!(Cron::parse(&spec).expect(text).describe(), told, "{text}");
        }
    }
}
