//! Dead letters: firings that came to nothing and wait for somebody to look at them.
//!
//! A view beside the ledger, which keeps the whole story: bounded, the oldest gives way, and a firing that is run again
//! or put aside leaves it.

use imbl::{OrdMap, OrdSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::definition::ScheduleName;
use crate::firing::{EndState, FiringId, Kind};
use crate::id::{AttemptNumber, Run, Uid};
use crate::time::Timestamp;

/// The most dead letters that are kept.
pub const MAX_LETTERS: usize = 10_000;

/// A firing that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// Which.
    pub firing: FiringId,
    /// Of which schedule.
    pub schedule: ScheduleName,
    /// The queue that it stood in, if it did.
    pub queue: Option<Arc<str>>,
    /// Why it existed.
    pub kind: Kind,
    /// How it ended.
    pub state: EndState,
    /// When.
    pub ended_at: Timestamp,
    /// How many attempts it took.
    pub attempts: AttemptNumber,
    /// The receiver's last status, if it answered.
    pub status: Option<u16>,
    /// What went wrong last, shortened; empty for nothing.
    pub error: Box<str>,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Letters {
    by_firing: OrdMap<FiringId, Arc<Letter>>,
    by_end: OrdSet<(Timestamp, FiringId)>,
}

impl Letters {
    /// The letter of a firing.
    #[must_use]
    pub fn get(&self, firing: FiringId) -> Option<&Arc<Letter>> {
        self.by_firing.get(&firing)
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_firing.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_firing.is_empty()
    }

    /// The newest first, those that ended before the one named by its end and id.
    pub fn newest(&self, before: Option<(Timestamp, FiringId)>) -> impl Iterator<Item = &Arc<Letter>> {
        use std::ops::Bound::{Excluded, Unbounded};
        let to = before.map_or(Unbounded, Excluded);
        self.by_end.range((Unbounded, to)).rev().filter_map(|(_, firing)| self.by_firing.get(firing))
    }

    /// In the order of their firings.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Letter>> {
        self.by_firing.values()
    }

    /// Enters one; the oldest gives way when there are too many.
    pub(crate) fn enter(&mut self, letter: Arc<Letter>) {
        self.remove(letter.firing);
        self.by_end.insert((letter.ended_at, letter.firing));
        self.by_firing.insert(letter.firing, letter);
        if self.by_firing.len() > MAX_LETTERS
            && let Some((_, oldest)) = self.by_end.remove_min()
        {
            self.by_firing.remove(&oldest);
        }
    }

    pub(crate) fn remove(&mut self, firing: FiringId) -> bool {
        let removed = self.by_firing.remove(&firing);
        if let Some(letter) = &removed {
            self.by_end.remove(&(letter.ended_at, firing));
        }
        removed.is_some()
    }

    /// Takes out every run of one nominal instant: it is run again.
    pub(crate) fn remove_nominal(&mut self, uid: Uid, nominal: Timestamp) {
        self.remove_between(uid, nominal, nominal);
    }

    /// Takes out all of a schedule: it is gone.
    pub(crate) fn remove_schedule(&mut self, uid: Uid) {
        self.remove_between(uid, Timestamp::from_millis(i64::MIN), Timestamp::NEVER);
    }

    fn remove_between(&mut self, uid: Uid, from: Timestamp, to: Timestamp) {
        let first = FiringId { uid, nominal: from, run: Run(0) };
        let last = FiringId { uid, nominal: to, run: Run(u32::MAX) };
        let all: Vec<FiringId> = self.by_firing.range(first..=last).map(|(id, _)| *id).collect();
        for id in all {
            self.remove(id);
        }
    }
}
