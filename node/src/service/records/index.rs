//! What finds rows of the ledger: by schedule, nominal and run. A node has one on disk with a thread that keeps it; where
//! there are no threads, as in a simulation, [`Asked`] is brought up to the ledger when it is asked.

mod asked;

use std::fmt::Debug;
use std::time::Duration;

use campanile_storage::history::{Entry, Indexer, Key, Order, Unreadable, Window};
use campanile_storage::ledger::Position;

pub use asked::Asked;

/// An index of the ledger.
pub trait Index: Debug + Send + Sync {
    /// Waits until every row is indexed that the ledger now holds of entries up to `index`; false when it takes longer than
    /// `within`. It blocks.
    fn wait_for(&self, index: u64, within: Duration) -> bool;

    /// The last row that is indexed.
    fn reached(&self) -> Option<Position>;

    /// Up to `limit` rows of what `uid` names in the window, by nominal, run and position.
    ///
    /// # Errors
    /// While it is being built again.
    fn scan(&self, uid: u64, window: Window, limit: usize, order: Order) -> Result<Vec<Entry>, Unreadable>;

    /// As [`Index::scan`], going on behind `cursor`, the key of the last entry of the page before.
    ///
    /// # Errors
    /// As [`Index::scan`].
    fn scan_from(
        &self,
        cursor: Key,
        window: Window,
        limit: usize,
        order: Order,
    ) -> Result<Vec<Entry>, Unreadable>;

    /// Every row of one firing, in the order of the log.
    ///
    /// # Errors
    /// As [`Index::scan`].
    fn scan_firing(&self, uid: u64, nominal: i64, run: u32) -> Result<Vec<Entry>, Unreadable>;
}

impl Index for Indexer {
    fn wait_for(&self, index: u64, within: Duration) -> bool {
        Self::wait_for(self, index, within)
    }

    fn reached(&self) -> Option<Position> {
        self.history().progress().map(|progress| progress.position)
    }

    fn scan(&self, uid: u64, window: Window, limit: usize, order: Order) -> Result<Vec<Entry>, Unreadable> {
        self.history().scan(uid, window, limit, order)
    }

    fn scan_from(
        &self,
        cursor: Key,
        window: Window,
        limit: usize,
        order: Order,
    ) -> Result<Vec<Entry>, Unreadable> {
        self.history().scan_from(cursor, window, limit, order)
    }

    fn scan_firing(&self, uid: u64, nominal: i64, run: u32) -> Result<Vec<Entry>, Unreadable> {
        self.history().scan_firing(uid, nominal, run)
    }
}
