//! The switch: one for a thread, since a simulated world lives in one.
//!
//! With it, what a mutant knows and the product must not: which replica applies, and what any leader has proposed. In the
//! second it is as if marks were kept in a store beside the log, which is how that bug is made in the field.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::Mutant;
use crate::id::{LogIndex, Uid};
use crate::retry::mix;
use crate::time::Timestamp;

thread_local! {
    static ON: Cell<Option<Mutant>> = const { Cell::new(None) };
    static REPLICA: Cell<u64> = const { Cell::new(0) };
    static PROPOSED: RefCell<BTreeMap<Uid, Timestamp>> = const { RefCell::new(BTreeMap::new()) };
}

/// Whether this bug is there, in this thread.
#[must_use]
pub fn is_on(mutant: Mutant) -> bool {
    ON.get() == Some(mutant)
}

/// From here on this thread has that bug, or none; the beginning of a world.
pub fn set(mutant: Option<Mutant>) {
    ON.set(mutant);
    PROPOSED.with_borrow_mut(BTreeMap::clear);
}

/// Does something with that bug, or without any as a judge must; what was before is again after it, a panic in between or
/// not.
pub fn with<T>(mutant: Option<Mutant>, run: impl FnOnce() -> T) -> T {
    let before = ON.replace(mutant);
    let _again = Again(move || ON.set(before));
    // A judge in between must not make a world forget.
    if mutant.is_some() && mutant != before {
        PROPOSED.with_borrow_mut(BTreeMap::clear);
    }
    run()
}

/// Applies something as that replica.
pub fn as_replica<T>(replica: u64, apply: impl FnOnce() -> T) -> T {
    let before = REPLICA.replace(replica);
    let _again = Again(move || REPLICA.set(before));
    apply()
}

/// In an order that is this replica's, and another one at another index.
pub(super) fn scattered<T: Clone>(items: &[T], index: LogIndex) -> Vec<T> {
    let seed = mix(REPLICA.get() ^ index.0.rotate_left(32));
    let mut places: Vec<usize> = (0..items.len()).collect();
    places.sort_by_key(|place| mix(seed ^ *place as u64));
    places.into_iter().map(|place| items[place].clone()).collect()
}

pub(super) fn proposed_of(uid: Uid) -> Option<Timestamp> {
    PROPOSED.with_borrow(|proposed| proposed.get(&uid).copied())
}

pub(super) fn note_proposed(uid: Uid, nominal: Timestamp) {
    PROPOSED.with_borrow_mut(|proposed| proposed.insert(uid, nominal));
}

/// Puts back what was.
struct Again<F: FnMut()>(F);

impl<F: FnMut()> Drop for Again<F> {
    fn drop(&mut self) {
        self.0();
    }
}
