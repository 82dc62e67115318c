//! A schedule as the machine keeps it: its definition, its mark, and what its last firings came to.
//!
//! It decides nothing; the rules are in [`crate::machine`].

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::definition::{Definition, ScheduleName};
use crate::firing::{EndState, FiringId};
use crate::id::{LogIndex, Revision, Uid};
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
    pub updated_by: Box<str>,
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
    /// Counts the manual firings: two triggers of the same moment are told apart by it.
    pub triggered: u32,
    /// Failed firings since the last success.
    pub consecutive_failures: u32,
    /// The newest last.
    pub outcomes: VecDeque<Outcome>,
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
pub struct Outcome {
    /// The firing.
    pub firing: FiringId,
    /// How it ended.
    pub state: EndState,
    /// How many attempts it took.
    pub attempts: u32,
    /// From its nominal instant to its decision.
    pub lateness: Span,
}

impl Schedule {
    /// Remembers what a firing came to, and counts failures in a row.
    pub(crate) fn remember(&mut self, outcome: Outcome) {
        self.consecutive_failures = match outcome.state {
            EndState::Succeeded => 0,
            EndState::Cancelled => self.consecutive_failures,
            EndState::Failed | EndState::TimedOut | EndState::Unknown => self.consecutive_failures.saturating_add(1),
        };
        if self.outcomes.len() == KEPT_OUTCOMES {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back(outcome);
    }

    /// Whether its instants are decided.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }
}
