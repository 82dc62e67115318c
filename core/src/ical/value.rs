//! Dates, times and durations as RFC 5545 writes them.
//!
//! Must not know where a value stands, nor what follows from it.

use super::lines::Line;
use super::zones::Zones;
use crate::cron::wall::{DAY, Wall};
use crate::cron::zone::Zone;
use crate::rrule::basic_wall;

/// When something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum When {
    /// On a local date: days since 1970-01-01.
    Date(i64),
    /// At this reading of a clock in a zone.
    Local(Wall, String),
    /// At this second since the epoch.
    Utc(i64),
}

impl When {
    /// Reads the value of a line such as `DTSTART;TZID=Europe/Berlin:20261225T090000`; the error says what is wrong.
    pub(super) fn read(line: &Line, zones: &Zones) -> Result<Self, String> {
        Self::one_of(line, &line.value, zones)
    }

    /// Reads one of several values of a line.
    pub(super) fn one_of(line: &Line, text: &str, zones: &Zones) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || format!("`{}` is no date or time of {}", shown(text), line.name);
        if let Some(text) = text.strip_suffix(['Z', 'z']) {
            return basic_wall(text)
                .filter(|_| text.len() == 15)
                .map(|wall| Self::Utc(wall.0))
                .ok_or_else(wrong);
        }
        let wall = basic_wall(text).ok_or_else(wrong)?;
        if text.len() == 8 {
            return Ok(Self::Date(wall.day()));
        }
        zones.of(line.parameter("TZID")).map(|zone| Self::Local(wall, zone))
    }

    /// The second since the epoch of what is not a date.
    pub(super) fn second(&self) -> Option<i64> {
        match self {
            Self::Date(_) => None,
            Self::Local(wall, zone) => Zone::named(zone).ok().map(|zone| zone.first_second(*wall)),
            Self::Utc(second) => Some(*second),
        }
    }
}

/// How long something lasts: days of the calendar, then seconds of elapsed time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) days: i64,
    pub(super) seconds: i64,
}

impl Length {
    /// `P1D`, `PT1H30M`, `P2W`; at most ten years, and not negative.
    pub(super) fn read(text: &str) -> Option<Self> {
        const MOST: i64 = 3_660;
        let text = text.trim();
        let mut rest = text.strip_prefix('+').unwrap_or(text).strip_prefix(['P', 'p'])?;
        let mut length = Self::default();
        let mut in_time = false;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            if let Some(time) = rest.strip_prefix(['T', 't']).filter(|_| !in_time) {
                (rest, in_time) = (time, true);
                continue;
            }
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: i64 = rest[..digits].parse().ok().filter(|number| *number <= MOST * DAY)?;
            match (rest[digits..].chars().next()?.to_ascii_uppercase(), in_time) {
                ('W', false) => length.days += number * 7,
                ('D', false) => length.days += number,
                ('H', true) => length.seconds += number * 3600,
                ('M', true) => length.seconds += number * 60,
                ('S', true) => length.seconds += number,
                _ => return None,
            }
            rest = &rest[digits + 1..];
        }
        (length.days <= MOST && length.seconds <= MOST * DAY).then_some(length)
    }
}

/// So much of a value as a remark shows.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    let mark = if short.len() < text.len() { "…" } else { "" };
    format!("{}{mark}", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_days_and_seconds() {
        for (text, expected) in [
            ("P1D", Some((1, 0))),
            ("P2W", Some((14, 0))),
            ("PT1H30M", Some((0, 5400))),
            ("+P1DT12H", Some((1, 43_200))),
            ("PT0S", Some((0, 0))),
            ("P", None),
            ("-P1D", None),
            ("P1H", None),
            ("PT1D", None),
            ("P1", None),
            ("PTT1H", None),
            ("P99999999999999999999D", None),
            ("P1é", None),
        ] {
            let length = Length::read(text).map(|length| (length.days, length.seconds));
            assert_eq!(length, expected, "{text}");
        }
    }
}
