//! What a world has seen, for its judges: the committed log step by step, and what happened at its edges.
//!
//! ```text
//!   nodes ── committed entries ──> Step (replayed on one machine)  ┐
//!   clients, workers ── calls ──>  Call                            ├─> invariants ──> findings
//!   receivers ── requests ──>      Send                            ┘
//! ```
//! All moments are virtual milliseconds since the world began; true time is the world's, which no node has.

use std::collections::BTreeMap;

use campanile_core::command::Command;
use campanile_core::event::Row;
use campanile_core::firing::FiringId;
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use serde_json::Value;

/// Virtual milliseconds since the world began.
pub type Moment = u64;

/// One committed entry that holds a command, applied to the judge's own machine. Entries without one are passed over.
#[derive(Debug)]
pub struct Step<'a> {
    /// Its index,
    pub index: u64,
    /// and term.
    pub term: u64,
    /// When the world first saw it applied by any node.
    pub seen: Moment,
    /// True time at that moment.
    pub now: Timestamp,
    /// What it says.
    pub command: &'a Command,
    /// The machine before it,
    pub before: &'a Machine,
    /// and after it.
    pub after: &'a Machine,
    /// What it answered.
    pub reply: &'a Reply,
    /// The facts that it made.
    pub rows: &'a [Row],
}

/// A call of the API, by a client or a worker.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who: clients and workers count together.
    pub client: usize,
    /// The node that was asked: its place in the world, from 0.
    pub node: usize,
    /// `PUT`, `POST`, …
    pub method: &'static str,
    /// With its query.
    pub path: String,
    /// The idempotency key, if one was sent; a retry has the same.
    pub key: Option<String>,
    /// What was sent.
    pub body: Option<Value>,
    /// When it was sent.
    pub asked: Moment,
    /// What came of it; open when the world ended first.
    pub ended: Option<(Moment, Outcome)>,
}

/// What a caller knows of its call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It was done, or read: the status (2xx) and the answer.
    Ok(u16, Value),
    /// It was certainly not done: the status and the code of the problem.
    Fail(u16, String),
    /// Nobody knows: no answer, or one that says so.
    Unknown,
}

/// A webhook that left a node.
#[derive(Debug, Clone)]
pub struct Send {
    /// The node that sent it: its id in the cluster.
    pub node: u64,
    /// The firing, by the header that carries it.
    pub firing: FiringId,
    /// Which attempt.
    pub attempt: u32,
    /// The fencing token.
    pub token: u64,
    /// The receiver's address.
    pub url: String,
    /// When it left.
    pub sent: Moment,
    /// When the receiver had it; never when it was lost on the way.
    pub arrived: Option<Moment>,
    /// The status that the receiver gave, whether its answer came back or not.
    pub answered: Option<u16>,
}

/// What a write was made conditional on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `If-Match`: that its entity tag is still this.
    Unchanged(String),
    /// `If-None-Match: *`: that it is not there.
    Absent,
}

/// A lease that a worker was given, and what it was told of it afterwards.
#[derive(Debug, Clone)]
pub struct Held {
    /// Who: as [`Call::client`].
    pub worker: usize,
    /// The queue.
    pub queue: String,
    /// The text that names it.
    pub lease: String,
    /// The firing,
    pub firing: FiringId,
    /// its schedule, `namespace/name`,
    pub schedule: String,
    /// and which attempt of it.
    pub attempt: u32,
    /// The fencing token.
    pub token: u64,
    /// When the log gave it, by the log's time.
    pub begun_at: Timestamp,
    /// Its end as it was given, by the log's time.
    pub until: Timestamp,
    /// When the worker heard of it.
    pub got: Moment,
    /// How the worker meant to treat it.
    pub manner: &'static str,
    /// The heartbeats that were answered well: when, and the end that was told.
    pub beats: Vec<(Moment, Timestamp)>,
    /// What the worker said of its outcome, in the order in which the answers came.
    pub settles: Vec<Settle>,
    /// When the worker was done with it, and what it believes; open when the world ended first.
    pub ended: Option<(Moment, Ended)>,
}

/// An outcome that a worker reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Settle {
    /// `succeeded`, `failed`, `retry` or `cancelled`.
    pub outcome: &'static str,
    /// When it was first sent; an answer that was lost is asked for again.
    pub asked: Moment,
    /// When the last answer came, or none.
    pub told: Moment,
    /// What that was.
    pub answer: Outcome,
}

/// What a worker believes of a lease that it is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A settle was answered with yes.
    Settled,
    /// It was told that it has lost it.
    Lost,
    /// It asked, and nobody answered, or with something else.
    Unknown,
    /// It never said anything.
    Silent,
}

/// Everything but the steps.
#[derive(Debug, Default)]
pub struct Story {
    /// All calls, in the order in which they were sent.
    pub calls: Vec<Call>,
    /// The conditions of those calls that had one, by their places.
    pub conditions: BTreeMap<usize, Condition>,
    /// Answers that say that a node has gone wrong, whether they came back or not: the place of the call, and what was said.
    pub defects: Vec<(usize, String)>,
    /// All leases that workers were given, in the order in which they heard of them.
    pub leases: Vec<Held>,
    /// All webhooks, in the order in which they left.
    pub sends: Vec<Send>,
    /// Stretches in which no majority of voters could work, or could not for long enough: from, to.
    pub outages: Vec<(Moment, Moment)>,
    /// Stretches in which a process stood still: its node's id in the cluster, from, to.
    pub stalls: Vec<(u64, Moment, Moment)>,
    /// From when on everything was healed: the liveness phase.
    pub healed: Moment,
}

/// The end of a world: what is there to be judged once nothing happens any more.
#[derive(Debug)]
pub struct End<'a> {
    /// What was seen.
    pub story: &'a Story,
    /// The machine of the judge, after the last committed entry.
    pub machine: &'a Machine,
    /// All rows of the committed log, with the entry of each, as the judge's machine made them.
    pub rows: &'a [(u64, Row)],
    /// Of each node that lives: its id, and its ledger's rows as they stand in its files.
    pub ledgers: &'a BTreeMap<u64, Vec<(u64, Row)>>,
    /// True time.
    pub now: Timestamp,
    /// Virtual time.
    pub moment: Moment,
}
