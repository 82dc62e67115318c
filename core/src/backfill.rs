//! A backfill: a range of nominal instants of one schedule that is gone through again, as an object with progress.
//!
//! Data only; what it fires is planned by `plan::backfill` and decided by `machine::backfill`. It is part of the replicated
//! state, so a failover goes on where it stood.

use serde::{Deserialize, Serialize};

use crate::definition::{Overlap, ScheduleName};
use crate::id::{BackfillId, Uid};
use crate::time::{Span, Timestamp};

/// The most backfills that run at once.
pub const MAX_RUNNING: usize = 1_000;
/// How many that have ended are kept to be looked at.
pub const KEPT_ENDED: usize = 1_000;
/// The most nominal instants in the range of one.
pub const MAX_INSTANTS: u64 = 1_000_000;
/// The most instants that one step looks at, so that it is planned in no time.
pub const INSTANTS_PER_STEP: usize = 500;
/// The most firings that one step makes, so that its entry stays small.
pub const FIRES_PER_STEP: usize = 100;

/// How a backfill goes about its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackfillPlan {
    /// The range begins after this instant.
    pub after: Timestamp,
    /// The last instant of the range; neither later than the mark nor than the creation of the backfill.
    pub until: Timestamp,
    /// Fire again what has fired.
    pub again: bool,
    /// What becomes of an instant while another firing of the schedule runs.
    pub overlap: Overlap,
    /// The least distance between two firings; zero for as fast as they are committed.
    pub pace: Span,
    /// The most firings of it that are live at once.
    pub max_live: u32,
}

/// How a backfill stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackfillState {
    /// It has instants to go through.
    Running,
    /// It has gone through its range.
    Completed,
    /// A user ended it, or its schedule was removed.
    Cancelled,
    /// It could not go on.
    Failed(Box<str>),
}

/// One backfill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backfill {
    /// Its identity.
    pub id: BackfillId,
    /// The incarnation whose instants it fires.
    pub uid: Uid,
    /// The name of that schedule.
    pub name: ScheduleName,
    /// How.
    pub plan: BackfillPlan,
    /// How many nominal instants the range has.
    pub instants: u64,
    /// How it stands.
    pub state: BackfillState,
    /// Everything up to here is done.
    pub position: Timestamp,
    /// When the next instants may be fired; meaningless once it has ended.
    pub next_at: Timestamp,
    /// How many firings it has made.
    pub fired: u64,
    /// How many instants it passed over, since they had fired.
    pub passed: u64,
    /// How many its overlap rule skipped. They make no row of the ledger: they were decided before.
    pub skipped: u64,
    /// How many of its firings have settled well.
    pub succeeded: u64,
    /// How many of its firings have settled otherwise.
    pub failed: u64,
    /// How many of its firings are not settled.
    pub live: u32,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Who created it.
    pub by: Box<str>,
}

impl Backfill {
    /// Whether it has instants to go through.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.state == BackfillState::Running
    }

    /// Whether it may fire more now: it runs, and not too many of its firings are under way.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.is_running() && self.live < self.plan.max_live
    }
}
