//! What a worker was told is settled stands in the ledger: a report of that very attempt, no later than the answer (SEMANTICS
//! §2.5, §6: a worker that lost its lease gets 409, and its outcome changes nothing). And the other way round: whose outcome
//! was taken is not told that its lease is lost: who asks again gets the same answer.

use std::collections::BTreeMap;

use campanile_core::attempt::Verdict;
use campanile_core::event::Event;
use campanile_core::firing::FiringId;

use super::{Bounds, Findings, Invariant};
use crate::sim::story::{End, Moment, Outcome, Step};

/// When the first node knew of the report of each attempt, and what it says.
#[derive(Debug)]
pub(super) struct Reported {
    bounds: Bounds,
    heard: BTreeMap<(FiringId, u32), (Moment, &'static str)>,
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
            if let Event::Settled { firing, attempt, report: Some(report), .. } = &row.event {
                self.heard.insert((*firing, attempt.0), (step.seen, word(report.verdict)));
            }
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        for call in &end.story.calls {
            let (Some((ended, outcome)), Some(attempt)) = (&call.ended, settled(&call.path)) else {
                continue;
            };
            let heard = self.heard.get(&attempt).copied();
            let (firing, number) = attempt;
            match outcome {
                Outcome::Ok(..) => {
                    let by = *ended + self.bounds.watch.as_millis();
                    let moment = heard.map(|(moment, _)| moment);
                    if moment.is_none_or(|moment| moment > by) {
                        found.add(self.name(), || {
                            format!("{firing:?} attempt {number} was acknowledged at {ended}, and reported at {moment:?}")
                        });
                    }
                }
                Outcome::Fail(_, code) if code == "lease_lost" => {
                    let said = call.body.as_ref().and_then(|body| body["outcome"].as_str());
                    let taken = heard.filter(|(moment, word)| moment <= ended && said == Some(*word));
                    if let Some((moment, word)) = taken {
                        found.add(self.name(), || {
                            format!("{firing:?} attempt {number}: {word} was taken at {moment}, and called lost at {ended}")
                        });
                    }
                }
                _ => {}
            }
        }
    }
}

/// What a worker says of an attempt that ends so (API, `settle`); nothing for those of nodes.
const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Succeeded => "succeeded",
        Verdict::Refused => "failed",
        Verdict::Stopped => "cancelled",
        Verdict::Retry { .. } => "retry",
        Verdict::TimedOut | Verdict::Gone | Verdict::NotSent | Verdict::Broken => "",
    }
}

/// The attempt that a call settles: `/v1/leases/lse_<firing>_<attempt>/settle`.
fn settled(path: &str) -> Option<(FiringId, u32)> {
    let lease = path.strip_prefix("/v1/leases/lse_")?.strip_suffix("/settle")?;
    let (firing, attempt) = lease.split_once('_')?;
    Some((format!("frg_{firing}").parse().ok()?, attempt.parse().ok()?))
}
