//! What users ask of schedules and firings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Condition, Decision, Request, Seen, Skip};
use crate::definition::{Definition, Overlap, ScheduleName};
use crate::firing::{FiringId, Kind};
use crate::id::LogIndex;
use crate::time::Timestamp;

/// Create or replace a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutSchedule {
    /// Its name.
    pub name: ScheduleName,
    /// Its definition, whole.
    pub definition: Arc<Definition>,
    /// What must be so.
    pub condition: Condition,
    /// What the proposer saw under that name.
    pub seen: Option<Seen>,
    /// What the revision before is due for, up to `at`.
    pub before: Option<Decision>,
    /// Where the search of a new schedule starts: the command's `at`, or just before a past `at` spec that the catch-up
    /// window still reaches. An edit starts at its commit, whatever stands here.
    pub since: Timestamp,
    /// The first instant of the new definition after that.
    pub next_at: Option<Timestamp>,
    /// The last change of the calendars that `next_at` was planned with.
    pub rules_at: LogIndex,
    /// Who asks.
    pub request: Request,
}

/// Remove a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteSchedule {
    /// Its name.
    pub name: ScheduleName,
    /// What must be so.
    pub condition: Condition,
    /// What the proposer saw under that name.
    pub seen: Option<Seen>,
    /// What it is due for, up to `at`.
    pub before: Option<Decision>,
    /// Who asks.
    pub request: Request,
}

/// Stop deciding the instants of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseSchedule {
    /// Its name.
    pub name: ScheduleName,
    /// What the proposer saw under that name.
    pub seen: Option<Seen>,
    /// What it is due for, up to `at`.
    pub before: Option<Decision>,
    /// Why, for people; empty for nothing.
    pub note: Box<str>,
    /// Resumes by itself then.
    pub until: Option<Timestamp>,
    /// Who asks.
    pub request: Request,
}

/// Decide the instants of a schedule again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeSchedule {
    /// Its name.
    pub name: ScheduleName,
    /// What the proposer saw under that name.
    pub seen: Option<Seen>,
    /// What becomes of the instants in the pause, and the first one after `at`.
    pub decision: Option<Decision>,
    /// Who asks.
    pub request: Request,
}

/// Fire once, now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// The schedule's name.
    pub name: ScheduleName,
    /// What the proposer saw under that name.
    pub seen: Option<Seen>,
    /// The identity that the firing gets: no instant of the schedule, so that it meets none; refused as raced unless it
    /// is later than the mark and the last trigger, so that two triggers of one moment are told apart.
    pub nominal: Timestamp,
    /// Instead of the definition's payload.
    pub payload: Option<Box<str>>,
    /// Instead of the definition's overlap policy.
    pub overlap: Option<Overlap>,
    /// Who asks.
    pub request: Request,
}

/// Put and remove a set of schedules, all or none. Each part is refused as it would be alone, and then all are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apply {
    /// What is put, each name once, at most [`crate::id::CREATES_PER_ENTRY`].
    pub puts: Vec<PutSchedule>,
    /// What is removed, none of the names above.
    pub prunes: Vec<DeleteSchedule>,
    /// Who asks.
    pub request: Request,
}

/// Skip ahead: everything up to `to` is decided, skipped. (Going back is a [`super::CreateBackfill`]: a mark never retreats.)
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetMark {
    /// The schedule's name.
    pub name: ScheduleName,
    /// What the proposer saw under that name.
    pub seen: Option<Seen>,
    /// What it is due for up to `at`, for an active schedule.
    pub before: Option<Decision>,
    /// The mark after this; later than the one before.
    pub to: Timestamp,
    /// The instants that are skipped by it, if there are any.
    pub skip: Option<Skip>,
    /// The first instant after `to`.
    pub next_at: Option<Timestamp>,
    /// Who asks.
    pub request: Request,
}

/// Fire a nominal instant once more, or, with a run of zero, one that has not fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rerun {
    /// The identity of the new firing: a run that no firing of this nominal has had, as the proposer read in the ledger.
    pub firing: FiringId,
    /// Why it exists: [`Kind::Rerun`], or [`Kind::Manual`] for a trigger that names its nominal.
    pub kind: Kind,
    /// How many firings of this schedule had been made below the mark when the proposer read the ledger; another number
    /// makes this raced.
    pub refired: u64,
    /// Instead of the definition's payload.
    pub payload: Option<Box<str>>,
    /// Instead of the definition's overlap policy.
    pub overlap: Option<Overlap>,
    /// Who asks.
    pub request: Request,
}

/// Stop a firing: it is settled as cancelled at once, and what its holder says of it later is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelFiring {
    /// Which.
    pub firing: FiringId,
    /// Who asks.
    pub request: Request,
}
