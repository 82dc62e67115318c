//! How peers talk: HTTP/2 without TLS (prior knowledge), one connection per peer and purpose, bodies in our own frames.
//!
//! ```text
//!   Link (openraft's network)  --+
//!   Dialer::hello, join, …     --+--> Network (lanes ==HTTP/2==> server) -> guard -> Doors -> openraft, callbacks
//! ```
//! Must not decide anything about the cluster: it carries questions and answers, checks who asks, and gives up in time.
//!
//! Every request says which wire version, which cluster, from whom and to whom it is, and carries the cluster's secret if
//! there is one; see [`guard`]. Every answer carries the wall clock of the one who answers, see [`clocks`], and the
//! version of its tz data, see [`zones`].

pub mod clocks;
pub mod dialer;
pub mod doors;
pub mod ends;
pub mod formats;
pub mod guard;
pub mod lanes;
pub mod link;
pub mod message;
pub mod network;
pub mod server;
pub mod shipment;
pub mod zones;

use std::time::Duration;

/// What a connection is for. Each has its own, so that a large or a slow one never stands before a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Heartbeats only: small, and late ones cost an election.
    Heartbeat,
    /// Entries.
    Append,
    /// Votes, pre-votes, and the hand-over of leadership.
    Vote,
    /// Images with their ledgers.
    Snapshot,
    /// What nodes ask each other beside Raft: hello, join, read index, forwarded requests.
    Forward,
}

/// The largest body of a request or an answer other than a snapshot: an append of [`crate::log::APPEND_BYTES`] with one
/// entry beyond, and its head, with room to spare.
pub const BODY_LIMIT: usize = 4 << 20;

/// How long a connection may be silent before it is asked whether it is alive, and how long the answer may take. Without
/// it a connection through a healed partition stays dead until TCP's own backoff ends.
pub const KEEP_ALIVE: Duration = Duration::from_millis(1_000);

/// The paths, one a question.
pub mod path {
    /// Entries, or a heartbeat.
    pub const APPEND: &str = "/raft/append";
    /// A vote.
    pub const VOTE: &str = "/raft/vote";
    /// Whether a vote would be granted.
    pub const PRE_VOTE: &str = "/raft/pre-vote";
    /// The hand-over of leadership.
    pub const TRANSFER: &str = "/raft/transfer";
    /// An image with its ledger.
    pub const SNAPSHOT: &str = "/raft/snapshot";
    /// Who are you.
    pub const HELLO: &str = "/peer/hello";
    /// Let me in.
    pub const JOIN: &str = "/peer/join";
    /// Up to where must a linearizable read have applied.
    pub const READ_INDEX: &str = "/peer/read-index";
    /// Where did your ledger end at this entry.
    pub const LEDGER_END: &str = "/peer/ledger-end";
    /// A request of the node's own.
    pub const FORWARD: &str = "/peer/forward";
}
