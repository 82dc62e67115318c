//! What the log will be once the queue is written, and what waits until then.
//!
//! Everything here happens under the mutex of [`Shared`](super::Shared): short, in memory, without callbacks.

use std::{
    collections::VecDeque,
    mem,
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;

use super::{Done, Limits, LogStats};
use crate::{
    error::Trouble,
    log::{BATCH_BYTES, BATCH_ENTRIES, Bounds, Entry, LogReader, LogStore, window::Window},
};

/// Told that there is room again.
type Room = Box<dyn FnOnce() + Send>;

/// One thing to write.
pub(in crate::log) enum Work {
    Append(Vec<Entry>),
    Vote(Bytes),
    Truncate(u64),
    Purge(u64, Bytes),
    Barrier,
}

impl Work {
    /// Entries and their bytes.
    fn size(&self) -> (usize, usize) {
        match self {
            Self::Append(entries) => (entries.len(), entries.iter().map(|(_, bytes)| bytes.len()).sum()),
            _ => (0, 0),
        }
    }

    fn last(&self) -> Option<u64> {
        match self {
            Self::Append(entries) => entries.last().map(|(index, _)| *index),
            _ => None,
        }
    }
}

/// One thing to write, and who waits for it.
pub(in crate::log) struct Job {
    pub(in crate::log) work: Work,
    done: Option<Done>,
    /// The count of cuts when it was queued: behind a later cut its entries may be gone again.
    cuts: u64,
}

impl Job {
    pub(in crate::log) fn answer(self, result: &Result<(), Trouble>) {
        if let Some(done) = self.done {
            done(result.clone());
        }
    }
}

/// What the writer takes for one turn.
pub(in crate::log) struct Taken {
    pub(in crate::log) jobs: Vec<Job>,
    pub(in crate::log) committed: Option<Bytes>,
}

impl Taken {
    pub(in crate::log) fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.committed.is_none()
    }
}

/// Everything under the mutex.
pub(in crate::log) struct State {
    limits: Limits,
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
    /// Gone when the log is closed: it would keep the files open.
    reader: Option<Arc<dyn LogReader>>,
    trouble: Option<Trouble>,
    rooms: Vec<Room>,
    begun: Option<Instant>,
    stats: LogStats,
}

impl State {
    pub(in crate::log) fn new(store: &dyn LogStore, limits: Limits) -> Result<Self, Trouble> {
        let bounds = store.bounds();
        Ok(Self {
            limits,
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
        })
    }

    // What a handle changes.

    /// Let entries take effect on what a reader sees; nothing changes when they are refused.
    pub(in crate::log) fn append(&mut self, entries: &[Entry]) -> Result<(), Trouble> {
        self.trouble.clone().map_or(Ok(()), Err)?;
        self.bounds.check(entries)?;
        self.bounds.append(entries);
        self.window.append(entries);
        Ok(())
    }

    /// Let a write take effect on what a reader sees; nothing changes when it is refused.
    pub(in crate::log) fn accept(&mut self, work: &Work) -> Result<(), Trouble> {
        self.trouble.clone().map_or(Ok(()), Err)?;
        match work {
            Work::Append(entries) => self.append(entries)?,
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
        let (entries, bytes) = work.size();
        self.stats.waiting_entries += entries;
        self.stats.waiting_bytes += bytes;
        self.queue.push_back(Job { work, done, cuts: self.cuts });
    }

    pub(in crate::log) fn set_committed(&mut self, committed: Bytes) {
        if self.trouble.is_none() {
            self.committed = Some(committed);
            self.committed_waits = true;
        }
    }

    fn has_room(&self) -> bool {
        self.stats.waiting_entries < self.limits.queue_entries
            && self.stats.waiting_bytes < self.limits.queue_bytes
    }

    /// Whether an append must be refused; counts it when so. A poisoned log is not full, it answers.
    pub(in crate::log) fn is_full(&mut self) -> bool {
        let full = self.trouble.is_none() && !self.has_room();
        self.stats.refused += u64::from(full);
        full
    }

    /// Keep a callback until there is room; given back when there is some now, or never will be.
    pub(in crate::log) fn wait_for_room(&mut self, room: Room) -> Option<Room> {
        if self.trouble.is_some() || self.has_room() {
            return Some(room);
        }
        self.rooms.push(room);
        None
    }

    pub(in crate::log) fn close(&mut self) {
        self.trouble.get_or_insert(Trouble::Closed);
        self.reader = None;
    }

    // What the writer changes.

    pub(in crate::log) fn is_closed(&self) -> bool {
        self.reader.is_none()
    }

    /// The committed mark alone is work only when the log closes.
    pub(in crate::log) fn has_work(&self) -> bool {
        !self.queue.is_empty() || (self.is_closed() && self.committed_waits)
    }

    /// The front of the queue, as much as fits one batch; at least one job when there is one.
    pub(in crate::log) fn take(&mut self) -> Taken {
        let (mut entries, mut bytes, mut count) = (0, 0, 0);
        for job in &self.queue {
            let size = job.work.size();
            (entries, bytes) = (entries + size.0, bytes + size.1);
            if count > 0 && (entries > BATCH_ENTRIES || bytes > BATCH_BYTES) {
                break;
            }
            count += 1;
        }
        let carried = self.committed_waits && self.has_work();
        let committed = if carried { self.committed.clone() } else { None };
        self.committed_waits &= !carried;
        let taken = Taken { jobs: self.queue.drain(..count).collect(), committed };
        self.begun = (!taken.is_empty()).then(Instant::now);
        taken
    }

    /// Account for jobs that were taken.
    pub(in crate::log) fn settle(&mut self, jobs: &[Job], written: bool, took: Duration, disk_bytes: u64) {
        self.begun = None;
        let sizes = jobs.iter().map(|job| job.work.size());
        let (entries, bytes) = sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        self.stats.waiting_entries -= entries;
        self.stats.waiting_bytes -= bytes;
        if !written {
            return;
        }
        self.stats.batches += 1;
        self.stats.entries += entries as u64;
        self.stats.last_batch = entries;
        self.stats.last_sync = took;
        self.stats.slowest_sync = self.stats.slowest_sync.max(took);
        self.stats.disk_bytes = disk_bytes;
        // What was queued before the last cut says too little about what is in the window now.
        let current = jobs.iter().filter(|job| job.cuts == self.cuts);
        if let Some(last) = current.filter_map(|job| job.work.last()).next_back() {
            self.stats.durable = Some(last);
        }
        self.window.evict(self.stats.durable, self.limits.window_bytes);
    }

    pub(in crate::log) fn take_rooms(&mut self) -> Vec<Room> {
        if self.has_room() { mem::take(&mut self.rooms) } else { Vec::new() }
    }

    /// Refuse everything from now on; who has to be told.
    pub(in crate::log) fn poison(&mut self, trouble: &Trouble) -> (VecDeque<Job>, Vec<Room>) {
        self.trouble = Some(trouble.clone());
        self.stats.poisoned = true;
        (self.stats.waiting_entries, self.stats.waiting_bytes) = (0, 0);
        self.committed_waits = false;
        (mem::take(&mut self.queue), mem::take(&mut self.rooms))
    }

    // What anybody asks.

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
        let under_way = self.begun.map(|begun| begun.elapsed());
        let is_busy = self.begun.is_some() || self.has_work();
        LogStats { window_bytes: self.window.bytes(), under_way, is_busy, ..self.stats.clone() }
    }

    pub(in crate::log) fn cuts(&self) -> u64 {
        self.cuts
    }

    pub(in crate::log) fn reader(&self) -> Result<Arc<dyn LogReader>, Trouble> {
        match (&self.trouble, &self.reader) {
            (Some(trouble), _) => Err(trouble.clone()),
            (None, Some(reader)) => Ok(Arc::clone(reader)),
            (None, None) => Err(Trouble::Closed),
        }
    }

    /// The part of `range` that is here.
    pub(in crate::log) fn clamp(&self, range: Range<u64>) -> Range<u64> {
        match (self.bounds.first, self.bounds.last) {
            (Some(first), Some(last)) => range.start.max(first)..range.end.min(last + 1),
            _ => 0..0,
        }
    }

    pub(in crate::log) fn window_start(&self) -> u64 {
        self.window.first().unwrap_or(u64::MAX)
    }

    pub(in crate::log) fn copy(&self, range: Range<u64>, max_bytes: usize, into: &mut Vec<Entry>) {
        self.window.copy(range, max_bytes, into);
    }
}
