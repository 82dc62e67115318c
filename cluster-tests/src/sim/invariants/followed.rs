//! What a definition asks for when a firing has ended so (`on_failure`, `on_success`) comes once: it fires, or is dropped with a
//! reason, or still waits in the machine; and nothing follows that nobody asked for (SEMANTICS §6).

use std::collections::BTreeSet;

use campanile_core::event::{Event, Outcome};
use campanile_core::firing::{EndState, FiringId};

use super::{Findings, Invariant};
use crate::sim::story::{End, Step};

/// The firings that have ended, and what follows them has not come yet.
#[derive(Debug, Default)]
pub(super) struct Followed {
    open: BTreeSet<FiringId>,
}

/// Whether something is to follow that firing, which ends so. One that ends in the entry that fired it was cancelled.
fn asks_for_more(step: &Step<'_>, id: FiringId, state: EndState) -> bool {
    let Some(firing) = step.before.firing(id).filter(|firing| !firing.is_notice()) else { return false };
    let action = match state {
        EndState::Succeeded => &firing.definition.on_success,
        EndState::Failed | EndState::TimedOut | EndState::Unknown => &firing.definition.on_failure,
        EndState::Cancelled => return false,
    };
    // Of a schedule that is gone nothing follows.
    action.is_some() && step.before.schedule(id.uid).is_some()
}

impl Invariant for Followed {
    fn name(&self) -> &'static str {
        "what follows comes once"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        for row in step.rows {
            let cause = match &row.event {
                Event::Settled { firing, outcome: Outcome::End { state, .. }, .. } => {
                    if asks_for_more(step, *firing, *state) {
                        self.open.insert(*firing);
                    }
                    continue;
                }
                Event::Fired { kind, .. } => kind.cause(),
                Event::ChainDropped { cause, .. } => Some(*cause),
                _ => None,
            };
            if let Some(cause) = cause
                && !self.open.remove(&cause)
            {
                found.add(self.name(), || {
                    format!(
                        "entry {}: {:?} follows {cause:?}, which asks for nothing more",
                        step.index, row.event
                    )
                });
            }
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        let waiting: BTreeSet<FiringId> = end.machine.chains().map(|chain| chain.cause.firing).collect();
        for firing in self.open.symmetric_difference(&waiting) {
            found.add(self.name(), || {
                let known = if waiting.contains(firing) {
                    "waits to be followed, and should not"
                } else {
                    "has not been followed, and nothing waits"
                };
                format!("{firing:?} {known}")
            });
        }
    }
}
