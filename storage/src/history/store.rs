//! The sled database under the index, in a directory of its own that is thrown away whenever anything about it is odd.
//!
//! Each rebuild takes a new directory (`index-v4-1`, `index-v4-2`, …): a sled that is being closed may still touch its old one.
//! sled's errors and panics end here: a caller only learns that the index is not readable.

use std::{
    fs::File,
    ops::Bound,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use sled::{Batch, Db, Mode};

use super::{
    boot::OpenedUnder,
    key::{
        CHECKPOINT, Entry, Key, PROGRESS, Progress, bound_bytes, checkpoint_key, place_bytes, progress_bytes,
        read_place, read_progress,
    },
};
use crate::{Trouble, ledger::Position, sleds};

/// Inner pages and recent leaves; the rest is read from the kernel's cache.
const CACHE_BYTES: u64 = 32 << 20;
/// Names the form of keys and values too, and what `extract` makes of rows: another one takes another prefix, and so a
/// rebuild.
const PREFIX: &str = "index-v4-";

/// The index cannot be read or written. It will be built again; until then there is no history to show.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the history index is not readable and will be built again ({why})")]
pub struct Unreadable {
    /// What was odd.
    pub why: String,
}

/// Which way to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Oldest nominal first.
    Ascending,
    /// Newest nominal first.
    Descending,
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Store {
    db: Db,
    dir: PathBuf,
    progress: Mutex<Option<Progress>>,
    opened: OpenedUnder,
}

impl Store {
    /// Opens what is in `root`, or starts anew when that does not read or may have suffered a power cut.
    pub(crate) fn open(root: &Path) -> Result<Self, Trouble> {
        std::fs::create_dir_all(root).map_err(|source| Trouble::while_opening(root, source))?;
        let Some(number) = newest(root)? else { return Self::start(root) };
        if OpenedUnder::of(root).is_another_boot() {
            tracing::info!(dir = %root.display(), "the history index was open when the machine went down and is built again");
            return Self::start(root);
        }
        match Self::attach(root, number) {
            Ok(store) => {
                remove_others(root, number)?;
                Ok(store)
            }
            Err(unreadable) => {
                tracing::warn!(dir = %root.display(), why = unreadable.why, "the history index is built again");
                Self::start(root)
            }
        }
    }

    /// Starts an empty index in a new directory and removes the old ones.
    pub(crate) fn start(root: &Path) -> Result<Self, Trouble> {
        let number = newest(root)?.map_or(1, |number| number + 1);
        let made = Self::attach(root, number);
        let made = made.map_err(|unreadable| {
            Trouble::while_doing("starting the history index", std::io::Error::other(unreadable.why))
        })?;
        remove_others(root, number)?;
        Ok(made)
    }

    fn attach(root: &Path, number: u64) -> Result<Self, Unreadable> {
        let dir = root.join(format!("{PREFIX}{number}"));
        let opened = OpenedUnder::of(root);
        opened.note().map_err(|error| Unreadable { why: error.to_string() })?;
        guarded(|| {
            let config = sled::Config::new()
                .path(&dir)
                .cache_capacity(CACHE_BYTES)
                .mode(Mode::HighThroughput)
                .flush_every_ms(Some(1_000));
            let db = sleds::open(&config)?;
            let progress = match db.get(PROGRESS)? {
                Some(bytes) => Some(read_progress(&bytes).ok_or_else(|| odd("its progress is not one"))?),
                None if db.is_empty() => None,
                None => return Err(odd("it has rows and no progress")),
            };
            let progress = Mutex::new(progress);
            Ok(Self { db, dir: dir.clone(), progress, opened })
        })
    }

    pub(crate) fn progress(&self) -> Option<Progress> {
        *self.noted()
    }

    /// Adds rows in the order of their keys.
    ///
    /// Not one batch: sled applies a batch in the order of a hash map, and neighbours cost a quarter less.
    pub(crate) fn insert(&self, entries: &[Entry]) -> Result<(), Unreadable> {
        assert!(entries.is_sorted_by_key(|entry| entry.key), "rows are added in the order of their keys");
        let add = |entry: &Entry| self.db.insert(entry.key.to_bytes(), &place_bytes(entry.place)).map(drop);
        guarded(|| entries.iter().try_for_each(add))
    }

    /// Notes, when they are added, that the ledger is indexed `through` a row, and some rows on the way by which a ledger
    /// that was cut is still known. What a kill leaves is a prefix of the writes, so the note never says too much, and rows
    /// that are indexed again are the same.
    pub(crate) fn note(&self, through: Progress, on_the_way: &[Progress]) -> Result<(), Unreadable> {
        guarded(|| {
            for passed in on_the_way {
                self.db.insert(checkpoint_key(passed.position), &progress_bytes(*passed))?;
            }
            self.db.insert(PROGRESS, &progress_bytes(through))
        })?;
        *self.noted() = Some(through);
        Ok(())
    }

    /// Goes back to an earlier row: what is indexed behind it will be indexed again, under the same keys.
    pub(crate) fn rewind(&self, to: Progress) -> Result<(), Unreadable> {
        guarded(|| self.db.insert(PROGRESS, &progress_bytes(to)))?;
        *self.noted() = Some(to);
        Ok(())
    }

    /// Removes rows that retention has dropped.
    pub(crate) fn remove(&self, keys: impl IntoIterator<Item = Key>) -> Result<(), Unreadable> {
        let mut batch = Batch::default();
        keys.into_iter().for_each(|key| batch.remove(&key.to_bytes()[..]));
        guarded(|| self.db.apply_batch(batch))
    }

    /// The newest remembered hash at or before `position`.
    pub(crate) fn checkpoint(&self, position: Position) -> Result<Option<Progress>, Unreadable> {
        let range = [CHECKPOINT].to_vec()..=checkpoint_key(position).to_vec();
        let found = guarded(|| self.db.range(range).next_back().transpose())?;
        Ok(found.and_then(|(_, bytes)| read_progress(&bytes)))
    }

    /// Up to `limit` rows between two keys.
    pub(crate) fn scan(
        &self,
        range: (Bound<Key>, Bound<Key>),
        limit: usize,
        order: Order,
    ) -> Result<Vec<Entry>, Unreadable> {
        if is_empty(range) {
            return Ok(Vec::new());
        }
        guarded(|| {
            let found = self.db.range((bound_bytes(range.0), bound_bytes(range.1)));
            match order {
                Order::Ascending => found.take(limit).map(read_entry).collect(),
                Order::Descending => found.rev().take(limit).map(read_entry).collect(),
            }
        })
    }

    /// Makes everything durable, so that the next boot may believe it.
    pub(crate) fn close(self) {
        let Self { db, dir, opened, .. } = self;
        let flushed = guarded(|| db.flush().map(drop));
        drop(db);
        let synced = flushed
            .map_err(|unreadable| std::io::Error::other(unreadable.why))
            .and_then(|()| sync_files(&dir));
        if let Err(error) = synced.and_then(|()| opened.clear()) {
            tracing::info!(%error, "the history index is not closed cleanly and may be built again");
        }
    }

    fn noted(&self) -> MutexGuard<'_, Option<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_entry(found: sled::Result<(sled::IVec, sled::IVec)>) -> sled::Result<Entry> {
    let (key, place) = found?;
    let entry = Key::from_bytes(&key).zip(read_place(&place)).map(|(key, place)| Entry { key, place });
    entry.ok_or_else(|| odd("a row of it is not one"))
}

/// Whether no key can lie between the bounds; sled panics when they are the wrong way round.
fn is_empty(range: (Bound<Key>, Bound<Key>)) -> bool {
    match range {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low >= high
        }
    }
}

fn odd(what: &str) -> sled::Error {
    sled::Error::Unsupported(what.to_owned())
}

/// Runs sled, which panics on some kinds of damage.
fn guarded<T>(work: impl FnOnce() -> sled::Result<T>) -> Result<T, Unreadable> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => answer.map_err(|error| Unreadable { why: error.to_string() }),
        Err(_) => Err(Unreadable { why: "a panic while using it".into() }),
    }
}

/// The highest number of an index directory in `root`.
fn newest(root: &Path) -> Result<Option<u64>, Trouble> {
    Ok(numbers(root)?.into_iter().max())
}

fn numbers(root: &Path) -> Result<Vec<u64>, Trouble> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).map_err(|source| Trouble::while_opening(root, source))? {
        let name = entry.map_err(|source| Trouble::while_opening(root, source))?.file_name();
        found.extend(name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u64>().ok()));
    }
    Ok(found)
}

fn remove_others(root: &Path, kept: u64) -> Result<(), Trouble> {
    for number in numbers(root)?.into_iter().filter(|number| *number != kept) {
        let path = root.join(format!("{PREFIX}{number}"));
        if let Err(error) = std::fs::remove_dir_all(&path) {
            // A sled that is being closed may add a file meanwhile; the next open takes what is left.
            tracing::info!(path = %path.display(), %error, "an old history index is not removed yet");
        }
    }
    Ok(())
}

fn sync_files(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        File::open(entry?.path())?.sync_all()?;
    }
    File::open(dir)?.sync_all()
}
