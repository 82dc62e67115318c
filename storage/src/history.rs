//! The history index: which rows of the ledger belong to a schedule, a nominal, a run. For showing, never for deciding.
//!
//! ```text
//!  ledger ──LedgerReader──> indexer (thread) ──> store (sled)  <── History (readers)
//! ```
//! A second sled database that is never trusted: it is written behind the ledger by a thread of its own, and built again
//! when it is missing, damaged, or of another ledger. It holds keys and places; the rows stay in the ledger.
//! Must not know what a row means: the caller's `extract` says where a row belongs.

mod align;
mod boot;
mod indexer;
mod key;
mod store;

use std::{
    ops::Bound,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use self::store::Store;
pub use self::{
    align::Standing,
    indexer::Indexer,
    key::{Entry, Key, Progress},
    store::{Order, Unreadable},
};
use crate::{
    Trouble,
    ledger::{LedgerReader, Row, lock::Lock},
};

/// Adds the keys under which a row belongs, if it belongs anywhere. Must add the same for the same row always.
pub type Extract = fn(&Row, &mut Vec<Key>);

/// A span of nominals, both ends exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Only nominals behind this one.
    pub after: Option<i64>,
    /// Only nominals before this one.
    pub before: Option<i64>,
}

/// A handle for reading the index. Cheap to clone.
#[derive(Clone, Debug)]
pub struct History {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    /// `None` only while it is being replaced and after that failed.
    store: RwLock<Option<Store>>,
    _lock: Lock,
}

impl History {
    /// Opens the index in `root`, or an empty one when that is missing or damaged. Whether it fits the ledger is judged by
    /// the `Indexer`, which also fills it.
    ///
    /// # Errors
    /// `Locked`, and a directory that cannot be written.
    pub fn open(root: &Path) -> Result<Self, Trouble> {
        let lock = Lock::take(root)?;
        let store = RwLock::new(Some(Store::open(root)?));
        Ok(Self { inner: Arc::new(Inner { root: root.to_owned(), store, _lock: lock }) })
    }

    /// Up to `limit` rows of the schedule in the window, by nominal, run and position.
    ///
    /// # Errors
    /// While the index is being built again.
    pub fn scan(
        &self,
        uid: u64,
        window: Window,
        limit: usize,
        order: Order,
    ) -> Result<Vec<Entry>, Unreadable> {
        self.with(|store| store.scan(bounds(uid, window), limit, order))
    }

    /// As `scan`, going on behind `cursor`, the key of the last entry of the page before.
    ///
    /// # Errors
    /// As `scan`.
    pub fn scan_from(
        &self,
        cursor: Key,
        window: Window,
        limit: usize,
        order: Order,
    ) -> Result<Vec<Entry>, Unreadable> {
        let (low, high) = bounds(cursor.uid, window);
        let range = match order {
            Order::Ascending => (Bound::Excluded(cursor), high),
            Order::Descending => (low, Bound::Excluded(cursor)),
        };
        self.with(|store| store.scan(range, limit, order))
    }

    /// Every row of one firing, in the order of the log.
    ///
    /// # Errors
    /// As `scan`.
    pub fn scan_firing(&self, uid: u64, nominal: i64, run: u32) -> Result<Vec<Entry>, Unreadable> {
        let low = Key { run, ..Key::first_at(uid, nominal) };
        let high = Key { run, ..Key::last_at(uid, nominal) };
        self.with(|store| {
            store.scan((Bound::Included(low), Bound::Included(high)), usize::MAX, Order::Ascending)
        })
    }

    /// How far the ledger is indexed.
    pub fn progress(&self) -> Option<Progress> {
        self.store().as_ref().and_then(Store::progress)
    }

    /// How the index stands to this ledger.
    ///
    /// # Errors
    /// Damage of the ledger. An index that cannot be read is `Foreign`.
    pub fn standing(&self, ledger: &LedgerReader) -> Result<Standing, Trouble> {
        match self.store().as_ref() {
            Some(store) => align::standing(store, ledger),
            None => Ok(Standing::Foreign),
        }
    }

    /// Whether everything must be indexed anew, rather than what is new since the last time.
    ///
    /// # Errors
    /// As `standing`.
    pub fn rebuild_needed(&self, ledger: &LedgerReader) -> Result<bool, Trouble> {
        Ok(self.standing(ledger)? == Standing::Foreign)
    }

    /// Uses the store. sled is made for many at once: only its replacement needs it alone.
    fn with<T>(&self, work: impl FnOnce(&Store) -> Result<T, Unreadable>) -> Result<T, Unreadable> {
        self.store().as_ref().map_or_else(|| Err(gone()), work)
    }

    fn store(&self) -> std::sync::RwLockReadGuard<'_, Option<Store>> {
        self.inner.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Throws the index away and starts an empty one.
    fn start_anew(&self) -> Result<(), Trouble> {
        let mut store = self.inner.store.write().unwrap_or_else(PoisonError::into_inner);
        *store = None;
        *store = Some(Store::start(&self.inner.root)?);
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(store) = self.store.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            store.close();
        }
    }
}

fn gone() -> Unreadable {
    Unreadable { why: "it could not be started".into() }
}

fn bounds(uid: u64, window: Window) -> (Bound<Key>, Bound<Key>) {
    let low = match window.after {
        Some(after) => Bound::Excluded(Key::last_at(uid, after)),
        None => Bound::Included(Key::first_at(uid, i64::MIN)),
    };
    let high = match window.before {
        Some(before) => Bound::Excluded(Key::first_at(uid, before)),
        None => Bound::Included(Key::last_at(uid, i64::MAX)),
    };
    (low, high)
}
