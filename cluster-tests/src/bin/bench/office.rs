//! A leader, its machine and its planner, without a log and without disks: what the pure phases measure.

use std::sync::Arc;

use anyhow::Result;
use campanile_core::command::{Body, Command, Condition, LeaderEpoch, Request};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use campanile_core::definition::{Definition, ScheduleName};
use campanile_core::event::Row;
use campanile_core::id::{Epoch, LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner, Wanted};
use campanile_core::reply::Reply;
use campanile_core::spec::{CronSpec, Spec};
use campanile_core::time::Timestamp;

/// Half of the ticker's own bound: so many decisions of missed instants fit into an entry of the log.
const INSTANTS_PER_TICK: usize = 1_500;

/// The leader.
pub(crate) struct Office {
    pub(crate) machine: Machine,
    pub(crate) planner: Planner,
    epoch: Epoch,
    term: u64,
}

/// What one command came to.
pub(crate) struct Committed {
    pub(crate) index: LogIndex,
    pub(crate) reply: Reply,
    pub(crate) rows: Vec<Row>,
}

impl Office {
    /// In office from `start` on, and what that told.
    pub(crate) fn at(start: Timestamp) -> (Self, Committed) {
        let options = Options { instants_per_tick: INSTANTS_PER_TICK, ..Options::default() };
        let mut office =
            Self { machine: Machine::default(), planner: Planner::new(options), epoch: Epoch(0), term: 0 };
        let taken = office.take(NodeId(1), start);
        (office, taken)
    }

    /// A node takes office.
    pub(crate) fn take(&mut self, node: NodeId, at: Timestamp) -> Committed {
        self.term += 1;
        let term = Term(self.term);
        let take = LeaderEpoch { node, incarnation: 1, term, ledger: None, leaderless_since: None };
        let taken = self.commit(at, Body::LeaderEpoch(take));
        self.epoch = self.machine.epoch();
        taken
    }

    /// The term of whoever is in office.
    pub(crate) fn term(&self) -> Term {
        Term(self.term)
    }

    /// Puts a schedule.
    pub(crate) fn put(
        &mut self,
        name: &str,
        at: Timestamp,
        definition: Arc<Definition>,
    ) -> Result<Committed> {
        let at = at.max(self.machine.clock());
        let body = self.planner.put(&self.machine, at, wanted(name)?, definition);
        Ok(self.commit(at, body.map_err(|bad| anyhow::anyhow!("{bad}"))?))
    }

    /// Applies a command as the next entry.
    pub(crate) fn commit(&mut self, at: Timestamp, body: Body) -> Committed {
        let index = LogIndex(self.machine.applied().0 + 1);
        let command = Command { at: at.max(self.machine.clock()), epoch: self.epoch, body };
        let (reply, rows) = self.machine.apply(index, &command);
        Committed { index, reply, rows }
    }
}

/// What the bench asks for.
pub(crate) fn wanted(name: &str) -> Result<Wanted> {
    let name = ScheduleName::parse(name).map_err(|bad| anyhow::anyhow!("{bad:?}"))?;
    let request = Request { by: "bench".into(), key: None };
    Ok(Wanted { name, condition: Condition::None, request })
}

/// A pattern with the defaults.
pub(crate) fn pattern(text: &str, time_zone: &str) -> CronSpec {
    CronSpec {
        text: text.into(),
        time_zone: time_zone.into(),
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }
}

/// A spec of a pattern with the defaults.
pub(crate) fn cron(text: &str, time_zone: &str) -> Spec {
    Spec::Cron(Box::new(pattern(text, time_zone)))
}
