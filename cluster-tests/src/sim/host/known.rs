//! What the disk of a machine is known to hold, and whether the others can do without it.

use campanile_core::id::NodeId;

use super::{Host, Running};

/// Whose disk a machine has, and which sets of voters its log names.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// Whose.
    node: NodeId,
    /// Of each of them a majority is needed.
    voters: Vec<Vec<NodeId>>,
}

impl Known {
    pub(super) fn of(running: &Running) -> Self {
        Self { node: running.consensus.node(), voters: running.consensus.status().voters }
    }
}

/// Whether a majority of the voters keeps its disk when this one is wiped. A cluster outlives the loss of fewer alone: what
/// was committed is on a majority of disks, and only somebody who knows nothing of the others takes away the next one.
pub(in crate::sim) fn can_miss_disk(hosts: &[Host], host: &Host) -> bool {
    let others = hosts.iter().filter(|other| other.place() != host.place());
    let kept: Vec<NodeId> = others.filter_map(Host::known).map(|known| known.node).collect();
    let in_office = hosts.iter().filter_map(Host::running).filter_map(|running| {
        let term = running.consensus.offices().borrow().as_ref()?.term();
        Some((term, running.consensus.status().voters))
    });
    let sets = match in_office.max_by_key(|(term, _)| *term) {
        Some((_, voters)) => voters,
        // Nobody knows for certain: whatever any log names.
        None => hosts.iter().filter_map(Host::known).flat_map(|known| known.voters).collect(),
    };
    let keeps = |set: &Vec<NodeId>| 2 * set.iter().filter(|voter| kept.contains(voter)).count() > set.len();
    sets.iter().all(keeps)
}
