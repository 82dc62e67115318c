//! The golden bytes of the log on disk: what one version wrote, every later one must read.
//!
//! A change here is a change of format: it needs a new format number and a reader for the old one.

#![allow(clippy::unwrap_used)]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use campanile_storage::log::{LogStore, SledLog};

/// Keys and values as hexadecimal text, in the order of the keys.
const GOLDEN: [(&str, &str); 7] = [
    // "l", index 258 big endian: the bytes of the entry, as they were given.
    ("6c0000000000000102", "74776f"),
    ("6c0000000000000103", "7468726565"),
    // "m/committed", "m/vote": the bytes as they were given.
    ("6d2f636f6d6d6974746564", "636f6d6d6974746564"),
    // "m/format": log meta, schema 1, the number 1 as u16.
    ("6d2f666f726d6174", "0301000100"),
    // "m/purged": log meta, schema 1, index 257 as u64, then length and bytes of what was stored with it.
    ("6d2f707572676564", concat!("030100", "0101000000000000", "0100000000000000", "6d")),
    // "m/syncs": log meta, schema 1, the number of syncs as u64. A version without this key passes over it and leaves it as it
    // is, and a log without it has promised nothing by it: both may write to one log in turn, so the format is still number 1.
    ("6d2f73796e6373", concat!("030100", "0100000000000000")),
    ("6d2f766f7465", "766f7465"),
];

#[test]
fn the_keys_and_values_on_disk_never_change() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = SledLog::open(dir.path()).unwrap();
    let entries = [(257, "one"), (258, "two"), (259, "three")];
    log.append_batch(&entries.map(|(index, bytes)| (index, Bytes::from(bytes)))).unwrap();
    log.save_vote(b"vote").unwrap();
    log.save_committed(b"committed").unwrap();
    log.purge_to(257, b"m").unwrap();
    log.purge_step().unwrap();
    log.sync().unwrap();
    drop(log);
    assert_eq!(rows(dir.path()), GOLDEN.map(|(key, value)| (key.to_owned(), value.to_owned())));
}

/// The database itself. Its last thread may hold the lock for a moment after a log was dropped.
fn raw(dir: &Path) -> sled::Db {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match sled::Config::new().path(dir).segment_size(8 << 20).open() {
            Ok(db) => return db,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::yield_now();
    }
}

fn rows(dir: &Path) -> Vec<(String, String)> {
    let hex = |bytes: &sled::IVec| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    raw(dir).iter().map(|row| row.unwrap()).map(|(key, value)| (hex(&key), hex(&value))).collect()
}
