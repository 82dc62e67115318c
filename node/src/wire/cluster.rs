//! The cluster as JSON: who is in it, who leads, and how far each is.

use campanile_storage::ledger::LedgerReader;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ledger::hex;
use super::orders::read;
use super::payload::Body;
use super::time::Instant;
use crate::problem::Problem;

/// The cluster, as one node sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cluster {
    /// The cluster's name.
    pub name: String,
    /// The node that answers.
    pub node: u64,
    /// Its version.
    pub version: String,
    /// The leader, if one is known.
    pub leader: Option<u64>,
    /// The Raft term.
    pub term: u64,
    /// The right under which the leader proposes: the log index of its taking office.
    pub epoch: u64,
    /// The last log entry that this node has applied.
    pub applied: u64,
    /// The last log entry that this node has.
    pub last_log: u64,
    /// The log's time.
    pub clock: Instant,
    /// The version of the bundled tz data of this node.
    pub tz_data: Option<String>,
    /// The format level at which the cluster writes; it is raised once every node speaks a newer one.
    pub format_level: u16,
    /// Whether this node's wall clock is so far ahead of a quorum of clocks that it decides nothing while it leads.
    pub clock_ahead: bool,
    /// How far it is ahead of a quorum of clocks, in milliseconds; negative when it is behind.
    pub quorum_offset_ms: i64,
    /// How many schedules there are.
    pub schedules: u64,
    /// How many firings are not settled.
    pub live_firings: u64,
    /// The end of this node's ledger: two nodes with one position and two hashes have different ledgers.
    pub ledger: LedgerHead,
    /// Every node.
    pub nodes: Vec<Node>,
    /// What somebody should see to, in words; empty when all is well.
    pub warnings: Vec<String>,
}

/// The end of a ledger, and how far back it reaches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct LedgerHead {
    /// The last row, `index.n`; `null` before the first one.
    pub position: Option<String>,
    /// The running hash there, in hexadecimal digits; zeros before the first row.
    pub hash: String,
    /// Rows ever written.
    pub rows: u64,
    /// Rows of entries before this one are dropped by retention; 0 while none are.
    pub floor: u64,
}

impl LedgerHead {
    /// Of a ledger.
    #[must_use]
    pub fn of(ledger: &LedgerReader) -> Self {
        let head = ledger.head();
        Self {
            position: head.position.map(|position| position.to_string()),
            hash: hex(&head.hash),
            rows: head.rows,
            floor: ledger.floor(),
        }
    }
}

/// A node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Node {
    /// Its id, never given twice.
    pub id: u64,
    /// Where its peers reach it.
    pub peer_address: String,
    /// Where its users reach it.
    pub api_address: String,
    /// `leader`, `follower` or `learner`.
    #[schema(pattern = "^(leader|follower|learner)$")]
    pub role: String,
    /// Whether it answered the node that answers you lately; `null` when that is not known here (ask the leader).
    pub reachable: Option<bool>,
    /// How many log entries it is behind; known to the leader.
    pub lag: Option<u64>,
    /// How far its wall clock is ahead of this node's, in milliseconds.
    pub clock_offset_ms: Option<i64>,
    /// The version of its tz data; `null` when it has not said it to this node.
    pub tz_data: Option<String>,
    /// The newest format level that it reads; `null` when it has not said it to this node.
    pub speaks: Option<u16>,
}

/// A node to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AddNode {
    /// Where its peers reach it, `host:port`.
    pub peer_address: String,
    /// Where its users reach it, a URL.
    pub api_address: String,
}

/// A node that was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AddedNode {
    /// The id that it was given.
    pub id: u64,
}

/// Hand the leadership over.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Transfer {
    /// To this node; to whoever is furthest when left out.
    #[serde(default)]
    pub to: Option<u64>,
}

/// Reads the body of a transfer.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read_transfer(body: &Body) -> Result<Transfer, Problem> {
    read(body, |fields, flaws| Transfer { to: fields.number("to", u64::MAX, flaws) })
}

/// Reads the body that adds a node.
///
/// # Errors
/// As [`read_transfer`].
pub fn read_add_node(body: &Body) -> Result<AddNode, Problem> {
    read(body, |fields, flaws| {
        let mut address = |name, example| match fields.text(name, flaws) {
            Some(text) if !text.is_empty() && !text.contains(char::is_whitespace) => text.to_owned(),
            Some(_) => {
                flaws.add(fields.at(name), "is no address", example);
                String::new()
            }
            None => {
                if fields.get(name).is_none() {
                    flaws.add(fields.at(name), "is missing", example);
                }
                String::new()
            }
        };
        let peer_address = address("peer_address", "such as \"node4.example:7701\"");
        let api_address = address("api_address", "such as \"http://node4.example:7700\"");
        AddNode { peer_address, api_address }
    })
}

/// Who asks, as the node sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Whoami {
    /// The principal.
    pub principal: String,
    /// The node that answers.
    pub node: u64,
}
