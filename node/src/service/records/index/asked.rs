//! An index in memory that indexes when it is asked, on the thread of whoever asks. It is never behind, so it is no test of
//! those who wait for one that is.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use campanile_storage::Trouble;
use campanile_storage::history::{Entry, Extract, Key, Order, Unreadable, Window};
use campanile_storage::ledger::{LedgerReader, Place, Position};

use super::Index;

/// What is read of the ledger at once.
const READ_ROWS: usize = 2_000;
const READ_BYTES: usize = 4 << 20;

/// An index that is kept in memory. It holds keys for good: of rows that retention has dropped too, which then read as none.
#[derive(Debug)]
pub struct Asked {
    ledger: LedgerReader,
    extract: Extract,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    rows: BTreeMap<Key, Place>,
    through: Option<Position>,
    /// The generation of the ledger that they are of: a ledger that was cut or replaced has other places.
    generation: u64,
}

impl Asked {
    /// Over a ledger, by the keys of its rows.
    #[must_use]
    pub fn new(ledger: LedgerReader, extract: Extract) -> Self {
        Self { ledger, extract, kept: Mutex::default() }
    }

    /// Indexes what is new.
    fn catch_up(&self, kept: &mut Kept) -> Result<(), Trouble> {
        loop {
            let generation = self.ledger.generation();
            if kept.generation != generation {
                *kept = Kept { generation, ..Kept::default() };
            }
            let rows = self.ledger.read_placed(kept.through, READ_ROWS, READ_BYTES)?;
            if self.ledger.generation() != generation {
                // Rows of two ledgers would be mixed.
                continue;
            }
            let Some((last, _)) = rows.last() else { return Ok(()) };
            kept.through = Some(last.position);
            let mut keys = Vec::new();
            for (row, place) in &rows {
                (self.extract)(row, &mut keys);
                kept.rows.extend(keys.drain(..).map(|key| (key, *place)));
            }
        }
    }

    fn between(&self, range: (Bound<Key>, Bound<Key>), limit: usize, order: Order) -> Vec<Entry> {
        if is_empty(range) {
            return Vec::new();
        }
        let kept = self.kept();
        let found = kept.rows.range(range).map(|(key, place)| Entry { key: *key, place: *place });
        match order {
            Order::Ascending => found.take(limit).collect(),
            Order::Descending => found.rev().take(limit).collect(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index for Asked {
    fn wait_for(&self, index: u64, _within: Duration) -> bool {
        let wanted = self.ledger.head().position.min(Some(Position::end_of(index)));
        let mut kept = self.kept();
        match self.catch_up(&mut kept) {
            Ok(()) => kept.through >= wanted,
            Err(trouble) => {
                tracing::error!(%trouble, "the ledger is not indexed");
                false
            }
        }
    }

    fn reached(&self) -> Option<Position> {
        self.kept().through
    }

    fn scan(&self, uid: u64, window: Window, limit: usize, order: Order) -> Result<Vec<Entry>, Unreadable> {
        Ok(self.between(bounds(uid, window), limit, order))
    }

    fn scan_from(
        &self,
        cursor: Key,
        window: Window,
        limit: usize,
        order: Order,
    ) -> Result<Vec<Entry>, Unreadable> {
        let (low, high) = bounds(cursor.uid, window);
        let range = match order {
            Order::Ascending => (Bound::Excluded(cursor), high),
            Order::Descending => (low, Bound::Excluded(cursor)),
        };
        Ok(self.between(range, limit, order))
    }

    fn scan_firing(&self, uid: u64, nominal: i64, run: u32) -> Result<Vec<Entry>, Unreadable> {
        let low = Key { run, ..first_at(uid, nominal) };
        let high = Key { run, ..last_at(uid, nominal) };
        Ok(self.between((Bound::Included(low), Bound::Included(high)), usize::MAX, Order::Ascending))
    }
}

fn bounds(uid: u64, window: Window) -> (Bound<Key>, Bound<Key>) {
    let low = match window.after {
        Some(after) => Bound::Excluded(last_at(uid, after)),
        None => Bound::Included(first_at(uid, i64::MIN)),
    };
    let high = match window.before {
        Some(before) => Bound::Excluded(first_at(uid, before)),
        None => Bound::Included(last_at(uid, i64::MAX)),
    };
    (low, high)
}

fn first_at(uid: u64, nominal: i64) -> Key {
    Key { uid, nominal, run: 0, position: Position::new(0, 0) }
}

fn last_at(uid: u64, nominal: i64) -> Key {
    Key { uid, nominal, run: u32::MAX, position: Position::end_of(u64::MAX) }
}

/// Whether no key can lie between the bounds; a map panics when they are the wrong way round.
fn is_empty(range: (Bound<Key>, Bound<Key>)) -> bool {
    match range {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low >= high
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use campanile_storage::history::{History, Indexer};
    use campanile_storage::ledger::{Ledger, Options, Row};

    use super::*;

    /// A row of three bytes belongs under the schedule, the nominal and the run that they are.
    fn keys(row: &Row, keys: &mut Vec<Key>) {
        if let [uid, nominal, run] = *row.body {
            let (uid, nominal, run) = (uid.into(), i64::from(nominal) - 3, run.into());
            keys.push(Key { uid, nominal, run, position: row.position });
        }
    }

    /// Every question there is about small numbers.
    fn answers(index: &dyn Index) -> Vec<Vec<Entry>> {
        let ends = || [None, Some(-3), Some(-1), Some(0), Some(2)].into_iter();
        let mut told = Vec::new();
        for uid in 0..3 {
            for window in ends().flat_map(|after| ends().map(move |before| Window { after, before })) {
                for order in [Order::Ascending, Order::Descending] {
                    let page = index.scan(uid, window, 3, order).unwrap();
                    let next = page.last().map(|last| index.scan_from(last.key, window, 9, order).unwrap());
                    told.extend([page, next.unwrap_or_default()]);
                }
            }
            for (nominal, run) in (-3..3).flat_map(|nominal| (0..2).map(move |run| (nominal, run))) {
                told.push(index.scan_firing(uid, nominal, run).unwrap());
            }
        }
        told
    }

    #[test]
    fn it_answers_as_the_one_on_disk_does() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&dir.path().join("ledger"), Options::default()).unwrap();
        let history = History::open(&dir.path().join("history")).unwrap();
        let disk = Indexer::spawn(history, ledger.reader(), keys).unwrap();
        let asked = Asked::new(ledger.reader(), keys);
        for index in 1..60_u8 {
            let body = [index % 3, index % 5, index % 7 / 5];
            ledger.append(index.into(), &[&body[..], b"no key"]).unwrap();
            if index % 20 == 0 {
                let through = u64::from(index);
                assert!(
                    Index::wait_for(&disk, through, Duration::from_secs(60))
                        && asked.wait_for(through, Duration::ZERO)
                );
                assert_eq!(asked.reached(), Index::reached(&disk));
                assert_eq!(answers(&asked), answers(&disk));
            }
        }
    }
}
