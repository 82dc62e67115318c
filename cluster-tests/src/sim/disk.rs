//! The disk of a node: its log in memory with a durable and a volatile part, slow, hung or full; its other files in a
//! directory of their own.
//!
//! The log's writer is a task here, not a thread: it waits as long as a disk does, before a batch is written and again before it
//! is durable, so that a process may die between the two. Whoever pulls the plug decides what of the rest survives.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use campanile_raft::runtime::{self, watch};
use campanile_raft::{LogOpener, LogStarter};
use campanile_storage::Trouble;
use campanile_storage::log::{
    Bounds, Entry, Limits, Log, LogReader, LogStore, MemoryDisk, MemoryLog, Writer,
};
use tokio::sync::Notify;

use super::trace::Trace;
use crate::seed::Dice;

/// How a disk behaves, from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// The least time that a sync takes,
    pub least: Duration,
    /// and the most.
    pub most: Duration,
    /// Nothing comes back from it.
    pub hangs: bool,
    /// It has no room.
    pub full: bool,
}

impl Default for Manner {
    /// An SSD.
    fn default() -> Self {
        let (least, most) = (Duration::from_micros(300), Duration::from_micros(1_500));
        Self { least, most, hangs: false, full: false }
    }
}

/// A disk. It outlives the processes on it; clones are the same one.
#[derive(Clone)]
pub struct Disk(Arc<Shared>);

struct Shared {
    place: u64,
    folder: PathBuf,
    trace: Trace,
    inner: Mutex<Inner>,
    manner: watch::Sender<Manner>,
}

struct Inner {
    dice: Dice,
    log: MemoryDisk,
    changes: Vec<Change>,
}

/// A change of what stands in a log.
#[derive(Debug, Clone)]
pub enum Change {
    /// An entry was written at an index, and nothing stands behind it.
    Written(u64, bytes::Bytes),
    /// From this index on nothing stands there.
    CutFrom(u64),
    /// Up to this index an image tells it.
    Purged(u64),
}

impl Disk {
    /// An empty one; its files are in `folder`.
    #[must_use]
    pub fn new(place: u64, folder: &Path, dice: Dice, trace: Trace) -> Self {
        let inner = Mutex::new(Inner { dice, log: MemoryDisk::default(), changes: Vec::new() });
        let manner = watch::Sender::new(Manner::default());
        Self(Arc::new(Shared { place, folder: folder.to_owned(), trace, inner, manner }))
    }

    /// Where the files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// How it behaves.
    #[must_use]
    pub fn manner(&self) -> Manner {
        *self.0.manner.borrow()
    }

    /// How it behaves from now on.
    pub fn behave(&self, manner: Manner) {
        self.0.manner.send_replace(manner);
    }

    /// What has changed in its log since this was last asked, in order.
    #[must_use]
    pub fn take_changes(&self) -> Vec<Change> {
        std::mem::take(&mut self.lock().changes)
    }

    /// The process on it was killed: what the log had not flushed is lost from some write on.
    pub fn killed(&self) {
        let mut inner = self.lock();
        let unsynced = inner.log.unsynced() as u64;
        let kept = inner.dice.below(unsynced + 1) as usize;
        inner.log.crash_keeping(kept);
    }

    /// The power went: as [`Disk::killed`], and the files lose what was not synced.
    pub fn power_lost(&self) {
        self.killed();
        let mut inner = self.lock();
        super::files::lose_unsynced(&self.0.folder, &mut inner.dice);
    }

    /// All of it is gone.
    pub fn wipe(&self) -> std::io::Result<()> {
        let mut inner = self.lock();
        inner.log.crash();
        inner.log = MemoryDisk::default();
        inner.changes.push(Change::CutFrom(0));
        if self.0.folder.exists() { std::fs::remove_dir_all(&self.0.folder) } else { Ok(()) }
    }

    /// Opens the log on it, whatever the directory.
    #[must_use]
    pub fn opener(&self) -> LogOpener {
        let disk = self.clone();
        Arc::new(move |_| {
            let mut inner = disk.lock();
            let log = MemoryLog::open(&inner.log);
            // What a crash has taken is not there.
            inner.changes.push(Change::CutFrom(log.bounds().tip().map_or(0, |tip| tip + 1)));
            drop(inner);
            if log.bounds().purged.is_some() {
                disk.0.trace.reach("restart from image");
            }
            Ok(Box::new(Watched { disk: disk.clone(), log }))
        })
    }

    /// Starts a log whose writer is a task of the process that opens it.
    #[must_use]
    pub fn starter(&self) -> LogStarter {
        let disk = self.clone();
        Arc::new(move |store| {
            let (log, writer) = Log::without_thread(store, Limits::default())?;
            runtime::spawn(disk.clone().write(writer));
            Ok(log)
        })
    }

    /// Takes turns until the log is over.
    async fn write(self, mut writer: Writer) {
        let bell = Arc::new(Notify::new());
        let ringing = Arc::clone(&bell);
        writer.ring(Box::new(move || ringing.notify_one()));
        loop {
            while writer.has_work() {
                let written = writer.write();
                self.works().await;
                if let Some(written) = written {
                    self.0.trace.note("sync", &[self.0.place], || format!("disk {}", self.0.place));
                    writer.sync(written);
                }
                // Purges, which no sync waits for.
                writer.turn();
            }
            if writer.is_over() {
                return;
            }
            bell.notified().await;
        }
    }

    /// As long as a sync takes.
    async fn works(&self) {
        let manner = self.manner();
        let took = self.lock().dice.between(manner.least, manner.most);
        tokio::time::sleep(took).await;
        let mut manner = self.0.manner.subscribe();
        // The sender is this disk.
        let _ = manner.wait_for(|manner| !manner.hangs).await;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A log whose writes are seen, and which is full when its disk is.
struct Watched {
    disk: Disk,
    log: MemoryLog,
}

impl LogStore for Watched {
    fn bounds(&self) -> Bounds {
        self.log.bounds()
    }

    fn purged_meta(&self) -> Option<bytes::Bytes> {
        self.log.purged_meta()
    }

    fn vote(&self) -> Result<Option<bytes::Bytes>, Trouble> {
        self.log.vote()
    }

    fn committed(&self) -> Result<Option<bytes::Bytes>, Trouble> {
        self.log.committed()
    }

    fn reader(&self) -> Arc<dyn LogReader> {
        self.log.reader()
    }

    fn append_batch(&mut self, entries: &[Entry]) -> Result<(), Trouble> {
        if self.disk.manner().full {
            let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(Trouble::while_doing("writing the log", full));
        }
        self.log.append_batch(entries)?;
        let written = entries.iter().cloned().map(|(index, bytes)| Change::Written(index, bytes));
        self.disk.lock().changes.extend(written);
        Ok(())
    }

    fn save_vote(&mut self, vote: &[u8]) -> Result<(), Trouble> {
        self.log.save_vote(vote)
    }

    fn save_committed(&mut self, committed: &[u8]) -> Result<(), Trouble> {
        self.log.save_committed(committed)
    }

    fn truncate_from(&mut self, index: u64) -> Result<(), Trouble> {
        self.log.truncate_from(index)?;
        self.disk.lock().changes.push(Change::CutFrom(index));
        Ok(())
    }

    fn purge_to(&mut self, index: u64, meta: &[u8]) -> Result<(), Trouble> {
        self.log.purge_to(index, meta)?;
        self.disk.lock().changes.push(Change::Purged(index));
        Ok(())
    }

    fn purge_step(&mut self) -> Result<bool, Trouble> {
        self.log.purge_step()
    }

    fn sync(&mut self) -> Result<(), Trouble> {
        self.log.sync()
    }

    fn disk_bytes(&self) -> u64 {
        self.log.disk_bytes()
    }
}
