//! The ledger as its users see it: what is appended, read, cut, dropped, replaced, and what every kind of end leaves.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

mod append;
mod bytes;
mod cut;
mod damage;
mod full;
mod golden;
mod install;
mod kill;
mod retention;

use std::path::Path;

use campanile_storage::ledger::{Ledger, Options, Row, Upkeep};

/// Small segments, so that a few hundred rows fill many.
const SMALL: Options = Options { segment_bytes: 4 << 10, upkeep: Upkeep::Thread };

fn open(dir: &Path) -> Ledger {
    Ledger::open(dir, SMALL).unwrap()
}

/// Row `n` of the entry at `index`: the same on every replica, as events are.
fn body(index: u64, n: u32) -> Vec<u8> {
    format!("entry {index} row {n} {}", "x".repeat((index % 40) as usize)).into_bytes()
}

/// The rows of an entry: none for every fifth one, up to three for others.
fn entry(index: u64) -> Vec<Vec<u8>> {
    let rows = if index.is_multiple_of(5) { 0 } else { 1 + index % 3 };
    (0..rows as u32).map(|n| body(index, n)).collect()
}

/// Appends the entries of a range of log indexes.
fn fill(ledger: &mut Ledger, indexes: std::ops::Range<u64>) {
    for index in indexes {
        ledger.append(index, &entry(index)).unwrap();
    }
}

/// Every row, read page by page.
fn all_rows(ledger: &Ledger) -> Vec<Row> {
    let reader = ledger.reader();
    let mut rows: Vec<Row> = Vec::new();
    loop {
        let page = reader.read(rows.last().map(|row| row.position), 100, 1 << 20).unwrap();
        if page.is_empty() {
            return rows;
        }
        rows.extend(page);
    }
}

/// Log indexes and bodies of rows: what a transcript of the ledger would show.
fn told(rows: &[Row]) -> Vec<(u64, u32, Vec<u8>)> {
    rows.iter().map(|row| (row.position.index, row.position.n, row.body.to_vec())).collect()
}

/// What `fill` of these indexes would leave.
fn expected(indexes: std::ops::Range<u64>) -> Vec<(u64, u32, Vec<u8>)> {
    let rows = |index| entry(index).into_iter().zip(0..).map(move |(body, n)| (index, n, body));
    indexes.flat_map(rows).collect()
}
