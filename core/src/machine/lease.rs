//! Leases: the right to work on an attempt. Nobody sends or works before this is committed; a lease names who and until
//! when, and its fencing token is what a receiver compares.

use std::sync::Arc;

use super::Turn;
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
    let mut leased = Vec::new();
    while leased.len() < command.most.min(MAX_LEASES) as usize && turn.places < PLACES_PER_ENTRY {
        let Some(firing) = next_of(turn, &command.queue) else { break };
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

/// The firing that is leased next of a queue, if its limits let one through; its rate pays for it.
fn next_of(turn: &mut Turn<'_>, name: &Arc<str>) -> Option<Arc<Firing>> {
    let now = turn.moment.at;
    let queued = turn.state.due().queued();
    let id = queued.next_ready(name, now)?;
    let leased = queued.counts(name).leased;
    let firing = turn.state.firing(id).cloned()?;
    let Some(queue) = turn.state.queue(name) else { return Some(firing) };
    if queue.paused.is_some() || queue.settings.max_in_flight.is_some_and(|most| leased >= most) {
        return None;
    }
    if let (Some(rate), Some(bucket)) = (queue.settings.rate, queue.bucket) {
        let bucket = Some(bucket.taken(rate, now)?);
        let queue = Queue { bucket, ..Queue::clone(queue) };
        turn.state.queues.insert(name.clone(), Arc::new(queue));
    }
    Some(firing)
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

/// A holder says that it still works. Not a fact of the ledger: it decides nothing.
pub(super) fn extend(turn: &mut Turn<'_>, item: &Extend) -> Result<Extended, Refused> {
    running(turn, item.firing, item.attempt)?;
    let now = turn.moment.at;
    let firing = turn.state.firing(item.firing).cloned().ok_or(Refused::NotLive)?;
    let Some(lease) = firing.lease() else { return Err(Refused::OtherAttempt) };
    let until = end_of(&firing, now, item.ttl.clamp(LEASE_TTL.0, LEASE_TTL.1)).max(lease.until);
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
