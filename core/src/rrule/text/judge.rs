//! Which parts go together, by RFC 5545 section 3.3.10 and by what the engine takes.
//!
//! Must refuse everything that the engine would refuse, since the engine cannot say where or why.

use super::refuse;
use crate::cron::CronError;
use crate::rrule::MAX_TIMES;
use crate::rrule::parts::{Frequency, Parts};

/// Refuses what cannot stand together; `column` tells where a part was written.
pub(super) fn together(parts: &Parts, column: impl Fn(&str) -> Option<u32>) -> Result<(), CronError> {
    let rules = [by_period(parts), numbered_days(parts), positions(parts), times(parts), impossible(parts)];
    match rules.into_iter().flatten().next() {
        None => Ok(()),
        Some(Wrong { part, detail, hint }) => Err(refuse(column(part), detail, hint)),
    }
}

struct Wrong {
    part: &'static str,
    detail: String,
    hint: String,
}

fn wrong(part: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Option<Wrong> {
    Some(Wrong { part, detail: detail.into(), hint: hint.into() })
}

/// Parts that RFC 5545 allows with some frequencies only.
fn by_period(parts: &Parts) -> Option<Wrong> {
    let name = parts.frequency.name();
    let yearly = parts.frequency == Frequency::Yearly;
    if !yearly && !parts.weeks.is_empty() {
        return wrong("BYWEEKNO", format!("BYWEEKNO does not go with FREQ={name}"), "use FREQ=YEARLY");
    }
    if !yearly && !parts.year_days.is_empty() {
        return wrong("BYYEARDAY", format!("BYYEARDAY does not go with FREQ={name}"), "use FREQ=YEARLY");
    }
    if parts.frequency == Frequency::Weekly && !parts.month_days.is_empty() {
        let hint = "use FREQ=DAILY with BYDAY and BYMONTHDAY, or FREQ=MONTHLY";
        return wrong("BYMONTHDAY", "BYMONTHDAY does not go with FREQ=WEEKLY", hint);
    }
    None
}

/// `1MO` and its like.
fn numbered_days(parts: &Parts) -> Option<Wrong> {
    let numbered = || parts.days.iter().filter(|day| day.nth != 0);
    numbered().next()?;
    if !matches!(parts.frequency, Frequency::Monthly | Frequency::Yearly) {
        let detail = format!("a numbered weekday does not go with FREQ={}", parts.frequency.name());
        return wrong("BYDAY", detail, "use FREQ=MONTHLY or FREQ=YEARLY, or leave the number away");
    }
    if !parts.weeks.is_empty() {
        return wrong("BYDAY", "a numbered weekday does not go with BYWEEKNO", "leave the number away");
    }
    let range = if parts.counts_in_month() { -4..=5 } else { -52..=53 };
    let outside = numbered().find(|day| !range.contains(&day.nth))?;
    let period = if parts.counts_in_month() { "month" } else { "year" };
    let hint = match outside.nth {
        -5 => "the fifth from the end is one of the days -29 to -31: write BYMONTHDAY=-31,-30,-29 beside the plain weekday"
            .to_owned(),
        _ => format!("write a number from {} to {}", range.start(), range.end()),
    };
    wrong("BYDAY", format!("{} is no number of a weekday in a {period}", outside.nth), hint)
}

fn positions(parts: &Parts) -> Option<Wrong> {
    let far = parts.positions.iter().map(|position| position.abs()).max()?;
    let sets = [
        &parts.months,
        &parts.weeks,
        &parts.year_days,
        &parts.month_days,
        &parts.hours,
        &parts.minutes,
        &parts.seconds,
    ];
    if parts.days.is_empty() && sets.iter().all(|set| set.is_empty()) {
        let hint = "say with BYDAY or another part which days it counts";
        return wrong("BYSETPOS", "BYSETPOS has nothing to count", hint);
    }
    // rrule's bounds.
    let most = match parts.frequency {
        Frequency::Daily | Frequency::Yearly => 366,
        Frequency::Weekly => 53,
        Frequency::Monthly => 31,
    };
    let near = parts.positions.iter().map(|position| position.unsigned_abs() as usize).min()?;
    if parts.frequency == Frequency::Daily && near > parts.times_a_day() {
        let hint =
            "BYSETPOS counts the times of one day; for the n-th day use FREQ=WEEKLY, MONTHLY or YEARLY";
        return wrong("BYSETPOS", "a day has fewer times than BYSETPOS counts", hint);
    }
    if far <= most {
        return None;
    }
    let detail = format!("BYSETPOS goes to {most} with FREQ={}", parts.frequency.name());
    wrong("BYSETPOS", detail, "name the days or times themselves")
}

fn times(parts: &Parts) -> Option<Wrong> {
    if parts.times_a_day() <= MAX_TIMES {
        return None;
    }
    let part = if parts.minutes.len() > parts.hours.len() { "BYMINUTE" } else { "BYHOUR" };
    let detail = format!("more than {MAX_TIMES} times a day");
    wrong(part, detail, "use a `cron` or an `every` spec for what comes so often")
}

/// Days that no month has, so that the commonest rule that never matches is named at its place.
fn impossible(parts: &Parts) -> Option<Wrong> {
    let longest = |month: &i32| match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let most = parts.months.iter().map(longest).max()?;
    let least = parts.month_days.iter().map(|day| day.abs()).min()?;
    (least > most).then_some(())?;
    let detail = format!("no month of BYMONTH has a day {least}");
    wrong("BYMONTHDAY", detail, "write -1 for the last day of a month, or take the month away")
}
