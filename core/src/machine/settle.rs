//! The end of an attempt: a report of its holder, or of the clock. Retry or end is decided here, by the policy of the
//! revision that fired.

use std::sync::Arc;

use super::lease::running;
use super::{Turn, backfill, chain, decide, overlap, schedule};
use crate::attempt::{AttemptEnd, MAX_OUTPUT, Report, Verdict, tail};
use crate::command::SettleItem;
use crate::definition::Delivery;
use crate::event::{Event, Outcome};
use crate::firing::{Cause, EndState, Firing, FiringId, Kind, MAX_CAUSE, Phase};
use crate::id::AttemptNumber;
use crate::letter::Letter;
use crate::mutant::{self, Mutant};
use crate::reply::{Refused, SettledNow};
use crate::retry::wait_after;
use crate::schedule::PastFiring;
use crate::time::{Span, Timestamp};

/// A receiver may ask for a longer wait than the policy's, up to this.
const MAX_RETRY_AFTER: Span = Span::from_secs(3600);

/// Takes a report. The same one again gets the same answer while its firing waits to be tried again; of a firing that is
/// over the machine knows nothing more.
pub(super) fn settle(turn: &mut Turn<'_>, item: &SettleItem) -> Result<SettledNow, Refused> {
    if let Some(until) = said_before(turn, item) {
        return Ok(SettledNow::Retry(until));
    }
    let fenced = running(turn, item.firing, item.attempt);
    if !(fenced == Err(Refused::OtherAttempt) && mutant::is_on(Mutant::SettleWithoutFencing)) {
        fenced?;
    }
    Ok(end_attempt(turn, item.firing, Some(&item.report)))
}

/// When the firing is tried again, if this attempt ended with this verdict. When a receiver wants it again does not count:
/// that is an instant counted from when it was asked.
fn said_before(turn: &Turn<'_>, item: &SettleItem) -> Option<Timestamp> {
    let firing = turn.state.firing(item.firing)?;
    let Phase::Waiting { until } = firing.phase else { return None };
    let Some(AttemptEnd::Reported(said)) = firing.last_end else { return None };
    let is_same = match (said, item.report.verdict) {
        (Verdict::Retry { .. }, Verdict::Retry { .. }) => true,
        (said, verdict) => said == verdict,
    };
    (firing.attempt == item.attempt && is_same).then_some(until)
}

/// Ends a lease whose time is over; `false` when it is not, or is another's by now.
pub(super) fn end_lease(turn: &mut Turn<'_>, id: FiringId, attempt: AttemptNumber) -> bool {
    let over = running(turn, id, attempt).is_ok_and(|until| until <= turn.moment.at);
    if over {
        end_attempt(turn, id, None);
    }
    over
}

fn end_attempt(turn: &mut Turn<'_>, id: FiringId, report: Option<&Report>) -> SettledNow {
    let Some(firing) = turn.state.firing(id).cloned() else { return SettledNow::End(EndState::Cancelled) };
    let end = report.map_or(AttemptEnd::LeaseEnded, |report| AttemptEnd::Reported(report.verdict));
    match next_attempt(turn, &firing, end) {
        Ok(at) => {
            turn.state.change_firing(id, |firing| {
                firing.last_end = Some(end);
                firing.phase = Phase::Waiting { until: at };
            });
            turn.tell(settled(&firing, report, Outcome::Retry { at }));
            SettledNow::Retry(at)
        }
        Err(state) => {
            end_firing(turn, &firing, report, state);
            if end == AttemptEnd::Reported(Verdict::Gone) && !firing.is_notice() {
                schedule::pause_by_rule(turn, id.uid, "the receiver is gone (410)");
            }
            SettledNow::End(state)
        }
    }
}

/// Gives a firing up whose deadline has come before it ran; `false` when it runs, or is over.
pub(super) fn end_overdue(turn: &mut Turn<'_>, id: FiringId) -> bool {
    let Some(firing) = turn.state.firing(id).cloned() else { return false };
    let over = firing.lease().is_none() && firing.deadline() <= turn.moment.at;
    if over {
        end_firing(turn, &firing, None, EndState::TimedOut);
    }
    over
}

/// When the firing is tried again, or how it ends.
fn next_attempt(turn: &Turn<'_>, firing: &Firing, end: AttemptEnd) -> Result<Timestamp, EndState> {
    let policy = &firing.definition.policy;
    let gave_up = match end {
        AttemptEnd::Reported(Verdict::Succeeded) => return Err(EndState::Succeeded),
        AttemptEnd::Reported(Verdict::Refused | Verdict::Gone) => return Err(EndState::Failed),
        AttemptEnd::Reported(Verdict::Stopped) => return Err(EndState::Cancelled),
        AttemptEnd::Reported(Verdict::TimedOut) => EndState::TimedOut,
        AttemptEnd::LeaseEnded if firing.deadline() <= turn.moment.at => EndState::TimedOut,
        AttemptEnd::Reported(Verdict::Retry { .. } | Verdict::NotSent | Verdict::Broken)
        | AttemptEnd::LeaseEnded => EndState::Failed,
    };
    if policy.delivery == Delivery::AtMostOnce {
        match end {
            AttemptEnd::Reported(Verdict::NotSent) => {}
            AttemptEnd::Reported(Verdict::TimedOut | Verdict::Broken) | AttemptEnd::LeaseEnded => {
                return Err(EndState::Unknown);
            }
            AttemptEnd::Reported(_) => return Err(gave_up),
        }
    }
    // Asked to stop, it is not begun again: whoever waits for it has its turn.
    if turn.state.schedule(firing.id.uid).is_none() || firing.stop_asked.is_some() {
        return Err(EndState::Cancelled);
    }
    if firing.attempt.0 >= policy.retry.max_attempts {
        return Err(gave_up);
    }
    let at = retry_at(turn, firing, end);
    if at >= firing.deadline() {
        return Err(EndState::TimedOut);
    }
    if policy.retry.until_next && firing.overtaken_at.is_some_and(|next| at >= next) {
        return Err(gave_up);
    }
    Ok(at)
}

fn retry_at(turn: &Turn<'_>, firing: &Firing, end: AttemptEnd) -> Timestamp {
    let now = turn.moment.at;
    let by_policy = now + wait_after(&firing.definition.policy.retry, firing.id, firing.attempt);
    match end {
        AttemptEnd::Reported(Verdict::Retry { not_before: Some(asked) }) => {
            by_policy.max(asked.min(now + MAX_RETRY_AFTER))
        }
        _ => by_policy,
    }
}

/// Ends a firing, and with it a schedule that has only waited for that.
pub(super) fn end_firing(turn: &mut Turn<'_>, firing: &Firing, report: Option<&Report>, state: EndState) {
    close(turn, firing, report, state);
    decide::complete(turn, firing.id.uid);
}

/// Takes a firing out of the machine; its story is in the ledger from here on.
pub(super) fn close(turn: &mut Turn<'_>, firing: &Firing, report: Option<&Report>, state: EndState) {
    let lateness = firing.lateness();
    turn.state.remove_firing(firing.id);
    turn.tell(settled(firing, report, Outcome::End { state, lateness }));
    if let Kind::Backfill(id) = firing.kind {
        backfill::settled(turn, id, state);
    }
    after_end(turn, firing, report, state);
    // A notice stands beside the firings of its schedule.
    if firing.is_notice() {
        return;
    }
    let failures = turn.state.touch(firing.id.uid, |schedule| {
        schedule.remember(PastFiring {
            nominal: firing.id.nominal,
            run: firing.id.run,
            state,
            attempts: firing.attempt.0.try_into().unwrap_or(u16::MAX),
            lateness_ms: lateness.as_millis().try_into().unwrap_or(u32::MAX),
        });
        (schedule.consecutive_failures, schedule.definition.policy.pause_after_failures)
    });
    if let Some((failures, Some(limit))) = failures
        && failures >= limit
        && came_to_nothing(state)
    {
        schedule::pause_by_rule(turn, firing.id.uid, &format!("{failures} failed firings in a row"));
    }
    overlap::release_after(turn, firing);
}

fn came_to_nothing(state: EndState) -> bool {
    match state {
        EndState::Failed | EndState::TimedOut | EndState::Unknown => true,
        EndState::Succeeded | EndState::Cancelled => false,
    }
}

/// What follows the end of a firing, and its dead letter.
fn after_end(turn: &mut Turn<'_>, firing: &Firing, report: Option<&Report>, state: EndState) {
    let Some(name) = turn.state.schedule(firing.id.uid).map(|schedule| schedule.name.clone()) else { return };
    let error = match report {
        Some(report) => tail(&report.error, MAX_CAUSE).into(),
        None if state == EndState::Cancelled => "".into(),
        None if firing.lease().is_some() => "its lease ended, and its holder had not reported".into(),
        None => "its deadline came before it could be done".into(),
    };
    let status = report.and_then(|report| report.status);
    if came_to_nothing(state) {
        turn.state.letters.enter(Arc::new(Letter {
            firing: firing.id,
            schedule: name.clone(),
            queue: firing.definition.target.queue().cloned(),
            kind: firing.kind,
            state,
            ended_at: turn.moment.at,
            attempts: firing.attempt,
            status,
            error: Box::clone(&error),
        }));
    }
    let cause = Cause { firing: firing.id, schedule: name, state, attempts: firing.attempt, status, error };
    chain::note(turn, firing, cause);
}

fn settled(firing: &Firing, report: Option<&Report>, outcome: Outcome) -> Event {
    let report = report.cloned().map(|mut report| {
        shorten(&mut report.error);
        shorten(&mut report.output);
        report
    });
    Event::Settled { firing: firing.id, attempt: firing.attempt, report, outcome }
}

/// Keeps the tail: the end of an output is what tells.
fn shorten(text: &mut Box<str>) {
    if text.len() > MAX_OUTPUT {
        *text = tail(text, MAX_OUTPUT).into();
    }
}
