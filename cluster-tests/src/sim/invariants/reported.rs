//! What a worker was told is settled stands in the ledger: a report of that very attempt, no later than the answer (SEMANTICS
//! §2.5, §6: a worker that lost its lease gets 409, and its outcome changes nothing).

use std::collections::BTreeMap;

use campanile_core::event::Event;
use campanile_core::firing::FiringId;

use super::{Bounds, Findings, Invariant};
use crate::sim::story::{End, Moment, Outcome, Step};

/// When the first node knew of the report of each attempt.
#[derive(Debug)]
pub(super) struct Reported {
    bounds: Bounds,
    heard: BTreeMap<(FiringId, u32), Moment>,
}

impl Reported {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds, heard: BTreeMap::new() }
    }
}

impl Invariant for Reported {
    fn name(&self) -> &'static str {
        "acknowledged reports are kept"
    }

    fn step(&mut self, step: &Step<'_>, _: &mut Findings) {
        for row in step.rows {
            if let Event::Settled { firing, attempt, report: Some(_), .. } = row.event {
                self.heard.insert((firing, attempt.0), step.seen);
            }
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        for call in &end.story.calls {
            let Some((ended, Outcome::Ok(..))) = &call.ended else { continue };
            let Some(attempt) = settled(&call.path) else { continue };
            let by = *ended + self.bounds.watch.as_millis();
            let heard = self.heard.get(&attempt);
            if heard.is_none_or(|heard| *heard > by) {
                found.add(self.name(), || {
                    let (firing, attempt) = attempt;
                    format!(
                        "{firing:?} attempt {attempt} was acknowledged at {ended}, and reported at {heard:?}"
                    )
                });
            }
        }
    }
}

/// The attempt that a call settles: `/v1/leases/lse_<firing>_<attempt>/settle`.
fn settled(path: &str) -> Option<(FiringId, u32)> {
    let lease = path.strip_prefix("/v1/leases/lse_")?.strip_suffix("/settle")?;
    let (firing, attempt) = lease.split_once('_')?;
    Some((format!("frg_{firing}").parse().ok()?, attempt.parse().ok()?))
}
