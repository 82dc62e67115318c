//! The history index beside a ledger: what it finds, and that nothing it can suffer makes it lie.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

mod rebuild;
mod scan;

use std::{path::Path, time::Duration};

use campanile_storage::{
    history::{Entry, History, Indexer, Key},
    ledger::{Ledger, Options, Row, Upkeep},
};

/// Small segments, so that retention and cuts meet many.
const SMALL: Options = Options { segment_bytes: 4 << 10, upkeep: Upkeep::Thread };
/// Longer than any machine needs; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// A row of these tests: `uid nominal run`, or a word that belongs to no history.
fn extract(row: &Row) -> Option<Key> {
    let text = std::str::from_utf8(&row.body).ok()?;
    let mut words = text.split(' ');
    let (uid, nominal, run) = (words.next()?, words.next()?, words.next()?);
    Some(Key {
        uid: uid.parse().ok()?,
        nominal: nominal.parse().ok()?,
        run: run.parse().ok()?,
        position: row.position,
    })
}

/// The rows of the entry at `index`: a firing of each of three schedules, and something else.
fn entry(index: u64) -> Vec<String> {
    let nominal = index as i64 - 50;
    vec![format!("1 {nominal} 0"), "note".into(), format!("2 {nominal} 0"), format!("3 {} 1", nominal / 10)]
}

fn fill(ledger: &mut Ledger, indexes: std::ops::Range<u64>) {
    for index in indexes {
        ledger.append(index, &entry(index)).unwrap();
    }
}

/// A ledger in `dir` with the entries 1 to `end - 1`.
fn ledger(dir: &Path, end: u64) -> Ledger {
    let mut ledger = Ledger::open(&dir.join("ledger"), SMALL).unwrap();
    fill(&mut ledger, 1..end);
    ledger
}

/// The index in `dir`, caught up with the ledger.
fn caught_up(dir: &Path, ledger: &Ledger) -> Indexer {
    let history = History::open(&dir.join("history")).unwrap();
    let indexer = Indexer::spawn(history, ledger.reader(), |row, keys| keys.extend(extract(row))).unwrap();
    indexer.wake();
    assert!(indexer.wait_for(u64::MAX, PATIENCE));
    indexer
}

/// The nominals of entries.
fn nominals(entries: &[Entry]) -> Vec<i64> {
    entries.iter().map(|entry| entry.key.nominal).collect()
}

/// Checks the index of schedule 1 against entries 1 to `end - 1`: every row is found, and is the right one.
fn assert_whole(indexer: &Indexer, ledger: &Ledger, end: u64) {
    use campanile_storage::history::{Order, Window};
    let found = indexer.history().scan(1, Window::default(), usize::MAX, Order::Ascending).unwrap();
    assert_eq!(nominals(&found), (1..end as i64).map(|index| index - 50).collect::<Vec<_>>());
    for entry in found {
        let row = ledger.reader().fetch(entry.key.position, entry.place).unwrap().unwrap();
        assert_eq!(extract(&row), Some(entry.key));
    }
}
