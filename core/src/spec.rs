//! When a schedule is due, as data: what the log and the image carry.
//!
//! Evaluating a spec (zones, cron) is the business of [`crate::plan`] by way of [`crate::cron`]; `apply` never does.

use serde::{Deserialize, Serialize};

use crate::cron::{CronText, DayMatch, DstGap, DstOverlap};
use crate::time::{Span, Timestamp};

/// The most specs that one schedule may have.
pub const MAX_SPECS: usize = 16;
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
