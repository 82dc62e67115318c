//! The hosts that a node sends to, as JSON.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Instant;

/// The hosts that one node is sending to or that do not answer it. Each node has a view of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hosts {
    /// The node that answers.
    pub node: u64,
    /// They, by name.
    pub items: Vec<Host>,
}

/// A host, as one node sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Host {
    /// Host and port, as targets name them.
    pub host: String,
    /// How many requests to it are under way from this node.
    pub in_flight: u64,
    /// `closed`: requests pass. `open`: they wait. `half_open`: one at a time finds out whether it is back.
    #[schema(pattern = "^(closed|open|half_open)$")]
    pub state: String,
    /// How many requests in a row had no answer.
    pub failures: u32,
    /// The end of the pause, while it is `open`.
    pub open_until: Option<Instant>,
}
