//! How many entries a second the log makes durable: `cargo run --release -p campanile-storage --example log_throughput -- [DIR]`.
//!
//! A number of appenders each append one entry of 200 bytes, wait until it is durable, and append the next, for a few
//! seconds: what group commit gains over one sync an entry. DIR says which disk is measured (default: the temporary one).

#![allow(clippy::print_stdout)]

use std::{
    env,
    error::Error,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use campanile_storage::log::{Log, LogStore, MemoryDisk, MemoryLog, SledLog};

const ENTRY_BYTES: usize = 200;
const RUN: Duration = Duration::from_secs(4);

fn main() -> Result<(), Box<dyn Error>> {
    let base = env::args().nth(1).map_or_else(env::temp_dir, Into::into);
    for appenders in [1, 8, 64, 256] {
        let dir = tempfile::tempdir_in(&base)?;
        measure("sled", Box::new(SledLog::open(&dir.path().join("log"))?), appenders)?;
    }
    measure("memory", Box::new(MemoryLog::open(&MemoryDisk::default())), 64)?;
    single_syncs(&base)
}

/// One line of figures.
fn measure(name: &str, store: Box<dyn LogStore>, appenders: usize) -> Result<(), Box<dyn Error>> {
    let log = Log::open(store)?;
    let (next, stop, durable) = (Mutex::new(0_u64), AtomicBool::new(false), AtomicU64::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..appenders {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    append_one(&log, &next);
                    durable.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(RUN);
        stop.store(true, Ordering::Relaxed);
    });
    let rate = durable.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    let stats = log.stats();
    let batch = stats.entries as f64 / stats.batches as f64;
    println!(
        "{name:>7}, {appenders:>3} appenders: {rate:>7.0} entries/s, {batch:>5.1} a batch, slowest batch {:?}",
        stats.slowest_sync
    );
    log.close();
    Ok(())
}

/// Append the next entry and wait until it is durable.
fn append_one(log: &Log, next: &Mutex<u64>) {
    let (tell, told) = mpsc::sync_channel(1);
    {
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = (*next, Bytes::from(vec![7; ENTRY_BYTES]));
        *next += 1;
        log.append(vec![entry], Box::new(move |result| tell.send(result).expect("it is waited for")))
            .expect("there are fewer appenders than places");
    }
    told.recv().expect("every append is answered").expect("the disk works");
}

/// The same with one sync an entry: what there is without group commit.
fn single_syncs(base: &Path) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir_in(base)?;
    let mut log = SledLog::open(&dir.path().join("log"))?;
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < RUN {
        log.append_batch(&[(count, Bytes::from(vec![7; ENTRY_BYTES]))])?;
        log.sync()?;
        count += 1;
    }
    println!("   sled, one sync an entry: {:>7.0} entries/s", count as f64 / begun.elapsed().as_secs_f64());
    Ok(())
}
