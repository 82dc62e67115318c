//! The facts of the ledger: what `apply` decided, immutable, the same on every replica.
//!
//! Facts are past. A change of any type in it is a new level of [`crate::format`]; new variants go at the end.

mod end;
mod reason;
mod subject;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attempt::{Lease, Report};
use crate::backfill::{BackfillPlan, BackfillState};
use crate::calendar::Calendar;
use crate::definition::{Definition, ScheduleName};
use crate::firing::{FiringId, Kind};
use crate::format::FormatLevel;
use crate::id::{AttemptNumber, BackfillId, Epoch, LogIndex, NodeId, Revision, Term, Uid};
use crate::queue::QueueSettings;
use crate::schedule::State;
use crate::time::{Span, Timestamp};

pub use end::LedgerEnd;
pub use reason::{DropReason, Outcome, SkipReason};

/// One row of the ledger; its key (log index, n) stands beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The log's time.
    pub at: Timestamp,
    /// The fact.
    pub event: Event,
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A leader took office; rows after it, up to the next such row, were proposed by it.
    LeaderEpoch {
        /// Its right.
        epoch: Epoch,
        /// Who.
        node: NodeId,
        /// The start of its process.
        incarnation: u64,
        /// Its Raft term.
        term: Term,
        /// The end of its ledger when it took office: what every replica compared its own with.
        ledger: Option<LedgerEnd>,
    },
    /// A firing was decided.
    Fired {
        /// Which.
        firing: FiringId,
        /// By which revision.
        revision: Revision,
        /// Why.
        kind: Kind,
    },
    /// A run of nominal instants was decided not to fire.
    Skipped {
        /// Of which schedule.
        uid: Uid,
        /// By which revision.
        revision: Revision,
        /// Why.
        reason: SkipReason,
        /// The first.
        from: Timestamp,
        /// The last.
        to: Timestamp,
        /// How many.
        count: u64,
    },
    /// An attempt got its lease: from here on its holder may send.
    Begun {
        /// Of which firing.
        firing: FiringId,
        /// The lease.
        lease: Lease,
    },
    /// An attempt ended.
    Settled {
        /// Of which firing.
        firing: FiringId,
        /// Which attempt.
        attempt: AttemptNumber,
        /// What its holder said; `None` when its lease ended first.
        report: Option<Report>,
        /// What follows.
        outcome: Outcome,
    },
    /// A definition came into force.
    Defined {
        /// The incarnation.
        uid: Uid,
        /// Its name.
        name: ScheduleName,
        /// The revision.
        revision: Revision,
        /// The definition, whole.
        definition: Arc<Definition>,
        /// Everything up to here is decided, or is not looked at: its search starts after this instant.
        mark: Timestamp,
        /// Who.
        by: Box<str>,
    },
    /// A schedule was removed.
    Deleted {
        /// Which.
        uid: Uid,
        /// Who.
        by: Box<str>,
    },
    /// A schedule was paused.
    Paused {
        /// Which.
        uid: Uid,
        /// Why.
        note: Box<str>,
        /// Until when.
        until: Option<Timestamp>,
        /// Who; `campanile` for a rule.
        by: Box<str>,
    },
    /// A schedule was resumed.
    Resumed {
        /// Which.
        uid: Uid,
        /// Its search starts after this instant.
        mark: Timestamp,
        /// Who; `campanile` for `until`.
        by: Box<str>,
    },
    /// A schedule could not be evaluated.
    Parked {
        /// Which.
        uid: Uid,
        /// Why.
        reason: Box<str>,
    },
    /// Nothing more can come of a schedule.
    Finished {
        /// Which.
        uid: Uid,
    },
    /// A node was given an id.
    NodeAdmitted {
        /// The id.
        node: NodeId,
        /// Where its peers reach it.
        peer_address: Box<str>,
    },
    /// A user skipped ahead.
    MarkSet {
        /// Which schedule.
        uid: Uid,
        /// Everything up to here is decided.
        to: Timestamp,
        /// Who.
        by: Box<str>,
    },
    /// The holder of a firing was asked to stop.
    StopAsked {
        /// Which.
        firing: FiringId,
    },
    /// A user stopped a firing, or a newer one took its place (`campanile`).
    Cancelled {
        /// Which.
        firing: FiringId,
        /// Who.
        by: Box<str>,
    },
    /// A backfill began.
    BackfillCreated {
        /// Which.
        id: BackfillId,
        /// Of which schedule.
        uid: Uid,
        /// How.
        plan: BackfillPlan,
        /// How many nominal instants the range has.
        instants: u64,
        /// Who.
        by: Box<str>,
    },
    /// A backfill has gone through its range, or was ended.
    BackfillEnded {
        /// Which.
        id: BackfillId,
        /// How, and what came of it.
        state: BackfillState,
        /// How many firings it has made.
        fired: u64,
    },
    /// A calendar holds this from here on.
    CalendarPut {
        /// Its name.
        name: Box<str>,
        /// What it holds.
        calendar: Arc<Calendar>,
        /// Who.
        by: Box<str>,
    },
    /// A calendar was removed.
    CalendarDeleted {
        /// Its name.
        name: Box<str>,
        /// Who.
        by: Box<str>,
    },
    /// The leader plans with another version of the time-zone data from here on.
    ZonesUsed {
        /// The version.
        version: Box<str>,
    },
    /// The next instant of a schedule is another one, since calendars or zones changed.
    NextMoved {
        /// Which schedule.
        uid: Uid,
        /// The one before; `None` for none.
        from: Option<Timestamp>,
        /// The one now.
        to: Option<Timestamp>,
    },
    /// A queue has these settings from here on.
    QueuePut {
        /// Its name.
        name: Arc<str>,
        /// Its limits.
        settings: QueueSettings,
        /// Who.
        by: Box<str>,
    },
    /// A queue has the default settings again.
    QueueDeleted {
        /// Its name.
        name: Arc<str>,
        /// Who.
        by: Box<str>,
    },
    /// Nothing more of a queue is leased.
    QueuePaused {
        /// Its name.
        name: Arc<str>,
        /// Why.
        note: Box<str>,
        /// Who.
        by: Box<str>,
    },
    /// A queue is leased of again.
    QueueResumed {
        /// Its name.
        name: Arc<str>,
        /// Who.
        by: Box<str>,
    },
    /// A secret was created or replaced.
    SecretPut {
        /// Its name; its text stands nowhere.
        name: Arc<str>,
        /// Until when the one before signs beside it.
        previous_until: Option<Timestamp>,
        /// Who.
        by: Box<str>,
    },
    /// A secret was removed.
    SecretDeleted {
        /// Its name.
        name: Arc<str>,
        /// Who.
        by: Box<str>,
    },
    /// What was to follow the end of a firing does not.
    ChainDropped {
        /// The firing that ended.
        cause: FiringId,
        /// The schedule that was to be triggered; none for a notice.
        to: Option<ScheduleName>,
        /// Why.
        reason: DropReason,
    },
    /// A dead letter was put aside.
    LetterDiscarded {
        /// Its firing.
        firing: FiringId,
        /// Who.
        by: Box<str>,
    },
    /// No leader was in office for more than [`MIN_OUTAGE`]. Told when the next one takes office.
    Outage {
        /// Since when, as far as the next leader knows: no later than this was there none.
        from: Timestamp,
        /// When the next one took office.
        to: Timestamp,
    },
    /// The leader's ledger ended so; every replica compared its own with it.
    LedgerChecked {
        /// The end.
        end: LedgerEnd,
    },
    /// What stands is told again from here on, so that older rows may be dropped. Rows of [`Event::Standing`] and
    /// [`Event::CalendarStanding`] follow, over several entries, up to [`Event::Restated`].
    Restating {
        /// The leader in office.
        epoch: Epoch,
        /// The version of the time-zone data that it plans with.
        zones: Box<str>,
    },
    /// A schedule as it stands, told again.
    Standing {
        /// Which.
        uid: Uid,
        /// Its name.
        name: ScheduleName,
        /// Its revision.
        revision: Revision,
        /// Its definition, whole.
        definition: Arc<Definition>,
        /// Everything up to here is decided.
        mark: Timestamp,
        /// Whether its instants are decided.
        state: State,
        /// How many of its instants have fired.
        fired: u64,
        /// Who changed it last.
        by: Box<str>,
    },
    /// A calendar as it stands, told again.
    CalendarStanding {
        /// Its name.
        name: Box<str>,
        /// What it holds.
        calendar: Arc<Calendar>,
        /// What it held before, and the last instant for which that counts; the newest last.
        before: Vec<(Arc<Calendar>, Timestamp)>,
    },
    /// Everything that stands has been told again since this entry: nothing before it is needed to understand what is
    /// behind it.
    Restated {
        /// The entry of the [`Event::Restating`].
        from: LogIndex,
    },
    /// The voters and learners of the cluster changed.
    MembersChanged {
        /// Those whose majority commits.
        voters: Vec<NodeId>,
        /// Those that only follow.
        learners: Vec<NodeId>,
    },
    /// Retention: rows of earlier entries are dropped.
    LedgerDropped {
        /// The first entry that is kept.
        before: LogIndex,
    },
    /// Everything behind this entry is written at this level; its own rows still at the one before.
    FormatLevelSet {
        /// The level before.
        from: FormatLevel,
        /// The level from here on.
        level: FormatLevel,
    },
}

/// A gap between leaders that is told: longer than a failover takes.
pub const MIN_OUTAGE: Span = Span::from_secs(1);
