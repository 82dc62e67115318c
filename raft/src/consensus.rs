//! The handle by which a node uses consensus. Cheap to clone; everything behind it runs until [`Consensus::stop`].
//!
//! Hides openraft, the transport and the stores. It reads and proposes; it does not know what a schedule is, and it
//! never repeats a question whose outcome is unknown.

mod backup;
mod formats;
mod ledger;
pub(crate) mod peers;
pub(crate) mod status;

use crate::runtime;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::runtime::Runtime;
use crate::runtime::watch;
use bytes::Bytes;
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::machine::Machine;
use openraft::async_runtime::WatchReceiver;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::backup::{BackupError, Image};
pub use self::status::{ClusterStatus, LogStatus, Member};
use crate::compare::Comparer;
use crate::fatal::Fatal;
use crate::image::Site;
use crate::membership::change;
use crate::office::{Chancery, Office};
use crate::settings::Options;
use crate::transport::Purpose;
use crate::transport::clocks::PeerClock;
use crate::transport::dialer::{Dialer, Target};
use crate::transport::doors::{self, Doors, ForwardHandler, Node};
use crate::transport::formats::Formats;
use crate::transport::message::{self, ReadIndexAnswer};
use crate::transport::path;
use crate::transport::zones::Zones;
use crate::types::Peer;
use crate::view::View;
use crate::watchdog::Alarms;

/// Why a read cannot be linearizable now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No leader is known, or it changed meanwhile. Try again.
    #[error("no leader is known")]
    NoLeader,
    /// The leader could not confirm that it still leads.
    #[error("no quorum confirmed the leader: {0}")]
    NoQuorum(String),
    /// What the leader confirmed is not applied here yet, and it took too long.
    #[error("this node is behind: entry {0} is not applied yet")]
    Behind(LogIndex),
}

/// Why a forwarded request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForwardError {
    /// Nobody acted upon it: it may be sent again.
    #[error("the request was not sent: {0}")]
    NotSent(String),
    /// It may have been acted upon.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
}

/// Why the members were not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MembershipError {
    /// This node does not lead; ask the leader.
    #[error("this node does not lead")]
    NotLeader,
    /// There is no such node.
    #[error("there is no node {0}")]
    NoSuchNode(NodeId),
    /// It was refused: another one is under way, or it would leave nobody.
    #[error("the change of members failed: {0}")]
    Failed(String),
    /// It was begun, and may come to its end under another leader: look at the members.
    #[error("the outcome of the change of members is unknown: {0}")]
    Unknown(String),
}

/// How long leaving may take: as long as an image of a large machine.
const LEAVE_PATIENCE: Duration = Duration::from_secs(20);

/// The handle.
#[derive(Clone)]
pub struct Consensus(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) node: NodeId,
    pub(crate) incarnation: u64,
    pub(crate) raft: Node,
    pub(crate) log: campanile_storage::log::Log,
    pub(crate) site: Site,
    pub(crate) view: Arc<View>,
    pub(crate) fatal: Fatal,
    pub(crate) alarms: Arc<Alarms>,
    pub(crate) offices: watch::Sender<Option<Office>>,
    pub(crate) dialer: Arc<Dialer>,
    pub(crate) doors: Arc<Doors>,
    pub(crate) chancery: Arc<Chancery<Runtime>>,
    pub(crate) comparer: Comparer,
    pub(crate) zones: Arc<Zones>,
    pub(crate) formats: Arc<Formats>,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whoever drops the last handle without `stop` still gets every task ended.
        self.stop.cancel();
    }
}

impl Consensus {
    pub(crate) const fn new(inner: Arc<Inner>) -> Self {
        Self(inner)
    }

    /// This node's id.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.0.node
    }

    /// Counts the starts of this node.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.0.incarnation
    }

    /// The machine as of the last applied entry. May be behind the leader: [`Consensus::read_barrier`] first.
    #[must_use]
    pub fn view(&self) -> Arc<Machine> {
        self.0.view.machine()
    }

    /// The last entry that is in the view.
    #[must_use]
    pub fn applied(&self) -> LogIndex {
        self.0.view.applied()
    }

    /// Told whenever the view moves.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<LogIndex> {
        self.0.view.changes()
    }

    /// Waits until the view has passed `index`, and says how far it is.
    pub async fn applied_beyond(&self, index: LogIndex) -> LogIndex {
        self.0.view.applied_beyond(index).await
    }

    /// Why this node must stop, once it must.
    #[must_use]
    pub fn fatal(&self) -> watch::Receiver<Option<String>> {
        self.0.fatal.watch()
    }

    /// This node's office: there while it leads and the log has said so.
    #[must_use]
    pub fn offices(&self) -> watch::Receiver<Option<Office>> {
        self.0.offices.subscribe()
    }

    /// What is known of the wall clock of each other voter; nobody's when this node does not vote.
    #[must_use]
    pub fn voter_clocks(&self) -> Vec<Option<PeerClock>> {
        let metrics = self.0.raft.server_metrics();
        let metrics = metrics.borrow_watched();
        self.0.chancery.stamps.others(metrics.membership_config.membership().voter_ids())
    }

    /// The version of the tz data of each peer that has said it.
    #[must_use]
    pub fn peer_tz(&self) -> BTreeMap<NodeId, Arc<str>> {
        self.0.zones.all()
    }

    /// Asks every other member how it is, for the clock and the version that ride on its answer; a leader hears them with
    /// each heartbeat, and others hear nobody. Who does not answer in time is not heard.
    pub async fn hear_peers(&self, within: Duration) {
        // That there is no answer is told by the age of the last reading.
        let _ = peers::hellos(&self.0, within).await;
    }

    /// Who leads, as far as this node knows. A hint.
    #[must_use]
    pub fn leader(&self) -> Option<(NodeId, Peer)> {
        let metrics = self.0.raft.server_metrics();
        let metrics = metrics.borrow_watched();
        let leader = metrics.current_leader?;
        let peer = metrics.membership_config.get_node(&leader)?.clone();
        Some((NodeId(leader), peer))
    }

    /// From now on forwarded requests of other nodes are answered by this.
    pub fn answer_forwarded(&self, handler: ForwardHandler) {
        self.0.doors.answer_forwarded(Some(handler));
    }

    /// From now on by nobody: what answers holds this handle and is held by it, so their memory only comes back after this.
    pub fn answer_nothing_forwarded(&self) {
        self.0.doors.answer_forwarded(None);
    }

    /// Waits until the view contains everything that was committed before the call, and says up to where. A quorum is
    /// asked each time, never a lease.
    ///
    /// # Errors
    /// As [`ReadError`] tells apart; all of them may be tried again.
    pub async fn read_barrier(&self) -> Result<LogIndex, ReadError> {
        let patience = self.0.options.quorum_patience();
        let index = match doors::read_index(&self.0.raft).await {
            ReadIndexAnswer::At(index) => LogIndex(index),
            ReadIndexAnswer::NoQuorum(why) => return Err(ReadError::NoQuorum(why)),
            ReadIndexAnswer::NotLeader => self.leaders_read_index(patience).await?,
        };
        let Some(before) = index.0.checked_sub(1) else { return Ok(index) };
        let reached = tokio::time::timeout(patience, self.applied_beyond(LogIndex(before))).await;
        reached.map_err(|_| ReadError::Behind(index)).map(|_| index)
    }

    async fn leaders_read_index(&self, patience: Duration) -> Result<LogIndex, ReadError> {
        let (leader, peer) = self.leader().filter(|(id, _)| *id != self.0.node).ok_or(ReadError::NoLeader)?;
        let target = Target { address: peer.peer_address, node: leader.0 };
        let asked =
            self.0.dialer.ask(&target, Purpose::Forward, path::READ_INDEX, Bytes::new(), patience).await;
        let answer = asked.map_err(|error| ReadError::NoQuorum(error.to_string()))?;
        match message::decode(&answer).map_err(|error| ReadError::NoQuorum(error.to_string()))? {
            ReadIndexAnswer::At(index) => Ok(LogIndex(index)),
            ReadIndexAnswer::NotLeader => Err(ReadError::NoLeader),
            ReadIndexAnswer::NoQuorum(why) => Err(ReadError::NoQuorum(why)),
        }
    }

    /// Sends a request to the leader, which answers it by what it gave to [`Consensus::answer_forwarded`]. Waits for a
    /// leader to be known; all of it takes at most `within`. When that turns out to be this node, it says so at once: its
    /// office is then taken, or about to be, and the request belongs there.
    ///
    /// # Errors
    /// As [`ForwardError`] tells apart.
    pub async fn forward(&self, request: Bytes, within: Duration) -> Result<Bytes, ForwardError> {
        let started = tokio::time::Instant::now();
        let leader = tokio::time::timeout(within, self.whoever_leads()).await;
        let target = leader.map_err(|_| ForwardError::NotSent("no node is known to lead".into()))?;
        if target.node == self.0.node.0 {
            return Err(ForwardError::NotSent("this node leads by itself".into()));
        }
        let left = within.saturating_sub(started.elapsed());
        let asked = self.0.dialer.ask(&target, Purpose::Forward, path::FORWARD, request, left).await;
        asked.map_err(|error| match error.is_certain() {
            true => ForwardError::NotSent(error.to_string()),
            false => ForwardError::Unknown(error.to_string()),
        })
    }

    async fn whoever_leads(&self) -> Target {
        let mut metrics = self.0.raft.server_metrics();
        loop {
            if let Some((leader, peer)) = self.leader() {
                return Target { address: peer.peer_address, node: leader.0 };
            }
            if metrics.changed().await.is_err() {
                // openraft has stopped: nobody will lead any more here, and the caller's deadline ends this.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Hands leadership to another voter. Returns when it was asked for; a lost office tells that it happened.
    ///
    /// # Errors
    /// When this node does not lead or has stopped.
    pub async fn transfer(&self, to: NodeId) -> Result<(), MembershipError> {
        if self.leader().is_none_or(|(leader, _)| leader != self.0.node) {
            return Err(MembershipError::NotLeader);
        }
        if !self.status().members.iter().any(|member| member.node == to && member.voter) {
            return Err(MembershipError::NoSuchNode(to));
        }
        let asked = self.0.raft.trigger().transfer_leader(to.0).await;
        asked.map_err(|error| MembershipError::Failed(error.to_string()))
    }

    /// Removes a node for good: its id never comes back. Refused when no majority of the voters that are left answers now: the
    /// change could not be committed, and its half would hold up everything else.
    ///
    /// # Errors
    /// As [`MembershipError`] tells apart.
    pub async fn remove_node(&self, node: NodeId) -> Result<(), MembershipError> {
        change::remove(&self.0, node).await
    }

    /// Makes an image now, whatever the policy says. Returns when it was asked for.
    ///
    /// # Errors
    /// When this node has stopped.
    pub async fn make_image(&self) -> Result<(), MembershipError> {
        let asked = self.0.raft.trigger().snapshot().await;
        asked.map_err(|error| MembershipError::Failed(error.to_string()))
    }

    /// How the cluster looks from here.
    #[must_use]
    pub fn status(&self) -> ClusterStatus {
        status::of(&self.0)
    }

    /// Leaves in order: the office first, so that nobody proposes into a node that goes, then the doors and whoever watches
    /// openraft, then openraft, then the disk. A leader that leaves on purpose is missed for less when it transfers before.
    pub async fn stop(&self) {
        let inner = &self.0;
        inner.offices.send_replace(None);
        self.answer_nothing_forwarded();
        inner.stop.cancel();
        // It can only say that it has stopped already.
        let _ = inner.raft.shutdown().await;
        inner.tasks.close();
        // What is waited for in the end is that ledger and images are let go, by openraft's worker and by an image that is
        // being made. Should openraft have lost its worker, nothing is gained by waiting for ever.
        if tokio::time::timeout(LEAVE_PATIENCE, inner.tasks.wait()).await.is_err() {
            tracing::warn!(node = %inner.node, "this node leaves before all of its tasks have ended");
        }
        let log = inner.log.clone();
        // Waits for the disk; that it panics would have been told by the log's own trouble.
        let _ = runtime::blocking(move || log.close()).await;
    }
}

impl std::fmt::Debug for Consensus {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Consensus").field("node", &self.0.node).finish_non_exhaustive()
    }
}
