//! Which node sends what: every node looks at the same work, and each schedule has one that prefers it.
//!
//! Preference spreads the work and keeps connections where they are; it decides nothing. Were two nodes to begin the same
//! attempt, the log would give it to one. So whoever is preferred and does not come (it is silent, or all its seats are
//! taken) is helped: at once by a leader that knows it to be silent, after a moment by anybody.

use campanile_core::id::{NodeId, Uid};
use campanile_core::retry::mix;
use campanile_core::time::Span;

use crate::service::quorum::ClusterStatus;

/// Work that has waited so long for its node is anybody's; the leader, which is nearest to the log, comes first.
const LEADER_HELPS: Span = Span::from_millis(200);
const ALL_HELP: Span = Span::from_millis(400);

/// The nodes that send, as one of them sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shares {
    own: NodeId,
    leads: bool,
    /// The voters, and of each whether it is known to be silent.
    voters: Vec<(NodeId, bool)>,
}

impl Shares {
    /// What the cluster looks like from a node. Only its leader knows who is silent.
    pub(super) fn of(status: &ClusterStatus, leads: bool) -> Self {
        let voter = |node: &crate::wire::cluster::Node| (NodeId(node.id), node.reachable == Some(false));
        let voters = status.nodes.iter().filter(|node| node.role != "learner").map(voter).collect();
        Self { own: status.node, leads, voters }
    }

    /// Whether this node sends the firings of a schedule that have waited so long. A node that does not vote sends nothing:
    /// it may be far behind.
    pub(super) fn sends(&self, uid: Uid, waited: Span) -> bool {
        if !self.voters.iter().any(|(node, _)| *node == self.own) {
            return false;
        }
        let Some((preferred, silent)) = self.preferred(uid) else { return false };
        preferred == self.own || (self.leads && (silent || waited >= LEADER_HELPS)) || waited >= ALL_HELP
    }

    /// Rendezvous hashing (Thaler, Ravishankar 1998): when a node goes, only its schedules move.
    fn preferred(&self, uid: Uid) -> Option<(NodeId, bool)> {
        self.voters.iter().copied().max_by_key(|(node, _)| (mix(uid.0 ^ mix(node.0)), node.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(own: u64, leads: bool, silent: &[u64]) -> Shares {
        let voters = [1, 2, 3].map(|node| (NodeId(node), silent.contains(&node)));
        Shares { own: NodeId(own), leads, voters: voters.to_vec() }
    }

    #[test]
    fn each_schedule_has_one_node_and_each_node_about_a_third() {
        let nodes = [1, 2, 3].map(|own| shares(own, own == 1, &[]));
        let mut counts = [0; 3];
        for uid in 0..3_000 {
            let takers: Vec<usize> = (0..3).filter(|n| nodes[*n].sends(Uid(uid), Span::ZERO)).collect();
            assert_eq!(takers.len(), 1, "schedule {uid}");
            counts[takers[0]] += 1;
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_silent_nodes_work_is_the_leaders_at_once_and_anybodys_after_a_moment() {
        let of_three = (0..100).map(Uid).find(|uid| shares(3, false, &[]).sends(*uid, Span::ZERO));
        let uid = of_three.expect("a third of them");
        assert!(!shares(1, true, &[]).sends(uid, Span::ZERO));
        assert!(shares(1, true, &[3]).sends(uid, Span::ZERO));
        assert!(!shares(2, false, &[]).sends(uid, LEADER_HELPS));
        assert!(shares(1, true, &[]).sends(uid, LEADER_HELPS));
        assert!(shares(2, false, &[]).sends(uid, ALL_HELP));
    }

    #[test]
    fn a_node_that_does_not_vote_sends_nothing() {
        assert!((0..100).all(|uid| !shares(9, false, &[]).sends(Uid(uid), ALL_HELP)));
    }
}
