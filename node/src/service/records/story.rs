//! The story of one firing, made from its rows and, while it lives, from the machine.

use campanile_core::event::{Event, Outcome, Row, SkipReason};
use campanile_core::firing::{Firing as Live, FiringId, Kind, Phase};
use campanile_core::id::Revision;
use campanile_core::time::Timestamp;
use campanile_storage::ledger::Position;

use crate::wire::firing::{Attempt, Decided, Firing, SkippedRun};
use crate::wire::schedule::end_word;
use crate::wire::time::Instant;

/// What the rows have told so far.
#[derive(Debug, Default)]
pub(super) struct Story {
    decided: Option<Decision>,
    attempts: Vec<Attempt>,
    end: Option<&'static str>,
    skipped: Option<(SkipReason, SkippedRun)>,
}

#[derive(Debug, Clone, Copy)]
struct Decision {
    at: Timestamp,
    index: u64,
    revision: Revision,
    kind: Kind,
}

impl Story {
    /// Hears the next row of the firing, in the order of the log.
    pub(super) fn hear(&mut self, position: Position, row: &Row) {
        let decision = |revision, kind| Decision { at: row.at, index: position.index, revision, kind };
        match &row.event {
            Event::Fired { revision, kind, .. } => self.decided = Some(decision(*revision, *kind)),
            Event::Skipped { revision, reason, from, count, .. } => {
                self.decided = Some(decision(*revision, Kind::Scheduled));
                self.skipped = Some((*reason, SkippedRun { from: Instant(*from), count: *count }));
            }
            Event::Begun { lease, .. } => self.attempts.push(Attempt::begun(lease)),
            Event::Settled { attempt, report, outcome, .. } => {
                // Retention may have dropped the row in which it began.
                if let Some(place) = self.attempts.iter().position(|begun| begun.number == attempt.0) {
                    let begun = self.attempts.remove(place);
                    self.attempts.insert(place, begun.ended(row.at, report.as_ref()));
                }
                if let Outcome::End { state, .. } = outcome {
                    self.end = Some(end_word(*state));
                }
            }
            _ => {}
        }
    }

    /// The firing as it stands; `None` when neither a row nor the machine knows it.
    pub(super) fn tell(self, id: FiringId, live: Option<&Live>) -> Option<Firing> {
        let decided = self.decided.or_else(|| live.map(decision_of))?;
        let (state, waits_until) = match (self.skipped.is_some(), self.end, live) {
            (true, ..) => ("skipped", None),
            (false, Some(end), _) => (end, None),
            (false, None, Some(live)) => phase_of(live),
            // The row of its end is not indexed yet: what is certain is that it began, or did not.
            (false, None, None) if self.attempts.is_empty() => ("queued", None),
            (false, None, None) => ("running", None),
        };
        let reason = match &self.skipped {
            Some((reason, _)) => Some(reason.as_str().to_owned()),
            None => self
                .attempts
                .iter()
                .rev()
                .find_map(|attempt| attempt.error.clone())
                .filter(|_| state != "succeeded"),
        };
        Some(Firing {
            id: id.to_string(),
            schedule: None,
            uid: id.uid.to_string(),
            revision: decided.revision.0,
            nominal: Instant(id.nominal),
            run: id.run.0,
            kind: decided.kind.as_str().into(),
            state: state.into(),
            reason,
            skipped: self.skipped.map(|(_, run)| run),
            decided: Decided { at: Instant(decided.at), index: decided.index, term: None, node: None },
            lateness_ms: decided.at.since(id.nominal).as_millis(),
            waits_until,
            attempts: self.attempts,
        })
    }
}

fn decision_of(live: &Live) -> Decision {
    Decision { at: live.decided.at, index: live.decided.index.0, revision: live.revision, kind: live.kind }
}

fn phase_of(live: &Live) -> (&'static str, Option<Instant>) {
    match live.phase {
        Phase::Queued => ("queued", None),
        Phase::Waiting { until } => ("waiting", Some(Instant(until))),
        Phase::Running(_) => ("running", None),
        Phase::Held => ("waiting", None),
    }
}
