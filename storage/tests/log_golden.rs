//! The golden bytes of the log on disk: what one version wrote, every later one must read.
//!
//! A change here is a change of format: it needs a new format number and a reader for the old one.

#![allow(clippy::unwrap_used)]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use campanile_storage::{
    Trouble,
    log::{LogStore, SledLog},
};

/// Keys and values as hexadecimal text, in the order of the keys.
const GOLDEN: [(&str, &str); 6] = [
    // "l", index 258 big endian: the bytes of the entry, as they were given.
    ("6c0000000000000102", "74776f"),
    ("6c0000000000000103", "7468726565"),
    // "m/committed", "m/vote": the bytes as they were given.
    ("6d2f636f6d6d6974746564", "636f6d6d6974746564"),
    // "m/format": log meta, schema 1, the number 1 as u16.
    ("6d2f666f726d6174", "0301000100"),
    // "m/purged": log meta, schema 1, index 257 as u64, then length and bytes of what was stored with it.
    ("6d2f707572676564", concat!("030100", "0101000000000000", "0100000000000000", "6d")),
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

#[test]
fn a_log_of_a_newer_format_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(SledLog::open(dir.path()).unwrap());
    let db = raw(dir.path());
    db.insert("m/format", &[3, 1, 0, 2, 0][..]).unwrap();
    db.flush().unwrap();
    drop(db);
    let refused = SledLog::open(dir.path()).unwrap_err();
    assert!(matches!(refused, Trouble::TooNew { found: 2, known: 1, .. }), "{refused}");
}

#[test]
fn a_log_with_a_hole_is_refused_and_never_shortened() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = SledLog::open(dir.path()).unwrap();
    log.append_batch(&[1, 2, 3].map(|index| (index, Bytes::from("entry")))).unwrap();
    log.sync().unwrap();
    drop(log);
    let db = raw(dir.path());
    db.remove(b"l\0\0\0\0\0\0\0\x02").unwrap();
    db.flush().unwrap();
    drop(db);
    let refused = SledLog::open(dir.path()).unwrap_err();
    assert!(refused.to_string().contains("entry 2 is missing"), "{refused}");
}

#[test]
fn a_directory_that_lost_its_data_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(SledLog::open(dir.path()).unwrap());
    std::fs::remove_file(dir.path().join("db")).unwrap();
    let refused = SledLog::open(dir.path()).unwrap_err();
    assert!(matches!(refused, Trouble::Damaged { .. }), "{refused}");
}

#[test]
fn a_log_in_use_is_refused_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let _log = SledLog::open(dir.path()).unwrap();
    let refused = SledLog::open(dir.path()).unwrap_err();
    assert!(matches!(refused, Trouble::Locked { .. }), "{refused}");
}

#[test]
fn a_file_where_the_directory_should_be_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    std::fs::write(&path, "").unwrap();
    let refused = SledLog::open(&path).unwrap_err();
    assert!(matches!(refused, Trouble::Unopenable { .. }), "{refused}");
}

#[test]
fn what_a_kill_during_creation_left_beside_it_is_cleared_away() {
    let dir = tempfile::tempdir().unwrap();
    let (path, aside) = (dir.path().join("log"), dir.path().join("log.creating"));
    std::fs::create_dir(&aside).unwrap();
    std::fs::write(aside.join("conf"), "segment_si").unwrap();
    drop(SledLog::open(&path).unwrap());
    assert!(!aside.exists());
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
