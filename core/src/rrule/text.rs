//! From the text of a rule to its parts, strictly: what RFC 5545 does not allow is refused with its column and a hint.
//!
//! Must not know what a rule means; that is `rrule::parts`.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::parts::{Day, End, Frequency, Parts};
use super::{MAX_COUNT, MAX_INTERVAL, MAX_LENGTH};
use crate::cron::wall::Wall;
use crate::cron::zone::day_number;
use crate::cron::{CronError, CronErrorKind};

mod judge;

/// A piece of the text and the column (from 1) of its first character.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    column: u32,
}

impl<'a> Piece<'a> {
    fn refuse(self, detail: impl Into<String>, hint: impl Into<String>) -> CronError {
        refuse(Some(self.column), detail, hint)
    }

    /// The pieces between the marks, with their columns.
    fn split(self, mark: char) -> impl Iterator<Item = Self> {
        let mut column = self.column;
        self.text.split(mark).map(move |text| {
            let piece = Self { text, column };
            column += text.len() as u32 + 1;
            piece
        })
    }

    /// The pieces before and behind the first mark.
    fn cut(self, mark: char) -> Option<(Self, Self)> {
        let (before, behind) = self.text.split_once(mark)?;
        let column = self.column + before.len() as u32 + 1;
        Some((Self { text: before, ..self }, Self { text: behind, column }))
    }
}

/// An error in a rule.
pub(super) fn refuse(column: Option<u32>, detail: impl Into<String>, hint: impl Into<String>) -> CronError {
    CronError { kind: CronErrorKind::Cron, column, detail: detail.into(), hint: hint.into() }
}

/// Reads a rule.
pub(super) fn read(text: &str) -> Result<Parts, CronError> {
    let rule = whole(text)?;
    let mut parts = Parts::every(Frequency::Daily);
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut places = Vec::new();
    for piece in rule.split(';') {
        let (name, value) = piece.cut('=').ok_or_else(|| not_a_part(piece))?;
        let upper = name.text.to_ascii_uppercase();
        if value.text.is_empty() {
            return Err(value
                .refuse(format!("{upper} has no value"), "write a value behind `=`, or leave the part out"));
        }
        if !seen.insert(upper.clone()) {
            return Err(name.refuse(
                format!("{upper} is there twice"),
                "write each part once, with its values as a list",
            ));
        }
        part(&mut parts, &upper, name, value)?;
        places.push((upper, name.column));
    }
    if !seen.contains("FREQ") {
        return Err(rule.refuse("the rule has no FREQ", "begin with FREQ=DAILY, WEEKLY, MONTHLY or YEARLY"));
    }
    let column = |name: &str| places.iter().find(|(known, _)| known == name).map(|(_, column)| *column);
    judge::together(&parts, column)?;
    Ok(parts)
}

/// The text as one piece, without `RRULE:` before it.
fn whole(text: &str) -> Result<Piece<'_>, CronError> {
    let one_rule =
        "write one rule only: the start is a field of its own, and dates are left out by `exclude`";
    if text.chars().count() > MAX_LENGTH {
        return Err(refuse(
            None,
            format!("the rule is longer than {MAX_LENGTH} characters"),
            "write two rules",
        ));
    }
    if let Some(place) = text.chars().position(|letter| !letter.is_ascii() || letter.is_ascii_control()) {
        let column = Some(place as u32 + 1);
        let letter = text.chars().nth(place).unwrap_or_default();
        return Err(match letter {
            '\n' | '\r' => refuse(column, "the rule has more than one line", one_rule),
            _ => {
                refuse(column, format!("unexpected character `{}`", letter.escape_debug()), "use ASCII only")
            }
        });
    }
    let upper = text.to_ascii_uppercase();
    if ["DTSTART", "DTEND", "EXDATE", "EXRULE", "RDATE"].iter().any(|name| upper.starts_with(name)) {
        let name = &upper[..upper.find([':', ';', '=']).unwrap_or(upper.len())];
        return Err(refuse(Some(1), format!("{name} is not part of a rule"), one_rule));
    }
    let skip = if upper.starts_with("RRULE:") { 6 } else { 0 };
    if text.len() == skip {
        return Err(refuse(Some(1), "the rule is empty", "write, for example, `FREQ=MONTHLY;BYDAY=-1FR`"));
    }
    Ok(Piece { text: &text[skip..], column: skip as u32 + 1 })
}

fn not_a_part(piece: Piece<'_>) -> CronError {
    let detail = if piece.text.is_empty() {
        "an empty part".to_owned()
    } else {
        format!("`{}` is no part", piece.text)
    };
    piece.refuse(detail, "parts are `NAME=value`, with one `;` between two of them")
}

/// Reads one part into its place.
fn part(parts: &mut Parts, upper: &str, name: Piece<'_>, value: Piece<'_>) -> Result<(), CronError> {
    match upper {
        "FREQ" => parts.frequency = frequency(value)?,
        "INTERVAL" => parts.interval = number(value, 1..=i32::from(MAX_INTERVAL), "INTERVAL")? as u16,
        "COUNT" => {
            parts.end = end(parts, name, End::Count(number(value, 1..=MAX_COUNT as i32, "COUNT")? as u32))?
        }
        "UNTIL" => parts.end = end(parts, name, until(value)?)?,
        "WKST" => parts.week_start = weekday(value)?,
        "BYSECOND" => parts.seconds = numbers(value, 0..=59, upper)?,
        "BYMINUTE" => parts.minutes = numbers(value, 0..=59, upper)?,
        "BYHOUR" => parts.hours = numbers(value, 0..=23, upper)?,
        "BYMONTH" => parts.months = numbers(value, 1..=12, upper)?,
        "BYWEEKNO" => parts.weeks = numbers(value, -53..=53, upper)?,
        "BYYEARDAY" => parts.year_days = numbers(value, -366..=366, upper)?,
        "BYMONTHDAY" => parts.month_days = numbers(value, -31..=31, upper)?,
        "BYSETPOS" => parts.positions = numbers(value, -366..=366, upper)?,
        "BYDAY" => parts.days = value.split(',').map(day).collect::<Result<_, _>>()?,
        "DTSTART" | "DTEND" | "EXDATE" | "EXRULE" | "RDATE" => {
            return Err(name.refuse(
                format!("{upper} is not part of a rule"),
                "the start is a field of its own, and dates are left out by `exclude`",
            ));
        }
        _ => return Err(unknown(name)),
    }
    Ok(())
}

fn unknown(name: Piece<'_>) -> CronError {
    let hint = match name.text.to_ascii_uppercase().as_str() {
        "BYEASTER" | "RSCALE" | "SKIP" => {
            "only the parts of RFC 5545 are known; list the dates in a calendar instead"
        }
        "BYWEEKDAY" => "weekdays are BYDAY",
        "TZID" => "the time zone is a field of its own",
        _ => {
            "the parts are FREQ, INTERVAL, COUNT, UNTIL, WKST, BYMONTH, BYWEEKNO, BYYEARDAY, BYMONTHDAY, BYDAY, BYHOUR, \
              BYMINUTE, BYSECOND and BYSETPOS"
        }
    };
    name.refuse(format!("unknown part `{}`", name.text), hint)
}

fn frequency(value: Piece<'_>) -> Result<Frequency, CronError> {
    match value.text.to_ascii_uppercase().as_str() {
        "DAILY" => Ok(Frequency::Daily),
        "WEEKLY" => Ok(Frequency::Weekly),
        "MONTHLY" => Ok(Frequency::Monthly),
        "YEARLY" => Ok(Frequency::Yearly),
        finer @ ("HOURLY" | "MINUTELY" | "SECONDLY") => Err(value.refuse(
            format!("FREQ={finer} is finer than a day"),
            "use an `every` or a `cron` spec, or DAILY with BYHOUR and BYMINUTE",
        )),
        _ => {
            Err(value
                .refuse(format!("unknown FREQ `{}`", value.text), "write DAILY, WEEKLY, MONTHLY or YEARLY"))
        }
    }
}

/// Only one end may be written.
fn end(parts: &Parts, name: Piece<'_>, end: End) -> Result<End, CronError> {
    match parts.end {
        End::Never => Ok(end),
        _ => Err(name.refuse("COUNT and UNTIL are both there", "write one of the two")),
    }
}

/// A number in a range, without zero where the range has negative numbers.
fn number(value: Piece<'_>, range: RangeInclusive<i32>, name: &str) -> Result<i32, CronError> {
    let (low, high) = (*range.start(), *range.end());
    let allowed = match low {
        low if low < 0 => format!("from {low} to {high}, without 0"),
        low => format!("from {low} to {high}"),
    };
    let digits = match value.text.strip_prefix(['+', '-']) {
        Some(digits) if low < 0 => digits,
        _ => value.text,
    };
    let is_number = (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    value
        .text
        .parse()
        .ok()
        .filter(|number| is_number && range.contains(number) && (low >= 0 || *number != 0))
        .ok_or_else(|| {
            value.refuse(
                format!("`{}` is no value of {name}", value.text),
                format!("write a number {allowed}"),
            )
        })
}

fn numbers(value: Piece<'_>, range: RangeInclusive<i32>, name: &str) -> Result<BTreeSet<i32>, CronError> {
    value.split(',').map(|piece| number(piece, range.clone(), name)).collect()
}

fn weekday(value: Piece<'_>) -> Result<u32, CronError> {
    ["SU", "MO", "TU", "WE", "TH", "FR", "SA"]
        .iter()
        .position(|name| name.eq_ignore_ascii_case(value.text))
        .map(|place| place as u32)
        .ok_or_else(|| {
            value.refuse(format!("`{}` is no weekday", value.text), "write MO, TU, WE, TH, FR, SA or SU")
        })
}

/// `FR`, `1MO`, `-1FR`.
fn day(value: Piece<'_>) -> Result<Day, CronError> {
    let place = value.text.len().saturating_sub(2);
    let (nth, name) = value.text.split_at(place);
    let weekday = weekday(Piece { text: name, column: value.column + place as u32 })?;
    let nth = if nth.is_empty() { 0 } else { number(Piece { text: nth, ..value }, -53..=53, "BYDAY")? };
    Ok(Day { nth, weekday })
}

/// `20261224T090000Z`, `20261224T090000`, `20261224`.
fn until(value: Piece<'_>) -> Result<End, CronError> {
    let wrong = || {
        value.refuse(
            format!("`{}` is no value of UNTIL", value.text),
            "write 20261224T090000Z for an instant, 20261224T090000 for local time, or 20261224 for a whole day",
        )
    };
    let upper = value.text.to_ascii_uppercase();
    let (local, instant) = match upper.strip_suffix('Z') {
        Some(local) => (local, true),
        None => (upper.as_str(), false),
    };
    let wall = basic_wall(local).ok_or_else(wrong)?;
    match (instant, local.len()) {
        (true, 15) => Ok(End::Instant(wall.0)),
        (false, 15) => Ok(End::Local(wall)),
        (false, _) => Ok(End::Local(Wall(wall.0 + 86_399))),
        (true, _) => Err(wrong()),
    }
}

/// `20261224T090000` or `20261224`, as iCalendar has them, from year 1970.
pub(crate) fn basic_wall(text: &str) -> Option<Wall> {
    let digits = |range: std::ops::Range<usize>| -> Option<u32> {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let day = day_number(digits(0..4).filter(|year| *year >= 1970)?, digits(4..6)?, digits(6..8)?)?;
    match text.len() {
        8 => Some(Wall::at(day, 0)),
        15 if text.as_bytes()[8] == b'T' => clock(day, digits(9..11)?, digits(11..13)?, digits(13..15)?),
        _ => None,
    }
}

/// `2026-01-30T09:00:00`, years 1970 to 9999.
pub(super) fn start(text: &str) -> Result<Wall, CronError> {
    extended_wall(text).ok_or_else(|| CronError {
        kind: CronErrorKind::Start,
        column: None,
        detail: format!("`{}` is no local date and time", text.chars().take(40).collect::<String>().escape_debug()),
        hint: "write a date of the years 1970 to 9999 and a time without an offset, such as `2026-01-30T09:00:00`".to_owned(),
    })
}

fn extended_wall(text: &str) -> Option<Wall> {
    let shape = |(place, byte): (usize, u8)| match place {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit(),
    };
    if text.len() != 19 || !text.bytes().enumerate().all(shape) {
        return None;
    }
    let number = |range: std::ops::Range<usize>| text[range].parse::<u32>().ok();
    let day = day_number(number(0..4).filter(|year| *year >= 1970)?, number(5..7)?, number(8..10)?)?;
    clock(day, number(11..13)?, number(14..16)?, number(17..19)?)
}

fn clock(day: i64, hour: u32, minute: u32, second: u32) -> Option<Wall> {
    (hour < 24 && minute < 60 && second < 60).then(|| Wall::at(day, hour * 3600 + minute * 60 + second))
}
