//! The machine makes sense at every index: names, counts, marks, leases and every derived index (core's `invariant`; DESIGN §3).
//!
//! It walks the machine, so it looks at every 256th entry and at the end.

use campanile_core::invariant;

use super::{Findings, Invariant, SAMPLE};
use crate::sim::story::{End, Step};

/// Whether a contradiction was told: one that stays is told once.
#[derive(Debug, Default)]
pub(super) struct Sound {
    told: bool,
}

impl Sound {
    fn look(&mut self, index: u64, machine: &campanile_core::machine::Machine, found: &mut Findings) {
        if self.told {
            return;
        }
        if let Err(why) = invariant::check(machine) {
            self.told = true;
            found.add(self.name(), || format!("at entry {index}: {why}"));
        }
    }
}

impl Invariant for Sound {
    fn name(&self) -> &'static str {
        "the machine makes sense"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        if step.index.is_multiple_of(SAMPLE) {
            self.look(step.index, step.after, found);
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        self.look(end.machine.applied().0, end.machine, found);
    }
}
