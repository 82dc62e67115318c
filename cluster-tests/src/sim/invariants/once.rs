//! Every firing is decided once: its identity is made from what it means, so whoever proposes it again proposes nothing
//! (SEMANTICS §2.1; DESIGN §2, rule 4).

use std::collections::BTreeSet;

use campanile_core::event::Event;
use campanile_core::firing::FiringId;

use super::{Findings, Invariant};
use crate::sim::story::Step;

/// Which have fired.
#[derive(Debug, Default)]
pub(super) struct Once {
    fired: BTreeSet<FiringId>,
}

impl Invariant for Once {
    fn name(&self) -> &'static str {
        "one firing per identity"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        for row in step.rows {
            if let Event::Fired { firing, kind, .. } = row.event
                && !self.fired.insert(firing)
            {
                found.add(self.name(), || format!("entry {} fired {firing:?} again ({kind:?})", step.index));
            }
        }
    }
}
