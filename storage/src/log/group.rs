//! The handle that everybody holds: group commit above a store, and the RAM tail.
//!
//! All methods are cheap and never wait for a disk, so async code may call them; only [`Log::read_range`] below the
//! window and [`Log::close`] touch files. Appended entries are readable at once, durable when their callback says so.
//! Callbacks run on the writer's thread in the order of the calls: they must be short and must not block.
//!
//! **When the queue is full**, [`Log::append`] gives everything back as [`Busy`] and nothing has happened; the caller
//! waits with [`Log::when_room`] and tries again. Votes, truncation and purging are rare and always accepted.
//!
//! **When a write or a sync fails**, the log is poisoned: this and every later call is answered with the same trouble,
//! and [`Log::trouble`] shows it so that the node can stop. Nothing is retried.

mod queue;
mod state;
mod stats;

use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use bytes::Bytes;

use self::state::State;
pub use self::stats::LogStats;
pub(super) use self::{
    queue::Shared,
    state::{Job, Taken, Work},
};
use super::{BATCH_BYTES, BATCH_ENTRIES, Bounds, Entry, LogStore, Writer};
use crate::error::Trouble;

/// Told once what became of a write. Runs on the writer's thread; must not block.
pub type Done = Box<dyn FnOnce(Result<(), Trouble>) + Send>;

/// The bounds of a log in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// An append is refused while so many entries wait to be written.
    pub queue_entries: usize,
    /// An append is refused while so many bytes wait to be written.
    pub queue_bytes: usize,
    /// How many bytes of durable entries stay in RAM for readers.
    pub window_bytes: usize,
}

impl Default for Limits {
    /// 65,536 entries are one second of the writer, 32 MiB half a second of a slow disk; 16 MiB of the past are what a
    /// follower reads that was away for some seconds.
    fn default() -> Self {
        Self { queue_entries: 65_536, queue_bytes: 32 << 20, window_bytes: 16 << 20 }
    }
}

/// The queue is full: everything is handed back, nothing has happened.
pub struct Busy {
    /// The entries of the refused call.
    pub entries: Vec<Entry>,
    /// Its callback, not called.
    pub done: Done,
}

impl std::fmt::Debug for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Busy").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

/// A handle to the log; clones are the same log. The last one to go closes it.
#[derive(Clone)]
pub struct Log {
    shared: Arc<Shared>,
    thread: Arc<Thread>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("bounds", &self.bounds()).finish_non_exhaustive()
    }
}

impl Log {
    /// Start a log over a store, with a thread that writes.
    ///
    /// # Errors
    /// When the store cannot be read, or no thread can be started.
    pub fn open(store: Box<dyn LogStore>) -> Result<Self, Trouble> {
        let (log, writer) = Self::without_thread(store, Limits::default())?;
        let thread = thread::Builder::new()
            .name("campanile-log".into())
            .spawn(move || writer.run())
            .map_err(|error| Trouble::while_doing("starting the log's thread", error))?;
        *log.thread.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(log)
    }

    /// Start a log whose writer is driven by the caller: for a simulation, where threads have no place.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn without_thread(store: Box<dyn LogStore>, limits: Limits) -> Result<(Self, Writer), Trouble> {
        let shared = Arc::new(Shared::new(State::new(&*store, limits)?));
        let writer = Writer::new(Arc::clone(&shared), store);
        Ok((Self { shared: Arc::clone(&shared), thread: Arc::new(Thread(Mutex::new(None), shared)) }, writer))
    }

    /// Append entries that follow the tip. They can be read when this returns and are durable when `done` says so.
    ///
    /// # Errors
    /// [`Busy`] when the queue is full. Everything else is told to `done`: [`Trouble::OutOfOrder`] and
    /// [`Trouble::TooLarge`] change nothing, any other trouble poisons the log.
    pub fn append(&self, entries: Vec<Entry>, done: Done) -> Result<(), Busy> {
        let mut state = self.shared.lock();
        if state.is_full() {
            return Err(Busy { entries, done });
        }
        if let Err(trouble) = state.append(&entries) {
            drop(state);
            done(Err(trouble));
            return Ok(());
        }
        let (pieces, last) = pieces(entries);
        pieces.into_iter().for_each(|piece| state.push(Work::Append(piece), None));
        state.push(Work::Append(last), Some(done));
        self.shared.notify(state);
        Ok(())
    }

    /// Call back as soon as [`Log::append`] would be accepted: at once, or on the writer's thread. Also called when the log
    /// fails or closes, since nobody should wait for that.
    pub fn when_room(&self, room: Box<dyn FnOnce() + Send>) {
        if let Some(room) = self.shared.lock().wait_for_room(room) {
            room();
        }
    }

    /// Save the vote, after everything that was called before.
    pub fn save_vote(&self, vote: Bytes, done: Done) {
        self.change(Work::Vote(vote), done);
    }

    /// Remember the committed mark. A hint: written with the next batch, never for itself.
    pub fn save_committed(&self, committed: Bytes) {
        self.shared.lock().set_committed(committed);
    }

    /// Remove every entry from `index` on.
    pub fn truncate_from(&self, index: u64, done: Done) {
        self.change(Work::Truncate(index), done);
    }

    /// Forget every entry up to and including `index` and remember `meta` with that mark.
    pub fn purge_to(&self, index: u64, meta: Bytes, done: Done) {
        self.change(Work::Purge(index, meta), done);
    }

    /// Call back when everything that was called before is durable.
    pub fn barrier(&self, done: Done) {
        self.change(Work::Barrier, done);
    }

    fn change(&self, work: Work, done: Done) {
        let mut state = self.shared.lock();
        if let Err(trouble) = state.accept(&work) {
            drop(state);
            return done(Err(trouble));
        }
        state.push(work, Some(done));
        self.shared.notify(state);
    }

    /// The entries of `range` that are here, without a hole, until they pass `max_bytes`; at least one when any is here.
    /// They begin later than `range` does when its start is purged. The recent ones come from RAM, older ones from the store, which may take as long as a disk does.
    ///
    /// # Errors
    /// The trouble of a poisoned log; [`Trouble::Damaged`] when an entry that should be here is not.
    pub fn read_range(&self, range: Range<u64>, max_bytes: usize) -> Result<Vec<Entry>, Trouble> {
        loop {
            if let Some(entries) = self.shared.try_read(range.clone(), max_bytes)? {
                return Ok(entries);
            }
        }
    }

    /// Which indexes are here, durable or not.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.shared.lock().bounds()
    }

    /// The last entry that is here, if any.
    ///
    /// # Errors
    /// As [`Log::read_range`].
    pub fn last(&self) -> Result<Option<Entry>, Trouble> {
        let Some(last) = self.bounds().last else { return Ok(None) };
        Ok(self.read_range(last..last + 1, usize::MAX)?.pop())
    }

    /// The purge mark and what was stored with it.
    #[must_use]
    pub fn purged(&self) -> Option<(u64, Bytes)> {
        self.shared.lock().purged()
    }

    /// The last vote that was accepted; durable when its callback has said so.
    #[must_use]
    pub fn vote(&self) -> Option<Bytes> {
        self.shared.lock().vote()
    }

    /// The last committed mark that was accepted.
    #[must_use]
    pub fn committed(&self) -> Option<Bytes> {
        self.shared.lock().committed()
    }

    /// Why this log answers no more, if it does not: the node must stop.
    #[must_use]
    pub fn trouble(&self) -> Option<Trouble> {
        self.shared.lock().trouble()
    }

    /// How the log is doing.
    #[must_use]
    pub fn stats(&self) -> LogStats {
        self.shared.lock().stats()
    }

    /// Write what was accepted, stop the writer and close the store; later calls are answered with [`Trouble::Closed`].
    /// Waits for the disk.
    pub fn close(&self) {
        self.thread.close();
    }
}

/// The writer's thread, joined when the last handle goes.
struct Thread(Mutex<Option<JoinHandle<()>>>, Arc<Shared>);

impl Thread {
    fn close(&self) {
        self.1.close();
        let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A callback may hold the last handle; the writer cannot wait for itself.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id()) {
            // It catches what panics below it, so all that could come back is a panic of a callback, told by its hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.close();
    }
}

/// Entries cut so that each piece fits one batch of the writer: those before the last piece, and the last.
fn pieces(entries: Vec<Entry>) -> (Vec<Vec<Entry>>, Vec<Entry>) {
    let mut pieces = Vec::new();
    let mut piece = Vec::with_capacity(entries.len().min(BATCH_ENTRIES));
    let mut bytes = 0;
    for entry in entries {
        if piece.len() == BATCH_ENTRIES || (bytes + entry.1.len() > BATCH_BYTES && !piece.is_empty()) {
            pieces.push(std::mem::take(&mut piece));
            bytes = 0;
        }
        bytes += entry.1.len();
        piece.push(entry);
    }
    (pieces, piece)
}
