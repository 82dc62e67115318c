//! Backfills: their beginning, their steps, and their end before time.

use serde::{Deserialize, Serialize};

use super::{Request, Seen};
use crate::backfill::BackfillPlan;
use crate::definition::ScheduleName;
use crate::id::{BackfillId, LogIndex, Revision, Run};
use crate::time::Timestamp;

/// Begin to fire the nominal instants of `(after, until]` again, or those of them that have not fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateBackfill {
    /// The schedule's name.
    pub name: ScheduleName,
    /// What the proposer saw under that name.
    pub seen: Option<Seen>,
    /// How.
    pub plan: BackfillPlan,
    /// How many nominal instants the range has.
    pub instants: u64,
    /// Who asks.
    pub request: Request,
}

/// The next instants of a backfill, as the proposer read in definitions and ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepBackfill {
    /// Which.
    pub id: BackfillId,
    /// Where it stood when this was planned; another place makes this stale.
    pub after: Timestamp,
    /// The revision that was planned with.
    pub revision: Revision,
    /// The last change of the calendars that it was planned with.
    pub rules_at: LogIndex,
    /// How many firings of the schedule had been made below the mark when the proposer read the ledger.
    pub refired: u64,
    /// The instants that fire, in order, each with a run that no firing of it has had.
    pub fire: Vec<(Timestamp, Run)>,
    /// How many instants up to `to` are passed over, since they have fired.
    pub passed: u64,
    /// Everything up to here is done.
    pub to: Timestamp,
    /// Nothing is left after that.
    pub done: bool,
    /// It cannot go on, for this reason.
    pub failure: Option<Box<str>>,
}

/// End a backfill before its time. What it has fired goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelBackfill {
    /// Which.
    pub id: BackfillId,
    /// Who asks.
    pub request: Request,
}
