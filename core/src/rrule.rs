//! Recurrence rules of RFC 5545 as a source of nominal instants.
//!
//! ```text
//! rule, start ── text ──▶ parts ── engine (rrule) ──▶ the matches of one year ── years (kept by the shape of the year)
//!                                                                                   │
//!                         time zone ── cron::zone ──▶ segments ── cron::search, cron::count ──▶ instants
//! ```
//!
//! A rule names times of day, so it is of the *fixed* class (`SEMANTICS` §3): a time that does not exist becomes the first
//! instant after the gap, one that exists twice the first pass, unless [`DstGap`] or [`DstOverlap`] says otherwise.
//!
//! What is meant where RFC 5545 leaves it open:
//! - The start says where the rule begins, from where intervals are counted, and what the rule does not say (time of day,
//!   day). It is an occurrence only if the rule matches it. `BYSETPOS` counts in the whole first period, also before it.
//! - `UNTIL` with `Z` is the last instant; without it the last local date and time; a date means to the end of that day.
//! - With `BYWEEKNO`, the years of an interval are calendar years, not those of the week.
//!
//! Refused: frequencies finer than daily, more than [`MAX_TIMES`] times a day, `COUNT` over [`MAX_COUNT`], an interval over
//! [`MAX_INTERVAL`], `-5` in `BYDAY` by the month (not in the engine), and rules that never match.
//!
//! This room must not read a clock or the system's tz data, and the types of rrule and of chrono do not leave `engine`.
//! Only the proposer calls it: what it finds travels in the log as numbers.

use std::fmt;
use std::sync::Arc;

use crate::cron::{CronError, CronWarning, DstGap, DstOverlap, Occurrence};
use crate::time::Timestamp;

mod parts;

mod text;

mod engine;

mod years;

mod walls;

mod describe;

mod lint;

mod cache;

pub use cache::{DEFAULT_CAPACITY, RuleCache};

pub(crate) use text::basic_wall;

use walls::RuleWalls;

/// The longest rule, in characters.
pub const MAX_LENGTH: usize = 512;
/// The largest `COUNT`.
pub const MAX_COUNT: u32 = 10_000;
/// The largest `INTERVAL`.
pub const MAX_INTERVAL: u16 = 1_000;
/// The most times of day, the product of `BYHOUR`, `BYMINUTE` and `BYSECOND`: every five minutes.
pub const MAX_TIMES: usize = 288;

/// What a user wrote: the rule, where it starts, its zone, and the choices that the text leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleText<'a> {
    /// `FREQ=MONTHLY;BYDAY=-1FR`, with or without `RRULE:` before it.
    pub rule: &'a str,
    /// The local date and time from which it counts (`DTSTART`): `2026-01-30T09:00:00`, years 1970 to 9999.
    pub start: &'a str,
    /// An IANA name, spelled as the tz database spells it.
    pub time_zone: &'a str,
    /// What becomes of an instant whose wall time does not exist.
    pub dst_gap: DstGap,
    /// Which pass of a doubled wall time counts.
    pub dst_overlap: DstOverlap,
}

/// A recurrence rule, read, judged and ready to be searched. Cloning it copies a pointer.
///
/// It grows with the questions asked of it, to at most 256 KB and mostly less than 45: keep one per
/// distinct text, as [`RuleCache`] does.
#[derive(Clone)]
pub struct Rule {
    walls: Arc<RuleWalls>,
}

impl Rule {
    /// Reads a rule, its start and its zone.
    ///
    /// # Errors
    /// What is no rule or not supported (see the head of this module), what never matches, a start that is no date, a zone
    /// that is not in the tz data. The column counts the characters of the rule, or of the start.
    pub fn parse(text: &RuleText<'_>) -> Result<Self, CronError> {
        Ok(Self { walls: Arc::new(RuleWalls::read(text)?) })
    }

    /// The first nominal instant strictly after `after`; none when nothing comes before the end of year 9999.
    #[must_use]
    pub fn next(&self, after: Timestamp) -> Option<Occurrence> {
        self.walls.next(after)
    }

    /// The last nominal instant strictly before `before`.
    #[must_use]
    pub fn prev(&self, before: Timestamp) -> Option<Occurrence> {
        self.walls.prev(before)
    }

    /// How many nominal instants lie in (`after`, `until`]. The work grows with the years between, not the instants.
    #[must_use]
    pub fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        self.walls.count(after, until)
    }

    /// How many years the engine was asked about so far: what this rule has cost.
    pub(crate) fn years_found(&self) -> u64 {
        self.walls.years.found()
    }

    /// What the rule says, in English: `On the last Friday of every month at 09:00, Berlin time, from 2026-01-30`.
    #[must_use]
    pub fn describe(&self) -> String {
        describe::describe(&self.walls)
    }

    /// What is allowed but probably not meant, looking one year ahead of `now` for time changes.
    #[must_use]
    pub fn warnings(&self, now: Timestamp) -> Vec<CronWarning> {
        lint::warnings(&self.walls, now)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Rule({})", self.describe())
    }
}
