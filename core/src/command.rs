//! The vocabulary of the log: everything that can change the machine, as data with no question left in it.
//!
//! Whatever two replicas could answer differently (now, zones, ids, randomness) was answered by the proposer and is a
//! number here. Nothing here decides; [`crate::machine`] does. A change of any type in it is a new level of
//! [`crate::format`], new variants go at the end, and the golden bytes in `raft` hold it.

mod backfill;
mod keeping;
mod queue;
mod rules;
mod schedule;
mod work;

use serde::{Deserialize, Serialize};

use crate::chain::ChainId;
use crate::event::{LedgerEnd, SkipReason};
use crate::firing::{FiringId, Kind};
use crate::format::FormatLevel;
use crate::id::{AttemptNumber, Epoch, LogIndex, NodeId, Revision, Term, Uid};
use crate::reply::{Fingerprint, Rejection};
use crate::time::{Span, Timestamp};

pub use backfill::{CancelBackfill, CreateBackfill, StepBackfill};
pub use keeping::{DropLedger, Restate};
pub use queue::{DeleteQueue, DeleteSecret, DiscardLetters, PauseQueue, PutQueue, PutSecret, ResumeQueue};
pub use rules::{DeleteCalendar, Moved, PutCalendar, Refresh, UseZones};
pub use schedule::{
    Apply, CancelFiring, DeleteSchedule, PauseSchedule, PutSchedule, Rerun, ResumeSchedule, SetMark, Trigger,
};
pub use work::{Begin, BeginItem, Extend, SettleItem, Take, Work};

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The proposer's time: its clock, or the log's when that is later. Refused when it would run the log's time back.
    pub at: Timestamp,
    /// The proposer's right to propose; refused unless it is the one in force.
    pub epoch: Epoch,
    /// What is to be done.
    pub body: Body,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// A leader takes office: from here on its epoch is the one in force.
    LeaderEpoch(LeaderEpoch),
    /// Decide what is due.
    Tick(Tick),
    /// What the holders of leases say: they begin, take, extend and settle.
    Work(Work),
    /// Create or replace a schedule.
    PutSchedule(PutSchedule),
    /// Remove a schedule.
    DeleteSchedule(DeleteSchedule),
    /// Stop deciding the instants of a schedule.
    PauseSchedule(PauseSchedule),
    /// Decide them again.
    ResumeSchedule(ResumeSchedule),
    /// Fire once, now.
    Trigger(Trigger),
    /// Give a new node an id that was never given before.
    AdmitNode(AdmitNode),
    /// Put and remove a set of schedules, all or none.
    Apply(Apply),
    /// Skip ahead.
    SetMark(SetMark),
    /// Fire a nominal instant once more.
    Rerun(Rerun),
    /// Stop a firing.
    CancelFiring(CancelFiring),
    /// Begin to fire the instants of a range again.
    CreateBackfill(CreateBackfill),
    /// The next instants of a backfill.
    StepBackfill(StepBackfill),
    /// End a backfill before its time.
    CancelBackfill(CancelBackfill),
    /// Create or replace a calendar.
    PutCalendar(PutCalendar),
    /// Remove a calendar.
    DeleteCalendar(DeleteCalendar),
    /// The leader plans with another version of the time-zone data than its predecessor.
    UseZones(UseZones),
    /// Look again when schedules are next due, after calendars or zones changed.
    Refresh(Refresh),
    /// Give a queue settings.
    PutQueue(PutQueue),
    /// Forget the settings of a queue.
    DeleteQueue(DeleteQueue),
    /// Lease nothing more of a queue.
    PauseQueue(PauseQueue),
    /// Lease of it again.
    ResumeQueue(ResumeQueue),
    /// Create or replace a secret.
    PutSecret(PutSecret),
    /// Remove a secret.
    DeleteSecret(DeleteSecret),
    /// Put dead letters aside.
    DiscardLetters(DiscardLetters),
    /// The leader's ledger ends so: every replica compares its own.
    CheckLedger(LedgerEnd),
    /// Tell again what stands, a bounded part of it.
    Restate(Restate),
    /// Drop the oldest rows of the ledger.
    DropLedger(DropLedger),
    /// Every member reads this level: write it from here on.
    SetFormatLevel(FormatLevel),
}

/// A leader takes office.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderEpoch {
    /// Who.
    pub node: NodeId,
    /// Counts the starts of that node's process.
    pub incarnation: u64,
    /// The Raft term of its leadership.
    pub term: Term,
    /// The end of its ledger; `None` while that is empty.
    pub ledger: Option<LedgerEnd>,
    /// When it last heard of a leader, by its clock, or what the log says of that; `None` when there was none before.
    pub leaderless_since: Option<Timestamp>,
}

/// Everything that one look at the due index found, a bounded batch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tick {
    /// The last change of the calendars that it was planned with; another one makes all its instants stale.
    pub rules_at: LogIndex,
    /// The common case, small on purpose: one instant that fires in time.
    pub on_time: Vec<OnTime>,
    /// Everything else that schedules are due for.
    pub decisions: Vec<Decision>,
    /// Leases that have ended.
    pub lease_ends: Vec<(FiringId, AttemptNumber)>,
    /// Pauses whose `until` has come.
    pub pause_ends: Vec<PauseEnd>,
    /// Firings whose deadline has come before they ran.
    pub overdue: Vec<FiringId>,
    /// What follows the ends of firings.
    pub chains: Vec<FireChain>,
}

impl Tick {
    /// Whether it decides nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.on_time.is_empty()
            && self.decisions.is_empty()
            && self.lease_ends.is_empty()
            && self.pause_ends.is_empty()
            && self.overdue.is_empty()
            && self.chains.is_empty()
    }
}

/// One instant of one schedule fires in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnTime {
    /// Which schedule.
    pub uid: Uid,
    /// The revision that was planned for; another one makes this a no-op.
    pub revision: Revision,
    /// The instant, which becomes the mark.
    pub nominal: Timestamp,
    /// The instant after it; [`Timestamp::NEVER`] when there is none.
    pub next_at: Timestamp,
}

/// What becomes of the undecided instants of one schedule up to `mark`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Which schedule.
    pub uid: Uid,
    /// The revision that was planned for.
    pub revision: Revision,
    /// The mark that was planned from; another one makes this a no-op.
    pub after: Timestamp,
    /// The last change of the calendars that it was planned with; another one makes this a no-op.
    pub rules_at: LogIndex,
    /// Runs of skipped instants, in order.
    pub skips: Vec<Skip>,
    /// Instants that fire, in order.
    pub fire: Vec<Fire>,
    /// Everything up to here is decided.
    pub mark: Timestamp,
    /// The instant after the mark.
    pub next_at: Option<Timestamp>,
    /// The schedule cannot be evaluated, for this reason: nothing is decided, it is parked.
    pub park: Option<Box<str>>,
}

/// An instant that fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fire {
    /// Which.
    pub nominal: Timestamp,
    /// Why.
    pub kind: Kind,
    /// How long after its nominal it may begin (`jitter`).
    pub delay: Span,
}

/// A run of skipped instants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// Why.
    pub reason: SkipReason,
    /// The first of them.
    pub from: Timestamp,
    /// The last of them.
    pub to: Timestamp,
    /// How many.
    pub count: u64,
}

/// A pause whose `until` has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseEnd {
    /// Which schedule.
    pub uid: Uid,
    /// The `until` that was planned for.
    pub until: Timestamp,
    /// What was nominal in the pause, and the first instant after it.
    pub decision: Decision,
}

/// What follows the end of a firing is fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FireChain {
    /// Which.
    pub id: ChainId,
    /// The identity that the firing gets, as for a [`Trigger`]; none drops it, since its schedule is gone, or does not
    /// fire.
    pub nominal: Option<Timestamp>,
}

/// What the proposer saw of a schedule when it planned: another revision or state at the log position makes the command
/// a [`crate::reply::Rejection::Raced`], and the proposer plans again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The incarnation.
    pub uid: Uid,
    /// Where its definition or state was last changed.
    pub updated_index: LogIndex,
}

/// Who asks, and whether they asked before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The principal, for `updated_by`.
    pub by: Box<str>,
    /// The key under which the answer is remembered.
    pub key: Option<RequestKey>,
}

/// An idempotency key: the same key with the same fingerprint gets the first answer again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestKey {
    /// The client's text, at most 255 characters.
    pub text: Box<str>,
    /// Of method, path and body: a key used again for something else is refused.
    pub fingerprint: Fingerprint,
    /// How long the answer is remembered.
    pub keep: Span,
}

/// What must be so for a write to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// The schedule must not exist (`If-None-Match: *`).
    Absent,
    /// It must have been last changed there (`If-Match`).
    Unchanged(LogIndex),
}

impl Condition {
    /// Whether it holds for what was last changed at `tag`; none for what does not exist. The one place that says so, for
    /// schedules and calendars, in the log and before it.
    ///
    /// # Errors
    /// What the log answers when it does not hold.
    pub fn judge(self, tag: Option<LogIndex>) -> Result<(), Rejection> {
        match (self, tag) {
            (Self::Absent, Some(_)) => Err(Rejection::AlreadyExists),
            (Self::Unchanged(_), None) => Err(Rejection::NotFound),
            (Self::Unchanged(expected), Some(tag)) if tag != expected => Err(Rejection::VersionConflict(tag)),
            _ => Ok(()),
        }
    }
}

/// Give a new node an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmitNode {
    /// Where its peers reach it.
    pub peer_address: Box<str>,
    /// Where its users reach it.
    pub api_address: Box<str>,
    /// Who asks.
    pub request: Request,
}
