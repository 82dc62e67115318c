//! Leases: the right to work on an attempt. Nobody sends or works before this is committed; a lease names who and until
//! when, and its fencing token is what a receiver compares.

use std::sync::Arc;

use super::{Turn, settle};
use crate::attempt::{Holder, Lease};
use crate::command::{Begin, BeginItem, Extend, Take};
use crate::definition::Target;
use crate::event::Event;
use crate::firing::{Firing, FiringId, Phase};
use crate::id::{AttemptNumber, FencingToken, PLACES_PER_ENTRY};
use crate::queue::{LEASE_TTL, MAX_LEASES, Queue};
use crate::reply::{Extended, Leased, Refused, Rejection, Reply};
use crate::time::{Span, Timestamp};

/// A node begins what it has chosen to send.
pub(super) fn begin(turn: &mut Turn<'_>, command: &Begin) -> Vec<Result<Lease, Refused>> {
    command.items.iter().map(|item| begin_one(turn, &command.holder, item)).collect()
}

fn begin_one(turn: &mut Turn<'_>, holder: &Holder, item: &BeginItem) -> Result<Lease, Refused> {
    let firing = turn.state.firing(item.firing).ok_or(Refused::NotLive)?;
    if item.attempt != AttemptNumber(firing.attempt.0 + 1) {
        return Err(Refused::OtherAttempt);
    }
    // Whoever batches sees to it that an entry has room; one that had none would be a defect of the asking node alone.
    if turn.places >= PLACES_PER_ENTRY {
        return Err(Refused::NotYet(turn.moment.at));
    }
    match firing.phase {
        Phase::Running(_) => return Err(Refused::OtherAttempt),
        Phase::Held => return Err(Refused::Held),
        Phase::Waiting { until } if until > turn.moment.at => return Err(Refused::NotYet(until)),
        Phase::Queued | Phase::Waiting { .. } => {}
    }
    if matches!(firing.definition.target, Target::Queue(_)) {
        return Err(Refused::InQueue);
    }
    let firing = firing.clone();
    if settle::end_overdue(turn, firing.id) {
        return Err(Refused::NotLive);
    }
    Ok(give(turn, &firing, holder.clone(), item.ttl))
}

/// A worker gets the next firings of a queue, as the queue stands here; asking again under the same key gets the same.
pub(super) fn take(turn: &mut Turn<'_>, command: &Take) -> Result<Vec<Leased>, Rejection> {
    if let Some(reply) = turn.state.requests.recall(&command.request)? {
        return match reply {
            Reply::Leased(leased) => Ok(leased),
            _ => Err(Rejection::KeyReused),
        };
    }
    let ttl = command.ttl.clamp(LEASE_TTL.0, LEASE_TTL.1);
    let most = command.most.min(MAX_LEASES);
    let mut leased = Vec::new();
    // Each look finds one to lease or one to give up; whoever takes pays for a bounded number of the latter.
    for _ in 0..most + MAX_LEASES {
        if leased.len() >= most as usize || turn.places >= PLACES_PER_ENTRY {
            break;
        }
        let Some(firing) = next_of(turn, &command.queue) else { break };
        if settle::end_overdue(turn, firing.id) {
            continue;
        }
        if !pay(turn, &command.queue) {
            break;
        }
        let lease = give(turn, &firing, Holder::Worker(command.worker.clone()), ttl);
        leased.push(Leased { firing: firing.id, lease });
    }
    // To have got nothing is no answer worth remembering: asking again asks anew.
    if !leased.is_empty() {
        let reply = Reply::Leased(leased.clone());
        turn.state.requests.remember(turn.moment.at, &command.request, &reply);
    }
    Ok(leased)
}

/// The firing that is next of a queue, if it is not paused and has room.
fn next_of(turn: &Turn<'_>, name: &Arc<str>) -> Option<Arc<Firing>> {
    let queued = turn.state.due().queued();
    let id = queued.next_ready(name, turn.moment.at)?;
    let leased = queued.counts(name).leased;
    let is_open = turn.state.queue(name).is_none_or(|queue| {
        queue.paused.is_none() && queue.settings.max_in_flight.is_none_or(|most| leased < most)
    });
    turn.state.firing(id).filter(|_| is_open).cloned()
}

/// Takes one lease out of the rate of a queue; `false` when there is none.
fn pay(turn: &mut Turn<'_>, name: &Arc<str>) -> bool {
    let Some(queue) = turn.state.queue(name) else { return true };
    let (Some(rate), Some(bucket)) = (queue.settings.rate, queue.bucket) else { return true };
    let Some(bucket) = bucket.taken(rate, turn.moment.at) else { return false };
    let queue = Queue { bucket: Some(bucket), ..Queue::clone(queue) };
    turn.state.queues.insert(name.clone(), Arc::new(queue));
    true
}

/// Gives the next attempt of a firing that waits to a holder.
fn give(turn: &mut Turn<'_>, firing: &Firing, holder: Holder, ttl: Span) -> Lease {
    let now = turn.moment.at;
    let lease = Lease {
        attempt: AttemptNumber(firing.attempt.0 + 1),
        holder,
        begun_at: now,
        until: end_of(firing, now, ttl),
        fencing_token: FencingToken::of(turn.moment.index, turn.places),
    };
    turn.places += 1;
    turn.state.change_firing(firing.id, |firing| {
        firing.attempt = lease.attempt;
        firing.phase = Phase::Running(lease.clone());
    });
    turn.tell(Event::Begun { firing: firing.id, lease: lease.clone() });
    lease
}

/// No lease goes beyond the deadline of its firing.
fn end_of(firing: &Firing, now: Timestamp, ttl: Span) -> Timestamp {
    (now + ttl).min(firing.deadline()).max(now.successor())
}

/// A holder says that it still works. Not a fact of the ledger: it decides nothing. A lease whose time is over goes on as
/// long as no tick has ended it, so that a moment without a leader costs no holder its work.
pub(super) fn extend(turn: &mut Turn<'_>, item: &Extend) -> Result<Extended, Refused> {
    running(turn, item.firing, item.attempt)?;
    let now = turn.moment.at;
    let firing = turn.state.firing(item.firing).cloned().ok_or(Refused::NotLive)?;
    let Some(lease) = firing.lease() else { return Err(Refused::OtherAttempt) };
    let asked = now + item.ttl.clamp(LEASE_TTL.0, LEASE_TTL.1);
    let until = asked.min(firing.deadline()).max(lease.until);
    // Its deadline is over: the next tick ends it, and nothing that its holder does any more counts.
    if until <= now {
        return Err(Refused::OtherAttempt);
    }
    if until != lease.until {
        let lease = Lease { until, ..lease.clone() };
        turn.state.change_firing(item.firing, |firing| firing.phase = Phase::Running(lease));
    }
    Ok(Extended { until, stop: firing.stop_asked.is_some() })
}

/// The end of the lease of that very attempt.
pub(super) fn running(turn: &Turn<'_>, id: FiringId, attempt: AttemptNumber) -> Result<Timestamp, Refused> {
    let firing = turn.state.firing(id).ok_or(Refused::NotLive)?;
    match firing.lease() {
        Some(lease) if lease.attempt == attempt => Ok(lease.until),
        _ => Err(Refused::OtherAttempt),
    }
}
