//! When a schedule is due, as data: what the log and the image carry.
//!
//! Evaluating a spec (zones, cron) is the business of [`crate::plan`] by way of [`crate::cron`]; `apply` never does.

use serde::{Deserialize, Serialize};

use crate::cron::{CronText, DayMatch, DstGap, DstOverlap};
use crate::rrule::RuleText;
use crate::time::{Span, Timestamp};

/// The most specs that one schedule may have.
pub const MAX_SPECS: usize = 16;
/// The most exclusions that one schedule may have.
pub const MAX_EXCLUSIONS: usize = 16;
/// The most dates that one exclusion may list; a calendar holds more.
pub const MAX_EXCLUDED_DATES: usize = 366;
/// The shortest period of an `every` spec.
pub const MIN_EVERY: Span = Span::from_secs(1);

/// One source of nominal instants. A schedule's instants are the union of those of its specs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Spec {
    /// A cron pattern in a time zone.
    Cron(Box<CronSpec>),
    /// Elapsed time, counted from an anchor, so that restarts, elections and edits never move the phase.
    Every {
        /// The period, at least [`MIN_EVERY`].
        every: Span,
        /// An instant of the grid.
        anchor: Timestamp,
    },
    /// One instant.
    At(Timestamp),
    /// A recurrence rule of RFC 5545 in a time zone.
    Rule(Box<RuleSpec>),
}

/// A recurrence rule and the choices that daylight saving leaves to the user; its walls are *fixed* ones (`SEMANTICS` §3).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RuleSpec {
    /// The rule as the user wrote it: `FREQ=MONTHLY;BYDAY=-1FR`.
    pub rule: Box<str>,
    /// The local date and time from which the rule counts (`DTSTART`): `2026-01-30T09:00:00`.
    pub start: Box<str>,
    /// An IANA zone name.
    pub time_zone: Box<str>,
    /// What becomes of an instant whose wall time does not exist.
    pub dst_gap: DstGap,
    /// Which pass of a doubled wall time is taken.
    pub dst_overlap: DstOverlap,
}

/// Instants that are not nominal, whatever the specs say: a test of the local clock, not a source of instants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Exclusion {
    /// Where the local clock matches: five fields cover whole minutes, six fields seconds. Daylight saving plays no part.
    Cron(Box<CronSpec>),
    /// Whole local dates.
    Dates {
        /// Days since 1970-01-01, in order, each once.
        dates: Box<[i32]>,
        /// The zone of the dates; `None` is that of the spec which makes the instant, UTC for one without a zone.
        time_zone: Option<Box<str>>,
    },
    /// What a calendar of that name holds at the place in the log where an instant is decided.
    Calendar {
        /// Its name.
        name: Box<str>,
        /// The zone of its dates; `None` is the calendar's own, and without one that of the spec.
        time_zone: Option<Box<str>>,
    },
}

/// A cron pattern and the choices that `SEMANTICS` §3 leaves to the user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CronSpec {
    /// The pattern as the user wrote it.
    pub text: Box<str>,
    /// An IANA zone name.
    pub time_zone: Box<str>,
    /// Whether a day matches if either or both restricted day fields do.
    pub day_match: DayMatch,
    /// What becomes of a fixed instant whose wall time does not exist.
    pub dst_gap: DstGap,
    /// Which pass of a doubled wall time a fixed instant takes.
    pub dst_overlap: DstOverlap,
}

impl Spec {
    /// The zone on whose wall clock its instants are read: UTC for intervals and single instants.
    #[must_use]
    pub fn time_zone(&self) -> &str {
        match self {
            Self::Cron(cron) => &cron.time_zone,
            Self::Rule(rule) => &rule.time_zone,
            Self::Every { .. } | Self::At(_) => "UTC",
        }
    }
}

impl RuleSpec {
    /// The rule as its room reads it.
    #[must_use]
    pub fn as_text(&self) -> RuleText<'_> {
        RuleText {
            rule: &self.rule,
            start: &self.start,
            time_zone: &self.time_zone,
            dst_gap: self.dst_gap,
            dst_overlap: self.dst_overlap,
        }
    }
}

impl Exclusion {
    /// About how many bytes this takes in the log.
    #[must_use]
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Cron(_) => 400,
            Self::Dates { dates, .. } => 100 + 4 * dates.len(),
            Self::Calendar { .. } => 300,
        }
    }

    /// The calendar that it names, if it names one.
    #[must_use]
    pub fn calendar(&self) -> Option<&str> {
        match self {
            Self::Calendar { name, .. } => Some(name),
            Self::Cron(_) | Self::Dates { .. } => None,
        }
    }
}

impl CronSpec {
    /// The pattern as the cron room reads it.
    #[must_use]
    pub fn as_text(&self) -> CronText<'_> {
        CronText {
            text: &self.text,
            time_zone: &self.time_zone,
            day_match: self.day_match,
            dst_gap: self.dst_gap,
            dst_overlap: self.dst_overlap,
        }
    }
}

/// The part of time in which a schedule's instants count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Window {
    /// The first instant that may be nominal; inclusive.
    pub start_at: Option<Timestamp>,
    /// The last instant that may be nominal; inclusive.
    pub end_at: Option<Timestamp>,
}
