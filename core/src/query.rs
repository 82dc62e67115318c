//! Questions to the machine: pure, bounded, and never a decision.

use std::ops::Bound;
use std::sync::Arc;

use crate::backfill::Backfill;
use crate::definition::ScheduleName;
use crate::firing::Firing;
use crate::id::{BackfillId, Uid};
use crate::schedule::Schedule;
use crate::state::State;
use crate::time::Timestamp;

/// When a Tick has something to decide next.
#[must_use]
pub fn next_due(state: &State) -> Option<Timestamp> {
    // What is to follow the end of a firing is due at once.
    if state.chains().next().is_some() { Some(state.clock()) } else { state.due().next_tick() }
}

/// When there is something for a node to begin next. Looks at one firing a host.
#[must_use]
pub fn next_work(state: &State) -> Option<Timestamp> {
    state.due().sends().hosts().map(|(_, at)| at).min()
}

/// Firings that nodes may begin now, those that may longest first. Walks all of them: for tests and small worlds; the
/// dispatcher asks host by host ([`crate::due::Sends`]).
#[must_use]
pub fn work_now(state: &State, now: Timestamp) -> Vec<&Arc<Firing>> {
    let mut work: Vec<_> = state.due().sends().iter().filter(|(at, _)| *at <= now).collect();
    work.sort_unstable();
    work.into_iter().filter_map(|(_, id)| state.firing(id)).collect()
}

/// When a worker may lease something of a queue: now, at an instant, or not before somebody changes something (`None`).
#[must_use]
pub fn queue_opens_at(state: &State, name: &Arc<str>, now: Timestamp) -> Option<Timestamp> {
    let at = state.due().queued().opens_at(name)?.max(now);
    let Some(queue) = state.queue(name) else { return Some(at) };
    let leased = state.due().queued().counts(name).leased;
    if queue.paused.is_some() || queue.settings.max_in_flight.is_some_and(|most| leased >= most) {
        return None;
    }
    Some(queue.rate_opens_at(now).map_or(at, |opens| opens.max(at)))
}

/// At most `limit` schedules of a namespace (or of all) after `after`, in the order of their names.
#[must_use]
pub fn page(
    state: &State,
    namespace: Option<&str>,
    after: Option<&ScheduleName>,
    limit: usize,
) -> Vec<Arc<Schedule>> {
    let start = match (after, namespace) {
        (Some(after), _) => Bound::Excluded(after.clone()),
        (None, Some(namespace)) => {
            ScheduleName::first_of(namespace).map_or(Bound::Unbounded, Bound::Included)
        }
        (None, None) => Bound::Unbounded,
    };
    state
        .by_name(start)
        .take_while(|schedule| namespace.is_none_or(|namespace| schedule.name.namespace() == namespace))
        .take(limit)
        .cloned()
        .collect()
}

/// At most `limit` active schedules in the order of their next instants, after the one named by its instant and uid.
#[must_use]
pub fn page_by_next(
    state: &State,
    after: Option<(Timestamp, Uid)>,
    limit: usize,
) -> Vec<(Timestamp, Arc<Schedule>)> {
    let (at, uid) = after.unwrap_or((Timestamp::from_millis(i64::MIN), Uid(0)));
    state
        .due()
        .schedules_after(at, uid)
        .filter_map(|(at, uid)| state.schedule(uid).map(|schedule| (at, schedule.clone())))
        .filter(|(_, schedule)| schedule.is_active())
        .take(limit)
        .collect()
}

/// When a backfill may go on next.
#[must_use]
pub fn next_backfill(state: &State) -> Option<Timestamp> {
    state.due().backfills().next().map(|(at, _)| at)
}

/// The backfill of a schedule that runs, if one does.
#[must_use]
pub fn running_backfill(state: &State, uid: Uid) -> Option<&Arc<Backfill>> {
    state.backfills().find(|backfill| backfill.uid == uid && backfill.is_running())
}

/// At most `limit` backfills that are known, of schedules of that name or of all, the newest first, those before `before`.
#[must_use]
pub fn page_backfills(
    state: &State,
    name: Option<&ScheduleName>,
    before: Option<BackfillId>,
    limit: usize,
) -> Vec<Arc<Backfill>> {
    state
        .backfills()
        .rev()
        .filter(|backfill| before.is_none_or(|before| backfill.id < before))
        .filter(|backfill| name.is_none_or(|name| backfill.name == *name))
        .take(limit)
        .cloned()
        .collect()
}
