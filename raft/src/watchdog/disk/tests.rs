//! When a disk hangs and when it is lost, and what follows, over a log whose writer stands still.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use campanile_storage::log::{Limits as LogLimits, MemoryDisk, MemoryLog, Writer};

use super::*;

fn limits(hand_over: Option<u64>, stop: Option<u64>) -> Limits {
    let seconds = |limit: Option<u64>| limit.map(Duration::from_secs);
    Limits { disk_hand_over: seconds(hand_over), disk_stop: seconds(stop), ..Limits::default() }
}

/// How a disk stands that ends its first batch at second 1 and its second one at `ends`, looked at every half second: each
/// new standing with its moment in milliseconds.
fn told(limits: Limits, ends: u64) -> Vec<(u64, Standing)> {
    let (mut disk, start) = (Disk::new(limits), Instant::now());
    let mut told: Vec<(u64, Standing)> = Vec::new();
    for at in (0..=12_000).step_by(500) {
        let (batches, is_busy) = (u64::from(at >= 1_000) + u64::from(at >= ends), at < ends);
        let stats = LogStats { batches, is_busy, ..LogStats::default() };
        let standing = disk.look(&stats, start + Duration::from_millis(at));
        if told.last().is_none_or(|(_, last)| *last != standing) {
            told.push((at, standing));
        }
    }
    told
}

#[test]
fn a_write_that_does_not_end_is_a_hang_and_then_a_loss() {
    use Standing::{Hangs, Lost, Works};
    let never = u64::MAX;
    for (what, limits, ends, expected) in [
        ("it ends in time", limits(Some(5), Some(10)), 5_000, vec![(0, Works)]),
        ("it ends", limits(Some(5), Some(10)), 8_000, vec![(0, Works), (6_500, Hangs), (8_000, Works)]),
        ("both", limits(Some(5), Some(10)), never, vec![(0, Works), (6_500, Hangs), (11_500, Lost)]),
        ("no hand-over", limits(None, Some(10)), never, vec![(0, Works), (11_500, Lost)]),
        ("no stop", limits(Some(5), None), never, vec![(0, Works), (6_500, Hangs)]),
        ("neither", limits(None, None), never, vec![(0, Works)]),
    ] {
        assert_eq!(told(limits, ends), expected, "{what}");
    }
}

#[test]
fn a_busy_disk_that_ends_its_batches_and_an_idle_one_do_not_hang() {
    let start = Instant::now();
    for (what, batches, is_busy) in [("busy", 1, true), ("idle", 0, false)] {
        let mut disk = Disk::new(limits(Some(1), Some(2)));
        for look in 0..100 {
            let stats = LogStats { batches: look * batches, is_busy, ..LogStats::default() };
            let standing = disk.look(&stats, start + LOOK_EVERY * u32::try_from(look).unwrap());
            assert_eq!(standing, Standing::Works, "{what}");
        }
    }
}

/// A watched log whose writer takes a turn when the test says so.
struct Watched {
    log: Log,
    writer: Writer,
    alarms: Arc<Alarms>,
    fatal: Fatal,
    asked: Arc<AtomicUsize>,
}

impl Watched {
    /// Giving away the leadership can be asked for at the second try.
    fn new(limits: Limits) -> Self {
        let store = Box::new(MemoryLog::open(&MemoryDisk::default()));
        let (log, writer) = Log::without_thread(store, LogLimits::default()).unwrap();
        let (alarms, fatal, asked) = (Alarms::new(), Fatal::default(), Arc::<AtomicUsize>::default());
        let watched = (log.clone(), Arc::clone(&alarms), fatal.clone(), Arc::clone(&asked));
        crate::runtime::spawn(async move {
            let (log, alarms, fatal, asked) = watched;
            let give_away = || std::future::ready(asked.fetch_add(1, Ordering::Relaxed) > 0);
            watch(&log, limits, &alarms, &fatal, give_away).await;
        });
        Self { log, writer, alarms, fatal, asked }
    }

    async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vote_that_is_never_synced_bars_the_office_once_and_stops_the_node() {
    let watched = Watched::new(limits(Some(5), Some(30)));
    watched.pass(100).await;
    assert_eq!(watched.alarms.counts(), super::super::Counts::default(), "nothing is asked of it");
    watched.log.save_vote(Bytes::from("vote"), Box::new(|_| ()));
    watched.pass(4).await;
    assert!(!watched.alarms.disk_hangs());
    watched.pass(2).await;
    assert!(watched.alarms.disk_hangs());
    watched.pass(20).await;
    assert_eq!(watched.asked.load(Ordering::Relaxed), 2, "until it was asked for, and not again");
    assert_eq!((watched.alarms.counts().disk_hangs, watched.alarms.counts().disk_hand_overs), (1, 1));
    assert_eq!(watched.fatal.reason(), None);
    watched.pass(6).await;
    let reason = "the disk hangs: a write of the log has not ended for 30 s";
    assert_eq!(watched.fatal.reason().as_deref(), Some(reason));
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_works_again_lets_its_node_lead_again() {
    let mut watched = Watched::new(limits(Some(5), Some(30)));
    for hangs in 1..=3 {
        watched.log.append(vec![(hangs, Bytes::from("entry"))], Box::new(|_| ())).unwrap();
        watched.pass(10).await;
        assert!(watched.alarms.disk_hangs());
        watched.writer.turn();
        watched.pass(1).await;
        assert!(!watched.alarms.disk_hangs());
        assert_eq!(watched.alarms.counts().disk_hangs, hangs);
    }
    assert_eq!(watched.fatal.reason(), None);
}
