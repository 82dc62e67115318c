//! What is refused changes nothing: a command of a stale epoch, or one that would run time back, is as if it had never been,
//! and any other refusal tells no fact (STYLE, *Errors*; DESIGN §4).

use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;

use super::{Findings, Invariant, is_admitted};
use crate::sim::story::Step;

/// Holds nothing.
#[derive(Debug)]
pub(super) struct Refused;

impl Invariant for Refused {
    fn name(&self) -> &'static str {
        "a refusal changes nothing"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        let Reply::Rejected(why) = step.reply else { return };
        if let Some(row) = step.rows.first() {
            found.add(self.name(), || {
                format!("entry {} was refused ({why:?}) and told {:?}", step.index, row.event)
            });
        }
        // Refusals of these two kinds are few, so the whole machine may be compared.
        if !is_admitted(step) && !is_unchanged(step) {
            found.add(self.name(), || {
                format!("entry {} was refused ({why:?}) and changed the machine", step.index)
            });
        }
    }
}

fn is_unchanged(step: &Step<'_>) -> bool {
    let mut passed = Machine::clone(step.before);
    passed.pass(LogIndex(step.index));
    passed == *step.after
}
