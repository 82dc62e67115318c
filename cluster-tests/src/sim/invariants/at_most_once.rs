//! At most once, for those who ask for it: a firing is sent once, and a lost answer ends it as unknown; only what certainly
//! never left may be sent again (SEMANTICS §2.3).

use std::collections::{BTreeMap, BTreeSet};

use campanile_core::attempt::Verdict;
use campanile_core::definition::Delivery;
use campanile_core::event::{Event, Outcome};
use campanile_core::firing::FiringId;

use super::{Findings, Invariant};
use crate::sim::story::{End, Step};

/// The firings that are to be sent once, and the attempts that said that nothing had left.
#[derive(Debug, Default)]
pub(super) struct AtMostOnce {
    once: BTreeSet<FiringId>,
    not_sent: BTreeSet<(FiringId, u32)>,
}

impl Invariant for AtMostOnce {
    fn name(&self) -> &'static str {
        "at most once"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        for row in step.rows {
            match &row.event {
                Event::Fired { firing, .. } => {
                    // One that has ended in the entry that fired it is sent by nobody.
                    let policy = step.after.firing(*firing).map(|firing| firing.definition.policy.clone());
                    if policy.is_some_and(|policy| policy.delivery == Delivery::AtMostOnce) {
                        self.once.insert(*firing);
                    }
                }
                Event::Settled { firing, attempt, report, outcome } if self.once.contains(firing) => {
                    let verdict = report.as_ref().map(|report| report.verdict);
                    if verdict == Some(Verdict::NotSent) {
                        self.not_sent.insert((*firing, attempt.0));
                    } else if matches!(outcome, Outcome::Retry { .. }) {
                        found.add(self.name(), || {
                            format!("entry {} tries {firing:?} again after {verdict:?}", step.index)
                        });
                    }
                }
                _ => {}
            }
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        let mut sent: BTreeMap<FiringId, u32> = BTreeMap::new();
        for send in end.story.sends.iter().filter(|send| self.once.contains(&send.firing)) {
            if !self.not_sent.contains(&(send.firing, send.attempt)) {
                *sent.entry(send.firing).or_default() += 1;
            } else if send.arrived.is_some() {
                found.add(self.name(), || {
                    format!(
                        "{:?} arrived by attempt {}, which says that it never left",
                        send.firing, send.attempt
                    )
                });
            }
        }
        for (firing, times) in sent.into_iter().filter(|(_, times)| *times > 1) {
            found.add(self.name(), || format!("{firing:?} was sent {times} times"));
        }
    }
}
