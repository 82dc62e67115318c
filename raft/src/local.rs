//! The node under apply: its clock and its number. Nothing in apply may look at either, so in what ships it is empty;
//! with the feature `mutants` the simulation sees what becomes of replicas that do.

use campanile_core::command::Command;
use campanile_core::event::Row;
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
#[cfg(feature = "mutants")]
use campanile_core::mutant::{self, Mutant};
use campanile_core::reply::Reply;

use crate::transport::clocks::WallClock;

/// What a replica must not apply by.
#[derive(Clone, Default)]
pub(crate) struct Local {
    #[cfg(feature = "mutants")]
    node: u64,
    #[cfg(feature = "mutants")]
    clock: Option<WallClock>,
}

#[cfg(not(feature = "mutants"))]
impl Local {
    pub(crate) fn of(_: &WallClock, _: u64) -> Self {
        Self {}
    }

    /// Applies a command, as the log says it.
    pub(crate) fn apply(
        &self,
        machine: &mut Machine,
        index: LogIndex,
        command: &Command,
    ) -> (Reply, Vec<Row>) {
        machine.apply(index, command)
    }
}

#[cfg(feature = "mutants")]
impl Local {
    pub(crate) fn of(clock: &WallClock, node: u64) -> Self {
        Self { node, clock: Some(clock.clone()) }
    }

    /// Applies a command as the log says it, or as a mutant of this replica does.
    pub(crate) fn apply(
        &self,
        machine: &mut Machine,
        index: LogIndex,
        command: &Command,
    ) -> (Reply, Vec<Row>) {
        mutant::as_replica(self.node, || match &self.clock {
            Some(clock) if mutant::is_on(Mutant::LocalClockInApply) => {
                // Not before the log's time: that would be refused, and nothing be told by that clock.
                let at = clock().max(machine.clock());
                machine.apply(index, &Command { at, ..command.clone() })
            }
            _ => machine.apply(index, command),
        })
    }
}

#[cfg(all(test, feature = "mutants"))]
mod tests {
    use std::sync::Arc;

    use campanile_core::command::{Body, LeaderEpoch};
    use campanile_core::id::{Epoch, NodeId, Term};
    use campanile_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_mutant_with_a_local_clock_tells_another_time_than_the_log() {
        let told = || {
            let clock: WallClock = Arc::new(|| Timestamp::from_millis(7_777));
            let take = LeaderEpoch {
                node: NodeId(1),
                incarnation: 1,
                term: Term(1),
                ledger: None,
                leaderless_since: None,
            };
            let at = Timestamp::from_millis(5_000);
            let command = Command { at, epoch: Epoch(0), body: Body::LeaderEpoch(take) };
            let (_, rows) = Local::of(&clock, 1).apply(&mut Machine::default(), LogIndex(1), &command);
            rows.iter().map(|row| row.at.as_millis()).collect::<Vec<_>>()
        };
        assert_eq!(mutant::with(None, told), [5_000]);
        assert_eq!(mutant::with(Some(Mutant::LocalClockInApply), told), [7_777]);
    }
}
