//! The log's time never runs backwards, and its rows are of their entry's time (SEMANTICS §7; DESIGN §2, rule 6). Entries come
//! in the order of their indexes.

use campanile_core::time::Timestamp;

use super::{Findings, Invariant, is_admitted};
use crate::sim::story::Step;

/// The last entry.
#[derive(Debug)]
pub(super) struct LogTime {
    index: u64,
    at: Timestamp,
}

impl Default for LogTime {
    fn default() -> Self {
        Self { index: 0, at: Timestamp::from_millis(i64::MIN) }
    }
}

impl Invariant for LogTime {
    fn name(&self) -> &'static str {
        "log time is monotone"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        let (index, at) = (step.index, step.command.at);
        if index <= self.index {
            found.add(self.name(), || format!("entry {index} follows entry {}", self.index));
        }
        self.index = index;
        if !is_admitted(step) {
            return;
        }
        if at < self.at {
            found.add(self.name(), || format!("entry {index} is of {at:?}, the one before of {:?}", self.at));
        }
        self.at = at;
        if step.after.clock() != at {
            let clock = step.after.clock();
            found.add(self.name(), || format!("entry {index} is of {at:?}, and the machine shows {clock:?}"));
        }
        if let Some(row) = step.rows.iter().find(|row| row.at != at) {
            found.add(self.name(), || format!("entry {index} is of {at:?} and has a row of {:?}", row.at));
        }
    }
}
