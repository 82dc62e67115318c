//! Firings in queues, in the order in which they are leased: by priority, then by when they may begin.
//!
//! How long a queue is costs a lease nothing: the next one is found in a few steps. Of the firings with one concurrency
//! key only the first stands in the order, and none while as many as may are leased, so that a key at its limit is not
//! walked over. Which is first of a key is by the same order; one of higher priority that waits for its retry holds the
//! others of its key up.

use std::ops::Bound;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::firing::FiringId;
use crate::id::{Run, Uid};
use crate::time::Timestamp;

/// A firing's place in its queue: the higher the priority, the lower the first number.
type Place = (i8, Timestamp, FiringId);
/// A concurrency key in a queue.
type Key = (Arc<str>, Arc<str>);

/// The index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queued {
    /// What may be leased next: firings without a key, and the first of each key that has room.
    order: OrdSet<(Arc<str>, Place)>,
    /// All firings with a key that wait.
    of_key: OrdSet<(Key, Place)>,
    /// Those of them that stand in the order.
    firsts: OrdMap<Key, Place>,
    /// How many of a key are leased.
    leased_of_key: OrdMap<Key, u32>,
    /// How many may be, of queues where it is not one.
    room_of_key: OrdMap<Arc<str>, u32>,
    /// How many firings of a queue wait and are leased.
    counts: OrdMap<Arc<str>, Counts>,
}

/// How many firings of a queue there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// In it: ready, or waiting for a retry.
    pub waiting: u32,
    /// Leased.
    pub leased: u32,
}

/// Where a firing belongs.
pub(super) struct Slot {
    pub(super) queue: Arc<str>,
    pub(super) key: Option<Arc<str>>,
    pub(super) priority: i8,
}

impl Queued {
    pub(super) fn enter_waiting(&mut self, slot: Slot, at: Timestamp, id: FiringId) {
        let place = (-slot.priority, at, id);
        self.count(&slot.queue, |counts| counts.waiting += 1);
        match slot.key {
            None => drop(self.order.insert((slot.queue, place))),
            Some(key) => {
                let key = (slot.queue, key);
                self.of_key.insert((key.clone(), place));
                self.choose_first(&key);
            }
        }
    }

    pub(super) fn leave_waiting(&mut self, slot: Slot, at: Timestamp, id: FiringId) {
        let place = (-slot.priority, at, id);
        self.count(&slot.queue, |counts| counts.waiting -= 1);
        match slot.key {
            None => drop(self.order.remove(&(slot.queue, place))),
            Some(key) => {
                let key = (slot.queue, key);
                self.of_key.remove(&(key.clone(), place));
                self.choose_first(&key);
            }
        }
    }

    pub(super) fn enter_leased(&mut self, slot: Slot) {
        self.count(&slot.queue, |counts| counts.leased += 1);
        if let Some(key) = slot.key {
            let key = (slot.queue, key);
            let leased = self.leased_of_key.get(&key).copied().unwrap_or(0) + 1;
            self.leased_of_key.insert(key.clone(), leased);
            self.choose_first(&key);
        }
    }

    pub(super) fn leave_leased(&mut self, slot: Slot) {
        self.count(&slot.queue, |counts| counts.leased -= 1);
        if let Some(key) = slot.key {
            let key = (slot.queue, key);
            match self.leased_of_key.get(&key).copied().unwrap_or(0).saturating_sub(1) {
                0 => self.leased_of_key.remove(&key),
                leased => self.leased_of_key.insert(key.clone(), leased),
            };
            self.choose_first(&key);
        }
    }

    /// So many of a key may be leased at once. A change looks at every key of the queue.
    pub(super) fn set_room_of_key(&mut self, queue: &Arc<str>, most: u32) {
        if most == self.room_of_key(queue) {
            return;
        }
        match most {
            1 => self.room_of_key.remove(queue),
            most => self.room_of_key.insert(queue.clone(), most),
        };
        let mut keys: Vec<Key> = self
            .of_key
            .range(((queue.clone(), Arc::from("")), FIRST)..)
            .take_while(|((of, _), _)| of == queue)
            .map(|(key, _)| key.clone())
            .collect();
        keys.dedup();
        keys.iter().for_each(|key| self.choose_first(key));
    }

    fn room_of_key(&self, queue: &str) -> u32 {
        self.room_of_key.get(queue).copied().unwrap_or(1)
    }

    fn choose_first(&mut self, key: &Key) {
        let most = self.room_of_key(&key.0);
        let has_room = self.leased_of_key.get(key).copied().unwrap_or(0) < most;
        let first = self.of_key.range((key.clone(), FIRST)..).next().filter(|(of, _)| of == key);
        let wanted = first.filter(|_| has_room).map(|(_, place)| *place);
        let stands = self.firsts.get(key).copied();
        if stands == wanted {
            return;
        }
        if let Some(place) = stands {
            self.order.remove(&(key.0.clone(), place));
            self.firsts.remove(key);
        }
        if let Some(place) = wanted {
            self.order.insert((key.0.clone(), place));
            self.firsts.insert(key.clone(), place);
        }
    }

    fn count(&mut self, queue: &Arc<str>, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts(queue);
        change(&mut counts);
        if counts == Counts::default() {
            self.counts.remove(queue);
        } else {
            self.counts.insert(queue.clone(), counts);
        }
    }

    /// How many firings a queue has.
    #[must_use]
    pub fn counts(&self, queue: &str) -> Counts {
        self.counts.get(queue).copied().unwrap_or_default()
    }

    /// The names of the queues that have firings, in order, within those bounds.
    pub fn names_within<'a>(
        &'a self,
        bounds: (Bound<&'a str>, Bound<&'a str>),
    ) -> impl Iterator<Item = &'a Arc<str>> {
        self.counts.range::<_, str>(bounds).map(|(name, _)| name)
    }

    /// The queues that have firings, in the order of their names.
    pub fn queues(&self) -> impl Iterator<Item = (&Arc<str>, Counts)> {
        self.counts.iter().map(|(name, counts)| (name, *counts))
    }

    /// The firing that is leased next, if one may be at `now`.
    #[must_use]
    pub fn next_ready(&self, queue: &Arc<str>, now: Timestamp) -> Option<FiringId> {
        self.classes(queue).find(|(at, _)| *at <= now).map(|(_, id)| id)
    }

    /// When there is something to lease, as far as firings and keys go.
    #[must_use]
    pub fn opens_at(&self, queue: &Arc<str>) -> Option<Timestamp> {
        self.classes(queue).map(|(at, _)| at).min()
    }

    /// The first firing of each priority, the highest first.
    fn classes<'a>(&'a self, queue: &'a Arc<str>) -> impl Iterator<Item = (Timestamp, FiringId)> + 'a {
        let first_from = move |class: i8| {
            let from = (queue.clone(), (class, FIRST.1, FIRST.2));
            self.order.range(from..).next().filter(|(of, _)| of == queue).map(|(_, place)| *place)
        };
        let mut next = first_from(i8::MIN);
        std::iter::from_fn(move || {
            let (class, at, id) = next?;
            next = class.checked_add(1).and_then(&first_from);
            Some((at, id))
        })
    }
}

const FIRST: Place = (
    i8::MIN,
    Timestamp::from_millis(i64::MIN),
    FiringId { uid: Uid(0), nominal: Timestamp::from_millis(i64::MIN), run: Run(0) },
);

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: i64) -> FiringId {
        FiringId { uid: Uid(1), nominal: Timestamp::from_millis(n), run: Run(0) }
    }

    fn slot(key: Option<&str>, priority: i8) -> Slot {
        Slot { queue: "q".into(), key: key.map(Into::into), priority }
    }

    #[test]
    fn the_highest_priority_that_may_begin_is_next_and_one_that_waits_holds_no_lower_one_up() {
        let (at, q) = (Timestamp::from_millis, Arc::from("q"));
        let mut queued = Queued::default();
        queued.enter_waiting(slot(None, 0), at(10), id(1));
        queued.enter_waiting(slot(None, 0), at(5), id(2));
        queued.enter_waiting(slot(None, 9), at(100), id(3));
        queued.enter_waiting(slot(None, -9), at(0), id(4));
        assert_eq!(queued.next_ready(&q, at(4)), Some(id(4)));
        assert_eq!(queued.next_ready(&q, at(50)), Some(id(2)));
        assert_eq!(queued.next_ready(&q, at(100)), Some(id(3)));
        assert_eq!(queued.opens_at(&q), Some(at(0)));
        assert_eq!(queued.next_ready(&Arc::from("p"), at(100)), None);
    }

    #[test]
    fn a_key_at_its_limit_stands_aside_and_comes_back_in_order() {
        let (at, q) = (Timestamp::from_millis, Arc::from("q"));
        let mut queued = Queued::default();
        for n in 0..3 {
            queued.enter_waiting(slot(Some("k"), 0), at(n), id(n));
        }
        queued.enter_waiting(slot(None, 0), at(9), id(9));
        assert_eq!(queued.next_ready(&q, at(50)), Some(id(0)));
        queued.leave_waiting(slot(Some("k"), 0), at(0), id(0));
        queued.enter_leased(slot(Some("k"), 0));
        assert_eq!(queued.next_ready(&q, at(50)), Some(id(9)), "one of the key is leased");
        queued.set_room_of_key(&q, 2);
        assert_eq!(queued.next_ready(&q, at(50)), Some(id(1)), "two may be");
        queued.set_room_of_key(&q, 1);
        queued.leave_leased(slot(Some("k"), 0));
        assert_eq!(queued.next_ready(&q, at(50)), Some(id(1)));
        assert_eq!(queued.counts("q"), Counts { waiting: 3, leased: 0 });
    }
}
