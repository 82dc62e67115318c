//! Whether this node can serve, and why not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use campanile_raft::Consensus;

use super::clocks::Clocks;
use crate::service::warnings;

/// A node that is so many committed entries behind answers questions from the past.
const BEHIND: u64 = 10_000;
/// A leader that no majority has answered for so long is likely to lead nobody, and one that nobody has heard for so long
/// is likely to be dead.
const SILENCE: Duration = Duration::from_secs(2);

/// Set once the node is on its way down.
#[derive(Debug, Clone, Default)]
pub(super) struct Stopping(Arc<AtomicBool>);

impl Stopping {
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Each reason for not being ready; none when the node is.
pub(super) fn reasons(consensus: &Consensus, clocks: &Clocks, stopping: &Stopping) -> Vec<String> {
    let status = consensus.status();
    let mut reasons = Vec::new();
    if stopping.has_begun() {
        reasons.push("the node is stopping".to_owned());
    }
    if let Some(why) = consensus.fatal().borrow().as_ref() {
        reasons.push(format!("the node must stop: {why}"));
    }
    if status.leader.is_none() {
        reasons.push("no leader is known".to_owned());
    }
    if let Some(age) = status.quorum_age.filter(|age| *age > SILENCE) {
        reasons.push(format!("no majority has answered this leader for {} ms", age.as_millis()));
    }
    if let Some(age) = status.leader_age.filter(|age| *age > SILENCE) {
        reasons.push(format!("no leader has been heard for {} ms", age.as_millis()));
    }
    if status.watchdogs.disk_hangs_now {
        reasons.push("the disk hangs: a write of the log does not end".to_owned());
    }
    let behind = status.committed.0.saturating_sub(status.applied.0);
    if behind > BEHIND {
        reasons.push(format!("{behind} committed entries are not applied yet"));
    }
    // Whoever leads: a node that is ahead would decide nothing if it were elected, so the cluster has one node less.
    reasons.extend(warnings::own_clock_ahead(clocks.standing(), clocks.guard().max_ahead));
    reasons
}
