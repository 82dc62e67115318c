//! The log under kills and power cuts, with real processes and real file systems.
//!
//! `cargo test` runs a few; `KILLS=200 CUTS=30 cargo test -p campanile-storage --test log_faults -- --nocapture` the full
//! sweep (`make faults`). `SEED=n` repeats a run's choices; the moments of a real machine differ each time. The judge is
//! judged too: with the `fdatasync` taken out, the same power cuts must be found to lose something.

#![allow(clippy::unwrap_used)]

mod child;
mod history;
mod ledger;
mod rig;

use std::{
    env,
    io::{self, Write},
    path::Path,
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use campanile_storage::{
    Trouble,
    log::{Log, SledLog},
};
use child::{Running, Sync, UNDER_WAY};
use history::{History, mix};
use rig::{Cache, Shelf, SmallDisk};

/// One rig at a time: they would only slow each other down.
static RIG: Mutex<()> = Mutex::new(());

/// Not a test: the process that the others kill begins here.
#[test]
fn the_process_that_is_killed() {
    child::run_if_child();
}

#[test]
fn a_killed_log_always_reopens_with_everything_acknowledged() {
    let (kills, seed) = (setting("KILLS").unwrap_or(20), seed());
    let dir = tempfile::tempdir().unwrap();
    let mut run =
        Kills { seed, history: History::new(seed), killed: 0, opening: 0, patience: Duration::ZERO };
    while run.killed < kills {
        let log = dir.path().join(format!("log-{}", run.killed / 20));
        if !log.exists() {
            // A new log now and then, so that its creation is hit too.
            run.history = History::new(mix(&[seed, run.killed]));
            run.kill_while_opening(&log, Duration::from_millis(60));
        }
        let acknowledged = run.kill_while_writing(&log);
        // Half of all kills are to hit an open; after one that came too late the next comes sooner.
        let mut within = run.patience;
        while run.opening * 2 < run.killed + 1 {
            run.kill_while_opening(&log, within);
            within /= 2;
        }
        judge(&log, &mut run.history, acknowledged, acknowledged + UNDER_WAY)
            .unwrap_or_else(|lost| panic!("seed {seed}, after {} kills: {lost}", run.killed));
    }
    say(&format!("{} kills, {} of them during open, seed {seed}: nothing lost", run.killed, run.opening));
}

/// What a series of kills has come to.
struct Kills {
    seed: u64,
    history: History,
    killed: u64,
    /// Kills before the log was open.
    opening: u64,
    /// How long the last whole open took.
    patience: Duration,
}

impl Kills {
    /// Let a process write for a while and kill it; how many operations it was told are durable.
    fn kill_while_writing(&mut self, log: &Path) -> u64 {
        let mut writer = Running::writing(log, &self.history, Sync::Full);
        writer.wait_for_opening();
        let begun = Instant::now();
        writer.wait_for_opened();
        self.patience = begun.elapsed();
        thread::sleep(chance(&[self.seed, self.killed], Duration::from_millis(400)));
        writer.kill();
        self.killed += 1;
        writer.acknowledged()
    }

    /// Kill a process while it opens the log, or at least try.
    fn kill_while_opening(&mut self, log: &Path, within: Duration) {
        let mut opener = Running::opening(log, Sync::Full);
        opener.wait_for_opening();
        thread::sleep(chance(&[self.seed, self.killed], within));
        opener.kill();
        self.killed += 1;
        self.opening += u64::from(!opener.opened());
    }
}

#[test]
fn a_power_cut_loses_nothing_acknowledged() {
    let Some(lost) = power_cuts(Sync::Full, setting("CUTS").unwrap_or(4), 0) else { return };
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn without_the_fdatasync_the_same_power_cuts_are_found_to_lose_something() {
    let Some(lost) = power_cuts(Sync::Skipped, setting("CUTS").unwrap_or(2), 12) else { return };
    assert!(!lost.is_empty(), "the judge saw nothing lost where something must be");
}

#[test]
fn a_full_disk_stops_the_log_and_loses_nothing_acknowledged() {
    let _one = RIG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(why) = rig::missing() {
        return say(&format!("SKIPPED, NOTHING WAS TESTED: a full disk ({why})"));
    }
    let (disk, seed) = (SmallDisk::new(), seed());
    let mut history = History::new(seed);
    let log = Log::open(Box::new(SledLog::open(&disk.log()).unwrap())).unwrap();
    let (mut acknowledged, mut issued) = (0, 0);
    let trouble = loop {
        let (tell, told) = mpsc::sync_channel(1);
        history::issue(&log, seed, issued, Box::new(move |result| tell.send(result).unwrap()));
        issued += 1;
        match told.recv_timeout(Duration::from_secs(60)).expect("every write is answered") {
            Ok(()) => acknowledged = issued,
            Err(trouble) => break trouble,
        }
    };
    assert!(matches!(trouble, Trouble::Full { .. }), "seed {seed}: {trouble}");
    assert!(log.stats().poisoned && log.read_range(0..1, 1).is_err());
    log.close();
    drop(log);
    disk.drop_ballast();
    judge(&disk.log(), &mut history, acknowledged, issued)
        .unwrap_or_else(|lost| panic!("seed {seed}: {lost}"));
    say(&format!("a disk full after {acknowledged} operations, seed {seed}: nothing lost"));
}

/// Cut the power so many times, and up to `until_lost` times until something is lost; what was lost each time. Nothing
/// when this machine cannot.
fn power_cuts(sync: Sync, cuts: u64, until_lost: u64) -> Option<Vec<String>> {
    let _one = RIG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(why) = rig::missing() {
        say(&format!("SKIPPED, NOTHING WAS TESTED: power cuts ({why})"));
        return None;
    }
    let seed = seed();
    let shelf = Shelf::new();
    let mut lost = Vec::new();
    let mut cut = 0;
    while cut < cuts || (lost.is_empty() && cut < until_lost) {
        let cache = if cut % 2 == 0 { Cache::None } else { Cache::Volatile };
        if let Err(why) = power_cut(&shelf, cache, sync, mix(&[seed, cut])) {
            lost.push(format!("seed {seed}, cut {cut}, cache {cache:?}: {why}"));
        }
        cut += 1;
    }
    say(&format!("{cut} power cuts, sync {sync:?}, seed {seed}: {} lost something", lost.len()));
    lost.iter().for_each(|lost| say(lost));
    Some(lost)
}

/// One power cut on a new disk, at a moment that the dice choose.
fn power_cut(shelf: &Shelf, cache: Cache, sync: Sync, dice: u64) -> Result<(), String> {
    let disk = shelf.disk(cache);
    let mut history = History::new(dice);
    let mut process = Running::writing(&disk.log(), &history, sync);
    process.wait_for_opening();
    let (acknowledged, issued, mut remains);
    if dice.is_multiple_of(8) {
        // While the log is created.
        thread::sleep(chance(&[dice, 1], Duration::from_millis(40)));
        acknowledged = process.acknowledged();
        remains = disk.cut();
        process.kill();
        issued = process.acknowledged() + UNDER_WAY;
    } else if dice % 8 < 4 {
        // While it is recovered after a kill.
        process.wait_for_opened();
        thread::sleep(chance(&[dice, 2], Duration::from_millis(600)));
        process.kill();
        (acknowledged, issued) = (process.acknowledged(), process.acknowledged() + UNDER_WAY);
        process = Running::opening(&disk.log(), sync);
        process.wait_for_opening();
        thread::sleep(chance(&[dice, 3], Duration::from_millis(40)));
        remains = disk.cut();
        process.kill();
    } else {
        // Under load.
        process.wait_for_opened();
        thread::sleep(chance(&[dice, 4], Duration::from_millis(1_500)));
        acknowledged = process.acknowledged();
        remains = disk.cut();
        process.kill();
        issued = process.acknowledged() + UNDER_WAY;
    }
    let log = remains.restart();
    judge(&log, &mut history, acknowledged, issued)
}

/// Open what a crash left and hold it against the history.
fn judge(dir: &Path, history: &mut History, acknowledged: u64, issued: u64) -> Result<(), String> {
    let log = SledLog::open(dir)
        .and_then(|store| Log::open(Box::new(store)))
        .map_err(|trouble| trouble.to_string())?;
    let result = history.settle(acknowledged, issued, &log);
    log.close();
    result
}

/// A moment within `most`, chosen by the dice.
fn chance(dice: &[u64], most: Duration) -> Duration {
    most.mul_f64((mix(dice) % 1_000) as f64 / 1_000.0)
}

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok().map(|number| number.parse().unwrap())
}

fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    setting("SEED").unwrap_or_else(now)
}

/// One line past the capture of the test harness: what was skipped must be seen.
fn say(line: &str) {
    io::stderr().write_all(format!("log_faults: {line}\n").as_bytes()).unwrap();
}
