//! The story of one firing, made from its rows and, while it lives, from the machine.

use campanile_core::attempt::Lease;
use campanile_core::definition::Target;
use campanile_core::event::{Event, Outcome, Row, SkipReason};
use campanile_core::firing::{EndState, Firing as Live, FiringId, Kind, Lane, Phase};
use campanile_core::id::Revision;
use campanile_core::machine::Machine;
use campanile_core::time::Timestamp;
use campanile_storage::ledger::Position;

use crate::wire::backfill::backfill_id;
use crate::wire::firing::{Attempt, Decided, Discarded, Firing, NotFollowed, SkippedRun};
use crate::wire::schedule::end_word;
use crate::wire::time::Instant;

/// So many live firings of a schedule are looked at to find the one that another waits for.
const LOOKED_AT: usize = 1_000;
/// Who cancels for a rule.
const RULE: &str = "campanile";

/// What the rows have told so far.
#[derive(Debug, Default)]
pub(super) struct Story {
    decided: Option<Decision>,
    attempts: Vec<Attempt>,
    end: Option<&'static str>,
    skipped: Option<(SkipReason, SkippedRun)>,
    stop_asked: Option<Timestamp>,
    cancelled_by: Option<Box<str>>,
    /// It ended by the clock while nobody held it: its deadline.
    overdue: bool,
    not_followed: Option<NotFollowed>,
    discarded: Option<Discarded>,
}

#[derive(Debug, Clone, Copy)]
struct Decision {
    at: Timestamp,
    index: u64,
    revision: Revision,
    kind: Kind,
}

impl Story {
    /// What one row tells.
    pub(super) fn of(position: Position, row: &Row) -> Self {
        let mut story = Self::default();
        story.hear(position, row);
        story
    }

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
            Event::StopAsked { .. } => self.stop_asked = Some(row.at),
            Event::Cancelled { by, .. } => self.cancelled_by = Some(by.clone()),
            Event::Settled { attempt, report, outcome, .. } => {
                let ran = self.end_attempt(attempt.0, |begun, was_cancelled| match report {
                    None if was_cancelled => begun.cancelled(row.at),
                    report => begun.ended(row.at, report.as_ref()),
                });
                if let Outcome::End { state, .. } = outcome {
                    self.end = Some(end_word(*state));
                    self.overdue = !ran && report.is_none() && *state == EndState::TimedOut;
                }
            }
            Event::ChainDropped { to, reason, .. } => {
                let schedule = to.as_ref().map(|name| name.to_string());
                self.not_followed = Some(NotFollowed { schedule, reason: reason.as_str().into() });
            }
            Event::LetterDiscarded { by, .. } => {
                self.discarded = Some(Discarded { at: Instant(row.at), by: by.to_string() });
            }
            _ => {}
        }
    }

    /// Ends an attempt that runs; `false` when none of that number does. Retention may have dropped the row in which it began, and a firing that is cancelled
    /// while it waits names an attempt that has ended before.
    fn end_attempt(&mut self, number: u32, end: impl FnOnce(Attempt, bool) -> Attempt) -> bool {
        let runs = |attempt: &Attempt| attempt.number == number && attempt.settled_at.is_none();
        let Some(place) = self.attempts.iter().position(runs) else { return false };
        let begun = self.attempts.remove(place);
        self.attempts.insert(place, end(begun, self.cancelled_by.is_some()));
        true
    }

    /// The firing as it stands; `None` when neither a row nor the machine knows it.
    pub(super) fn tell(mut self, id: FiringId, machine: &Machine) -> Option<Firing> {
        // A run of skips has nothing to do with what else became of its last instant.
        let live = machine.firing(id).filter(|_| self.skipped.is_none()).map(|live| &**live);
        let decided = self.decided.or_else(|| live.map(decision_of))?;
        let (state, waits_until) = match (self.skipped.is_some(), self.end, live) {
            (true, ..) => ("skipped", None),
            (false, Some(end), _) => (end, None),
            (false, None, Some(live)) => phase_of(live),
            // The row of its end is not indexed yet: what is certain is that it began, or did not.
            (false, None, None) if self.attempts.is_empty() => ("queued", None),
            (false, None, None) => ("running", None),
        };
        let stop_asked = self.stop_asked.or_else(|| live.and_then(|live| live.stop_asked));
        if let Some(lease) = live.and_then(Live::lease) {
            self.extend_to(lease);
        }
        let reason = self.reason(state, stop_asked, live, machine);
        Some(Firing {
            id: id.to_string(),
            schedule: None,
            uid: id.uid.to_string(),
            revision: decided.revision.0,
            nominal: Instant(id.nominal),
            run: id.run.0,
            kind: decided.kind.as_str().into(),
            backfill: match decided.kind {
                Kind::Backfill(backfill) => Some(backfill_id(backfill)),
                _ => None,
            },
            cause: decided.kind.cause().map(|cause| cause.to_string()),
            state: state.into(),
            reason,
            skipped: self.skipped.map(|(_, run)| run),
            decided: Decided { at: Instant(decided.at), index: decided.index, term: None, node: None },
            lateness_ms: decided.at.since(id.nominal).as_millis(),
            waits_until,
            stop_asked_at: stop_asked.map(Instant),
            not_followed: self.not_followed,
            discarded: self.discarded,
            attempts: self.attempts,
        })
    }

    /// The end of a lease as it stands: that it was extended is no fact of the ledger.
    fn extend_to(&mut self, lease: &Lease) {
        let runs = |attempt: &&mut Attempt| attempt.number == lease.attempt.0 && attempt.settled_at.is_none();
        if let Some(attempt) = self.attempts.iter_mut().find(runs) {
            attempt.until = Some(Instant(lease.until));
        }
    }

    fn overdue_word(&self) -> &'static str {
        if self.attempts.is_empty() {
            "its deadline came before anybody began it"
        } else {
            "its deadline came before it was tried again"
        }
    }

    /// Why it stands like that, when that needs a word.
    fn reason(
        &self,
        state: &str,
        stop_asked: Option<Timestamp>,
        live: Option<&Live>,
        machine: &Machine,
    ) -> Option<String> {
        if let Some((reason, _)) = &self.skipped {
            return Some(reason.as_str().to_owned());
        }
        if self.end.is_none()
            && let Some(held) = live.filter(|live| live.phase == Phase::Held)
        {
            return Some(match blocker(machine, held) {
                Some(other) => format!("waits for {other} to settle"),
                None => "waits for the firings before it to settle".to_owned(),
            });
        }
        if self.overdue {
            return Some(self.overdue_word().to_owned());
        }
        let word = match (state, &self.cancelled_by) {
            ("cancelled", Some(by)) if &**by == RULE => Some("a newer firing took its place".to_owned()),
            ("cancelled", Some(by)) => Some(format!("cancelled by {by}")),
            ("cancelled", None) if stop_asked.is_some() => {
                Some("it was asked to stop, so that a newer firing could start".to_owned())
            }
            ("running", _) if stop_asked.is_some() => {
                Some("it is asked to stop, so that a newer firing can start".to_owned())
            }
            ("queued", _) => live.and_then(queue_of).map(|queue| format!("stands in queue {queue}")),
            ("succeeded", _) => return None,
            _ => None,
        };
        word.or_else(|| self.attempts.iter().rev().find_map(|attempt| attempt.error.clone()))
    }
}

fn queue_of(live: &Live) -> Option<&str> {
    match &live.definition.target {
        Target::Queue(target) => Some(&target.queue),
        Target::Webhook(_) => None,
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

/// A firing that one that is held waits for: of its schedule, or of its concurrency key.
fn blocker(machine: &Machine, held: &Live) -> Option<FiringId> {
    let of_schedule = machine.live_of(held.id.uid).take(LOOKED_AT);
    let own = of_schedule.filter(|live| live.phase != Phase::Held).map(|live| live.id).next();
    own.or_else(|| match held.lane() {
        Lane::Own(_) => None,
        Lane::Key(key) => machine.due().keyed(&key).next(),
    })
}
