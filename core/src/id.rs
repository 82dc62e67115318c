//! The numbers by which things are known: one newtype each, so that a term is never taken for an index.
//!
//! None of them is drawn at random: each is derived from a place in the log, so every replica makes the same.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        pub struct $name(pub $inner);

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "{}", self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "{}", self.0)
            }
        }
    };
}

number! {
    /// A place in the replicated log; the first entry is 1, zero means "before everything".
    LogIndex(u64)
}
number! {
    /// A Raft term.
    Term(u64)
}
number! {
    /// A node of the cluster. Never given twice: a node whose disk is empty gets a new one.
    NodeId(u64)
}
number! {
    /// The log index of the `LeaderEpoch` entry with which a leader took office: its right to propose. Zero before the
    /// first leader.
    Epoch(u64)
}
number! {
    /// One incarnation of a schedule: the log index of the command that created it, see [`Uid::of`].
    Uid(u64)
}
number! {
    /// A backfill: the log index of the command that created it.
    BackfillId(u64)
}
number! {
    /// Grows by one each time the definition of a schedule changes; the first is 1.
    Revision(u32)
}
number! {
    /// Zero for the decision of the plan; counts up only when somebody asks for a re-run of the same nominal.
    Run(u32)
}
number! {
    /// The number of one try to deliver a firing; the first is 1, zero means that none has begun.
    AttemptNumber(u32)
}
number! {
    /// A number that only grows per schedule name: the index of the Begin × 4096 + its place in that entry. Below 2^53,
    /// so that JSON readers keep it exactly. A receiver refuses an older one.
    FencingToken(u64)
}

/// How many schedules one entry may create.
pub const CREATES_PER_ENTRY: usize = 4096;

impl Uid {
    /// The uid of the schedule that is created at `place` of the entry at `index`. Below 2^53, so that JSON readers keep it.
    ///
    /// # Panics
    /// When `place` does not fit: the proposer bounds it, so this is a defect.
    #[must_use]
    pub fn of(index: LogIndex, place: usize) -> Self {
        assert!(place < CREATES_PER_ENTRY, "an entry creates at most {CREATES_PER_ENTRY} schedules");
        Self((place as u64) << 40 | index.0)
    }
}

/// How many Begins fit into one log entry: the room that a [`FencingToken`] leaves for the place in its entry.
pub const PLACES_PER_ENTRY: usize = 4096;

impl FencingToken {
    /// The token of the Begin at `place` of the entry at `index`.
    ///
    /// # Panics
    /// When `place` does not fit: the command's decoder bounds it, so this is a defect.
    #[must_use]
    pub fn of(index: LogIndex, place: usize) -> Self {
        assert!(place < PLACES_PER_ENTRY, "a Begin holds at most {PLACES_PER_ENTRY} items");
        Self(index.0 * PLACES_PER_ENTRY as u64 + place as u64)
    }

    /// The entry in which its lease was given.
    #[must_use]
    pub const fn index(self) -> LogIndex {
        LogIndex(self.0 / PLACES_PER_ENTRY as u64)
    }
}
