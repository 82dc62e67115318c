//! The twin in memory: the same contract on a disk that is a value.
//!
//! For tests and simulation. A [`MemoryDisk`] outlives the log on it, as a real disk does, and has a durable and a
//! volatile part: [`MemoryDisk::crash`] forgets what was not synced. It is never a shortcut: what the trait forbids,
//! it refuses as the real one does.

use std::{
    collections::BTreeMap,
    io, mem,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use super::{Bounds, Entry, LogReader, LogStore, PURGE_STEP};
use crate::error::Trouble;

/// A disk in memory. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// What a reader sees.
    volatile: Files,
    /// What a crash leaves.
    durable: Files,
    /// The writes between the two.
    unsynced: Vec<Write>,
    /// Counts up with every crash, so that a log from before it writes nowhere.
    boots: u64,
    refuses_syncs: bool,
}

#[derive(Debug, Clone, Default)]
struct Files {
    entries: BTreeMap<u64, Bytes>,
    purged: Option<(u64, Bytes)>,
    vote: Option<Bytes>,
    committed: Option<Bytes>,
}

#[derive(Debug, Clone)]
enum Write {
    Append(Vec<Entry>),
    Vote(Bytes),
    Committed(Bytes),
    Truncate(u64),
    Purge(u64, Bytes),
    Remove(Vec<u64>),
}

impl MemoryDisk {
    /// Lose power: what was not synced is gone, and a log that was open on this disk can no longer write to it.
    pub fn crash(&self) {
        let mut inner = self.lock();
        inner.volatile = inner.durable.clone();
        inner.unsynced.clear();
        inner.boots += 1;
    }

    /// How many writes are not synced.
    #[must_use]
    pub fn unsynced(&self) -> usize {
        self.lock().unsynced.len()
    }

    /// As [`MemoryDisk::crash`], but the first `kept` of the writes that were not synced have reached the disk.
    pub fn crash_keeping(&self, kept: usize) {
        let mut inner = self.lock();
        let writes: Vec<Write> = inner.unsynced.drain(..).take(kept).collect();
        writes.into_iter().for_each(|write| inner.durable.write(write));
        drop(inner);
        self.crash();
    }

    /// From now on every sync fails.
    pub fn refuse_syncs(&self) {
        self.lock().refuses_syncs = true;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    fn write(&mut self, write: Write) {
        match write {
            Write::Append(entries) => self.entries.extend(entries),
            Write::Vote(vote) => self.vote = Some(vote),
            Write::Committed(committed) => self.committed = Some(committed),
            Write::Truncate(index) => drop(self.entries.split_off(&index)),
            Write::Purge(index, meta) => self.purged = Some((index, meta)),
            Write::Remove(indexes) => indexes.iter().for_each(|index| drop(self.entries.remove(index))),
        }
    }

    fn bounds(&self) -> Bounds {
        let purged = self.purged.as_ref().map(|(index, _)| *index);
        let here = self.entries.range(purged.map_or(0, |index| index + 1)..);
        let (first, last) = (here.clone().next(), here.last());
        Bounds { purged, first: first.map(|(index, _)| *index), last: last.map(|(index, _)| *index) }
    }
}

/// A log on a [`MemoryDisk`].
#[derive(Debug)]
pub struct MemoryLog {
    disk: MemoryDisk,
    bounds: Bounds,
    boot: u64,
}

impl MemoryLog {
    /// Open the log on this disk.
    #[must_use]
    pub fn open(disk: &MemoryDisk) -> Self {
        let inner = disk.lock();
        let (bounds, boot) = (inner.volatile.bounds(), inner.boots);
        drop(inner);
        Self { disk: disk.clone(), bounds, boot }
    }

    fn write(&self, write: Write) -> Result<(), Trouble> {
        let mut inner = self.live()?;
        inner.volatile.write(write.clone());
        inner.unsynced.push(write);
        Ok(())
    }

    fn live(&self) -> Result<MutexGuard<'_, Inner>, Trouble> {
        let inner = self.disk.lock();
        if inner.boots == self.boot { Ok(inner) } else { Err(Trouble::Closed) }
    }
}

impl LogStore for MemoryLog {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn purged_meta(&self) -> Option<Bytes> {
        self.disk.lock().volatile.purged.as_ref().map(|(_, meta)| meta.clone())
    }

    fn vote(&self) -> Result<Option<Bytes>, Trouble> {
        Ok(self.live()?.volatile.vote.clone())
    }

    fn committed(&self) -> Result<Option<Bytes>, Trouble> {
        Ok(self.live()?.volatile.committed.clone())
    }

    fn reader(&self) -> Arc<dyn LogReader> {
        Arc::new(self.disk.clone())
    }

    fn append_batch(&mut self, entries: &[Entry]) -> Result<(), Trouble> {
        self.bounds.check(entries)?;
        self.write(Write::Append(entries.to_vec()))?;
        self.bounds.append(entries);
        Ok(())
    }

    fn save_vote(&mut self, vote: &[u8]) -> Result<(), Trouble> {
        self.write(Write::Vote(Bytes::copy_from_slice(vote)))
    }

    fn save_committed(&mut self, committed: &[u8]) -> Result<(), Trouble> {
        self.write(Write::Committed(Bytes::copy_from_slice(committed)))
    }

    fn truncate_from(&mut self, index: u64) -> Result<(), Trouble> {
        self.bounds.truncate(index)?;
        self.write(Write::Truncate(index))
    }

    fn purge_to(&mut self, index: u64, meta: &[u8]) -> Result<(), Trouble> {
        if self.bounds.purge(index) {
            self.write(Write::Purge(index, Bytes::copy_from_slice(meta)))?;
        }
        Ok(())
    }

    fn purge_step(&mut self) -> Result<bool, Trouble> {
        let Some(purged) = self.bounds.purged else { return Ok(false) };
        let gone: Vec<u64> = self
            .live()?
            .volatile
            .entries
            .range(..=purged)
            .map(|(index, _)| *index)
            .take(PURGE_STEP)
            .collect();
        let more = gone.len() == PURGE_STEP;
        if !gone.is_empty() {
            self.write(Write::Remove(gone))?;
        }
        Ok(more)
    }

    fn sync(&mut self) -> Result<(), Trouble> {
        let mut inner = self.live()?;
        if inner.refuses_syncs {
            return Err(Trouble::while_doing("syncing the log", io::Error::other("this disk refuses syncs")));
        }
        let writes = mem::take(&mut inner.unsynced);
        writes.into_iter().for_each(|write| inner.durable.write(write));
        Ok(())
    }

    fn disk_bytes(&self) -> u64 {
        self.disk.lock().durable.entries.values().map(|bytes| bytes.len() as u64).sum()
    }
}

impl LogReader for MemoryDisk {
    fn read_range(&self, range: Range<u64>, max_bytes: usize) -> Result<Vec<Entry>, Trouble> {
        let inner = self.lock();
        let mut entries: Vec<Entry> = Vec::new();
        let mut taken = 0;
        for ((index, bytes), expected) in inner.volatile.entries.range(range.clone()).zip(range) {
            if *index != expected || (!entries.is_empty() && taken + bytes.len() > max_bytes) {
                break;
            }
            taken += bytes.len();
            entries.push((*index, bytes.clone()));
        }
        Ok(entries)
    }
}
