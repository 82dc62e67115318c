//! What the handles and the writer share: the queue, the window, and what the log will be once the queue is written.
//!
//! One mutex guards all of it and is never held while a disk works or a callback runs.

use std::{
    collections::VecDeque,
    mem,
    ops::Range,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;

use super::{Done, LogStats};
use crate::{
    error::Trouble,
    log::{Bounds, Entry, LogReader, LogStore, window::Window},
};

/// How much may wait to be written: above either bound an append is refused. 32 MiB are half a second of a slow disk.
const QUEUE_ENTRIES: usize = 65_536;
const QUEUE_BYTES: usize = 32 << 20;

/// How much of the durable past stays in RAM, in bytes.
const WINDOW_BYTES: usize = 16 << 20;

/// One thing to write.
pub(in crate::log) enum Work {
    Append(Vec<Entry>),
    Vote(Bytes),
    Truncate(u64),
    Purge(u64, Bytes),
    Barrier,
}

/// One thing to write, and who waits for it.
pub(in crate::log) struct Job {
    pub(in crate::log) work: Work,
    done: Option<Done>,
    /// The count of cuts when it was queued: behind a later cut its entries may be gone again.
    cuts: u64,
}

impl Job {
    fn size(&self) -> (usize, usize) {
        match &self.work {
            Work::Append(entries) => (entries.len(), entries.iter().map(|(_, bytes)| bytes.len()).sum()),
            _ => (0, 0),
        }
    }

    fn last(&self) -> Option<u64> {
        match &self.work {
            Work::Append(entries) => entries.last().map(|(index, _)| *index),
            _ => None,
        }
    }
}

/// What the writer takes for one turn.
pub(in crate::log) struct Taken {
    pub(in crate::log) jobs: Vec<Job>,
    pub(in crate::log) committed: Option<Bytes>,
}

/// The meeting place of handles and writer.
pub(in crate::log) struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

/// Everything under the mutex.
pub(in crate::log) struct State {
    queue: VecDeque<Job>,
    window: Window,
    /// As if the queue were written already.
    bounds: Bounds,
    purged_meta: Option<Bytes>,
    vote: Option<Bytes>,
    committed: Option<Bytes>,
    committed_waits: bool,
    /// Counts truncations, so that a read that straddles one begins again.
    cuts: u64,
    reader: Option<Arc<dyn LogReader>>,
    trouble: Option<Trouble>,
    rooms: Vec<Box<dyn FnOnce() + Send>>,
    begun: Option<Instant>,
    stats: LogStats,
}

impl Shared {
    pub(in crate::log) fn new(store: &dyn LogStore) -> Result<Self, Trouble> {
        let bounds = store.bounds();
        let state = State {
            queue: VecDeque::new(),
            window: Window::default(),
            bounds,
            purged_meta: store.purged_meta(),
            vote: store.vote()?,
            committed: store.committed()?,
            committed_waits: false,
            cuts: 0,
            reader: Some(store.reader()),
            trouble: None,
            rooms: Vec::new(),
            begun: None,
            stats: LogStats { durable: bounds.tip(), disk_bytes: store.disk_bytes(), ..LogStats::default() },
        };
        Ok(Self { state: Mutex::new(state), work: Condvar::new() })
    }

    pub(in crate::log) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Give the lock back and wake the writer.
    pub(in crate::log) fn notify(&self, state: MutexGuard<'_, State>) {
        drop(state);
        self.work.notify_one();
    }

    pub(in crate::log) fn has_jobs(&self) -> bool {
        !self.lock().queue.is_empty()
    }

    /// Wait until there is something to do; false when the log is closed and everything is written.
    pub(in crate::log) fn wait(&self, busy: bool) -> bool {
        let mut state = self.lock();
        while state.queue.is_empty() && state.reader.is_some() && !busy {
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.queue.is_empty() || state.reader.is_some() || state.committed_waits
    }

    /// The front of the queue, as much as fits one batch; at least one job when there is one.
    pub(in crate::log) fn take(&self, max_entries: usize, max_bytes: usize) -> Taken {
        let mut state = self.lock();
        let (mut entries, mut bytes, mut count) = (0, 0, 0);
        for job in &state.queue {
            let size = job.size();
            (entries, bytes) = (entries + size.0, bytes + size.1);
            if count > 0 && (entries > max_entries || bytes > max_bytes) {
                break;
            }
            count += 1;
        }
        let jobs: Vec<Job> = state.queue.drain(..count).collect();
        // Alone, the committed mark is written only when the log closes.
        let carried = state.committed_waits && (!jobs.is_empty() || state.reader.is_none());
        let committed = if carried { state.committed.clone() } else { None };
        state.committed_waits &= !carried;
        state.begun = (count > 0 || carried).then(Instant::now);
        Taken { jobs, committed }
    }

    /// Account for a batch that was written, or not, and tell everybody.
    pub(in crate::log) fn finish(
        &self,
        taken: Taken,
        result: &Result<(), Trouble>,
        took: Duration,
        disk_bytes: u64,
    ) {
        let mut state = self.lock();
        state.begun = None;
        state.settle(&taken.jobs, result.is_ok(), took, disk_bytes);
        let rooms = state.take_rooms();
        drop(state);
        for done in taken.jobs.into_iter().filter_map(|job| job.done) {
            done(result.clone());
        }
        rooms.into_iter().for_each(|room| room());
        if let Err(trouble) = result {
            self.poison(trouble);
        }
    }

    /// Refuse everything from now on, what waits included.
    pub(in crate::log) fn poison(&self, trouble: &Trouble) {
        let mut state = self.lock();
        state.trouble.get_or_insert_with(|| trouble.clone());
        state.stats.poisoned |= !matches!(trouble, Trouble::Closed);
        (state.stats.waiting_entries, state.stats.waiting_bytes) = (0, 0);
        state.committed_waits = false;
        let jobs = mem::take(&mut state.queue);
        let rooms = mem::take(&mut state.rooms);
        drop(state);
        jobs.into_iter().filter_map(|job| job.done).for_each(|done| done(Err(trouble.clone())));
        rooms.into_iter().for_each(|room| room());
    }

    /// Accept nothing more and let the writer end once the queue is written. Letting go of the reader lets go of the files.
    pub(in crate::log) fn close(&self) {
        let mut state = self.lock();
        state.trouble.get_or_insert(Trouble::Closed);
        state.reader = None;
        self.notify(state);
    }

    /// Read once; nothing when the log was cut meanwhile and the read has to begin again.
    pub(in crate::log) fn try_read(
        &self,
        range: Range<u64>,
        max_bytes: usize,
    ) -> Result<Option<Vec<Entry>>, Trouble> {
        let state = self.lock();
        let (reader, range) = (state.readable()?, state.clamp(range));
        let mut entries = Vec::new();
        if range.is_empty() {
            return Ok(Some(entries));
        }
        let cuts = state.cuts;
        let window = state.window.first().unwrap_or(u64::MAX).min(range.end);
        if range.start >= window {
            state.window.copy(range, max_bytes, &mut entries);
            return Ok(Some(entries));
        }
        drop(state);
        entries = reader.read_range(range.start..window, max_bytes)?;
        let state = self.lock();
        if state.cuts != cuts || !state.bounds.contains(range.start) {
            return Ok(None);
        }
        let Some((last, _)) = entries.last() else {
            return Err(Trouble::damaged("the log".as_ref(), format!("entry {} is missing", range.start)));
        };
        if last + 1 == window {
            state.window.copy(window..range.end, max_bytes, &mut entries);
        }
        Ok(Some(entries))
    }
}

impl State {
    pub(in crate::log) fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(in crate::log) fn purged(&self) -> Option<(u64, Bytes)> {
        Some((self.bounds.purged?, self.purged_meta.clone()?))
    }

    pub(in crate::log) fn vote(&self) -> Option<Bytes> {
        self.vote.clone()
    }

    pub(in crate::log) fn committed(&self) -> Option<Bytes> {
        self.committed.clone()
    }

    pub(in crate::log) fn trouble(&self) -> Option<Trouble> {
        self.trouble.clone()
    }

    pub(in crate::log) fn stats(&self) -> LogStats {
        LogStats {
            window_bytes: self.window.bytes(),
            under_way: self.begun.map(|begun| begun.elapsed()),
            ..self.stats.clone()
        }
    }

    fn has_room(&self) -> bool {
        self.stats.waiting_entries < QUEUE_ENTRIES && self.stats.waiting_bytes < QUEUE_BYTES
    }

    /// Whether an append must be refused; counts it when so. A poisoned log is not full, it answers.
    pub(in crate::log) fn is_full(&mut self) -> bool {
        let full = self.trouble.is_none() && !self.has_room();
        self.stats.refused += u64::from(full);
        full
    }

    /// Take entries into the window and the bounds; nothing changes when they are refused.
    pub(in crate::log) fn accept(&mut self, entries: &[Entry]) -> Result<(), Trouble> {
        self.trouble.clone().map_or(Ok(()), Err)?;
        self.bounds.check(entries)?;
        self.bounds.append(entries);
        self.window.append(entries);
        Ok(())
    }

    /// Let everything but an append take effect on what a reader sees.
    pub(in crate::log) fn take_in(&mut self, work: &Work) -> Result<(), Trouble> {
        self.trouble.clone().map_or(Ok(()), Err)?;
        match work {
            Work::Append(entries) => self.accept(entries)?,
            Work::Vote(vote) => self.vote = Some(vote.clone()),
            Work::Truncate(index) => {
                self.bounds.truncate(*index)?;
                self.window.truncate(*index);
                self.stats.durable = self.stats.durable.min(index.checked_sub(1));
                self.cuts += 1;
            }
            Work::Purge(index, meta) => {
                if self.bounds.purge(*index) {
                    self.purged_meta = Some(meta.clone());
                    self.window.purge(*index);
                }
            }
            Work::Barrier => {}
        }
        Ok(())
    }

    pub(in crate::log) fn push(&mut self, work: Work, done: Option<Done>) {
        let job = Job { work, done, cuts: self.cuts };
        let (entries, bytes) = job.size();
        self.stats.waiting_entries += entries;
        self.stats.waiting_bytes += bytes;
        self.queue.push_back(job);
    }

    pub(in crate::log) fn set_committed(&mut self, committed: Bytes) {
        if self.trouble.is_none() {
            self.committed = Some(committed);
            self.committed_waits = true;
        }
    }

    /// Keep a callback until there is room; given back when there is some now, or never will be.
    pub(in crate::log) fn wait_for_room(
        &mut self,
        room: Box<dyn FnOnce() + Send>,
    ) -> Option<Box<dyn FnOnce() + Send>> {
        if self.trouble.is_some() || self.has_room() {
            return Some(room);
        }
        self.rooms.push(room);
        None
    }

    fn take_rooms(&mut self) -> Vec<Box<dyn FnOnce() + Send>> {
        if self.has_room() { mem::take(&mut self.rooms) } else { Vec::new() }
    }

    fn settle(&mut self, jobs: &[Job], written: bool, took: Duration, disk_bytes: u64) {
        let mut batch = 0;
        for job in jobs {
            let (entries, bytes) = job.size();
            self.stats.waiting_entries -= entries;
            self.stats.waiting_bytes -= bytes;
            batch += entries;
        }
        if !written {
            return;
        }
        self.stats.batches += 1;
        self.stats.entries += batch as u64;
        self.stats.last_batch = batch;
        self.stats.last_sync = took;
        self.stats.slowest_sync = self.stats.slowest_sync.max(took);
        self.stats.disk_bytes = disk_bytes;
        // What was queued before the last cut says too little about what is in the window now.
        let current = jobs.iter().filter(|job| job.cuts == self.cuts);
        if let Some(last) = current.filter_map(Job::last).next_back() {
            self.stats.durable = Some(last);
        }
        self.window.evict(self.stats.durable, WINDOW_BYTES);
    }

    fn readable(&self) -> Result<Arc<dyn LogReader>, Trouble> {
        match (&self.trouble, &self.reader) {
            (Some(trouble), _) => Err(trouble.clone()),
            (None, Some(reader)) => Ok(Arc::clone(reader)),
            (None, None) => Err(Trouble::Closed),
        }
    }

    /// The part of `range` that is here.
    fn clamp(&self, range: Range<u64>) -> Range<u64> {
        match (self.bounds.first, self.bounds.last) {
            (Some(first), Some(last)) => range.start.max(first)..range.end.min(last + 1),
            _ => 0..0,
        }
    }
}
