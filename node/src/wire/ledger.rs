//! The rows of the ledger as JSON: a fact each, in the words of the contract.

mod part;
mod tell;
mod word;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use part::hex;
pub use part::{End, FiringRef, QueueRate};

use super::definition::Definition;
use super::firing::Holder;
use super::time::Instant;

/// A fact, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Row {
    /// `index.n`: the log entry, and the place in it.
    pub position: String,
    /// The log's time.
    pub at: Instant,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
    /// The running hash over every row up to this one, 32 hexadecimal digits: equal on every node.
    pub hash: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Fact {
    /// A leader took office; rows from here to the next such row were proposed by it.
    LeaderEpoch {
        /// Its right: the index of this entry.
        epoch: u64,
        /// Who.
        node: u64,
        /// Counts the starts of its process.
        incarnation: u64,
        /// Its Raft term.
        term: u64,
        /// The end of its ledger when it took office: what every replica compared its own with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ledger: Option<End>,
    },
    /// A firing was decided.
    Fired {
        /// Which.
        #[serde(flatten)]
        firing: FiringRef,
        /// By which revision.
        revision: u32,
        /// `scheduled`, `catch_up`, `manual`, `backfill`, `rerun`, `chained` or `notice`.
        kind: String,
        /// The firing whose end made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
    /// A run of nominal instants was decided not to fire.
    Skipped {
        /// Of which schedule.
        uid: String,
        /// By which revision.
        revision: u32,
        /// Why.
        reason: String,
        /// The first.
        from: Instant,
        /// The last.
        to: Instant,
        /// How many.
        count: u64,
    },
    /// An attempt got its lease.
    Begun {
        /// Of which firing.
        #[serde(flatten)]
        firing: FiringRef,
        /// Which.
        attempt: u32,
        /// Who may work on it.
        holder: Holder,
        /// Until when.
        until: Instant,
        /// What the receiver compares.
        fencing_token: u64,
    },
    /// An attempt ended.
    Settled {
        /// Of which firing.
        #[serde(flatten)]
        firing: FiringRef,
        /// Which.
        attempt: u32,
        /// What came of the attempt.
        outcome: String,
        /// When the request left, by the holder's clock.
        sent_at: Option<Instant>,
        /// The status of the receiver's answer.
        status: Option<u16>,
        /// What went wrong.
        error: Option<String>,
        /// The end of what the receiver answered.
        output: Option<String>,
        /// When the next attempt may begin; `null` when the firing is settled.
        retry_at: Option<Instant>,
        /// How the firing ended; `null` when another attempt follows.
        state: Option<String>,
        /// From nominal to the decision, when the firing is settled.
        lateness_ms: Option<u64>,
    },
    /// A definition came into force.
    Defined {
        /// The incarnation.
        uid: String,
        /// `namespace/name`.
        schedule: String,
        /// The revision.
        revision: u32,
        /// The definition, whole.
        definition: Box<Definition>,
        /// Everything up to here is decided, or is not looked at: its search starts after this instant.
        mark: Instant,
        /// Who.
        by: String,
    },
    /// A schedule was removed.
    Deleted {
        /// Which.
        uid: String,
        /// Who.
        by: String,
    },
    /// A schedule was paused.
    Paused {
        /// Which.
        uid: String,
        /// Why.
        note: String,
        /// Until when.
        until: Option<Instant>,
        /// Who; `campanile` for a rule.
        by: String,
    },
    /// A schedule was resumed.
    Resumed {
        /// Which.
        uid: String,
        /// Its search starts after this instant.
        mark: Instant,
        /// Who; `campanile` for `until`.
        by: String,
    },
    /// A schedule could not be evaluated.
    Parked {
        /// Which.
        uid: String,
        /// Why.
        reason: String,
    },
    /// Nothing more can come of a schedule.
    Finished {
        /// Which.
        uid: String,
    },
    /// A node was given an id.
    NodeAdmitted {
        /// The id.
        node: u64,
        /// Where its peers reach it.
        peer_address: String,
    },
    /// A user skipped ahead.
    MarkSet {
        /// Which schedule.
        uid: String,
        /// Everything up to here is decided.
        to: Instant,
        /// Who.
        by: String,
    },
    /// The holder of a firing was asked to stop, so that a newer one can start.
    StopAsked {
        /// Which.
        #[serde(flatten)]
        firing: FiringRef,
    },
    /// A firing was stopped.
    Cancelled {
        /// Which.
        #[serde(flatten)]
        firing: FiringRef,
        /// Who; `campanile` when a newer one took its place.
        by: String,
    },
    /// A backfill began.
    BackfillCreated {
        /// Which.
        backfill: String,
        /// Of which schedule.
        uid: String,
        /// Its range begins after this instant.
        after: Instant,
        /// The last instant of its range.
        until: Instant,
        /// Whether it fires again what has fired.
        again: bool,
        /// How many nominal instants the range has.
        instants: u64,
        /// Who.
        by: String,
    },
    /// A backfill has gone through its range, or was ended.
    BackfillEnded {
        /// Which.
        backfill: String,
        /// `completed`, `cancelled` or `failed`.
        state: String,
        /// Why it failed.
        reason: Option<String>,
        /// How many firings it has made.
        fired: u64,
    },
    /// A calendar holds this from here on.
    CalendarPut {
        /// Its name.
        name: String,
        /// How many dates.
        dates: usize,
        /// How many spans of time.
        spans: usize,
        /// Who.
        by: String,
    },
    /// A calendar was removed.
    CalendarDeleted {
        /// Its name.
        name: String,
        /// Who.
        by: String,
    },
    /// The leader plans with another version of the time-zone data from here on.
    ZonesUsed {
        /// The version.
        version: String,
    },
    /// The next instant of a schedule is another one, since calendars or zones changed.
    NextMoved {
        /// Which schedule.
        uid: String,
        /// The one before.
        from: Option<Instant>,
        /// The one now.
        to: Option<Instant>,
    },
    /// A queue has these settings from here on.
    QueuePut {
        /// Its name.
        name: String,
        /// At most so many firings of it are leased at once.
        max_in_flight: Option<u32>,
        /// At most so many of those with the same concurrency key.
        max_in_flight_per_key: u32,
        /// How fast leases are given.
        rate: Option<QueueRate>,
        /// Who.
        by: String,
    },
    /// A queue has the default settings again.
    QueueDeleted {
        /// Its name.
        name: String,
        /// Who.
        by: String,
    },
    /// Nothing more of a queue is leased.
    QueuePaused {
        /// Its name.
        name: String,
        /// Why.
        note: String,
        /// Who.
        by: String,
    },
    /// A queue is leased of again.
    QueueResumed {
        /// Its name.
        name: String,
        /// Who.
        by: String,
    },
    /// A secret was created or replaced; its text stands nowhere.
    SecretPut {
        /// Its name.
        name: String,
        /// Until when the one before signs beside it.
        previous_until: Option<Instant>,
        /// Who.
        by: String,
    },
    /// A secret was removed.
    SecretDeleted {
        /// Its name.
        name: String,
        /// Who.
        by: String,
    },
    /// What was to follow the end of a firing does not.
    ChainDropped {
        /// The firing that ended.
        #[serde(flatten)]
        firing: FiringRef,
        /// The schedule that was to be triggered; `null` for a notice.
        to: Option<String>,
        /// `no_schedule`, `paused`, `parked` or `overlap`.
        reason: String,
    },
    /// A dead letter was put aside.
    LetterDiscarded {
        /// Its firing.
        #[serde(flatten)]
        firing: FiringRef,
        /// Who.
        by: String,
    },
    /// No leader was in office for more than a second.
    Outage {
        /// Since when, as far as the next leader knew.
        from: Instant,
        /// When the next one took office.
        to: Instant,
    },
    /// The leader's ledger ended so; every replica compared its own with it.
    LedgerChecked {
        /// The end.
        end: End,
    },
    /// What stands is told again from here on, so that older rows can be dropped.
    Restating {
        /// The leader in office.
        epoch: u64,
        /// The version of the time-zone data that it plans with.
        zones: String,
    },
    /// A schedule as it stands, told again.
    Standing {
        /// The incarnation.
        uid: String,
        /// `namespace/name`.
        schedule: String,
        /// Its revision.
        revision: u32,
        /// Its definition, whole.
        definition: Box<Definition>,
        /// Everything up to here is decided.
        mark: Instant,
        /// `active`, `paused`, `parked` or `finished`.
        state: String,
        /// How many of its instants have fired.
        fired: u64,
        /// Who changed it last.
        by: String,
    },
    /// A calendar as it stands, told again.
    CalendarStanding {
        /// Its name.
        calendar: String,
        /// How many versions before this one still count for instants that are not decided.
        versions_before: usize,
    },
    /// Everything that stands has been told again since an entry.
    Restated {
        /// The entry of the `restating`.
        from: u64,
    },
    /// The voters and learners of the cluster changed.
    MembersChanged {
        /// Those whose majority commits.
        voters: Vec<u64>,
        /// Those that only follow.
        learners: Vec<u64>,
    },
    /// Retention: rows of earlier entries are dropped.
    LedgerDropped {
        /// The first entry that is kept.
        before: u64,
    },
    /// Every member reads this format level: what follows is written at it.
    FormatLevelSet {
        /// The level before.
        from: u16,
        /// The level from here on.
        level: u16,
    },
}
