//! How many rows a second the history index takes when it is built from nothing:
//! `cargo run --release -p campanile-storage --example history_rebuild -- [ROWS]`.
//!
//! The ledger is that of ten thousand schedules which fire in turn, with three rows a firing: what a rebuild meets.

#![allow(clippy::print_stdout)]

use std::{
    env,
    error::Error,
    time::{Duration, Instant},
};

use campanile_storage::{
    history::{History, Indexer, Key},
    ledger::{Ledger, Options, Row},
};

const SCHEDULES: u64 = 10_000;
const ROWS_PER_FIRING: u64 = 3;
/// Rows of one entry of the log.
const ENTRY_ROWS: u64 = 64;
/// What a row of a week takes.
const BODY_BYTES: usize = 60;
/// Longer than anybody waits for an example.
const PATIENCE: Duration = Duration::from_secs(3_600);

fn main() -> Result<(), Box<dyn Error>> {
    let rows: u64 = env::args().nth(1).map_or(Ok(2_000_000), |text| text.parse())?;
    let dir = tempfile::tempdir()?;
    let mut ledger = Ledger::open(&dir.path().join("ledger"), Options::default())?;
    let entries = rows / ENTRY_ROWS;
    for index in 1..=entries {
        ledger.append(index, &entry(index))?;
    }
    println!("{} rows in the ledger", entries * ENTRY_ROWS);
    let history = History::open(&dir.path().join("history"))?;
    let begun = Instant::now();
    let indexer = Indexer::spawn(history, ledger.reader(), |row, keys| keys.extend(key(row)))?;
    if !indexer.wait_for(u64::MAX, PATIENCE) {
        return Err("the index did not catch up".into());
    }
    let took = begun.elapsed().as_secs_f64();
    println!("indexed in {took:.1} s: {:.0} rows/s", (entries * ENTRY_ROWS) as f64 / took);
    Ok(())
}

/// Schedules fire one behind the other; the rows of a firing are some entries apart.
fn entry(index: u64) -> Vec<Vec<u8>> {
    let first = (index / ROWS_PER_FIRING) * ENTRY_ROWS;
    let body = |firing: u64| {
        let mut body = vec![0; BODY_BYTES];
        body[..8].copy_from_slice(&(1 + firing % SCHEDULES).to_be_bytes());
        body[8..16].copy_from_slice(&(firing / SCHEDULES * 600_000).to_be_bytes());
        body
    };
    (first..first + ENTRY_ROWS).map(body).collect()
}

fn key(row: &Row) -> Option<Key> {
    let (uid, rest) = row.body.split_first_chunk()?;
    let (nominal, _) = rest.split_first_chunk()?;
    Some(Key {
        uid: u64::from_be_bytes(*uid),
        nominal: i64::from_be_bytes(*nominal),
        run: 0,
        position: row.position,
    })
}
