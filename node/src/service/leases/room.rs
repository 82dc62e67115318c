//! Who waits at this node for work of a queue: bounded, and in line.
//!
//! Of those who wait for one queue only the first few look at what the log does, and of those who may have found something
//! only a few ask at once; the others sleep until it is their turn. So a queue on which ten thousand wait costs little more
//! than one on which thirty do. It knows nothing of what is in a queue.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most requests for leases that are under way at one node.
const PLACES: usize = 10_000;
/// How many of one queue watch, and how many ask the leader, at once.
const TURNS: usize = 32;

/// All who wait at this node.
#[derive(Debug)]
pub(in crate::service) struct Room {
    places: Arc<Semaphore>,
    lines: Mutex<BTreeMap<Arc<str>, Line>>,
}

#[derive(Debug)]
struct Line {
    length: usize,
    turns: Turns,
}

/// The turns of one queue, given in the order in which they are asked for.
#[derive(Debug, Clone)]
struct Turns {
    watching: Arc<Semaphore>,
    asking: Arc<Semaphore>,
}

/// A place in the line of a queue; dropping it leaves the line.
#[derive(Debug)]
pub(super) struct Place<'a> {
    room: &'a Room,
    queue: Arc<str>,
    turns: Turns,
    _place: OwnedSemaphorePermit,
}

impl Default for Room {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(PLACES)), lines: Mutex::default() }
    }
}

impl Room {
    /// A place in the line of a queue; `None` when the room is full.
    pub(super) fn enter(&self, queue: &Arc<str>) -> Option<Place<'_>> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        let mut lines = self.lines();
        let line = lines.entry(queue.clone()).or_insert_with(|| Line { length: 0, turns: Turns::new() });
        line.length += 1;
        Some(Place { room: self, queue: queue.clone(), turns: line.turns.clone(), _place: place })
    }

    /// How many are in it.
    pub(super) fn length(&self) -> usize {
        PLACES - self.places.available_permits()
    }

    /// Nothing can be half done under the lock.
    fn lines(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turns {
    fn new() -> Self {
        let turns = || Arc::new(Semaphore::new(TURNS));
        Self { watching: turns(), asking: turns() }
    }
}

impl Place<'_> {
    /// The queue.
    pub(super) fn queue(&self) -> &Arc<str> {
        &self.queue
    }

    /// Waits for a turn to look at what the log does. Nobody closes the semaphores, so there is always one.
    pub(super) async fn watch(&self) -> Option<OwnedSemaphorePermit> {
        self.turns.watching.clone().acquire_owned().await.ok()
    }

    /// Waits for a turn to ask the leader.
    pub(super) async fn ask(&self) -> Option<OwnedSemaphorePermit> {
        self.turns.asking.clone().acquire_owned().await.ok()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut lines = self.room.lines();
        let Some(line) = lines.get_mut(&self.queue) else { return };
        line.length -= 1;
        if line.length == 0 {
            lines.remove(&self.queue);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_room_is_bounded_and_a_line_that_everybody_has_left_is_forgotten() {
        let (room, queue) = (Room::default(), Arc::from("q"));
        let places: Vec<_> = (0..PLACES).map(|_| room.enter(&queue).unwrap()).collect();
        assert!(room.enter(&Arc::from("other")).is_none());
        assert_eq!(room.length(), PLACES);
        drop(places);
        assert_eq!((room.length(), room.lines().len()), (0, 0));
        assert!(room.enter(&queue).is_some());
    }

    #[test]
    fn the_turns_of_a_queue_are_its_own_and_come_in_line() {
        let (room, queue) = (Room::default(), Arc::from("q"));
        let places: Vec<_> = (0..=TURNS).map(|_| room.enter(&queue).unwrap()).collect();
        let mut turns: Vec<_> =
            places[..TURNS].iter().map(|place| place.watch().now_or_never().flatten().unwrap()).collect();
        assert!(places[TURNS].watch().now_or_never().is_none(), "it is in line");
        assert!(places[TURNS].ask().now_or_never().is_some(), "asking is another turn");
        let other = room.enter(&Arc::from("other")).unwrap();
        assert!(other.watch().now_or_never().is_some());
        turns.pop();
        assert!(places[TURNS].watch().now_or_never().is_some());
    }
}
