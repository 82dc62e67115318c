//! A report counts only from the attempt in force, a lease ends no sooner than it says, and a firing is not begun again before
//! its wait is over (SEMANTICS §6; DESIGN §2).

use std::collections::BTreeMap;

use campanile_core::command::Body;
use campanile_core::event::{Event, Outcome, Row};
use campanile_core::firing::{EndState, FiringId};
use campanile_core::id::AttemptNumber;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;

use super::{Findings, Invariant};
use crate::sim::story::Step;

/// The firings that wait to be tried again: after which attempt, and until when.
#[derive(Debug, Default)]
pub(super) struct Settles {
    waits: BTreeMap<FiringId, (AttemptNumber, Timestamp)>,
}

impl Invariant for Settles {
    fn name(&self) -> &'static str {
        "settled by the attempt in force"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        self.judge_answers(step, found);
        for row in step.rows {
            if let Some(wrong) = self.hear(step, row) {
                found.add(self.name(), || format!("entry {}: {wrong}", step.index));
            }
        }
    }
}

impl Settles {
    fn hear(&mut self, step: &Step<'_>, row: &Row) -> Option<String> {
        match &row.event {
            Event::Begun { firing, lease } => {
                let (_, until) = self.waits.remove(firing)?;
                let at = row.at;
                (at < until).then(|| {
                    format!("{firing:?} began attempt {} at {at:?}, to wait until {until:?}", lease.attempt)
                })
            }
            Event::Settled { firing, attempt, report, outcome } => {
                let wrong = match (report, outcome) {
                    (Some(_), _) => reported(step, *firing, *attempt),
                    (None, Outcome::Retry { .. }) => ended(step, *firing, row.at, true),
                    // Somebody stopped it: a user, its successor, or the removal of its schedule.
                    (None, Outcome::End { state: EndState::Cancelled, .. }) => None,
                    (None, Outcome::End { state, .. }) => {
                        ended(step, *firing, row.at, *state != EndState::TimedOut)
                    }
                };
                match outcome {
                    Outcome::Retry { at } => drop(self.waits.insert(*firing, (*attempt, *at))),
                    Outcome::End { .. } => drop(self.waits.remove(firing)),
                }
                wrong
            }
            _ => None,
        }
    }

    /// Who is told that its report was taken held the lease, or says again what made the firing wait.
    fn judge_answers(&self, step: &Step<'_>, found: &mut Findings) {
        let (Body::Work(work), Reply::Worked(worked)) = (&step.command.body, step.reply) else { return };
        for (item, answer) in work.settles.iter().zip(&worked.settled) {
            let told = step.rows.iter().any(|row| {
                matches!(row.event, Event::Settled { firing, attempt, .. } if (firing, attempt) == (item.firing, item.attempt))
            });
            let repeats = self.waits.get(&item.firing).is_some_and(|(attempt, _)| *attempt == item.attempt);
            if answer.is_ok() && !told && !repeats {
                found.add(self.name(), || {
                    let (firing, attempt) = (item.firing, item.attempt);
                    format!(
                        "entry {} took a report of {firing:?} attempt {attempt} and did nothing",
                        step.index
                    )
                });
            }
        }
    }
}

/// What is wrong with a report that was taken. Settlements come first in their entry, so the lease stood before it.
fn reported(step: &Step<'_>, firing: FiringId, attempt: AttemptNumber) -> Option<String> {
    let lease = step.before.firing(firing).and_then(|it| it.lease()).map(|lease| lease.attempt);
    (lease != Some(attempt))
        .then(|| format!("{firing:?} was settled by attempt {attempt}, and {lease:?} ran"))
}

/// What is wrong with an end that the clock made: of a lease, or by the deadline.
fn ended(step: &Step<'_>, id: FiringId, at: Timestamp, needs_lease: bool) -> Option<String> {
    let firing = step.before.firing(id)?;
    let over = match firing.lease() {
        Some(lease) => lease.until,
        None if needs_lease => return Some(format!("{id:?} ended without a lease")),
        None => firing.deadline(),
    };
    (over > at).then(|| format!("{id:?} was ended at {at:?}, and had until {over:?}"))
}
