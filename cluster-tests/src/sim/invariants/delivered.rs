//! At least once: what ended as succeeded was accepted by its receiver, in the attempt that says so (SEMANTICS §2.3, §6: 2xx is
//! success).
//!
//! That each firing ends at all is another property's.

use std::collections::BTreeSet;

use campanile_core::attempt::{Holder, Verdict};
use campanile_core::event::Event;
use campanile_core::firing::FiringId;

use super::{Findings, Invariant};
use crate::sim::story::{End, Step};

/// The attempts of nodes, and those of them that say that they were accepted.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    of_nodes: BTreeSet<(FiringId, u32)>,
    accepted: Vec<(FiringId, u32)>,
}

impl Invariant for Delivered {
    fn name(&self) -> &'static str {
        "at least once"
    }

    fn step(&mut self, step: &Step<'_>, _: &mut Findings) {
        for row in step.rows {
            match &row.event {
                Event::Begun { firing, lease } if matches!(lease.holder, Holder::Node(_)) => {
                    self.of_nodes.insert((*firing, lease.attempt.0));
                }
                Event::Settled { firing, attempt, report, .. } => {
                    let is_ours = self.of_nodes.remove(&(*firing, attempt.0));
                    let verdict = report.as_ref().map(|report| report.verdict);
                    if is_ours && verdict == Some(Verdict::Succeeded) {
                        self.accepted.push((*firing, attempt.0));
                    }
                }
                _ => {}
            }
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        let is_taken = |status: u16| (200..300).contains(&status);
        let sends = end.story.sends.iter();
        let taken = sends.filter(|send| send.arrived.is_some() && send.answered.is_some_and(is_taken));
        let taken: BTreeSet<(FiringId, u32)> = taken.map(|send| (send.firing, send.attempt)).collect();
        for (firing, attempt) in self.accepted.iter().filter(|accepted| !taken.contains(accepted)) {
            found.add(self.name(), || {
                format!("{firing:?} succeeded in attempt {attempt}, which no receiver has accepted")
            });
        }
    }
}
