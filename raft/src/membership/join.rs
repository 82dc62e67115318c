//! Joining a cluster that exists: an id that was never anybody's, then learning, then voting.
//!
//! ```text
//!   newcomer                                leader
//!     join(address)          ----------->   commit AdmitNode          -> Admitted(id)   (written down before it is used)
//!     join(address, id)      ----------->   add as learner            -> Learning       (asked again and again)
//!     join(address, id)      ----------->   caught up: it takes the place of the old voter at its address -> Member
//! ```
//! Every step is driven by the newcomer and may be asked twice, so a lost leader or a restart costs a repetition and
//! nothing else. An id that was given and never used is lost, which is what ids are for.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::runtime::Runtime;
use campanile_core::command::{AdmitNode, Body, Request};
use campanile_core::reply::Reply;
use openraft::ChangeMembers;
use openraft::async_runtime::WatchReceiver;
use openraft::metrics::RaftMetrics;

use super::{ASK_EVERY, Entrance, found, own_peer};
use crate::consensus::Inner;
use crate::transport::dialer::{Dialer, Target};
use crate::transport::doors::JoinHandler;
use crate::transport::guard::ANYBODY;
use crate::transport::message::{self, JoinAnswer, JoinCall};
use crate::transport::{Purpose, path};
use crate::types::{Membership, Peer, Types};

/// How long the leader may take for a step: a change of members is two commits.
const STEP_PATIENCE: Duration = Duration::from_secs(10);
/// How many entries a learner may be behind when it becomes a voter: what a tick or two write.
const CAUGHT_UP: u64 = 1_000;

/// Asks the cluster for an id until it is given one.
pub(super) async fn ask_for_id(entrance: &Entrance) -> u64 {
    let options = &entrance.options;
    tracing::info!("there is a cluster that this disk does not know: joining it under a new id");
    loop {
        let asked =
            ask(&entrance.dialer, &options.peers, &options.peer_address, &own_peer(options), None).await;
        match asked {
            Ok(JoinAnswer::Admitted(id)) => return id,
            other => tracing::debug!(?other, "no id yet"),
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// Asks to be made a voter until it is one. Ends when it is, or when the cluster has removed it.
pub(super) async fn become_voter(inner: Weak<Inner>) {
    loop {
        {
            let Some(inner) = inner.upgrade() else { return };
            let standing = standing(inner.node.0, &inner.raft.metrics().borrow_watched());
            match standing {
                Standing::Voter | Standing::Removed => {
                    tracing::info!(node = %inner.node, ?standing, "done joining");
                    return;
                }
                // Nobody can do more for it; and it may have been removed since, and must not ask to be let in again.
                Standing::Nearly => {}
                Standing::Learner => ask_for_the_next_step(&inner).await,
            }
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn ask_for_the_next_step(inner: &Inner) {
    let (options, node) = (&inner.options, Some(inner.node.0));
    let asked = ask(&inner.dialer, &options.peers, &options.peer_address, &own_peer(options), node).await;
    tracing::debug!(?asked, "asked to become a voter");
}

/// As what this node stands in the membership, as far as its log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Voter,
    /// A voter by an entry that its log may lose yet: then it is a learner again.
    Nearly,
    /// A learner, or nobody has sent it anything yet.
    Learner,
    /// It has a log, and is not in it.
    Removed,
}

fn standing(node: u64, metrics: &RaftMetrics<Types<Runtime>>) -> Standing {
    let membership = metrics.membership_config.membership();
    if membership.voter_ids().any(|voter| voter == node) {
        let mut committed = metrics.committed_membership_config.membership().voter_ids();
        return if committed.any(|voter| voter == node) { Standing::Voter } else { Standing::Nearly };
    }
    // While it catches up, its log may not have reached its own admission yet.
    let behind = metrics.last_applied.map(|id| id.index) < metrics.cluster_committed.map(|id| id.index);
    match membership.get_node(&node).is_some() || metrics.last_log_index.is_none() || behind {
        true => Standing::Learner,
        false => Standing::Removed,
    }
}

/// Finds the leader by way of any peer that answers, and asks it.
async fn ask(
    dialer: &Dialer,
    peers: &[String],
    own: &str,
    peer: &Peer,
    node: Option<u64>,
) -> Result<JoinAnswer, String> {
    let mut failed = "no peer knows a leader".to_owned();
    for address in peers.iter().filter(|address| *address != own) {
        let hello = match found::hello(dialer, address).await {
            Ok(hello) => hello,
            Err(error) => {
                failed = error;
                continue;
            }
        };
        let leader = hello.members.iter().find(|member| Some(member.node) == hello.leader);
        if let Some(leader) = leader {
            let leader: Peer = leader.peer.clone().into();
            return ask_leader(dialer, &leader, JoinCall { peer: peer.into(), node }).await;
        }
    }
    Err(failed)
}

async fn ask_leader(dialer: &Dialer, leader: &Peer, call: JoinCall) -> Result<JoinAnswer, String> {
    let target = Target { address: leader.peer_address.clone(), node: ANYBODY };
    let asked =
        dialer.ask(&target, Purpose::Forward, path::JOIN, message::encode(&call), STEP_PATIENCE).await;
    message::decode(&asked.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// What answers those who want in.
pub(super) fn handler(inner: &Arc<Inner>) -> JoinHandler {
    let inner = Arc::downgrade(inner);
    Arc::new(move |call| {
        let inner = inner.upgrade();
        Box::pin(async move {
            match inner {
                Some(inner) => answer(&inner, call).await,
                None => JoinAnswer::NotNow("this node stops".into()),
            }
        })
    })
}

async fn answer(inner: &Inner, call: JoinCall) -> JoinAnswer {
    let office = inner.offices.borrow().clone();
    let Some(office) = office else { return not_leader(inner) };
    let peer: Peer = call.peer.into();
    let Some(node) = call.node else {
        let admit = Body::AdmitNode(AdmitNode {
            peer_address: peer.peer_address.into(),
            api_address: peer.api_address.into(),
            request: Request { by: "campanile".into(), key: None },
        });
        return match office.propose((inner.options.clock)(), |_, _| Some(admit)).await {
            Ok(Some(Reply::Admitted(node))) => JoinAnswer::Admitted(node.0),
            Ok(other) => JoinAnswer::NotNow(format!("the log answered {other:?}")),
            Err(error) => JoinAnswer::NotNow(error.to_string()),
        };
    };
    step(inner, node, peer).await.unwrap_or_else(JoinAnswer::NotNow)
}

fn not_leader(inner: &Inner) -> JoinAnswer {
    let metrics = inner.raft.server_metrics();
    let metrics = metrics.borrow_watched();
    let leader = metrics.current_leader.and_then(|leader| metrics.membership_config.get_node(&leader));
    JoinAnswer::NotLeader(leader.map(Into::into))
}

/// The next step of a node that has its id.
async fn step(inner: &Inner, node: u64, peer: Peer) -> Result<JoinAnswer, String> {
    let metrics = inner.raft.metrics().borrow_watched().clone();
    let membership = metrics.membership_config.membership();
    if membership.voter_ids().any(|voter| voter == node) {
        return Ok(JoinAnswer::Member);
    }
    match membership.get_node(&node) {
        Some(known) if known.peer_address != peer.peer_address => {
            Err(format!("node {node} is known at {}", known.peer_address))
        }
        Some(_) if !caught_up(&metrics, node) => Ok(JoinAnswer::Learning),
        Some(_) => {
            let change = take_place(membership, node, &peer);
            let changed = super::change::change(inner, change).await;
            changed.map(|()| JoinAnswer::Member).map_err(|error| error.to_string())
        }
        None => {
            tracing::info!(node, ?peer, "a node joins as a learner");
            let added = inner.raft.add_learner(node, peer, false).await;
            added.map(|_| JoinAnswer::Learning).map_err(|error| error.to_string())
        }
    }
}

fn caught_up(metrics: &RaftMetrics<Types<Runtime>>, node: u64) -> bool {
    let matched = metrics.replication.as_ref().and_then(|matched| matched.get(&node).copied().flatten());
    let last = metrics.last_log_index.unwrap_or_default();
    matched.is_some_and(|matched| matched.index + CAUGHT_UP >= last)
}

/// The newcomer votes; who voted at its address before is gone, since its disk is.
fn take_place(membership: &Membership, node: u64, peer: &Peer) -> ChangeMembers<u64, Peer> {
    let voters: Vec<u64> = membership.voter_ids().collect();
    let predecessors = membership
        .nodes()
        .filter(|(id, known)| voters.contains(id) && known.peer_address == peer.peer_address)
        .map(|(id, _)| *id)
        .collect();
    tracing::info!(node, ?predecessors, "a learner becomes a voter");
    ChangeMembers::Batch(vec![
        ChangeMembers::RemoveVoters(predecessors),
        ChangeMembers::AddVoterIds([node].into()),
    ])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;
    use crate::types::{StoredMembership, log_id};

    fn with(voters: &[u64], at: u64) -> Arc<StoredMembership> {
        let peer =
            |id: u64| (id, Peer { peer_address: format!("peer-{id}"), api_address: format!("api-{id}") });
        let nodes: BTreeMap<u64, Peer> = [1, 2, 3, 1_000].map(peer).into();
        let membership = Membership::new(vec![voters.iter().copied().collect()], nodes).unwrap();
        Arc::new(StoredMembership::new(Some(log_id(1, at)), membership))
    }

    #[test]
    fn who_votes_by_an_entry_that_may_be_lost_is_not_done_joining() {
        let mut metrics = RaftMetrics::new_initial(1_000);
        assert_eq!(standing(1_000, &metrics), Standing::Learner);
        metrics.last_log_index = Some(9);
        metrics.membership_config = with(&[1, 2, 1_000], 9);
        metrics.committed_membership_config = with(&[1, 2, 3], 5);
        assert_eq!(standing(1_000, &metrics), Standing::Nearly);
        metrics.membership_config = with(&[1, 2, 3], 5);
        assert_eq!(standing(1_000, &metrics), Standing::Learner);
        metrics.committed_membership_config = with(&[1, 2, 1_000], 9);
        metrics.membership_config = with(&[1, 2, 1_000], 9);
        assert_eq!(standing(1_000, &metrics), Standing::Voter);
    }
}
