//! Why a wish about the past cannot be planned: said before anything is proposed, in words for the one who asked.

use std::fmt;

use crate::cron::instant_text;
use crate::time::Timestamp;

/// Why a backfill, a change of the mark, a re-run or a trigger with a nominal was not planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No schedule of that name.
    NoSchedule,
    /// The schedule of that firing was removed.
    Gone,
    /// That firing never was.
    NotFired,
    /// The instant lies in the future.
    Ahead,
    /// The instant is nominal and not decided yet: it is due by itself.
    DueByItself,
    /// The range ends before it begins.
    EmptyRange,
    /// Nothing in the range is decided yet; the mark stands there.
    NothingDecided(Timestamp),
    /// More instants than one command may concern; the bound.
    TooMany(u64),
    /// No firing may be live.
    NoRoom,
    /// What fired before that instant is not known any more.
    Forgotten(Timestamp),
    /// The definition cannot be evaluated.
    Unevaluable(Box<str>),
    /// The mark stands there already.
    MarkIsThere,
    /// The instants up to there are decided by the tick, under the catch-up rule.
    DecidedByNow,
    /// Instants are not decided now: the schedule is paused, parked or finished.
    NotActive,
}

impl Refusal {
    /// Its name in API and metrics.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NoSchedule => "no_schedule",
            Self::Gone => "schedule_gone",
            Self::NotFired => "not_fired",
            Self::Ahead => "ahead",
            Self::DueByItself => "due_by_itself",
            Self::EmptyRange => "empty_range",
            Self::NothingDecided(_) => "nothing_decided",
            Self::TooMany(_) => "too_many",
            Self::NoRoom => "no_room",
            Self::Forgotten(_) => "forgotten",
            Self::Unevaluable(_) => "unevaluable",
            Self::MarkIsThere => "mark_is_there",
            Self::DecidedByNow => "decided_by_now",
            Self::NotActive => "not_active",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::NoSchedule => "no such schedule",
            Self::Gone => "its schedule was removed",
            Self::NotFired => "it has not fired",
            Self::Ahead => "that instant is still to come",
            Self::DueByItself => "it is not decided yet and is due by itself",
            Self::EmptyRange => "the range must end after it begins",
            Self::NothingDecided(mark) => {
                let mark = instant_text(*mark);
                return write!(
                    out,
                    "nothing after the beginning of the range is decided yet, the mark is {mark}"
                );
            }
            Self::TooMany(most) => {
                return write!(out, "the range has more than {most} instants: take a shorter one");
            }
            Self::NoRoom => "at least one firing must be allowed to be live",
            Self::Forgotten(since) => {
                let since = instant_text(*since);
                return write!(out, "what fired before {since} is not known any more: begin the range there");
            }
            Self::Unevaluable(why) => why,
            Self::MarkIsThere => "the mark is there already",
            Self::DecidedByNow => {
                "everything up to now is decided under the catch-up rule: only to a later instant can be skipped"
            }
            Self::NotActive => {
                "only an active schedule can skip ahead: while it is not active nothing is decided, and its resume decides where it goes on"
            }
        };
        out.write_str(words)
    }
}

impl std::error::Error for Refusal {}
