//! A schedule as the machine keeps it: its definition, its mark, and what its last firings came to.
//!
//! It decides nothing; the rules are in [`crate::machine`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::command::Seen;
use crate::definition::{Definition, ScheduleName};
use crate::firing::EndState;
use crate::id::{LogIndex, Revision, Run, Uid};
use crate::time::Timestamp;

/// How many outcomes a schedule keeps beside it; older ones are in the ledger.
pub const KEPT_OUTCOMES: usize = 20;

/// One incarnation of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its identity.
    pub uid: Uid,
    /// Its name while it exists.
    pub name: ScheduleName,
    /// Grows with each change of the definition.
    pub revision: Revision,
    /// The definition in force.
    pub definition: Arc<Definition>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its definition or its state was last changed by a user.
    pub updated_at: Timestamp,
    /// Where in the log that was; the entity tag.
    pub updated_index: LogIndex,
    /// Who did it.
    pub updated_by: Arc<str>,
    /// Whether instants are decided.
    pub state: State,
    /// The last nominal instant that has been decided. Only moves forward.
    pub mark: Timestamp,
    /// When the plan must look at this schedule again; `None` when nothing more can come.
    pub next_at: Option<Timestamp>,
    /// How many of its instants have fired; skips do not count.
    pub fired: u64,
    /// How many firings are not settled yet.
    pub live: u32,
    /// How many of those wait for the ones before them (`overlap`).
    pub held: u32,
    /// How many of those that are not settled tell another target of a firing (`on_failure`, `on_success`).
    pub notices: u32,
    /// How many firings are to follow the ends of its firings and have not been decided yet.
    pub chained: u32,
    /// How many firings were made of instants below the mark: by backfills, re-runs and triggers that name their nominal.
    pub refired: u64,
    /// The nominal of the last manual firing: the next one is later, so that two of one moment are told apart.
    pub triggered_at: Timestamp,
    /// Failed firings since the last success.
    pub consecutive_failures: u32,
    /// The newest last; shared, since a tick copies the schedule but not its past.
    pub outcomes: Option<Arc<[PastFiring]>>,
}

/// Whether the instants of a schedule are decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// They are.
    Active,
    /// A user, or `pause_after_failures`, stopped it.
    Paused {
        /// Why, for people.
        note: Box<str>,
        /// Resumes by itself at this instant.
        until: Option<Timestamp>,
    },
    /// It could not be evaluated; an edit or a resume releases it.
    Parked {
        /// What went wrong.
        reason: Box<str>,
    },
    /// Nothing more can come.
    Finished,
}

/// What one firing came to; small, since every schedule keeps [`KEPT_OUTCOMES`] of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastFiring {
    /// Its nominal.
    pub nominal: Timestamp,
    /// Its run.
    pub run: Run,
    /// From its nominal instant to its decision, in milliseconds; saturates at 49 days.
    pub lateness_ms: u32,
    /// How many attempts it took; saturates.
    pub attempts: u16,
    /// How it ended.
    pub state: EndState,
}

impl Schedule {
    /// Remembers what a firing came to, and counts failures in a row.
    pub(crate) fn remember(&mut self, outcome: PastFiring) {
        self.consecutive_failures = match outcome.state {
            EndState::Succeeded => 0,
            EndState::Cancelled => self.consecutive_failures,
            EndState::Failed | EndState::TimedOut | EndState::Unknown => {
                self.consecutive_failures.saturating_add(1)
            }
        };
        let kept = self.outcomes.as_deref().unwrap_or_default();
        let first = (kept.len() + 1).saturating_sub(KEPT_OUTCOMES);
        self.outcomes = Some(kept[first..].iter().copied().chain([outcome]).collect());
    }

    /// The last outcomes, the newest first.
    pub fn newest_outcomes(&self) -> impl Iterator<Item = &PastFiring> {
        self.outcomes.iter().flat_map(|outcomes| outcomes.iter().rev())
    }

    /// A firing that no instant asks for may have any nominal later than this, up to `now`, that is no instant. Before a
    /// mark that a user set ahead of the clock nothing has been decided since then.
    #[must_use]
    pub fn free_after(&self, now: Timestamp) -> Timestamp {
        let decided = if self.mark > now { self.updated_at } else { self.mark };
        decided.max(self.triggered_at)
    }

    /// What a proposer saw of it.
    #[must_use]
    pub fn seen(&self) -> Seen {
        Seen { uid: self.uid, updated_index: self.updated_index }
    }

    /// Whether its instants are decided.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }
}
