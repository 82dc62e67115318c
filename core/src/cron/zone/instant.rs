//! Instants as people and programs write them: RFC 3339.
//!
//! Own arithmetic instead of jiff's, because every `Timestamp` must have a text and jiff's instants end in year 9999,
//! and because jiff reads much that RFC 3339 does not allow.

use crate::cron::wall::{Month, Wall};
use crate::time::Timestamp;

/// An instant as RFC 3339 in UTC, with milliseconds only when they are not zero: `2026-12-01T02:30:00Z`.
///
/// Years outside 0 to 9999, which RFC 3339 has no text for, get a sign and six digits or more, as ISO 8601 has them.
#[must_use]
pub fn instant_text(at: Timestamp) -> String {
    let mut text = wall_text(at.as_millis());
    text.push('Z');
    text
}

/// The wall clock at an offset (seconds) with that offset behind it.
///
/// RFC 3339 has whole minutes only, and offsets before about 1930 have seconds: those are cut off the offset *and* the
/// wall, so that the text names the same instant.
pub(super) fn text_with_offset(at: Timestamp, offset: i64) -> String {
    let minutes = offset / 60;
    let text = wall_text(at.as_millis().saturating_add(minutes * 60_000));
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{text}{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

/// Date and time of milliseconds since the epoch.
fn wall_text(millis: i64) -> String {
    let (year, month, day, hour, minute, second) = Wall(millis.div_euclid(1000)).parts();
    let date = if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+07}") };
    let text = format!("{date}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    match millis.rem_euclid(1000) {
        0 => text,
        rest => format!("{text}.{rest:03}"),
    }
}

/// The instant that an RFC 3339 text names, at any offset; none for anything else.
///
/// Fractions below a millisecond are cut off. A leap second (`:60`) is refused, since no instant here is one.
#[must_use]
pub fn parse_instant(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let (date, rest) = bytes.split_at_checked(10)?;
    let (separator, rest) = rest.split_first()?;
    let (clock, rest) = rest.split_at_checked(8)?;
    if date[4] != b'-' || date[7] != b'-' || clock[2] != b':' || clock[5] != b':' {
        return None;
    }
    if !matches!(separator, b'T' | b't' | b' ') {
        return None;
    }
    let day = day_number(number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?)?;
    let second = second_of_day(number(&clock[..2])?, number(&clock[3..5])?, number(&clock[6..])?)?;
    let (millis, rest) = fraction(rest)?;
    let local = Wall::at(day, second).0;
    Some(Timestamp::from_millis((local - offset_seconds(rest)?) * 1000 + millis))
}

/// The day (since 1970-01-01) of a date; none when there is no such date.
pub(crate) fn day_number(year: u32, month: u32, day: u32) -> Option<i64> {
    if !(1..=12).contains(&month) {
        return None;
    }
    let month = Month { year: i32::try_from(year).ok()?, month };
    (1..=month.len()).contains(&day).then(|| month.first_day() + i64::from(day) - 1)
}

fn second_of_day(hour: u32, minute: u32, second: u32) -> Option<u32> {
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Milliseconds of `.123456`, and what follows it.
fn fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let Some((b'.', rest)) = rest.split_first() else { return Some((0, rest)) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let millis = (0..3).fold(0, |millis, place| {
        millis * 10 + if place < digits { i64::from(rest[place] - b'0') } else { 0 }
    });
    Some((millis, &rest[digits..]))
}

/// Seconds of `Z` or `+02:00`, which must be all that is left.
fn offset_seconds(rest: &[u8]) -> Option<i64> {
    match rest {
        b"Z" | b"z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let seconds = i64::from(second_of_day(number(&[*h1, *h2])?, number(&[*m1, *m2])?, 0)?);
            Some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

/// A number of digits only.
fn number(digits: &[u8]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0_u32, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_at_any_offset_and_printed_in_utc() {
        for (text, printed) in [
            ("2026-12-01T02:30:00Z", "2026-12-01T02:30:00Z"),
            ("2026-12-01t02:30:00z", "2026-12-01T02:30:00Z"),
            ("2026-12-01 02:30:00+05:30", "2026-11-30T21:00:00Z"),
            ("2026-03-29T03:00:00+02:00", "2026-03-29T01:00:00Z"),
            ("1969-12-31T23:59:59.5-00:00", "1969-12-31T23:59:59.500Z"),
            ("2026-12-01T02:30:00.1239Z", "2026-12-01T02:30:00.123Z"),
            ("2024-02-29T00:00:00.007Z", "2024-02-29T00:00:00.007Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ] {
            let at = parse_instant(text).expect(text);
            assert_eq!(instant_text(at), printed);
            assert_eq!(parse_instant(printed), Some(at));
        }
    }

    #[test]
    fn what_rfc_3339_does_not_allow_is_refused() {
        for text in [
            "",
            "2026-12-01",
            "2026-12-01T02:30:00",
            "2026-12-01T02:30Z",
            "2026-12-01T02:30:00+02",
            "2026-12-01T02:30:00+0200",
            "2026-12-01T02:30:00+24:00",
            "2026-12-01T24:00:00Z",
            "2026-12-01T23:59:60Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-12-01T02:30:00.Z",
            "2026-12-01T02:30:00Z ",
            "2026-12-01T02:30:00Z[Europe/Berlin]",
            "+02026-12-01T02:30:00Z",
            "2026-1é-01T02:30:00Z",
            "2026-12-01T02:30:0é",
        ] {
            assert_eq!(parse_instant(text), None, "{text}");
        }
    }

    #[test]
    fn every_timestamp_has_a_text() {
        for (millis, text) in [
            (i64::MAX, "+292278994-08-17T07:12:55.807Z"),
            (i64::MIN, "-292275055-05-16T16:47:04.192Z"),
            (253_402_300_800_000, "+010000-01-01T00:00:00Z"),
            (0, "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(instant_text(Timestamp::from_millis(millis)), text);
        }
    }

    #[test]
    fn an_offset_with_seconds_still_names_the_same_instant() {
        // Berlin before 1893 was at +00:53:28.
        let at = parse_instant("1890-01-01T00:00:00Z").expect("an instant");
        let text = text_with_offset(at, 3208);
        assert_eq!(text, "1890-01-01T00:53:00+00:53");
        assert_eq!(parse_instant(&text), Some(at));
    }
}
