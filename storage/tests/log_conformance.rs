//! One suite for every `LogStore`: whatever runs under consensus keeps the same contract.
//!
//! Each case opens, acts, and looks again after opening a second time. What only crashes can show is in `log_faults`.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use campanile_storage::{
    Trouble,
    log::{Bounds, ENTRY_LIMIT, Entry, LogStore, MemoryDisk, MemoryLog, PURGE_STEP, SledLog},
};

/// Opens the same log again and again; the caller has dropped the one before.
type Open = dyn Fn() -> Box<dyn LogStore>;

/// A case of the suite.
type Case = fn(&Open);

fn on_sled(case: Case) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    case(&move || Box::new(SledLog::open(&path).unwrap()));
}

fn on_memory(case: Case) {
    let disk = MemoryDisk::default();
    case(&move || Box::new(MemoryLog::open(&disk)));
}

macro_rules! suite {
    ($($case:ident),* $(,)?) => {
        mod on_both {
            $(
                mod $case {
                    #[test]
                    fn sled() {
                        crate::on_sled(crate::$case);
                    }

                    #[test]
                    fn memory() {
                        crate::on_memory(crate::$case);
                    }
                }
            )*
        }
    };
}

suite!(
    a_new_log_is_empty,
    what_was_synced_is_there_after_reopening,
    marks_are_kept_and_replaced,
    reading_is_bounded_by_range_and_bytes,
    a_hole_or_a_step_back_is_refused,
    an_entry_that_is_too_large_is_refused,
    truncation_removes_the_tail_and_lets_it_be_written_again,
    a_long_tail_is_truncated_whole,
    purging_hides_at_once_and_removes_in_steps,
    purging_goes_on_after_reopening,
    purging_past_the_end_lets_the_log_go_on_behind_it,
    what_is_purged_cannot_be_truncated,
    the_largest_entries_can_be_written_and_read,
);

fn entry(index: u64) -> Entry {
    (index, Bytes::from(format!("entry {index}")))
}

fn entries(range: std::ops::Range<u64>) -> Vec<Entry> {
    range.map(entry).collect()
}

fn read(log: &dyn LogStore, range: std::ops::Range<u64>) -> Vec<Entry> {
    log.reader().read_range(range, usize::MAX).unwrap()
}

fn reopen(open: &Open, mut log: Box<dyn LogStore>) -> Box<dyn LogStore> {
    log.sync().unwrap();
    drop(log);
    open()
}

fn a_new_log_is_empty(open: &Open) {
    let log = reopen(open, open());
    assert_eq!(log.bounds(), Bounds::default());
    assert_eq!((log.vote().unwrap(), log.committed().unwrap(), log.purged_meta()), (None, None, None));
    assert_eq!(read(&*log, 0..100), []);
}

fn what_was_synced_is_there_after_reopening(open: &Open) {
    let mut log = open();
    log.append_batch(&entries(0..700)).unwrap();
    log.append_batch(&entries(700..701)).unwrap();
    let log = reopen(open, log);
    assert_eq!(log.bounds(), Bounds { purged: None, first: Some(0), last: Some(700) });
    assert_eq!(read(&*log, 0..1000), entries(0..701));
}

fn marks_are_kept_and_replaced(open: &Open) {
    let mut log = open();
    log.save_vote(b"vote 1").unwrap();
    log.save_vote(b"vote 2").unwrap();
    log.save_committed(b"committed").unwrap();
    let log = reopen(open, log);
    assert_eq!(log.vote().unwrap().unwrap(), "vote 2");
    assert_eq!(log.committed().unwrap().unwrap(), "committed");
}

fn reading_is_bounded_by_range_and_bytes(open: &Open) {
    let mut log = open();
    log.append_batch(&entries(1..10)).unwrap();
    let reader = log.reader();
    assert_eq!(reader.read_range(3..5, usize::MAX).unwrap(), entries(3..5));
    assert_eq!(reader.read_range(8..20, usize::MAX).unwrap(), entries(8..10));
    assert_eq!(reader.read_range(3..9, 15).unwrap(), entries(3..5));
    assert_eq!(reader.read_range(3..9, 0).unwrap(), entries(3..4));
    assert_eq!(reader.read_range(5..5, usize::MAX).unwrap(), []);
    assert_eq!(reader.read_range(0..5, usize::MAX).unwrap(), []);
}

fn a_hole_or_a_step_back_is_refused(open: &Open) {
    let mut log = open();
    log.append_batch(&entries(5..8)).unwrap();
    for wrong in [7, 9] {
        let refused = log.append_batch(&[entry(wrong)]);
        assert!(
            matches!(refused, Err(Trouble::OutOfOrder { expected: 8, found }) if found == wrong),
            "{refused:?}"
        );
    }
    let log = reopen(open, log);
    assert_eq!(read(&*log, 5..100), entries(5..8));
}

fn an_entry_that_is_too_large_is_refused(open: &Open) {
    let mut log = open();
    let refused = log.append_batch(&[entry(1), (2, Bytes::from(vec![0; ENTRY_LIMIT + 1]))]);
    assert!(matches!(refused, Err(Trouble::TooLarge { index: 2, .. })), "{refused:?}");
    assert_eq!(reopen(open, log).bounds(), Bounds::default());
}

fn truncation_removes_the_tail_and_lets_it_be_written_again(open: &Open) {
    let mut log = open();
    log.append_batch(&entries(0..10)).unwrap();
    log.truncate_from(20).unwrap();
    log.truncate_from(6).unwrap();
    assert_eq!(read(&*log, 0..100), entries(0..6));
    log.append_batch(&[(6, Bytes::from("another"))]).unwrap();
    let mut log = reopen(open, log);
    assert_eq!(log.bounds().last, Some(6));
    assert_eq!(read(&*log, 6..100), [(6, Bytes::from("another"))]);
    log.truncate_from(0).unwrap();
    assert_eq!(reopen(open, log).bounds(), Bounds::default());
}

fn a_long_tail_is_truncated_whole(open: &Open) {
    let mut log = open();
    log.append_batch(&entries(1..2_000)).unwrap();
    log.truncate_from(3).unwrap();
    let log = reopen(open, log);
    assert_eq!(log.bounds(), Bounds { purged: None, first: Some(1), last: Some(2) });
    assert_eq!(read(&*log, 1..3_000), entries(1..3));
}

fn purging_hides_at_once_and_removes_in_steps(open: &Open) {
    let mut log = open();
    log.append_batch(&entries(1..2_000)).unwrap();
    log.purge_to(1_234, b"meta").unwrap();
    assert_eq!(log.bounds(), Bounds { purged: Some(1_234), first: Some(1_235), last: Some(1_999) });
    assert_eq!(log.purged_meta().unwrap(), "meta");
    let steps = std::iter::repeat_with(|| log.purge_step().unwrap()).take_while(|more| *more).count();
    assert_eq!(steps, 1_234 / PURGE_STEP);
    assert_eq!(read(&*log, 1..1_235), []);
    log.purge_to(1_000, b"an older mark is nothing").unwrap();
    let log = reopen(open, log);
    assert_eq!(log.bounds(), Bounds { purged: Some(1_234), first: Some(1_235), last: Some(1_999) });
    assert_eq!(log.purged_meta().unwrap(), "meta");
    assert_eq!(read(&*log, 1_235..9_999), entries(1_235..2_000));
}

fn purging_goes_on_after_reopening(open: &Open) {
    let mut log = open();
    log.append_batch(&entries(1..1_800)).unwrap();
    log.purge_to(1_500, b"meta").unwrap();
    assert!(log.purge_step().unwrap());
    let mut log = reopen(open, log);
    assert_eq!(log.bounds().first, Some(1_501));
    while log.purge_step().unwrap() {}
    assert_eq!(read(&*log, 1..1_501), []);
    assert_eq!(read(&*log, 1_501..9_999), entries(1_501..1_800));
}

fn purging_past_the_end_lets_the_log_go_on_behind_it(open: &Open) {
    let mut log = open();
    log.append_batch(&entries(1..10)).unwrap();
    log.purge_to(50, b"a snapshot was installed").unwrap();
    let mut log = reopen(open, log);
    assert_eq!(log.bounds(), Bounds { purged: Some(50), first: None, last: None });
    assert!(matches!(log.append_batch(&[entry(10)]), Err(Trouble::OutOfOrder { expected: 51, found: 10 })));
    log.append_batch(&entries(51..53)).unwrap();
    while log.purge_step().unwrap() {}
    let log = reopen(open, log);
    assert_eq!(log.bounds(), Bounds { purged: Some(50), first: Some(51), last: Some(52) });
    assert_eq!(read(&*log, 51..99), entries(51..53));
}

fn what_is_purged_cannot_be_truncated(open: &Open) {
    let mut log = open();
    log.append_batch(&entries(1..10)).unwrap();
    log.purge_to(4, b"meta").unwrap();
    assert!(matches!(log.truncate_from(4), Err(Trouble::OutOfOrder { expected: 5, found: 4 })));
    log.truncate_from(5).unwrap();
    let log = reopen(open, log);
    assert_eq!(log.bounds(), Bounds { purged: Some(4), first: None, last: None });
}

fn the_largest_entries_can_be_written_and_read(open: &Open) {
    let large: Vec<Entry> =
        (0..200).map(|index| (index, Bytes::from(vec![index as u8; ENTRY_LIMIT]))).collect();
    let mut log = open();
    for chunk in large.chunks(10) {
        log.append_batch(chunk).unwrap();
        log.sync().unwrap();
    }
    log.purge_to(99, b"meta").unwrap();
    while log.purge_step().unwrap() {}
    let log = reopen(open, log);
    assert_eq!(read(&*log, 100..999), large[100..]);
    assert!(log.disk_bytes() > 0);
}
