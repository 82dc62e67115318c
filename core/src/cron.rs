//! Cron texts: what they mean, when they are due, and why one is refused.
//!
//! ```text
//! text ── dialect, field ──▶ pattern (bit sets) ── engine (croner) ──▶ matching wall clocks
//!                                                                          │
//!             time zone ── zone (jiff's bundled tz data) ──▶ segments ── search, count ──▶ instants
//! ```
//!
//! The dialect (`SEMANTICS` §3): five fields, minute hour day-of-month month day-of-week, or six with seconds first. Lists,
//! ranges, steps on `*` or a range; names of months and weekdays in their own field; `L`, `LW`, `nW`, `nL`, `n#m`; `?`
//! as `*` in a day field; `+` before the day of week for "both"; nicknames such as `@daily`. Everything else is refused
//! with its column and a hint.
//!
//! Daylight saving, by the text as vixie cron has it: a spec is *wildcard* if its second, minute or hour field begins
//! with `*`, else *fixed*. A fixed spec runs once for a wall time that does not exist (at the first instant after the gap)
//! or exists twice (in the first pass); a wildcard spec runs at each real instant that matches. The options
//! [`DstGap`] and [`DstOverlap`] speak of fixed specs only. A jump of more than three hours is a change of calendar.
//!
//! This room must not read a clock, an environment or the system's tz data, and neither croner's nor jiff's types leave
//! it. Only the proposer calls it: what it finds travels in the log as numbers.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

pub(crate) mod wall;

mod bits;

mod pattern;

mod piece;

mod field;

mod dialect;

mod engine;

pub mod zone;

mod horizon;

mod never;

mod parsed;

pub(crate) mod search;

pub(crate) mod count;

mod seconds;

mod cover;

pub(crate) mod describe;

mod lint;

mod cache;

pub use cache::{CronCache, DEFAULT_CAPACITY};
pub use lint::CronWarning;
pub(crate) use seconds::SecondSet;
pub(crate) use zone::unknown as unknown_zone;
pub use zone::{instant_text, known_zone, local_text, parse_instant, tzdb_version};

use parsed::Parsed;

/// What a user wrote: the text, its zone, and the choices that the dialect leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CronText<'a> {
    /// Five or six fields, or a nickname.
    pub text: &'a str,
    /// An IANA name, spelled as the tz database spells it.
    pub time_zone: &'a str,
    /// Whether a day matches if either or both restricted day fields do.
    pub day_match: DayMatch,
    /// What becomes of a fixed instant whose wall time does not exist.
    pub dst_gap: DstGap,
    /// Which pass of a doubled wall time a fixed instant takes.
    pub dst_overlap: DstOverlap,
}

/// How two restricted day fields combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DayMatch {
    /// Either is enough (POSIX), unless one of the texts begins with `*` (vixie) or the day of week with `+`.
    #[default]
    Any,
    /// Both must match.
    All,
}

/// What becomes of a fixed instant that falls into a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DstGap {
    /// It runs at the first instant after the gap, once, however many were missed.
    #[default]
    RunAfter,
    /// It does not run.
    Skip,
}

/// Which pass of a wall time that exists twice a fixed spec takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DstOverlap {
    /// The earlier one.
    #[default]
    First,
    /// The later one.
    Second,
    /// Both: two instants.
    Both,
}

/// How a spec behaves when clocks are moved; decided by its text alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It names times of day, so each of them runs once a day.
    Fixed,
    /// Its second, minute or hour text begins with `*`: it follows elapsed time.
    Wildcard,
}

/// A nominal instant and how it came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occurrence {
    /// A whole second.
    pub at: Timestamp,
    /// How it stands to the time changes of its zone.
    pub note: Note,
}

/// How an instant stands to the time changes of its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Its wall time exists once, and matches.
    Normal,
    /// Its wall time does not exist: this is the first instant after the gap, and would not match by itself.
    MovedFromGap,
    /// Its wall time exists twice, and this is the earlier.
    FirstPass,
    /// Its wall time exists twice, and this is the later.
    SecondPass,
}

impl Note {
    /// The name in the HTTP API and the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::MovedFromGap => "moved_from_gap",
            Self::FirstPass => "first_pass",
            Self::SecondPass => "second_pass",
        }
    }
}

/// Why a [`CronText`] was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronError {
    /// Which part is at fault.
    pub kind: CronErrorKind,
    /// The character of the text at which it went wrong, counted from 1; none where no single place is at fault.
    pub column: Option<u32>,
    /// What is wrong, lower case, without a full stop.
    pub detail: String,
    /// What to write instead.
    pub hint: String,
}

/// Which part of a [`CronText`] is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CronErrorKind {
    /// The text.
    Cron,
    /// The time zone.
    Zone,
    /// The first local date and time of a recurrence rule.
    Start,
}

impl fmt::Display for CronError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.detail)
    }
}

impl std::error::Error for CronError {}

/// A cron text, read, judged and ready to be searched. Cloning it copies a pointer.
///
/// It weighs a few hundred bytes until it is searched, and about 6 KB from then on (croner's tables): keep one per
/// distinct text, as [`CronCache`] does, never one per schedule.
#[derive(Clone)]
pub struct Cron {
    parsed: Arc<Parsed>,
}

impl Cron {
    /// Reads a text and its zone.
    ///
    /// # Errors
    /// Everything that `SEMANTICS` §3 refuses: what is no cron text, what never fires, a zone that is not in the tz data.
    pub fn parse(spec: &CronText<'_>) -> Result<Self, CronError> {
        Ok(Self { parsed: Arc::new(Parsed::read(spec)?) })
    }

    /// Fixed or wildcard, which decides what a time change does to it.
    #[must_use]
    pub fn class(&self) -> Class {
        self.parsed.class
    }

    /// The first nominal instant strictly after `after`; none when nothing comes before the end of year 9999.
    #[must_use]
    pub fn next(&self, after: Timestamp) -> Option<Occurrence> {
        search::next(self.parsed.as_ref(), after)
    }

    /// The last nominal instant strictly before `before`; none when nothing lies between it and year 1.
    #[must_use]
    pub fn prev(&self, before: Timestamp) -> Option<Occurrence> {
        search::prev(self.parsed.as_ref(), before)
    }

    /// How many nominal instants lie in (`after`, `until`]. The work grows with the months between, not the instants.
    #[must_use]
    pub fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        count::count(self.parsed.as_ref(), after, until)
    }

    /// Adds every nominal instant in the block of `into`: as many as [`Cron::count`] counts there, and no walk.
    pub(crate) fn mark(&self, into: &mut SecondSet) {
        seconds::mark(&self.parsed, into);
    }

    /// Whether it covers an instant as an exclusion: its wall clock matches, in five fields to the minute, in six to the
    /// second. Whether a wall time was moved, or comes twice, plays no part.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        cover::covers(&self.parsed, at)
    }

    /// The first instant at or after `at` that is not covered, `at` itself if it is not; none when everything is up to
    /// the end of year 9999.
    #[must_use]
    pub fn uncovered_from(&self, at: Timestamp) -> Option<Timestamp> {
        cover::uncovered_from(&self.parsed, at)
    }

    /// Adds every covered second in the block of `into`.
    pub(crate) fn cover(&self, into: &mut SecondSet) {
        cover::cover(&self.parsed, into);
    }

    /// What is allowed but probably not meant, looking one year ahead of `now` for time changes.
    #[must_use]
    pub fn warnings(&self, now: Timestamp) -> Vec<CronWarning> {
        lint::warnings(&self.parsed, now)
    }

    /// What it says, in English: `At 02:30 every day, Berlin time`. Two specs that are told the same are due at the same
    /// instants, from the year of the tz data on.
    #[must_use]
    pub fn describe(&self) -> String {
        describe::describe(&self.parsed)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Cron({:?} in {})", self.parsed.pattern, self.parsed.zone.name())
    }
}
