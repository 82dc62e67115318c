//! Who is who in the cluster: a node whose disk is gone, or was moved aside, comes back under another id.

use serde_json::Value;

use super::Cluster;

/// Ids from here on are given by the cluster, and none of them twice.
pub const FIRST_GIVEN: u64 = 1000;

impl Cluster {
    /// The Raft id of a node that answers.
    ///
    /// # Panics
    /// When it does not answer.
    pub async fn id_of(&self, node: usize) -> u64 {
        let view = self.view(node).await.expect("a node that is ready answers");
        view["node"].as_u64().expect("a node has an id")
    }

    /// The new id of a node that was `old`, once every node agrees that the old one is gone and the new one votes.
    pub async fn replaced(&self, node: usize, old: u64) -> Option<u64> {
        let new = self.view(node).await?["node"].as_u64().filter(|id| *id != old)?;
        for node in self.places() {
            let view = self.view(node).await?;
            let members = view["nodes"].as_array()?.clone();
            let is = |member: &Value, id: u64| member["id"] == id;
            let votes = |member: &Value| is(member, new) && member["role"] != "learner";
            let gone = !members.iter().any(|member| is(member, old));
            if members.len() != self.places().count() || !gone || !members.iter().any(votes) {
                return None;
            }
        }
        Some(new)
    }
}
