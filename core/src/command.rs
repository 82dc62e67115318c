//! The vocabulary of the log: everything that can change the machine, as data with no question left in it.
//!
//! Whatever two replicas could answer differently (now, zones, ids, randomness) was answered by the proposer and is a
//! number here. Nothing here decides; [`crate::machine`] does. The layout is schema [`SCHEMA`]: a change of any type in it
//! is a new schema, new variants go at the end, and the golden bytes in `storage` and `raft` hold it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attempt::Report;
use crate::backfill::BackfillPlan;
use crate::calendar::Calendar;
use crate::definition::{Definition, Overlap, ScheduleName};
use crate::event::SkipReason;
use crate::firing::{FiringId, Kind};
use crate::id::{AttemptNumber, BackfillId, Epoch, LogIndex, NodeId, Revision, Run, Term, Uid};
use crate::reply::Fingerprint;
use crate::time::{Span, Timestamp};

/// The version of this vocabulary on disk and wire.
pub const SCHEMA: u16 = 2;

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
    /// Give leases on attempts.
    Begin(Begin),
    /// Report what became of attempts.
    Settle(Settle),
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
}

impl Tick {
    /// Whether it decides nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.on_time.is_empty()
            && self.decisions.is_empty()
            && self.lease_ends.is_empty()
            && self.pause_ends.is_empty()
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

/// Leases on attempts, for one holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Who will do them.
    pub holder: NodeId,
    /// At most [`crate::id::PLACES_PER_ENTRY`].
    pub items: Vec<BeginItem>,
}

/// A lease on one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginItem {
    /// Of which firing.
    pub firing: FiringId,
    /// Which attempt: one more than the last.
    pub attempt: AttemptNumber,
    /// When the lease ends.
    pub until: Timestamp,
}

/// Reports on attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settle {
    /// In the order in which they came.
    pub items: Vec<SettleItem>,
}

/// A report on one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettleItem {
    /// Of which firing.
    pub firing: FiringId,
    /// Which attempt; refused unless it is the one that runs.
    pub attempt: AttemptNumber,
    /// What came of it.
    pub report: Report,
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

/// Skip ahead: everything up to `to` is decided, skipped. (Going back is a [`CreateBackfill`]: a mark never retreats.)
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

/// Create or replace a calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutCalendar {
    /// Its name: one segment like those of schedules.
    pub name: Box<str>,
    /// What it holds.
    pub calendar: Arc<Calendar>,
    /// What must be so.
    pub condition: Condition,
    /// Who asks.
    pub request: Request,
}

/// Remove a calendar; refused while a schedule names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteCalendar {
    /// Its name.
    pub name: Box<str>,
    /// What must be so.
    pub condition: Condition,
    /// Who asks.
    pub request: Request,
}

/// The leader plans with this version of the time-zone data; from here on schedules are looked at again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseZones {
    /// Such as `2026b`.
    pub version: Box<str>,
}

/// Schedules whose next instant is another one now. It corrects when they are looked at; what is decided, is decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refresh {
    /// Where the look began; another place makes this stale.
    pub after: Option<Uid>,
    /// The last change of calendars and zones that was planned with.
    pub rules_at: LogIndex,
    /// Those that moved.
    pub moved: Vec<Moved>,
    /// Everything up to here has been looked at; `None` when all have.
    pub to: Option<Uid>,
}

/// A schedule whose next instant is another one now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Which.
    pub uid: Uid,
    /// The revision that was planned with.
    pub revision: Revision,
    /// The mark that was planned from.
    pub after: Timestamp,
    /// The next instant.
    pub next_at: Option<Timestamp>,
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
