//! Where the handles and the writer meet: one mutex, never held while a disk works or a callback runs.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use super::state::{State, Taken};
use crate::{error::Trouble, log::Entry};

/// The meeting place of handles and writer.
pub(in crate::log) struct Shared {
    state: Mutex<State>,
    work: Condvar,
    /// Rung beside, where no thread waits.
    bell: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Shared {
    pub(in crate::log) fn new(state: State) -> Self {
        Self { state: Mutex::new(state), work: Condvar::new(), bell: OnceLock::new() }
    }

    pub(in crate::log) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Give the lock back and wake the writer.
    pub(in crate::log) fn notify(&self, state: MutexGuard<'_, State>) {
        drop(state);
        self.work.notify_one();
        if let Some(bell) = self.bell.get() {
            bell();
        }
    }

    pub(in crate::log) fn ring(&self, bell: Box<dyn Fn() + Send + Sync>) {
        // The first one stays.
        let _ = self.bell.set(bell);
    }

    pub(in crate::log) fn is_over(&self) -> bool {
        let state = self.lock();
        state.is_closed() && !state.has_work()
    }

    /// Wait until there is something to do, or not at all when the writer is `busy` with something else; false when the
    /// log is closed and everything is written.
    pub(in crate::log) fn wait(&self, busy: bool) -> bool {
        let mut state = self.lock();
        while !busy && !state.has_work() && !state.is_closed() {
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.has_work() || !state.is_closed()
    }

    /// Account for a batch that was written, or not, and tell everybody: who hears of a failure finds the log poisoned.
    pub(in crate::log) fn finish(
        &self,
        taken: Taken,
        result: &Result<(), Trouble>,
        took: Duration,
        disk_bytes: u64,
    ) {
        let mut state = self.lock();
        state.settle(&taken.jobs, result.is_ok(), took, disk_bytes);
        let (late, rooms) = match result {
            Ok(()) => (VecDeque::new(), state.take_rooms()),
            Err(trouble) => state.poison(trouble),
        };
        drop(state);
        taken.jobs.into_iter().chain(late).for_each(|job| job.answer(result));
        rooms.into_iter().for_each(|room| room());
    }

    /// Refuse everything from now on, what waits included.
    pub(in crate::log) fn poison(&self, trouble: &Trouble) {
        let (jobs, rooms) = self.lock().poison(trouble);
        let result = Err(trouble.clone());
        jobs.into_iter().for_each(|job| job.answer(&result));
        rooms.into_iter().for_each(|room| room());
    }

    /// Accept nothing more and let the writer end once the queue is written.
    pub(in crate::log) fn close(&self) {
        let mut state = self.lock();
        state.close();
        self.notify(state);
    }

    /// Read once; nothing when the log was cut meanwhile and the read has to begin again.
    pub(in crate::log) fn try_read(
        &self,
        range: Range<u64>,
        max_bytes: usize,
    ) -> Result<Option<Vec<Entry>>, Trouble> {
        let state = self.lock();
        let reader = state.reader()?;
        let range = state.clamp(range);
        let (window, cuts) = (state.window_start().min(range.end), state.cuts());
        let mut entries = Vec::new();
        if range.start >= window {
            state.copy(range, max_bytes, &mut entries);
            return Ok(Some(entries));
        }
        drop(state);
        entries = reader.read_range(range.start..window, max_bytes)?;
        let state = self.lock();
        if state.cuts() != cuts || !state.bounds().contains(range.start) {
            return Ok(None);
        }
        let Some((last, _)) = entries.last() else {
            return Err(Trouble::damaged("the log".as_ref(), format!("entry {} is missing", range.start)));
        };
        if last + 1 == window {
            state.copy(window..range.end, max_bytes, &mut entries);
        }
        Ok(Some(entries))
    }
}
