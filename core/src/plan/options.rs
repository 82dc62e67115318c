//! What planning is set to.

use crate::cron::unknown_zone;
use crate::definition::Definition;
use crate::series::{BadSpec, List};
use crate::time::Span;

/// Settings of the cluster that planning depends on. They travel in no command: their consequences do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Instants younger than this are never missed: what tells a failover from an outage.
    pub failover_grace: Span,
    /// At most so many missed instants of one schedule fire at once; the older ones are skipped `limit`.
    pub max_catch_up: usize,
    /// At most so many instants in one Tick, so that an entry stays small.
    pub instants_per_tick: usize,
    /// A zone that the tz data of this node are taken to lack, for tests of clusters whose nodes are of different ages: what a
    /// newer one has accepted, an older one that leads cannot evaluate, and parks.
    pub lacks_zone: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            failover_grace: Span::from_secs(30),
            max_catch_up: 1_000,
            instants_per_tick: 3_000,
            lacks_zone: None,
        }
    }
}

impl Options {
    /// Whether the zones of all specs are known.
    ///
    /// # Errors
    /// The first spec in the zone that is lacking.
    pub(super) fn know_zones_of(&self, definition: &Definition) -> Result<(), BadSpec> {
        let Some(lacking) = self.lacks_zone else { return Ok(()) };
        match definition.specs.iter().position(|spec| spec.time_zone() == lacking) {
            Some(place) => Err(BadSpec { list: List::Specs, place, error: unknown_zone(lacking) }),
            None => Ok(()),
        }
    }
}
