//! Counting what came of instants.

use campanile_core::firing::{EndState, Kind, Phase};
use campanile_core::machine::Machine;

use crate::service::records::counted::Seen;
use crate::wire::timeline::{Counts, Lateness};

/// A count under way.
#[derive(Debug, Default)]
pub(in crate::service) struct Tally {
    counts: Counts,
    lateness: Vec<u64>,
}

impl Tally {
    /// Counts one more thing.
    pub(in crate::service) fn add(&mut self, seen: Seen, machine: &Machine) {
        let counts = &mut self.counts;
        match seen {
            Seen::Fired { kind, lateness, .. } => {
                counts.fired += 1;
                // Others have a nominal that somebody chose, or the one of their decision.
                if matches!(kind, Kind::Scheduled | Kind::CatchUp) {
                    self.lateness.push(lateness.as_millis());
                }
            }
            Seen::Ended { state, .. } => {
                *match state {
                    EndState::Succeeded => &mut counts.succeeded,
                    EndState::Failed => &mut counts.failed,
                    EndState::TimedOut => &mut counts.timed_out,
                    EndState::Cancelled => &mut counts.cancelled,
                    EndState::Unknown => &mut counts.unknown,
                } += 1;
            }
            Seen::Skipped { reason, count, .. } => {
                *counts.skipped.entry(reason.as_str().to_owned()).or_default() += count;
            }
            Seen::Open { firing } => {
                *match machine.firing(firing).map(|live| &live.phase) {
                    Some(Phase::Running(_)) => &mut counts.running,
                    Some(Phase::Waiting { .. } | Phase::Held) => &mut counts.waiting,
                    Some(Phase::Queued) | None => &mut counts.queued,
                } += 1;
            }
        }
    }

    /// How late those were that it has counted.
    pub(in crate::service) fn lateness(&self) -> Option<Lateness> {
        Lateness::of(self.lateness.clone())
    }

    /// What it has counted.
    pub(in crate::service) fn counts(self) -> Counts {
        Counts { lateness: Lateness::of(self.lateness), ..self.counts }
    }
}
