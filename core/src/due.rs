//! Who is due when: ordered indexes over the state. Derived, so never in an image; [`crate::invariant`] rebuilds them
//! and compares.
//!
//! The tick loop of a schedule *is* its entry in the due index: one ticker serves all of them, and retries, lease ends and
//! pauses come back through the same door.

mod queued;
mod sends;

use std::sync::Arc;

use imbl::OrdSet;

use crate::backfill::Backfill;
use crate::definition::Target;
use crate::firing::{Firing, FiringId, Lane, Phase};
use crate::id::{BackfillId, LogIndex, Run, Uid};
use crate::schedule::{Schedule, State};
use crate::time::Timestamp;

use queued::Slot;
pub use queued::{Counts, Queued};
pub use sends::Sends;

/// The indexes. Several rather than one, so that an entry of a schedule takes 16 bytes, and a long backlog of work costs
/// the ticker nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DueIndex {
    /// For the ticker: when a schedule has something to decide. Its state says whether that is its next nominal instant
    /// or the end of its pause.
    schedules: OrdSet<(Timestamp, Uid)>,
    /// For the ticker: when a lease ends.
    leases: OrdSet<(Timestamp, FiringId)>,
    /// For the ticker: when a firing that does not run is given up (`deadline`).
    deadlines: OrdSet<(Timestamp, FiringId)>,
    /// For the dispatchers: firings that nodes send.
    sends: Sends,
    /// For workers: firings that stand in queues.
    queued: Queued,
    /// Firings that wait for those before them, in the order of their decision.
    held: OrdSet<(Lane, LogIndex, FiringId)>,
    /// Firings of schedules with a concurrency key that are live and do not wait for others.
    keyed: OrdSet<(Arc<str>, FiringId)>,
    /// For the leader: backfills that may fire more, from that instant on.
    backfills: OrdSet<(Timestamp, BackfillId)>,
}

impl DueIndex {
    /// Enters a schedule as it is now; [`DueIndex::leave`] it first when it was in before.
    pub(crate) fn enter(&mut self, schedule: &Schedule) {
        if let Some(at) = due_at(schedule) {
            self.schedules.insert((at, schedule.uid));
        }
    }

    /// Takes a schedule out as it was entered.
    pub(crate) fn leave(&mut self, schedule: &Schedule) {
        if let Some(at) = due_at(schedule) {
            self.schedules.remove(&(at, schedule.uid));
        }
    }

    /// Enters a firing by its phase.
    pub(crate) fn enter_firing(&mut self, firing: &Firing) {
        let id = firing.id;
        if let Some(at) = deadline_of(firing) {
            self.deadlines.insert((at, id));
        }
        match &firing.phase {
            Phase::Held => {
                self.held.insert((firing.lane(), firing.decided.index, id));
                return;
            }
            Phase::Running(lease) => {
                self.leases.insert((lease.until, id));
                if let Some(slot) = slot_of(firing) {
                    self.queued.enter_leased(slot);
                }
            }
            Phase::Waiting { .. } | Phase::Queued => match place_of(firing) {
                Place::Queue(slot) => self.queued.enter_waiting(slot, may_begin_at(firing), id),
                Place::Host(host) => self.sends.enter(host, may_begin_at(firing), id),
            },
        }
        if let Some(key) = key_of(firing) {
            self.keyed.insert((key, id));
        }
    }

    /// Takes a firing out as it was entered.
    pub(crate) fn leave_firing(&mut self, firing: &Firing) {
        let id = firing.id;
        if let Some(at) = deadline_of(firing) {
            self.deadlines.remove(&(at, id));
        }
        match &firing.phase {
            Phase::Held => {
                self.held.remove(&(firing.lane(), firing.decided.index, id));
                return;
            }
            Phase::Running(lease) => {
                self.leases.remove(&(lease.until, id));
                if let Some(slot) = slot_of(firing) {
                    self.queued.leave_leased(slot);
                }
            }
            Phase::Waiting { .. } | Phase::Queued => match place_of(firing) {
                Place::Queue(slot) => self.queued.leave_waiting(slot, may_begin_at(firing), id),
                Place::Host(host) => self.sends.leave(host, may_begin_at(firing), id),
            },
        }
        if let Some(key) = key_of(firing) {
            self.keyed.remove(&(key, id));
        }
    }

    /// So many firings of one concurrency key may be leased of a queue at once.
    pub(crate) fn set_room_of_key(&mut self, queue: &Arc<str>, most: u32) {
        self.queued.set_room_of_key(queue, most);
    }

    /// Enters a backfill as it is now.
    pub(crate) fn enter_backfill(&mut self, backfill: &Backfill) {
        if backfill.has_room() {
            self.backfills.insert((backfill.next_at, backfill.id));
        }
    }

    /// Takes a backfill out as it was entered.
    pub(crate) fn leave_backfill(&mut self, backfill: &Backfill) {
        self.backfills.remove(&(backfill.next_at, backfill.id));
    }

    /// When a Tick has something to decide next.
    #[must_use]
    pub fn next_tick(&self) -> Option<Timestamp> {
        let schedule = self.schedules.get_min().map(|(at, _)| *at);
        let lease = self.leases.get_min().map(|(at, _)| *at);
        let deadline = self.deadlines.get_min().map(|(at, _)| *at);
        schedule.into_iter().chain(lease).chain(deadline).min()
    }

    /// Schedules by when they have something to decide, the earliest first.
    pub fn schedules(&self) -> impl Iterator<Item = (Timestamp, Uid)> + '_ {
        self.schedules.iter().copied()
    }

    /// The same, from an instant on.
    pub fn schedules_from(&self, at: Timestamp) -> impl Iterator<Item = (Timestamp, Uid)> + '_ {
        self.schedules.range((at, Uid(0))..).copied()
    }

    /// The same, from the first entry after `(at, uid)` on.
    pub fn schedules_after(&self, at: Timestamp, uid: Uid) -> impl Iterator<Item = (Timestamp, Uid)> + '_ {
        use std::ops::Bound::{Excluded, Unbounded};
        self.schedules.range((Excluded((at, uid)), Unbounded)).copied()
    }

    /// Running firings by the end of their lease, the earliest first.
    pub fn leases(&self) -> impl Iterator<Item = (Timestamp, FiringId)> + '_ {
        self.leases.iter().copied()
    }

    /// The firings of a lane that wait for those before them, in the order of their decision.
    pub fn held_in<'a>(&'a self, lane: &'a Lane) -> impl Iterator<Item = FiringId> + 'a {
        let first = FiringId { uid: Uid(0), nominal: Timestamp::from_millis(i64::MIN), run: Run(0) };
        self.held
            .range((lane.clone(), LogIndex(0), first)..)
            .take_while(move |(of, _, _)| of == lane)
            .map(|(_, _, id)| *id)
    }

    /// The firings of all schedules with a concurrency key that do not wait for others.
    pub fn keyed<'a>(&'a self, key: &'a Arc<str>) -> impl Iterator<Item = FiringId> + 'a {
        let first = FiringId { uid: Uid(0), nominal: Timestamp::from_millis(i64::MIN), run: Run(0) };
        self.keyed.range((key.clone(), first)..).take_while(move |(of, _)| of == key).map(|(_, id)| *id)
    }

    /// Backfills that may fire more from an instant on, the earliest first.
    pub fn backfills(&self) -> impl Iterator<Item = (Timestamp, BackfillId)> + '_ {
        self.backfills.iter().copied()
    }

    /// Firings that do not run by when they are given up, the earliest first.
    pub fn deadlines(&self) -> impl Iterator<Item = (Timestamp, FiringId)> + '_ {
        self.deadlines.iter().copied()
    }

    /// Firings that nodes send.
    #[must_use]
    pub fn sends(&self) -> &Sends {
        &self.sends
    }

    /// Firings that stand in queues.
    #[must_use]
    pub fn queued(&self) -> &Queued {
        &self.queued
    }
}

/// Where a firing waits for its holder.
enum Place {
    Queue(Slot),
    Host(Arc<str>),
}

fn place_of(firing: &Firing) -> Place {
    match &firing.definition.target {
        Target::Webhook(webhook) => Place::Host(webhook.host().into()),
        Target::Queue(target) => {
            Place::Queue(Slot { queue: target.queue.clone(), key: key_of(firing), priority: target.priority })
        }
    }
}

fn slot_of(firing: &Firing) -> Option<Slot> {
    match place_of(firing) {
        Place::Queue(slot) => Some(slot),
        Place::Host(_) => None,
    }
}

fn key_of(firing: &Firing) -> Option<Arc<str>> {
    firing.definition.concurrency_key.clone()
}

fn may_begin_at(firing: &Firing) -> Timestamp {
    match firing.phase {
        Phase::Waiting { until } => until,
        _ => firing.decided.at,
    }
}

/// When a firing that does not run is given up.
fn deadline_of(firing: &Firing) -> Option<Timestamp> {
    firing
        .definition
        .policy
        .deadline
        .filter(|_| firing.lease().is_none())
        .map(|after| firing.decided.at + after)
}

/// When a schedule has something to decide: its next nominal instant, or the end of its pause.
fn due_at(schedule: &Schedule) -> Option<Timestamp> {
    match schedule.state {
        State::Active => schedule.next_at,
        State::Paused { until, .. } => until,
        State::Parked { .. } | State::Finished => None,
    }
}
