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

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(uid: u64, nominal: i64, ended_at: i64) -> Arc<Letter> {
        Arc::new(Letter {
            firing: FiringId { uid: Uid(uid), nominal: Timestamp::from_millis(nominal), run: Run(0) },
            schedule: ScheduleName::parse("a").expect("a name"),
            queue: None,
            kind: Kind::Scheduled,
            state: EndState::Failed,
            ended_at: Timestamp::from_millis(ended_at),
            attempts: AttemptNumber(1),
            status: None,
            error: "".into(),
        })
    }

    fn ends(letters: &Letters, before: Option<(Timestamp, FiringId)>, most: usize) -> Vec<i64> {
        letters.newest(before).take(most).map(|letter| letter.ended_at.as_millis()).collect()
    }

    #[test]
    fn the_oldest_gives_way_when_there_are_too_many_and_pages_go_back_in_time() {
        let mut letters = Letters::default();
        // Those that ended last have the earliest nominals.
        let all = MAX_LETTERS as i64 + 5;
        for n in 0..all {
            letters.enter(letter(7, all - n, n));
        }
        assert_eq!(letters.len(), MAX_LETTERS);
        let oldest = letters.iter().map(|letter| letter.ended_at.as_millis()).min();
        assert_eq!(oldest, Some(5));
        assert_eq!(ends(&letters, None, 2), [all - 1, all - 2]);
        let last = letters.newest(None).nth(1).expect("there are more").firing;
        assert_eq!(ends(&letters, Some((Timestamp::from_millis(all - 2), last)), 2), [all - 3, all - 4]);
    }

    #[test]
    fn a_letter_leaves_with_its_instant_or_its_schedule_and_is_in_once() {
        let mut letters = Letters::default();
        for (uid, nominal) in [(1, 10), (1, 20), (2, 10), (u64::MAX, 10)] {
            letters.enter(letter(uid, nominal, 50));
        }
        letters.enter(letter(1, 20, 60));
        assert_eq!((letters.len(), ends(&letters, None, 9)), (4, vec![60, 50, 50, 50]));
        letters.remove_nominal(Uid(1), Timestamp::from_millis(20));
        letters.remove_schedule(Uid(u64::MAX));
        assert_eq!((letters.len(), ends(&letters, None, 9)), (2, vec![50, 50]));
        letters.remove_schedule(Uid(1));
        letters.remove_schedule(Uid(2));
        assert_eq!(letters, Letters::default());
    }
}
