//! The handle above a store: order, callbacks, the RAM tail, and what happens when a disk fails or is too slow.
//!
//! The writer is driven by hand, so every case is the same each time it runs; only the last ones use its thread.

#![allow(clippy::unwrap_used)]

#[path = "log_faults/history.rs"]
mod history;

use std::sync::{Arc, Mutex, mpsc};

use bytes::Bytes;
use campanile_storage::{
    Trouble,
    log::{Done, Entry, Limits, Log, MemoryDisk, MemoryLog, SledLog, Writer},
};
use history::{History, mix};

/// What the callbacks said, in order.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn done(&self, name: &str) -> Done {
        let (heard, name) = (self.clone(), name.to_owned());
        Box::new(move |result| {
            let line =
                result.map_or_else(|trouble| format!("{name}: {trouble}"), |()| format!("{name}: durable"));
            heard.0.lock().unwrap().push(line);
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn entry(index: u64) -> Entry {
    (index, Bytes::from(format!("entry {index}")))
}

fn entries(range: std::ops::Range<u64>) -> Vec<Entry> {
    range.map(entry).collect()
}

fn open(disk: &MemoryDisk) -> (Log, Writer) {
    Log::without_thread(Box::new(MemoryLog::open(disk)), Limits::default()).unwrap()
}

fn read(log: &Log, range: std::ops::Range<u64>) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    let mut next = range.start;
    while next < range.end {
        let more = log.read_range(next..range.end, 1_000).unwrap();
        let Some((last, _)) = more.last() else { break };
        next = last + 1;
        all.extend(more);
    }
    all
}

#[test]
fn entries_can_be_read_before_they_are_durable() {
    let (log, mut writer) = open(&MemoryDisk::default());
    let heard = Heard::default();
    assert!(!log.stats().is_busy);
    log.append(entries(1..4), heard.done("append")).unwrap();
    assert!(log.stats().is_busy);
    assert_eq!((read(&log, 1..9), log.bounds().last), (entries(1..4), Some(3)));
    assert_eq!((log.last().unwrap(), log.stats().durable), (Some(entry(3)), None));
    assert_eq!(heard.take(), [""; 0]);
    writer.turn();
    assert_eq!(heard.take(), ["append: durable"]);
    assert_eq!((log.stats().durable, log.stats().waiting_entries), (Some(3), 0));
    assert!(!log.stats().is_busy);
    log.save_vote(Bytes::from("vote"), heard.done("vote"));
    assert!(log.stats().is_busy, "a vote is no entry and waits all the same");
}

#[test]
fn one_sync_serves_many_and_answers_in_the_order_of_the_calls() {
    let (log, mut writer) = open(&MemoryDisk::default());
    let heard = Heard::default();
    log.append(entries(1..3), heard.done("first")).unwrap();
    log.save_vote(Bytes::from("vote"), heard.done("vote"));
    log.append(entries(3..5), heard.done("second")).unwrap();
    log.truncate_from(4, heard.done("truncate"));
    log.purge_to(1, Bytes::from("meta"), heard.done("purge"));
    log.barrier(heard.done("barrier"));
    writer.turn();
    let names = ["first", "vote", "second", "truncate", "purge", "barrier"];
    assert_eq!(heard.take(), names.map(|name| format!("{name}: durable")));
    assert_eq!((log.stats().batches, log.stats().entries), (1, 4));
    assert_eq!((read(&log, 2..9), log.purged()), (entries(2..4), Some((1, Bytes::from("meta")))));
}

#[test]
fn a_long_append_is_cut_into_batches_and_answered_once() {
    let (log, mut writer) = open(&MemoryDisk::default());
    let heard = Heard::default();
    log.append(entries(0..1_200), heard.done("append")).unwrap();
    let turns = std::iter::repeat_with(|| writer.turn()).take_while(|()| heard.take().is_empty()).count() + 1;
    assert_eq!((turns, log.stats().last_batch), (3, 1_200 - 2 * 512));
}

#[test]
fn what_breaks_the_order_changes_nothing_and_says_so() {
    let (log, mut writer) = open(&MemoryDisk::default());
    let heard = Heard::default();
    log.append(entries(1..3), heard.done("right")).unwrap();
    log.append(entries(4..5), heard.done("hole")).unwrap();
    log.purge_to(1, Bytes::new(), heard.done("purge"));
    log.truncate_from(1, heard.done("cut"));
    log.append(entries(3..4), heard.done("right")).unwrap();
    writer.turn();
    let broken = "the order of the log is broken";
    assert_eq!(
        heard.take(),
        [
            format!("hole: index 4 where 3 belongs: {broken}"),
            format!("cut: index 1 where 2 belongs: {broken}"),
            "right: durable".into(),
            "purge: durable".into(),
            "right: durable".into(),
        ]
    );
    assert!(log.trouble().is_none());
}

#[test]
fn after_a_failed_sync_everything_answers_with_the_trouble() {
    let disk = MemoryDisk::default();
    let (log, mut writer) = open(&disk);
    let heard = Heard::default();
    disk.refuse_syncs();
    let (told, seen) = (heard.clone(), log.clone());
    let notice = move |_| told.done("the flag is up")(seen.trouble().map_or(Ok(()), Err));
    log.barrier(Box::new(notice));
    log.append(entries(0..512), heard.done("not durable")).unwrap();
    log.save_vote(Bytes::from("vote"), heard.done("waiting"));
    writer.turn();
    log.append(entries(512..513), heard.done("too late")).unwrap();
    log.barrier(heard.done("barrier"));
    let failed = "syncing the log failed: the node must stop";
    let names = ["the flag is up", "not durable", "waiting", "too late", "barrier"];
    assert_eq!(heard.take(), names.map(|name| format!("{name}: {failed}")));
    assert!(log.stats().poisoned);
    assert_eq!(log.read_range(0..9, 100).unwrap_err().to_string(), failed);
    assert_eq!(log.trouble().unwrap().to_string(), failed);
}

#[test]
fn a_full_queue_hands_everything_back_and_calls_when_there_is_room() {
    let limits = Limits { queue_entries: 10, ..Limits::default() };
    let (log, mut writer) =
        Log::without_thread(Box::new(MemoryLog::open(&MemoryDisk::default())), limits).unwrap();
    let heard = Heard::default();
    log.append(entries(1..11), heard.done("first")).unwrap();
    let busy = log.append(entries(11..12), heard.done("second")).unwrap_err();
    assert_eq!(
        (busy.entries.clone(), log.bounds().last, log.stats().refused),
        (entries(11..12), Some(10), 1)
    );
    log.save_vote(Bytes::from("vote"), heard.done("vote"));
    let told = heard.clone();
    log.when_room(Box::new(move || told.done("room")(Ok(()))));
    writer.turn();
    assert_eq!(heard.take(), ["first: durable", "vote: durable", "room: durable"]);
    log.append(busy.entries, busy.done).unwrap();
    writer.turn();
    assert_eq!(heard.take(), ["second: durable"]);
    let told = heard.clone();
    log.when_room(Box::new(move || told.done("room at once")(Ok(()))));
    assert_eq!(heard.take(), ["room at once: durable"]);
}

#[test]
fn the_window_keeps_what_is_not_durable_and_little_else() {
    let limits = Limits { window_bytes: 100, ..Limits::default() };
    let disk = MemoryDisk::default();
    let (log, mut writer) = Log::without_thread(Box::new(MemoryLog::open(&disk)), limits).unwrap();
    log.append(entries(10..60), Box::new(drop)).unwrap();
    assert_eq!(log.stats().window_bytes, 50 * 8);
    writer.turn();
    assert_eq!(log.stats().window_bytes, 12 * 8);
    assert_eq!(read(&log, 0..99), entries(10..60));
    assert_eq!(read(&log, 45..52), entries(45..52));
    log.truncate_from(20, Box::new(drop));
    assert_eq!(read(&log, 10..99), entries(10..20));
    let again: Vec<Entry> = (20..25).map(|index| (index, Bytes::from("again"))).collect();
    log.append(again.clone(), Box::new(drop)).unwrap();
    assert_eq!(read(&log, 18..99), [entries(18..20), again].concat());
}

#[test]
fn a_handle_in_a_callback_may_be_the_last() {
    let (log, mut writer) = open(&MemoryDisk::default());
    let held = log.clone();
    log.barrier(Box::new(move |_| drop(held)));
    drop(log);
    writer.turn();
}

#[test]
fn every_crash_leaves_a_prefix_with_everything_acknowledged() {
    for seed in 0..30 {
        let disk = MemoryDisk::default();
        let mut history = History::new(seed);
        for round in 0..8 {
            let limits = Limits { window_bytes: 4_000, ..Limits::default() };
            let (log, mut writer) = Log::without_thread(Box::new(MemoryLog::open(&disk)), limits).unwrap();
            let acknowledged = Arc::new(Mutex::new(history.steps));
            let issued = history.steps + mix(&[seed, round]) % 300;
            for n in history.steps..issued {
                let acknowledged = Arc::clone(&acknowledged);
                let done = Box::new(move |result: Result<(), Trouble>| {
                    result.unwrap();
                    *acknowledged.lock().unwrap() = n + 1;
                });
                history::issue(&log, seed, n, done);
                if mix(&[seed, round, n]).is_multiple_of(7) {
                    writer.turn();
                }
            }
            // Before the crash: what a reader sees is what was issued, durable or not.
            let mut all = history.clone();
            all.settle(issued, issued, &log)
                .unwrap_or_else(|why| panic!("seed {seed}, round {round}: {why}"));
            disk.crash();
            let (log, _writer) = open(&disk);
            let acknowledged = *acknowledged.lock().unwrap();
            let left = history.settle(acknowledged, issued, &log);
            left.unwrap_or_else(|why| panic!("seed {seed}, round {round}: {why}"));
        }
    }
}

#[test]
fn closing_writes_what_was_accepted_and_lets_go_of_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let (tell, told) = mpsc::sync_channel(1);
    let log = Log::open(Box::new(SledLog::open(dir.path()).unwrap())).unwrap();
    log.append(entries(0..3_000), Box::new(move |result| tell.send(result).unwrap())).unwrap();
    log.save_committed(Bytes::from("committed"));
    log.close();
    told.recv().unwrap().unwrap();
    assert!(matches!(log.read_range(0..1, 1), Err(Trouble::Closed)));
    let heard = Heard::default();
    log.append(entries(3_000..3_001), heard.done("late")).unwrap();
    assert_eq!(heard.take(), ["late: the log is closed"]);
    let log = Log::open(Box::new(SledLog::open(dir.path()).unwrap())).unwrap();
    assert_eq!(read(&log, 0..9_999), entries(0..3_000));
    assert_eq!(log.committed().unwrap(), "committed");
}

#[test]
fn readers_beside_a_busy_writer_never_see_a_hole() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits { window_bytes: 2_000, ..Limits::default() };
    let (log, mut writer) =
        Log::without_thread(Box::new(SledLog::open(dir.path()).unwrap()), limits).unwrap();
    std::thread::scope(|scope| {
        let reading = log.clone();
        let reader = scope.spawn(move || {
            let mut next = 0;
            while next < 8_000 {
                let first = reading.bounds().first.unwrap_or(0);
                next = next.max(first);
                let more = reading.read_range(next..u64::MAX, 4_000).unwrap();
                let right = more.iter().map(|(index, _)| *index).eq(next..next + more.len() as u64);
                assert!(right || reading.bounds().first > Some(next), "a hole behind {next}");
                next += more.len() as u64;
            }
        });
        for start in (0..8_000).step_by(40) {
            log.append(entries(start..start + 40), Box::new(drop)).unwrap();
            writer.turn();
            if start % 1_000 == 960 {
                log.purge_to(start - 600, Bytes::new(), Box::new(drop));
            }
        }
        reader.join().unwrap();
    });
}

#[cfg(feature = "mutants")]
#[test]
fn a_mutant_answers_for_what_a_crash_takes() {
    use campanile_storage::mutant::acknowledge_early;
    let kept = |early| {
        acknowledge_early(early);
        let disk = MemoryDisk::default();
        let (log, mut writer) = open(&disk);
        let heard = Heard::default();
        log.append(entries(1..3), heard.done("first")).unwrap();
        writer.turn();
        log.append(entries(3..5), heard.done("second")).unwrap();
        writer.turn();
        assert_eq!(heard.take(), ["first: durable", "second: durable"]);
        disk.crash();
        open(&disk).0.bounds().last
    };
    assert_eq!(kept(false), Some(4));
    assert_eq!(kept(true), Some(2), "the next write has synced the first");
    acknowledge_early(false);
}
