//! Which indexes a log holds, and the rules that keep it without holes.
//!
//! Pure arithmetic, shared by the stores and by the handle above them, so that they cannot disagree about an order.

use super::{ENTRY_LIMIT, Entry};
use crate::error::Trouble;

/// The indexes of a log: `..=purged` are gone, `first..=last` are here. With both, `first` is `purged + 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// The last purged index.
    pub purged: Option<u64>,
    /// The first index that is here; nothing when the log is empty.
    pub first: Option<u64>,
    /// The last index that is here; nothing when the log is empty.
    pub last: Option<u64>,
}

impl Bounds {
    /// The last index that this log knows of, here or purged.
    #[must_use]
    pub fn tip(&self) -> Option<u64> {
        self.last.or(self.purged)
    }

    /// The index that comes next; nothing when the log never held one, then any index may begin it.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        self.tip().map(|tip| tip + 1)
    }

    /// Whether `index` is here.
    #[must_use]
    pub fn contains(&self, index: u64) -> bool {
        self.first.is_some_and(|first| first <= index) && self.last.is_some_and(|last| index <= last)
    }

    /// Whether `entries` may be appended: consecutive, following the tip, none too large.
    pub(crate) fn check(&self, entries: &[Entry]) -> Result<(), Trouble> {
        let mut expected = self.next();
        for (index, bytes) in entries {
            if let Some(expected) = expected.filter(|expected| expected != index) {
                return Err(Trouble::OutOfOrder { expected, found: *index });
            }
            if bytes.len() > ENTRY_LIMIT {
                return Err(Trouble::TooLarge { index: *index, bytes: bytes.len(), limit: ENTRY_LIMIT });
            }
            expected = Some(index + 1);
        }
        Ok(())
    }

    /// Take in entries that [`Bounds::check`] allowed.
    pub(crate) fn append(&mut self, entries: &[Entry]) {
        if let (Some((head, _)), Some((tail, _))) = (entries.first(), entries.last()) {
            self.first.get_or_insert(*head);
            self.last = Some(*tail);
        }
    }

    /// Drop `index..`. What is behind the last is nothing to drop; what is purged cannot be.
    pub(crate) fn truncate(&mut self, index: u64) -> Result<(), Trouble> {
        if let Some(purged) = self.purged.filter(|purged| index <= *purged) {
            return Err(Trouble::OutOfOrder { expected: purged + 1, found: index });
        }
        if self.first.is_some_and(|first| index <= first) {
            (self.first, self.last) = (None, None);
        }
        if self.last.is_some_and(|last| index <= last) {
            self.last = Some(index - 1);
        }
        Ok(())
    }

    /// Drop `..=index`; whether that was anything new. Below the entry before the first of a log that began later there is
    /// nothing; that one is what came before it, and the mark says so.
    pub(crate) fn purge(&mut self, index: u64) -> bool {
        if self.purged.is_some_and(|purged| index <= purged)
            || self.first.is_some_and(|first| index + 1 < first)
        {
            return false;
        }
        self.purged = Some(index);
        if self.last.is_some_and(|last| index < last) {
            self.first = Some(index + 1);
        } else {
            (self.first, self.last) = (None, None);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use bytes::Bytes;

    use super::*;

    fn entries(indexes: std::ops::RangeInclusive<u64>) -> Vec<Entry> {
        indexes.map(|index| (index, Bytes::new())).collect()
    }

    fn holding(indexes: std::ops::RangeInclusive<u64>) -> Bounds {
        Bounds { purged: None, first: Some(*indexes.start()), last: Some(*indexes.end()) }
    }

    #[test]
    fn an_empty_log_begins_anywhere_and_goes_on_without_a_hole() {
        let mut bounds = Bounds::default();
        bounds.check(&entries(5..=7)).unwrap();
        bounds.append(&entries(5..=7));
        assert_eq!(bounds, holding(5..=7));
        assert!(matches!(bounds.check(&entries(9..=9)), Err(Trouble::OutOfOrder { expected: 8, found: 9 })));
        assert!(matches!(bounds.check(&entries(7..=8)), Err(Trouble::OutOfOrder { expected: 8, found: 7 })));
        let hole = [(8, Bytes::new()), (10, Bytes::new())];
        assert!(matches!(bounds.check(&hole), Err(Trouble::OutOfOrder { expected: 9, found: 10 })));
    }

    #[test]
    fn truncating_leaves_what_is_before_and_refuses_what_is_purged() {
        let mut bounds = holding(1..=9);
        bounds.truncate(12).unwrap();
        assert_eq!(bounds, holding(1..=9));
        bounds.truncate(6).unwrap();
        assert_eq!(bounds, holding(1..=5));
        bounds.purge(2);
        assert!(matches!(bounds.truncate(2), Err(Trouble::OutOfOrder { expected: 3, found: 2 })));
        bounds.truncate(3).unwrap();
        assert_eq!((bounds.last, bounds.next()), (None, Some(3)));
    }

    #[test]
    fn purging_moves_the_first_index_and_may_pass_the_last() {
        let mut bounds = holding(1..=9);
        assert!(bounds.purge(4));
        assert_eq!((bounds.first, bounds.last, bounds.next()), (Some(5), Some(9), Some(10)));
        assert!(!bounds.purge(3));
        assert!(bounds.purge(20));
        assert_eq!((bounds.first, bounds.last, bounds.next()), (None, None, Some(21)));
    }
}
