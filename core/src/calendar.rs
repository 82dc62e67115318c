//! Named calendars of exclusions: what is in the log, and what it covers.
//!
//! ```text
//! Calendar { dates, spans } ── check ──▶ the log        (numbers only: no zone is asked in apply)
//!          └── zone (cron::zone), in the proposer ──▶ covers, uncovered_from, ranges
//! ```
//!
//! A date is a local date: it runs from its first to its last instant in the zone of the schedule that excludes it (or the
//! zone of the calendar, if it names one), so that one list of holidays serves offices in several zones. A span is the
//! same everywhere.
//!
//! [`Calendar::check`] needs no zone and is the same on every replica; everything else here is the proposer's.

use serde::{Deserialize, Serialize};

use crate::cron::known_zone;
use crate::time::Timestamp;

mod cover;

mod date;

pub use cover::{Cover, UnknownZone};
pub use date::{date_text, parse_date};

/// The most dates and spans together.
pub const MAX_ENTRIES: usize = 5_000;
/// The most bytes of its encoding in the log.
pub const MAX_BYTES: usize = 60 * 1024;
/// The longest description, in bytes.
pub const MAX_DESCRIPTION: usize = 1_000;

/// The first and the last date a calendar may name: 1970-01-01 and 9999-12-30, the last whole day that has instants.
const DATES: std::ops::RangeInclusive<i32> = 0..=2_932_895;
/// A span lies in the years 1970 to 9999.
const INSTANTS: std::ops::RangeInclusive<i64> = 0..=253_402_207_199_000;

/// Instants at which nothing is nominal: local dates, and spans of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Calendar {
    /// For people.
    pub description: Box<str>,
    /// The zone of the dates; none for the zone of the schedule that names the calendar.
    pub time_zone: Option<Box<str>>,
    /// Local dates as days since 1970-01-01, ascending, each once.
    pub dates: Vec<i32>,
    /// From the first instant up to, not including, the second; ascending, with a gap between two of them.
    pub spans: Vec<(Timestamp, Timestamp)>,
}

/// Why a calendar cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadCalendar {
    /// More than [`MAX_ENTRIES`] dates and spans.
    TooMany,
    /// More than [`MAX_BYTES`] in the log.
    TooLarge,
    /// A description over [`MAX_DESCRIPTION`] bytes.
    LongDescription,
    /// A time zone that is not in the tz data; told by [`Calendar::check_zone`] only.
    UnknownZone,
    /// The date at this place is not after the one before it.
    DateOrder(usize),
    /// The date at this place is not of the years 1970 to 9999.
    DateRange(usize),
    /// The span at this place is empty, or does not begin after the one before it has ended.
    SpanOrder(usize),
    /// The span at this place is not in the years 1970 to 9999.
    SpanRange(usize),
    /// The span at this place does not begin and end at whole seconds.
    SpanParts(usize),
}

impl std::fmt::Display for BadCalendar {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooMany => write!(out, "more than {MAX_ENTRIES} dates and spans"),
            Self::TooLarge => write!(out, "more than {MAX_BYTES} bytes"),
            Self::LongDescription => write!(out, "a description of more than {MAX_DESCRIPTION} bytes"),
            Self::UnknownZone => out.write_str("an unknown time zone"),
            Self::DateOrder(place) => write!(out, "date {place} is not after the one before it"),
            Self::DateRange(place) => write!(out, "date {place} is not of the years 1970 to 9999"),
            Self::SpanOrder(place) => write!(out, "span {place} is empty or not after the one before it"),
            Self::SpanRange(place) => write!(out, "span {place} is not in the years 1970 to 9999"),
            Self::SpanParts(place) => write!(out, "span {place} does not begin and end at whole seconds"),
        }
    }
}

impl std::error::Error for BadCalendar {}

impl Calendar {
    /// Brings dates and spans into the order that is kept: sorted, each date once, spans that touch or overlap joined,
    /// empty ones dropped.
    #[must_use]
    pub fn normalised(mut self) -> Self {
        self.dates.sort_unstable();
        self.dates.dedup();
        self.spans.retain(|(start, end)| start < end);
        self.spans.sort_unstable();
        let mut joined: Vec<(Timestamp, Timestamp)> = Vec::with_capacity(self.spans.len());
        for (start, end) in self.spans {
            match joined.last_mut().filter(|last| start <= last.1) {
                Some(last) => last.1 = last.1.max(end),
                None => joined.push((start, end)),
            }
        }
        Self { spans: joined, ..self }
    }

    /// Whether it may be kept. The same on every replica: the zone is not looked up.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self) -> Result<(), BadCalendar> {
        if self.dates.len() + self.spans.len() > MAX_ENTRIES {
            return Err(BadCalendar::TooMany);
        }
        if self.description.len() > MAX_DESCRIPTION {
            return Err(BadCalendar::LongDescription);
        }
        if self.encoded_bytes() > MAX_BYTES {
            return Err(BadCalendar::TooLarge);
        }
        if let Some(place) = self.dates.iter().position(|date| !DATES.contains(date)) {
            return Err(BadCalendar::DateRange(place));
        }
        if let Some(place) = self.dates.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(BadCalendar::DateOrder(place + 1));
        }
        self.check_spans()
    }

    fn check_spans(&self) -> Result<(), BadCalendar> {
        let outside = |at: Timestamp| !INSTANTS.contains(&at.as_millis());
        if let Some(place) = self.spans.iter().position(|(start, end)| outside(*start) || outside(*end)) {
            return Err(BadCalendar::SpanRange(place));
        }
        let parts = |at: Timestamp| at.as_millis().rem_euclid(1000) != 0;
        if let Some(place) = self.spans.iter().position(|(start, end)| parts(*start) || parts(*end)) {
            return Err(BadCalendar::SpanParts(place));
        }
        if let Some(place) = self.spans.iter().position(|(start, end)| start >= end) {
            return Err(BadCalendar::SpanOrder(place));
        }
        match self.spans.windows(2).position(|pair| pair[0].1 >= pair[1].0) {
            Some(place) => Err(BadCalendar::SpanOrder(place + 1)),
            None => Ok(()),
        }
    }

    /// Whether its zone, if it names one, is in the tz data. Asked before proposing only.
    ///
    /// # Errors
    /// [`BadCalendar::UnknownZone`].
    pub fn check_zone(&self) -> Result<(), BadCalendar> {
        match &self.time_zone {
            Some(zone) if !known_zone(zone) => Err(BadCalendar::UnknownZone),
            _ => Ok(()),
        }
    }

    /// What it takes in the log: bincode's legacy layout has 8 bytes for a length, 4 for a date, 16 for a span.
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        let texts = 8 + self.description.len() + 1 + self.time_zone.as_ref().map_or(0, |zone| 8 + zone.len());
        texts + 8 + 4 * self.dates.len() + 8 + 16 * self.spans.len()
    }

    /// What it covers for a schedule of this zone; its own zone goes first.
    ///
    /// # Errors
    /// The zone is not in the tz data.
    pub fn cover(&self, time_zone: &str) -> Result<Cover<'_>, UnknownZone> {
        Cover::of(self, time_zone)
    }
}
