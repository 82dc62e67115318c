//! A queue is leased of as its settings allow: workers lease from queues and nodes send webhooks, nothing of a paused queue,
//! no more at once than `max_in_flight`, and of one concurrency key no more than its share (SEMANTICS §6).

use std::sync::Arc;

use campanile_core::attempt::Holder;
use campanile_core::definition::Target;
use campanile_core::event::Event;
use campanile_core::firing::{Firing, FiringId};

use super::{Findings, Invariant};
use crate::sim::story::Step;

/// Holds nothing.
#[derive(Debug)]
pub(super) struct Queues;

impl Invariant for Queues {
    fn name(&self) -> &'static str {
        "queue limits"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        for row in step.rows {
            if let Event::Begun { firing, lease } = &row.event
                && let Some(wrong) = wrong(step, *firing, &lease.holder)
            {
                found.add(self.name(), || format!("entry {}: {firing:?} {wrong}", step.index));
            }
        }
    }
}

/// What is wrong with a lease. Settlements come before leases in an entry, so after it there are the most.
fn wrong(step: &Step<'_>, id: FiringId, holder: &Holder) -> Option<String> {
    let firing = step.after.firing(id)?;
    match (&firing.definition.target, holder) {
        (Target::Queue(target), Holder::Worker(_)) => wrong_in_queue(step, firing, &target.queue),
        (Target::Webhook(_), Holder::Node(_)) => None,
        (target, holder) => Some(format!("was begun by {holder:?} and goes to {target:?}")),
    }
}

fn wrong_in_queue(step: &Step<'_>, firing: &Firing, name: &Arc<str>) -> Option<String> {
    if step.before.queue(name).is_some_and(|queue| queue.paused.is_some()) {
        return Some(format!("was leased of {name}, which is paused"));
    }
    let settings = step.after.queue_settings(name);
    let leased = step.after.due().queued().counts(name).leased;
    if settings.max_in_flight.is_some_and(|most| leased > most) {
        return Some(format!("is one of {leased} leased of {name}, with {:?}", settings.max_in_flight));
    }
    let key = firing.definition.concurrency_key.as_ref()?;
    let of_key = step.after.due().keyed(key).filter_map(|id| step.after.firing(id));
    let leased =
        of_key.filter(|it| it.lease().is_some() && it.definition.target.queue() == Some(name)).count();
    let most = settings.max_in_flight_per_key as usize;
    (leased > most)
        .then(|| format!("is one of {leased} leased of {name} with the key {key}, at most {most} may be"))
}
