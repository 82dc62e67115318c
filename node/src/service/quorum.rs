//! What the service needs of the cluster: a view, a right to propose, a barrier, and a way to the leader.
//!
//! A trait, since there are two of it: the consensus of `campanile_raft`, and a machine in memory for the tests of the HTTP
//! API. Nothing here decides anything; leadership is a hint until a proposal was answered.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use campanile_core::command::Body;
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;
use campanile_core::time::{Span, Timestamp};
use futures_util::future::BoxFuture;

use crate::clock::guard::Standing;
use crate::wire::cluster::Node;

/// Makes the body of a command from the time that it will carry and what the log says now; `None` proposes nothing.
pub type Plan = Box<dyn FnOnce(Timestamp, &Machine) -> Option<Body> + Send>;

/// The cluster as the service sees it.
pub trait Quorum: Send + Sync + 'static {
    /// This node.
    fn node(&self) -> NodeId;

    /// The machine after the last entry that this node has applied.
    fn view(&self) -> Arc<Machine>;

    /// Returns once something beyond that index has been applied here; at once when it has.
    fn applied_beyond(&self, index: LogIndex) -> BoxFuture<'_, ()>;

    /// Whether this node is in office, as far as it knows.
    fn leads(&self) -> bool;

    /// Who leads, as far as this node knows.
    fn leader(&self) -> Option<Leader>;

    /// Plans under the office and commits what was planned. The answer is in the view of this node when it is given;
    /// `None` when the plan proposed nothing.
    fn propose(&self, now: Timestamp, plan: Plan) -> BoxFuture<'_, Result<Option<Reply>, Undone>>;

    /// Waits until this node has applied everything that was committed when it was asked.
    fn read_barrier(&self) -> BoxFuture<'_, Result<LogIndex, Undone>>;

    /// Sends a frame of `crate::service::frame` to the leader and waits for its answer.
    fn forward(&self, frame: Bytes, within: Duration) -> BoxFuture<'_, Result<Bytes, Undone>>;

    /// Returns when who leads has changed, or after `within`.
    fn leader_change(&self, within: Duration) -> BoxFuture<'_, ()>;

    /// The cluster for people.
    fn status(&self) -> ClusterStatus;

    /// Hands the leadership to a node, or to whoever is furthest.
    fn transfer(&self, to: Option<NodeId>) -> BoxFuture<'_, Result<(), ChangeFailure>>;

    /// Admits a node under an id that was never given before.
    fn add_node(
        &self,
        peer_address: String,
        api_address: String,
    ) -> BoxFuture<'_, Result<NodeId, ChangeFailure>>;

    /// Removes a node from the cluster.
    fn remove_node(&self, node: NodeId) -> BoxFuture<'_, Result<(), ChangeFailure>>;
}

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    /// The node.
    pub node: NodeId,
    /// Where its users reach it.
    pub api_address: String,
}

/// Why something was not done, named by what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undone {
    /// Certainly nothing happened: this node does not lead, or no leader could be reached. Ask again.
    #[error("not sent: {0}")]
    NotSent(String),
    /// Certainly nothing happened: too many proposals are under way.
    #[error("too many requests are under way")]
    Busy,
    /// Certainly nothing happened, and never will: it is larger than an entry of the log may be.
    #[error("as one entry of the log this has {bytes} bytes, and an entry has at most {most}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// It may have happened. Look again under the same key.
    #[error("unknown: {0}")]
    Unknown(String),
    /// This node is stopping, and can do nothing any more.
    #[error("stopped: {0}")]
    Stopped(String),
}

/// Why the members were not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeFailure {
    /// As with any proposal.
    #[error(transparent)]
    Undone(#[from] Undone),
    /// There is no such node.
    #[error("there is no node {0}")]
    NoSuchNode(NodeId),
    /// It is not possible as the cluster stands.
    #[error("{0}")]
    Refused(String),
}

/// The cluster, as far as consensus knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterStatus {
    /// The cluster's name.
    pub name: String,
    /// This node.
    pub node: NodeId,
    /// The leader, if one is known.
    pub leader: Option<NodeId>,
    /// The Raft term.
    pub term: u64,
    /// The last log entry of this node.
    pub last_log: LogIndex,
    /// Every node.
    pub nodes: Vec<Node>,
    /// How this node's clock stands to a quorum of clocks,
    pub standing: Standing,
    /// and how far it, or one node's, may be from the others' without being called wrong.
    pub max_clock_ahead: Span,
}

impl ClusterStatus {
    /// The versions of tz data that the nodes are known to have.
    #[must_use]
    pub fn tz_versions(&self) -> BTreeSet<String> {
        self.nodes.iter().filter_map(|node| node.tz_data.clone()).collect()
    }
}
