//! How a schedule was changed, the newest change first, from any place in the log back.

use campanile_core::event::{Event, Row as CoreRow};
use campanile_core::id::Uid;
use campanile_storage::history::{Entry, Order, Window};

use super::places::{Change, changes_of};
use super::{INDEX_WITHIN, Records, read_row, rebuilding, unreadable_ledger};
use crate::problem::{Code, Problem};

/// How many keys are read at once.
const BATCH: usize = 64;

/// A change of a schedule: what it was, and where its row is.
#[derive(Debug, Clone, Copy)]
pub(in crate::service) struct Changed {
    /// What it was.
    pub(in crate::service) change: Change,
    /// Where its row is.
    pub(in crate::service) entry: Entry,
}

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::service) enum Walk {
    /// To the change before.
    On,
    /// No further.
    Enough,
}

impl Records {
    /// Walks through the changes of a schedule from the entry at `index` back, until `look` has seen enough. It costs what is
    /// looked at; rows are only read when `look` reads them ([`Records::row_of`]). Call it on a blocking thread, when the
    /// index is far enough.
    ///
    /// # Errors
    /// `not_ready` while the index is built again; those of `look`.
    pub(in crate::service) fn changes_back(
        &self,
        uid: Uid,
        index: u64,
        mut look: impl FnMut(Changed) -> Result<Walk, Problem>,
    ) -> Result<(), Problem> {
        let window = up_to(index);
        let mut last: Option<Entry> = None;
        loop {
            let found = match last {
                Some(last) => self.history().scan_from(last.key, window, BATCH, Order::Descending),
                None => self.history().scan(changes_of(uid).0, window, BATCH, Order::Descending),
            };
            let entries = found.map_err(|wrong| rebuilding(&wrong))?;
            for entry in &entries {
                let Some(change) = Change::of_key(entry.key) else { continue };
                if look(Changed { change, entry: *entry })? == Walk::Enough {
                    return Ok(());
                }
            }
            last = entries.last().copied();
            if entries.len() < BATCH {
                return Ok(());
            }
        }
    }

    /// Waits until the index has every row up to this entry: who tells what stood may not miss one.
    ///
    /// # Errors
    /// `not_ready` when it is behind, or being built again.
    pub(in crate::service) fn indexed_through(&self, index: u64) -> Result<(), Problem> {
        if self.index.wait_for(index, INDEX_WITHIN) {
            return Ok(());
        }
        let reached = self.index.reached().map_or(0, |position| position.index);
        let why = "the index of the ledger is behind or being built again";
        let why = format!("{why}: it is at entry {reached} of {index}; ask again later, or another node");
        Err(Problem::new(Code::NotReady, why))
    }

    /// Whether no row was ever dropped.
    ///
    /// # Errors
    /// `internal` when the ledger cannot be read.
    pub(in crate::service) fn is_whole(&self) -> Result<bool, Problem> {
        self.ledger.reaches(None).map_err(|trouble| unreadable_ledger(&trouble))
    }

    /// The row of an entry of the index, read; `None` when retention has dropped it.
    ///
    /// # Errors
    /// `internal` when the ledger cannot be read.
    pub(in crate::service) fn row_of(&self, entry: &Entry) -> Result<Option<CoreRow>, Problem> {
        self.row(entry)?.as_ref().map(read_row).transpose()
    }

    /// The newest row, up to the entry at `index`, that holds the whole definition of a schedule.
    ///
    /// # Errors
    /// As [`Records::changes_back`] and [`Records::row_of`].
    pub(in crate::service) fn definition_at(
        &self,
        uid: Uid,
        index: u64,
    ) -> Result<Option<(Changed, CoreRow)>, Problem> {
        let mut found = None;
        self.changes_back(uid, index, |changed| {
            if matches!(changed.change, Change::Defined | Change::Standing) {
                found = self.row_of(&changed.entry)?.map(|row| (changed, row));
                return Ok(Walk::Enough);
            }
            Ok(Walk::On)
        })?;
        Ok(found)
    }

    /// The name of a schedule, by its newest definition that is kept.
    ///
    /// # Errors
    /// As [`Records::definition_at`].
    pub(super) fn newest_name(
        &self,
        uid: Uid,
    ) -> Result<Option<campanile_core::definition::ScheduleName>, Problem> {
        let found = self.definition_at(uid, u64::MAX)?;
        Ok(found.and_then(|(_, row)| match row.event {
            Event::Defined { name, .. } | Event::Standing { name, .. } => Some(name),
            _ => None,
        }))
    }
}

/// Everything up to the entry at `index`, in a space that is sorted by log index.
pub(in crate::service) fn up_to(index: u64) -> Window {
    Window { after: None, before: i64::try_from(index).ok().and_then(|index| index.checked_add(1)) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use campanile_core::machine::Machine;
    use campanile_storage::history::{History, Indexer};
    use campanile_storage::ledger::{Ledger, Options};
    use tokio::sync::Mutex;

    use super::*;
    use crate::service::records::Filter;

    /// Whoever holds it holds up the index.
    static GATE: Mutex<()> = Mutex::const_new(());

    #[tokio::test]
    async fn history_that_is_not_indexed_yet_is_refused_and_not_told_short() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&dir.path().join("ledger"), Options::default()).unwrap();
        ledger.append(7, &[b"a row"]).unwrap();
        let held = GATE.lock().await;
        let history = History::open(&dir.path().join("history")).unwrap();
        let indexer = Indexer::spawn(history, ledger.reader(), |_, _| drop(GATE.blocking_lock())).unwrap();
        let records = Records::new(ledger.reader(), Arc::new(indexer));

        let listed = records.recent(Arc::new(Machine::default()), Filter::default()).await;
        let refused = listed.unwrap_err();
        drop(held);

        assert_eq!(refused.code, Code::NotReady);
        assert!(refused.detail.contains("at entry 0 of 7"), "{}", refused.detail);
        assert!(records.index.wait_for(7, INDEX_WITHIN), "it goes on when it can");
    }
}
