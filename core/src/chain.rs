//! What is to follow the end of a firing and has not been decided yet: another schedule's firing, or a notice to another
//! target.
//!
//! The end of a firing cannot fire anything at once: which identity is free is a question of the other schedule's specs,
//! and those are evaluated by the proposer only. So what is to follow is state, and the next Tick decides it: it
//! survives any failover, and happens once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::definition::{Definition, ScheduleName};
use crate::firing::Cause;
use crate::id::{LogIndex, Revision, Uid};

/// How many schedules are looked at when a chain is searched for a cycle; a longer one is refused.
pub const MAX_CHAIN: usize = 1_000;

/// Which: the place in the log where the firing ended, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChainId {
    /// The entry.
    pub index: LogIndex,
    /// Counts those of one entry.
    pub place: u32,
}

/// One firing that is to follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// Which.
    pub id: ChainId,
    /// The schedule whose firing ended.
    pub from: Uid,
    /// How that ended.
    pub cause: Arc<Cause>,
    /// What follows.
    pub next: Next,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Next {
    /// That schedule is triggered.
    Trigger(ScheduleName),
    /// Another target is told: the definition of the notice, made from that of the firing that ended.
    Notify {
        /// Its target, payload and policy.
        definition: Arc<Definition>,
        /// The revision that asked for it.
        revision: Revision,
    },
}
