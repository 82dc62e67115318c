//! Consensus as the service for users sees it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;
use campanile_core::time::{Span, Timestamp};
use campanile_raft::runtime::watch;
use campanile_raft::{COMMAND_LIMIT, Consensus, ForwardError, Member, MembershipError, Office, ProposeError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::clocks::Clocks;
use crate::service::quorum::{ChangeFailure, ClusterStatus, Leader, Plan, Quorum, Undone};
use crate::wire::cluster::Node;

/// Consensus, for the service.
pub(super) struct Cluster {
    name: String,
    consensus: Consensus,
    offices: watch::Receiver<Option<Office>>,
    clocks: Clocks,
}

impl Cluster {
    pub(super) fn new(name: String, consensus: Consensus, clocks: Clocks) -> Self {
        let offices = consensus.offices();
        Self { name, consensus, offices, clocks }
    }

    fn office(&self) -> Option<Office> {
        self.offices.borrow().clone()
    }

    /// What changes when somebody else leads.
    fn reign(&self) -> (Option<NodeId>, u64, bool) {
        (self.consensus.leader().map(|(node, _)| node), self.consensus.view().epoch().0, self.leads())
    }

    /// Hands the leadership to a voter whose clock is behind this one's by more than `max_ahead`, and so is right while this
    /// one is ahead of a quorum. Returns when it was asked for.
    pub(super) async fn give_away(&self, max_ahead: Span) -> Result<NodeId, ChangeFailure> {
        let allowed = i64::try_from(max_ahead.as_millis()).unwrap_or(i64::MAX);
        let is_right = |member: &Member| member.clock_offset_millis.is_some_and(|offset| offset < -allowed);
        let nobody =
            || ChangeFailure::Refused("there is no other voter that answers and has another clock".into());
        let to = self.consensus.status().successor(is_right).ok_or_else(nobody)?;
        self.consensus.transfer(to).await.map_err(change_failure)?;
        Ok(to)
    }
}

impl Quorum for Cluster {
    fn node(&self) -> NodeId {
        self.consensus.node()
    }

    fn applied_beyond(&self, index: LogIndex) -> BoxFuture<'_, ()> {
        self.consensus.applied_beyond(index).map(|_| ()).boxed()
    }

    fn view(&self) -> Arc<Machine> {
        self.consensus.view()
    }

    fn leads(&self) -> bool {
        self.offices.borrow().is_some()
    }

    fn leader(&self) -> Option<Leader> {
        self.consensus.leader().map(|(node, peer)| Leader { node, api_address: peer.api_address })
    }

    fn propose(&self, now: Timestamp, plan: Plan) -> BoxFuture<'_, Result<Option<Reply>, Undone>> {
        async move {
            let office = self.office().ok_or_else(|| Undone::NotSent("this node does not lead".into()))?;
            office.propose(now, plan).await.map_err(undone)
        }
        .boxed()
    }

    fn read_barrier(&self) -> BoxFuture<'_, Result<LogIndex, Undone>> {
        let barrier = self.consensus.read_barrier();
        async move { barrier.await.map_err(|error| Undone::NotSent(error.to_string())) }.boxed()
    }

    fn forward(&self, frame: Bytes, within: Duration) -> BoxFuture<'_, Result<Bytes, Undone>> {
        let forwarded = self.consensus.forward(frame, within);
        async move {
            forwarded.await.map_err(|error| match error {
                ForwardError::NotSent(why) => Undone::NotSent(why),
                ForwardError::Unknown(why) => Undone::Unknown(why),
            })
        }
        .boxed()
    }

    fn leader_change(&self, within: Duration) -> BoxFuture<'_, ()> {
        async move {
            let before = self.reign();
            let mut offices = self.offices.clone();
            let mut applied = self.consensus.changes();
            let changed = async {
                // A new leader shows by the entry of its epoch, or by an office of this node.
                while self.reign() == before {
                    tokio::select! {
                        biased;
                        _ = offices.changed() => {}
                        _ = applied.changed() => {}
                    }
                }
            };
            // That nobody else leads by then is an answer too.
            let _ = tokio::time::timeout(within, changed).await;
        }
        .boxed()
    }

    fn status(&self) -> ClusterStatus {
        let status = self.consensus.status();
        let itself = status.node;
        let node = |member: &Member| Node {
            id: member.node.0,
            peer_address: member.peer.peer_address.clone(),
            api_address: member.peer.api_address.clone(),
            role: role(member, status.leader).to_owned(),
            reachable: if member.node == itself { Some(true) } else { member.answers() },
            lag: member.lag,
            clock_offset_ms: if member.node == itself { Some(0) } else { member.clock_offset_millis },
            tz_data: member.tz_data.as_deref().map(str::to_owned),
            speaks: member.speaks.map(|level| level.0),
        };
        ClusterStatus {
            name: self.name.clone(),
            node: itself,
            leader: status.leader,
            term: status.term.0,
            last_log: status.last_log,
            nodes: status.members.iter().map(node).collect(),
            standing: self.clocks.standing(),
            max_clock_ahead: self.clocks.guard().max_ahead,
        }
    }

    fn transfer(&self, to: Option<NodeId>) -> BoxFuture<'_, Result<(), ChangeFailure>> {
        async move {
            let nobody = || ChangeFailure::Refused("there is no other voter that answers".into());
            let to = to.or_else(|| self.consensus.status().successor(|_| true)).ok_or_else(nobody)?;
            self.consensus.transfer(to).await.map_err(change_failure)
        }
        .boxed()
    }

    fn add_node(
        &self,
        _peer_address: String,
        _api_address: String,
    ) -> BoxFuture<'_, Result<NodeId, ChangeFailure>> {
        let how = "a node joins by itself: start it with an empty data directory and the addresses of the cluster in cluster.peers";
        async move { Err(ChangeFailure::Refused(how.into())) }.boxed()
    }

    fn remove_node(&self, node: NodeId) -> BoxFuture<'_, Result<(), ChangeFailure>> {
        async move { self.consensus.remove_node(node).await.map_err(change_failure) }.boxed()
    }
}

fn role(member: &Member, leader: Option<NodeId>) -> &'static str {
    match member.voter {
        _ if leader == Some(member.node) => "leader",
        true => "follower",
        false => "learner",
    }
}

fn undone(error: ProposeError) -> Undone {
    match error {
        ProposeError::NotLeader { .. } => Undone::NotSent(error.to_string()),
        ProposeError::Busy => Undone::Busy,
        ProposeError::TooLarge { bytes } => Undone::TooLarge { bytes, most: COMMAND_LIMIT },
        ProposeError::Unknown(why) => Undone::Unknown(why),
        ProposeError::Stopped(why) => Undone::Stopped(why),
    }
}

fn change_failure(error: MembershipError) -> ChangeFailure {
    match error {
        MembershipError::NotLeader => Undone::NotSent(error.to_string()).into(),
        MembershipError::NoSuchNode(node) => ChangeFailure::NoSuchNode(node),
        MembershipError::Failed(why) => ChangeFailure::Refused(why),
        MembershipError::Unknown(why) => Undone::Unknown(why).into(),
    }
}
