//! The decisions of one entry about one schedule: skips are told before firings, so they are put in order first.

use crate::event::SkipReason;
use crate::id::{Revision, Uid};
use crate::time::Timestamp;

use super::verdict::Place;

/// One decided instant, or a run of skipped ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) place: Place,
    /// The log's time of the row.
    pub(super) at: Timestamp,
    pub(super) revision: Revision,
    /// The first instant.
    pub(super) from: Timestamp,
    /// The last one.
    pub(super) to: Timestamp,
    /// How many the row speaks of.
    pub(super) count: u64,
    /// Why it did not fire; none when it did.
    pub(super) skipped: Option<SkipReason>,
}

/// Those that were heard and not judged yet. They are of one entry.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) uid: Uid,
    list: Vec<Part>,
}

impl Parts {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds one of a schedule that no other schedule's stand before.
    pub(super) fn push(&mut self, uid: Uid, part: Part) {
        self.uid = uid;
        self.list.push(part);
    }

    /// In the order of their instants; the list comes back empty and keeps its room.
    pub(super) fn take(&mut self) -> Vec<Part> {
        let mut list = std::mem::take(&mut self.list);
        if list.len() > 1 {
            list.sort_by_key(|part| (part.from, part.place));
        }
        list
    }

    pub(super) fn give_back(&mut self, mut list: Vec<Part>) {
        list.clear();
        self.list = list;
    }
}
