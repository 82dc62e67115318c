//! The one who writes: takes what waits, writes it in order, syncs once, answers in order.
//!
//! ```text
//!   take   at most 512 entries or 1 MiB, votes and cuts in the same queue
//!   write  consecutive appends as one batch, everything else where it stands between them
//!   sync   once for all of it
//!   answer the callbacks, in the order of the queue; then one purge step
//! ```
//!
//! It runs on a thread of its own ([`Log::open`](super::Log::open)), or wherever a simulation calls [`Writer::turn`]:
//! nothing in a turn depends on threads or on time. A failure is never retried: it poisons the log.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

use super::{
    Entry, LogStore,
    group::{Job, Shared, Taken, Work},
};
use crate::{error::Trouble, mutant};

/// The writing end of a [`Log`](super::Log).
pub struct Writer {
    shared: Arc<Shared>,
    store: Box<dyn LogStore>,
    purging: bool,
}

/// A batch that is written and not durable yet.
pub struct Written {
    taken: Taken,
    begun: Instant,
    result: Result<(), Trouble>,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Written").field("result", &self.result).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("bounds", &self.store.bounds()).finish_non_exhaustive()
    }
}

impl Writer {
    pub(super) const fn new(shared: Arc<Shared>, store: Box<dyn LogStore>) -> Self {
        Self { shared, store, purging: true }
    }

    /// Whether a turn would do anything.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.purging || self.shared.lock().has_work()
    }

    /// Whether the log is closed and everything is written: no turn will do anything any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.purging && self.shared.is_over()
    }

    /// Calls `bell` whenever there may be something to do, for whoever takes the turns without a thread that waits. Whoever
    /// wrote rings it, so it must be short and must not block; the first one stays.
    pub fn ring(&self, bell: Box<dyn Fn() + Send + Sync>) {
        self.shared.ring(bell);
    }

    /// Write one batch and make it durable, then run its callbacks here; then remove some purged keys, if there are any.
    /// Does not wait for work.
    pub fn turn(&mut self) {
        if let Some(written) = self.write() {
            self.sync(written);
        }
        if self.purging {
            self.purge();
        }
    }

    /// The first half of a turn: one batch is written and not durable. [`Writer::sync`] is the other; a process may be killed
    /// between the two, and a disk may hang there.
    pub fn write(&mut self) -> Option<Written> {
        let taken = self.shared.lock().take();
        if taken.is_empty() {
            return None;
        }
        let begun = Instant::now();
        let result = guarded(|| write(&mut *self.store, &taken.jobs, taken.committed.as_deref()));
        self.purging |= taken.jobs.iter().any(|job| matches!(job.work, Work::Purge(..)));
        Some(Written { taken, begun, result })
    }

    /// Makes durable what was written, and runs its callbacks here.
    pub fn sync(&mut self, written: Written) {
        let Written { taken, begun, result } = written;
        let result = result.and_then(|()| guarded(|| self.make_durable()));
        self.purging &= result.is_ok();
        self.shared.finish(taken, &result, begun.elapsed(), self.store.disk_bytes());
    }

    fn make_durable(&mut self) -> Result<(), Trouble> {
        if mutant::acknowledges_early() { Ok(()) } else { self.store.sync() }
    }

    fn purge(&mut self) {
        let step = guarded(|| self.store.purge_step());
        self.purging = step.as_ref().is_ok_and(|more| *more);
        if let Err(trouble) = step {
            self.shared.poison(&trouble);
        }
    }

    /// Take turns until the log is closed; what was accepted before that is written.
    pub(super) fn run(mut self) {
        while self.shared.wait(self.purging) {
            let turn = catch_unwind(AssertUnwindSafe(|| self.turn()));
            if turn.is_err() {
                // Only a callback is outside the guards: a defect of a caller, which must not leave the others waiting.
                self.shared.poison(&panicked("a callback of the log panicked"));
            }
        }
    }
}

/// A panic below (sled has some) is trouble like any other failed write; the callers must hear of it.
fn guarded<T>(work: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked("the store panicked")))
}

fn panicked(what: &'static str) -> Trouble {
    Trouble::while_doing("writing the log", std::io::Error::other(what))
}

fn write(store: &mut dyn LogStore, jobs: &[Job], committed: Option<&[u8]>) -> Result<(), Trouble> {
    if mutant::acknowledges_early() {
        store.sync()?; // What was answered for before.
    }
    let mut entries: Vec<Entry> = Vec::new();
    for job in jobs {
        if let Work::Append(more) = &job.work {
            entries.extend(more.iter().cloned());
            continue;
        }
        append(store, &mut entries)?;
        match &job.work {
            Work::Append(_) | Work::Barrier => {}
            Work::Vote(vote) => store.save_vote(vote)?,
            Work::Truncate(index) => store.truncate_from(*index)?,
            Work::Purge(index, meta) => store.purge_to(*index, meta)?,
        }
    }
    append(store, &mut entries)?;
    if let Some(committed) = committed {
        store.save_committed(committed)?;
    }
    Ok(())
}

fn append(store: &mut dyn LogStore, entries: &mut Vec<Entry>) -> Result<(), Trouble> {
    if !entries.is_empty() {
        store.append_batch(entries)?;
        entries.clear();
    }
    Ok(())
}
