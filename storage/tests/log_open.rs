//! What a sled log says to the things that can stand in its directory when it is opened.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use campanile_storage::{
    Trouble,
    log::{LogStore, SledLog},
};

#[test]
fn an_empty_directory_that_somebody_prepared_becomes_a_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/log");
    fs::create_dir_all(&path).unwrap();
    assert_eq!(SledLog::open(&path).unwrap().bounds().last, None);
}

#[test]
fn what_a_kill_during_recovery_left_is_cleared_away() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = SledLog::open(dir.path()).unwrap();
    log.append_batch(&[(1, Bytes::from("entry"))]).unwrap();
    log.sync().unwrap();
    drop(log);
    // sled would take it for its newest snapshot and fail for ever.
    let unfinished = dir.path().join("snap.00000000FFFFFFFF.generating");
    fs::write(&unfinished, "torn").unwrap();
    assert_eq!(SledLog::open(dir.path()).unwrap().bounds().last, Some(1));
    assert!(!unfinished.exists());
}

#[test]
fn data_in_a_blob_file_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = SledLog::open(dir.path()).unwrap();
    fs::write(dir.path().join("blobs/1"), "never synced").unwrap();
    let refused = log.sync().unwrap_err();
    assert!(matches!(refused, Trouble::Damaged { .. }), "{refused}");
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
fn a_log_that_lost_what_a_sync_promised_is_refused_and_never_shortened() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = SledLog::open(dir.path()).unwrap();
    for index in 1..100 {
        log.append_batch(&[(index, Bytes::from(vec![7; 100]))]).unwrap();
        log.sync().unwrap();
    }
    drop(log);
    drop(raw(dir.path()));
    let whole = fs::read(dir.path().join("db")).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
    for at in [used, used - 100, used - 3_000, used / 2] {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        fs::write(dir.path().join("db"), flipped).unwrap();
        let refused = SledLog::open(dir.path()).unwrap_err();
        assert!(matches!(refused, Trouble::Damaged { .. }), "byte {at}: {refused}");
        fs::write(dir.path().join("db"), &whole[..at]).unwrap();
        let refused = SledLog::open(dir.path()).unwrap_err();
        assert!(matches!(refused, Trouble::Damaged { .. }), "cut at {at}: {refused}");
    }
}

#[test]
fn a_log_without_the_note_of_its_syncs_is_one_of_an_earlier_version() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = SledLog::open(dir.path()).unwrap();
    log.append_batch(&[(1, Bytes::from("entry"))]).unwrap();
    log.sync().unwrap();
    drop(log);
    fs::remove_file(dir.path().join("promised")).unwrap();
    assert_eq!(SledLog::open(dir.path()).unwrap().bounds().last, Some(1));
}

#[test]
fn a_directory_that_lost_its_data_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(SledLog::open(dir.path()).unwrap());
    fs::remove_file(dir.path().join("db")).unwrap();
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
    fs::write(&path, "").unwrap();
    let refused = SledLog::open(&path).unwrap_err();
    assert!(matches!(refused, Trouble::Unopenable { .. }), "{refused}");
}

#[test]
fn what_a_kill_during_creation_left_beside_it_is_cleared_away() {
    let dir = tempfile::tempdir().unwrap();
    let (path, aside) = (dir.path().join("log"), dir.path().join("log.creating"));
    fs::create_dir(&aside).unwrap();
    fs::write(aside.join("conf"), "segment_si").unwrap();
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
