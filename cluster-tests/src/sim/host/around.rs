//! What is around a machine.

use std::sync::Arc;

use campanile::dispatch::exit::Exit;
use tokio::sync::Notify;

use super::super::net::Net;
use super::super::trace::Trace;
use super::super::tuning::Tuning;

/// What every machine of a world shares.
#[derive(Clone)]
pub struct Around {
    /// The network.
    pub net: Net,
    /// The way to the receivers.
    pub exit: Arc<dyn Exit>,
    /// The trace.
    pub trace: Trace,
    /// The peer addresses of the founders and of everybody who may join.
    pub peers: Arc<Vec<String>>,
    /// How the nodes are set.
    pub tuning: Tuning,
    /// Rung whenever a node has applied something.
    pub stir: Arc<Notify>,
}
