//! The cluster as people see it, and the orders that change it.

use campanile_core::cron;
use campanile_core::id::NodeId;
use campanile_core::machine::Machine;

use super::quorum::ChangeFailure;
use super::write::Failure;
use super::{Service, warnings};
use crate::problem::{Code, Problem};
use crate::wire::cluster::{AddNode, AddedNode, Cluster, LedgerHead, Transfer};
use crate::wire::time::Instant;

impl Service {
    /// Who is in the cluster, who leads, and how far each is.
    #[must_use]
    pub fn cluster(&self, machine: &Machine) -> Cluster {
        let status = self.quorum().status();
        let warnings = warnings::of(&status, machine.clock(), self.now());
        Cluster {
            name: status.name,
            node: status.node.0,
            version: env!("CARGO_PKG_VERSION").into(),
            leader: status.leader.map(|node| node.0),
            term: status.term,
            epoch: machine.epoch().0,
            applied: machine.applied().0,
            last_log: status.last_log.0,
            clock: Instant(machine.clock()),
            tz_data: cron::tzdb_version(),
            format_level: machine.format_level().0,
            clock_ahead: status.standing.is_ahead,
            quorum_offset_ms: status.standing.offset_millis,
            schedules: machine.schedule_count() as u64,
            live_firings: machine.live_count() as u64,
            ledger: LedgerHead::of(&self.records().reader()),
            nodes: status.nodes,
            warnings,
        }
    }

    /// Hands the leadership over.
    ///
    /// # Errors
    /// Why it was not.
    pub async fn transfer(&self, order: &Transfer) -> Result<(), Failure> {
        self.quorum().transfer(order.to.map(NodeId)).await.map_err(failure)
    }

    /// Admits a node.
    ///
    /// # Errors
    /// Why it was not.
    pub async fn add_node(&self, order: AddNode) -> Result<AddedNode, Failure> {
        let node = self.quorum().add_node(order.peer_address, order.api_address).await.map_err(failure)?;
        Ok(AddedNode { id: node.0 })
    }

    /// Removes a node.
    ///
    /// # Errors
    /// Why it was not.
    pub async fn remove_node(&self, node: NodeId) -> Result<(), Failure> {
        self.quorum().remove_node(node).await.map_err(failure)
    }
}

fn failure(failure: ChangeFailure) -> Failure {
    match failure {
        ChangeFailure::Undone(undone) => Failure::Undone(undone),
        ChangeFailure::NoSuchNode(node) => Problem::not_found(format!("there is no node {node}")).into(),
        ChangeFailure::Refused(why) => Problem::new(Code::Conflict, why).into(),
    }
}
