//! What everybody reads: the machine as of the last applied entry, and the signal that it moved.
//!
//! Only [`crate::apply`] publishes. A reader takes a whole machine and keeps it for as long as it likes; the signal
//! carries an index and no content, so a lost one is the next one.

use std::sync::{Arc, PoisonError, RwLock};

use crate::runtime::watch;
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;

/// The machine as of the last applied entry.
#[derive(Debug)]
pub struct View {
    machine: RwLock<Arc<Machine>>,
    applied: watch::Sender<LogIndex>,
}

impl View {
    /// Of this machine.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        let applied = watch::Sender::new(machine.applied());
        Self { machine: RwLock::new(Arc::new(machine)), applied }
    }

    /// The machine. The lock is held for a pointer's copy only.
    #[must_use]
    pub fn machine(&self) -> Arc<Machine> {
        Arc::clone(&self.machine.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The last entry that is in it.
    #[must_use]
    pub fn applied(&self) -> LogIndex {
        *self.applied.borrow()
    }

    /// Told whenever it moves.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<LogIndex> {
        self.applied.subscribe()
    }

    /// Waits until the entry after `index` is in it.
    pub async fn applied_beyond(&self, index: LogIndex) -> LogIndex {
        let mut changes = self.changes();
        let reached = changes.wait_for(|applied| *applied > index).await.map(|applied| *applied);
        // The sender lives as long as the view, and the view as long as this borrow.
        reached.unwrap_or_else(|_| self.applied())
    }

    /// Shows a machine. First the machine, then the signal: who is woken finds it.
    pub(crate) fn publish(&self, machine: Machine) {
        let applied = machine.applied();
        *self.machine.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(machine);
        self.applied.send_replace(applied);
    }
}
