//! The ledger on a disk that fills up.

use std::sync::PoisonError;

use campanile_storage::{
    Trouble,
    ledger::{Ledger, Options, verify_chain},
};

use super::{
    RIG,
    rig::{self, SmallDisk},
    say,
};

/// Rows of an entry: about 64 KiB.
fn rows(index: u64) -> Vec<Vec<u8>> {
    (0..64).map(|n| format!("row {index}.{n} {}", "x".repeat(1_000)).into_bytes()).collect()
}

#[test]
fn a_full_disk_refuses_rows_and_keeps_those_before_and_goes_on_when_there_is_room() {
    let _one = RIG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(why) = rig::missing() {
        return say(&format!("SKIPPED, NOTHING WAS TESTED: a full disk ({why})"));
    }
    let disk = SmallDisk::new();
    let dir = disk.log().with_file_name("ledger");
    // The default: a segment is larger than the disk, so space for the next one cannot be had.
    let mut ledger = Ledger::open(&dir, Options::default()).unwrap();
    let (mut index, mut synced) = (1, ledger.head());
    let trouble = loop {
        let before = ledger.head();
        match ledger.append(index, &rows(index)).and_then(|_| ledger.sync()) {
            Ok(head) => (synced, index) = (head, index + 1),
            Err(trouble) => break (trouble, before),
        }
    };
    assert!(matches!(trouble.0, Trouble::Full { .. }), "{}", trouble.0);
    assert_eq!(ledger.head(), trouble.1, "an append that failed is not seen");
    assert!(synced.bytes > 20 << 20, "the disk was not full after {} bytes", synced.bytes);
    drop(ledger);

    disk.drop_ballast();
    let mut ledger = Ledger::open_at(&dir, Options::default(), &synced).unwrap();
    let head = ledger.append(index, &rows(index)).unwrap();
    assert_eq!(ledger.sync().unwrap(), head);
    drop(ledger);
    assert_eq!(verify_chain(&dir).unwrap(), head);
    say(&format!("a disk full after {} bytes of rows: nothing lost", synced.bytes));
}
