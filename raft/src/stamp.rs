//! The latest moment that an entry may be stamped with.
//!
//! ```text
//!   take office, propose:  at = max( min(now, bound(now, what the other voters' clocks show)), last stamp, log's time )
//! ```
//! The log's time never runs back: one entry that is stamped an hour ahead freezes every schedule for an hour. So every
//! stamp passes here, that of taking office too. What is too far ahead is judged by the node; this room asks it with the
//! readings that it has.

use std::sync::Arc;

use campanile_core::id::NodeId;
use campanile_core::time::Timestamp;

use crate::transport::clocks::{Clocks, PeerClock};

/// The node's judgement: a wall clock's reading as it was just taken, and what is known of each other voter's clock, make
/// the latest moment that an entry may carry. Called for every proposal, so it must be quick and must not propose.
pub type StampBound = Arc<dyn Fn(Timestamp, &[Option<PeerClock>]) -> Timestamp + Send + Sync>;

/// What bounds the stamps of one node.
pub struct Stamps {
    pub(crate) node: NodeId,
    pub(crate) clocks: Arc<Clocks>,
    pub(crate) bound: StampBound,
}

impl Stamps {
    /// The clocks of the other voters; nobody's when this node does not vote, and so is compared with nobody.
    pub(crate) fn others(&self, voters: impl Iterator<Item = u64>) -> Vec<Option<PeerClock>> {
        let clocks = self.clocks.all();
        let (own, others): (Vec<u64>, Vec<u64>) = voters.partition(|voter| *voter == self.node.0);
        match own.is_empty() {
            true => Vec::new(),
            false => others.into_iter().map(|voter| clocks.get(&NodeId(voter)).copied()).collect(),
        }
    }

    /// `now`, or the latest moment that the node allows when that is earlier.
    pub(crate) fn bounded(&self, now: Timestamp, voters: impl Iterator<Item = u64>) -> Timestamp {
        now.min((self.bound)(now, &self.others(voters)))
    }
}
