//! Which tz data each peer plans by, as it rides on answers beside the clock.
//!
//! Shown and compared by the node, never judged here: instants travel as numbers, so peers of different data do not part.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use campanile_core::id::NodeId;

/// The longest version that is taken note of; those of the tz database have five characters.
const LONGEST: usize = 64;

/// What each peer last said. A peer of a version that does not say it is not in here.
#[derive(Debug, Default)]
pub struct Zones(Mutex<BTreeMap<NodeId, Arc<str>>>);

impl Zones {
    /// Takes note of the version that a peer named. One that is no version is like none.
    pub fn note(&self, peer: NodeId, version: &str) {
        if version.is_empty() || version.len() > LONGEST {
            return;
        }
        let mut zones = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if zones.get(&peer).is_none_or(|known| &**known != version) {
            zones.insert(peer, version.into());
        }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> BTreeMap<NodeId, Arc<str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
