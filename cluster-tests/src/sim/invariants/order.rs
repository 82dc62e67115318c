//! The instants of one schedule fire in their order, edits and failovers included, and its mark never moves back (SEMANTICS
//! §1, §4).

use std::collections::BTreeMap;

use campanile_core::event::Event;
use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::time::Timestamp;

use super::{Findings, Invariant, by_plan};
use crate::sim::story::Step;

/// The last instant of each schedule that fired.
#[derive(Debug, Default)]
pub(super) struct Order {
    last: BTreeMap<Uid, Timestamp>,
}

impl Invariant for Order {
    fn name(&self) -> &'static str {
        "instants fire in order"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        for row in step.rows {
            if let Some((firing, ..)) = by_plan(row)
                && let Some(last) = self.last.insert(firing.uid, firing.nominal)
                && last >= firing.nominal
            {
                found.add(self.name(), || format!("entry {} fired {firing:?} after {last:?}", step.index));
            }
            let Some(uid) = row.event.uid() else { continue };
            if let (Some(before), Some(after)) = (mark(step.before, uid), mark(step.after, uid))
                && after < before
            {
                found.add(self.name(), || {
                    format!("entry {} moved the mark of {uid} from {before:?} to {after:?}", step.index)
                });
            }
            if let Event::Deleted { uid, .. } = row.event {
                self.last.remove(&uid);
            }
        }
    }
}

fn mark(machine: &Machine, uid: Uid) -> Option<Timestamp> {
    Some(machine.schedule(uid)?.mark)
}
