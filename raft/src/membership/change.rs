//! Changes of the members, each to its end.
//!
//! ```text
//!   {1,2,3}  ── first entry ──>  {1,2,3} and {1,2,1000}  ── second entry ──>  {1,2,1000}
//!                                a majority of each is asked
//! ```
//! openraft proposes the second entry from within the call that asked for the first. When nobody goes on with that call, because
//! its leader died or whoever asked went away, both sets of voters stay: a node that is gone for good votes on, and the next loss
//! may be one too many. So a change is a task of the node and not of its caller, and who takes office ends what was begun before.

use std::collections::BTreeSet;
use std::sync::Weak;

use campanile_core::id::{NodeId, Term};
use openraft::ChangeMembers;
use openraft::async_runtime::WatchReceiver;
use openraft::metrics::RaftMetrics;

use crate::consensus::{Inner, MembershipError, status};
use crate::office::Office;
use crate::runtime::{self, Runtime, watch};
use crate::types::{Peer, Types};

/// Changes the members. Goes on when nobody waits for it, once it was polled.
///
/// # Errors
/// [`MembershipError::NotLeader`] when nothing was begun, [`MembershipError::Failed`] when openraft refuses, else
/// [`MembershipError::Unknown`].
pub(crate) fn change(
    inner: &Inner,
    wanted: ChangeMembers<u64, Peer>,
) -> impl Future<Output = Result<(), MembershipError>> + Send + use<> {
    let (raft, stop, tasks) = (inner.raft.clone(), inner.stop.clone(), inner.tasks.clone());
    let leads = raft.metrics().borrow_watched().current_leader == Some(inner.node.0);
    async move {
        if !leads {
            return Err(MembershipError::NotLeader);
        }
        let work = async move { stop.run_until_cancelled_owned(raft.change_membership(wanted, false)).await };
        match runtime::spawn_on(&tasks, work).await {
            Ok(Some(Ok(_))) => Ok(()),
            Ok(Some(Err(error))) if error.forward_to_leader().is_none() => {
                Err(MembershipError::Failed(error.to_string()))
            }
            // It led when it was asked: what it has begun may be ended by the next leader.
            Ok(Some(Err(error))) => Err(MembershipError::Unknown(error.to_string())),
            Ok(None) | Err(_) => Err(MembershipError::Unknown("this node stops".into())),
        }
    }
}

/// Removes a node, when the others can do without it.
///
/// # Errors
/// As [`change`]; and [`MembershipError::NoSuchNode`].
pub(crate) async fn remove(inner: &Inner, node: NodeId) -> Result<(), MembershipError> {
    let status = status::of(inner);
    let member = status.members.iter().find(|member| member.node == node);
    let is_voter = member.ok_or(MembershipError::NoSuchNode(node))?.voter;
    if status.leader != Some(inner.node) {
        return Err(MembershipError::NotLeader);
    }
    if is_voter && !status.can_miss(node) {
        let why = "of the voters that would be left no majority answers now, so that nothing could be committed: \
                   start them, or remove one of those that do not answer first";
        return Err(MembershipError::Failed(why.into()));
    }
    let wanted = match is_voter {
        true => ChangeMembers::RemoveVoters([node.0].into()),
        false => ChangeMembers::RemoveNodes([node.0].into()),
    };
    change(inner, wanted).await
}

/// Ends in each office of this node what an earlier leader has begun.
pub(super) async fn end_begun(inner: Weak<Inner>, mut offices: watch::Receiver<Option<Office>>) {
    loop {
        let term = offices.borrow_and_update().as_ref().map(Office::term);
        let ending = match (term, inner.upgrade()) {
            (_, None) => return,
            (Some(term), Some(inner)) if is_left_halfway(&inner.raft.metrics().borrow_watched(), term) => {
                tracing::info!(node = %inner.node, %term, "a change of members is ended that its leader did not end");
                Some(change(&inner, nothing_more()))
            }
            _ => None,
        };
        if let Some(Err(why)) = futures_util::future::OptionFuture::from(ending).await {
            tracing::debug!(%why, "another leader ends it, or another change has");
        }
        if offices.changed().await.is_err() {
            return;
        }
    }
}

/// From two sets of voters openraft goes on to the newer one, whatever else is asked for.
fn nothing_more() -> ChangeMembers<u64, Peer> {
    ChangeMembers::AddVoterIds(BTreeSet::new())
}

/// Whether there are two sets of voters since before this term. Those of this term are gone on with where they were begun.
fn is_left_halfway(metrics: &RaftMetrics<Types<Runtime>>, term: Term) -> bool {
    let stored = &metrics.membership_config;
    let begun = stored.log_id().as_ref().map(|id| id.leader_id.term);
    stored.membership().get_joint_config().len() > 1 && begun.is_some_and(|begun| begun < term.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::types::{Membership, StoredMembership, log_id};

    #[test]
    fn who_takes_office_ends_a_change_of_an_earlier_term_and_none_of_its_own() {
        let seen = |term: u64, voters: &[&[u64]]| {
            let peer =
                |id: u64| (id, Peer { peer_address: format!("peer-{id}"), api_address: String::new() });
            let nodes: BTreeMap<u64, Peer> = [1, 2, 3, 1_000].map(peer).into();
            let sets = voters.iter().map(|set| set.iter().copied().collect()).collect();
            let stored = StoredMembership::new(Some(log_id(term, 9)), Membership::new(sets, nodes).unwrap());
            let mut metrics = RaftMetrics::new_initial(1);
            metrics.membership_config = Arc::new(stored);
            is_left_halfway(&metrics, Term(5))
        };
        let (before, after): (&[u64], &[u64]) = (&[1, 2, 3], &[1, 2, 1_000]);
        assert!(seen(4, &[before, after]));
        assert!(!seen(5, &[before, after]), "it is under way");
        assert!(!seen(4, &[after]), "it has come to its end");
    }
}
