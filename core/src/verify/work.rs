//! Firings that have not ended, and what was said of their attempts: begun one after the other, ended once.

use std::collections::BTreeMap;

use crate::attempt::{Lease, Report};
use crate::cron::instant_text;
use crate::event::Outcome;
use crate::firing::{EndState, FiringId};
use crate::id::{AttemptNumber, Run, Uid};
use crate::time::Timestamp;

use super::verdict::Fault;

/// The live firings.
#[derive(Debug, Default)]
pub(super) struct Work {
    live: BTreeMap<FiringId, Live>,
    /// Those that ended in the entry that is being heard: when its decisions are judged, they were live.
    ended_now: Vec<FiringId>,
}

#[derive(Debug, Clone, Copy)]
struct Live {
    attempt: AttemptNumber,
    is_running: bool,
    /// No attempt begins before.
    not_before: Timestamp,
    is_judged: bool,
    /// No row told that it fired.
    is_ghost: bool,
}

/// What is wrong with a row, and a sentence about its firing.
pub(super) type Wrong = (Fault, String);

/// What is known of a firing whose beginning no row told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stranger {
    /// It can have fired before the first row.
    Older,
    /// It cannot.
    Unheard,
    /// It is none of the scope.
    OutOfScope,
}

impl Work {
    /// A firing is live from here on; whether it was already.
    pub(super) fn fired(&mut self, firing: FiringId, is_judged: bool) -> bool {
        let live = Live {
            attempt: AttemptNumber(0),
            is_running: false,
            not_before: firing.nominal,
            is_judged,
            is_ghost: false,
        };
        self.live.insert(firing, live).is_some_and(|before| !before.is_ghost)
    }

    /// Whether a live firing has that very instant.
    pub(super) fn stands_for(&self, uid: Uid, nominal: Timestamp) -> bool {
        let id = FiringId { uid, nominal, run: Run(0) };
        self.live.get(&id).is_some_and(|live| !live.is_ghost) || self.ended_now.contains(&id)
    }

    /// Another entry begins.
    pub(super) fn next_entry(&mut self) {
        self.ended_now.clear();
    }

    /// An attempt got its lease.
    pub(super) fn begun(
        &mut self,
        firing: FiringId,
        lease: &Lease,
        at: Timestamp,
        stranger: Stranger,
    ) -> Option<Wrong> {
        let ghost = Live {
            attempt: AttemptNumber(lease.attempt.0.saturating_sub(1)),
            is_running: false,
            not_before: firing.nominal,
            is_judged: stranger != Stranger::OutOfScope,
            is_ghost: true,
        };
        let wrong = match self.live.get(&firing) {
            None if stranger == Stranger::Unheard => Some((
                Fault::Phantom,
                "was begun, and nothing of it is live: it never fired, or had ended".into(),
            )),
            None => None,
            Some(live) => live.begun(lease, at),
        };
        let live = self.live.entry(firing).or_insert(ghost);
        live.attempt = lease.attempt;
        live.is_running = true;
        wrong.filter(|_| live.is_judged)
    }

    /// An attempt, or the firing, ended.
    pub(super) fn settled(
        &mut self,
        firing: FiringId,
        attempt: AttemptNumber,
        report: Option<&Report>,
        outcome: Outcome,
        stranger: Stranger,
    ) -> Option<Wrong> {
        let Some(live) = self.live.get_mut(&firing) else {
            return (stranger == Stranger::Unheard).then(|| {
                (
                    Fault::Doubled,
                    "ended, and nothing of it is live: it had ended before, or never fired".into(),
                )
            });
        };
        let wrong = live.settled(attempt, report, outcome).filter(|_| live.is_judged);
        live.is_running = false;
        match outcome {
            Outcome::Retry { at } => live.not_before = at,
            Outcome::End { .. } => {
                self.live.remove(&firing);
                self.ended_now.push(firing);
            }
        }
        wrong
    }

    /// How many of the scope are live.
    pub(super) fn undelivered(&self) -> u64 {
        self.live.values().filter(|live| live.is_judged && !live.is_ghost).count() as u64
    }
}

impl Live {
    fn begun(&self, lease: &Lease, at: Timestamp) -> Option<Wrong> {
        let (attempt, before) = (lease.attempt, self.attempt);
        let (fault, detail) = if self.is_running {
            (Fault::Disorder, format!("began attempt {attempt} inside attempt {before}, which had not ended"))
        } else if attempt.0 != before.0 + 1 {
            (Fault::Disorder, format!("began attempt {attempt} after attempt {before}"))
        } else if at < self.not_before {
            let (at, not_before) = (instant_text(at), instant_text(self.not_before));
            (Fault::Early, format!("began attempt {attempt} at {at}, and {not_before} had not come"))
        } else if lease.begun_at != at {
            let (said, at) = (instant_text(lease.begun_at), instant_text(at));
            (Fault::Disorder, format!("began attempt {attempt} at {at} with a lease of {said}"))
        } else {
            return None;
        };
        Some((fault, detail))
    }

    fn settled(&self, attempt: AttemptNumber, report: Option<&Report>, outcome: Outcome) -> Option<Wrong> {
        // Without a lease a firing ends by its deadline, or since somebody stopped it.
        let needs_lease = match outcome {
            Outcome::Retry { .. } => true,
            Outcome::End { state: EndState::Cancelled | EndState::TimedOut, .. } => report.is_some(),
            Outcome::End { .. } => true,
        };
        if attempt > self.attempt || (needs_lease && !self.is_running) {
            let detail = format!("ended attempt {attempt}, which had not begun");
            return Some((Fault::Unbegun, detail));
        }
        (attempt < self.attempt).then(|| {
            let newest = self.attempt;
            (Fault::Disorder, format!("ended attempt {attempt}, and attempt {newest} had begun"))
        })
    }
}
