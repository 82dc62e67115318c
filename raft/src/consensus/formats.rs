//! Which format level every member of the cluster reads.

use tokio::time::Instant;

use campanile_core::format::FormatLevel;
use campanile_core::id::NodeId;
use openraft::async_runtime::WatchReceiver;

use super::Consensus;

impl Consensus {
    /// The newest level that all members read, learners too; none while one has not said it lately. Only a leader hears
    /// everybody.
    #[must_use]
    pub fn common_level(&self) -> Option<FormatLevel> {
        let metrics = self.0.raft.server_metrics();
        let others: Vec<NodeId> = {
            let metrics = metrics.borrow_watched();
            let nodes = metrics.membership_config.membership().nodes();
            nodes.map(|(node, _)| NodeId(*node)).filter(|node| *node != self.0.node).collect()
        };
        self.0.formats.common(self.0.options.speaks, others, Instant::now())
    }
}
