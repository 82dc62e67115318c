//! A schedule as the machine keeps it: its definition, its mark, and what its last firings came to.
//!
//! It decides nothing; the rules are in [`crate::machine`].

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::command::Seen;
use crate::definition::{Definition, ScheduleName};
use crate::firing::EndState;
use crate::id::{LogIndex, Revision, Run, Uid};
use crate::time::{Span, Timestamp};

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
    /// The nominal of the last manual firing: the next one is later, so that two of one moment are told apart.
    pub triggered_at: Timestamp,
    /// Failed firings since the last success.
    pub consecutive_failures: u32,
    /// The newest last; shared, since a tick copies the schedule but not its past.
    pub outcomes: Option<Arc<VecDeque<PastFiring>>>,
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

/// What one firing came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastFiring {
    /// The nominal of the firing.
    pub nominal: Timestamp,
    /// Its run.
    pub run: Run,
    /// How it ended.
    pub state: EndState,
    /// How many attempts it took.
    pub attempts: u32,
    /// From its nominal instant to its decision.
    pub lateness: Span,
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
        let outcomes = Arc::make_mut(self.outcomes.get_or_insert_default());
        if outcomes.len() == KEPT_OUTCOMES {
            outcomes.pop_front();
        }
        outcomes.push_back(outcome);
    }

    /// The last outcomes, the newest first.
    pub fn newest_outcomes(&self) -> impl Iterator<Item = &PastFiring> {
        self.outcomes.iter().flat_map(|outcomes| outcomes.iter().rev())
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
