//! What `apply` answers: the same on every replica, and what an idempotency key remembers.

use serde::{Deserialize, Serialize};

use crate::attempt::Lease;
use crate::firing::{EndState, FiringId};
use crate::id::{BackfillId, Epoch, LogIndex, NodeId, Revision, Uid};
use crate::time::Timestamp;

/// The first 16 bytes of a hash over method, path and body of a request.
pub type Fingerprint = [u8; 16];

/// The answer to one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// A leader has taken office; its epoch is the index of the entry.
    InOffice(Epoch),
    /// What came of a tick.
    Ticked(Ticked),
    /// What came of what holders said.
    Worked(Worked),
    /// What a worker got of a queue.
    Leased(Vec<Leased>),
    /// The schedule stands like this now.
    Schedule(Written),
    /// The schedule is gone; `false` when there was none.
    Deleted(bool),
    /// A trigger's firing was decided.
    Fired(FiringId),
    /// A trigger met a running firing and its schedule skips then.
    Overlapped,
    /// The new node's id.
    Admitted(NodeId),
    /// What came of each part of a set, puts first, then prunes (`Changed` for what was removed).
    Applied(Vec<Written>),
    /// A firing was stopped.
    Cancelled,
    /// A backfill was created.
    Backfill(BackfillId),
    /// A backfill went on, or ended; `false` when another command had overtaken the plan.
    Stepped(bool),
    /// The calendar stands like this now, changed last there.
    Calendar(Change, LogIndex),
    /// Schedules were looked at again; `false` when another command had overtaken the plan.
    Refreshed(bool),
    /// The queue stands like this now, changed last there.
    Queue(Change, LogIndex),
    /// The secret stands like this now, changed last there.
    Secret(Change, LogIndex),
    /// So many dead letters were put aside.
    Discarded(u32),
    /// Nothing was done, for this reason.
    Rejected(Rejection),
}

/// What came of what holders said, each in the order of the command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Worked {
    /// Of each report: the state that the firing is in after it.
    pub settled: Vec<Result<SettledNow, Refused>>,
    /// Of each extension.
    pub extended: Vec<Result<Extended, Refused>>,
    /// What each worker got.
    pub taken: Vec<Result<Vec<Leased>, Rejection>>,
    /// Of each item of each Begin.
    pub begun: Vec<Vec<Result<Lease, Refused>>>,
}

/// A firing that a worker got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leased {
    /// Which.
    pub firing: FiringId,
    /// The right to work on it.
    pub lease: Lease,
}

/// A lease that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extended {
    /// Its end.
    pub until: Timestamp,
    /// Whether its holder is asked to stop.
    pub stop: bool,
}

/// What a report made of its firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SettledNow {
    /// It is tried again, not before this.
    Retry(Timestamp),
    /// It is over.
    End(EndState),
}

/// What came of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ticked {
    /// Instants that fired.
    pub fired: u32,
    /// Instants that were skipped.
    pub skipped: u64,
    /// Decisions that another command had overtaken: they changed nothing.
    pub stale: u32,
}

/// What a write made of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The incarnation.
    pub uid: Uid,
    /// The revision in force.
    pub revision: Revision,
    /// Where it was last changed: its entity tag.
    pub updated_index: LogIndex,
    /// What the write did.
    pub change: Change,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// It was not there before.
    Created,
    /// It is different now.
    Changed,
    /// It was like that already.
    Unchanged,
}

/// Why a lease or a settlement was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refused {
    /// The firing is settled, or never was.
    NotLive,
    /// The lease was lost: it has ended, or another attempt is the current one.
    OtherAttempt,
    /// It waits for a later instant.
    NotYet(Timestamp),
    /// It waits for the firings before it.
    Held,
    /// It stands in a queue, and a node asked for it.
    InQueue,
}

/// Why a command did nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rejection {
    /// Its proposer is out of office: ask the leader of this epoch.
    StaleEpoch(Epoch),
    /// It would run the log's time back to before this.
    ClockBehind(Timestamp),
    /// The schedule changed between plan and log; plan again.
    Raced,
    /// No such schedule.
    NotFound,
    /// The schedule exists already.
    AlreadyExists,
    /// The schedule was changed since: its entity tag is this.
    VersionConflict(LogIndex),
    /// The key was used for another request.
    KeyReused,
    /// The definition breaks a bound; the edge should have refused it.
    Invalid(Box<str>),
    /// A bound of the cluster is reached.
    Limit(Box<str>),
    /// A definition names a calendar that does not exist.
    NoCalendar(Box<str>),
    /// The calendar or secret is named by so many schedules.
    InUse(u32),
    /// A definition names a secret that does not exist.
    NoSecret(Box<str>),
    /// The schedules that a definition triggers would lead back to it: these, in order.
    Cycle(Box<str>),
    /// One part of a set was refused, and so the whole set: the part's place, puts first, and why.
    Part(u32, Box<Rejection>),
}
