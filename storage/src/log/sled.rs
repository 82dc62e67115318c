//! The log on sled 0.34, hardened.
//!
//! sled's own `flush()` is not durable on Linux: it writes and calls `sync_file_range`, which neither empties the cache
//! of the device nor commits the metadata of the file system. Of 30 power cuts on ext4, 19 lost acknowledged writes or
//! left the database unreadable. So a sync here is `flush()` *and* an `fdatasync` on a descriptor of our own, which
//! also hears of write errors that sled's background thread would only log. The rest of the hardening is how it is
//! opened, in [`open`].
//!
//! One tree, prefix keys: `l` and the index (big endian, so that keys sort by index) hold an entry; `m/…` hold the vote,
//! the committed mark, the purge mark, the format and the number of syncs. Entries, votes and marks are the caller's bytes, unread.

mod open;
mod promise;
mod reader;

use std::{
    fmt,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use ::sled::{Batch, Db, IVec};
use bytes::Bytes;

use self::{promise::Promise, reader::SledReader};
use super::{BATCH_ENTRIES, Bounds, Entry, LogReader, LogStore, PURGE_STEP};
use crate::{
    codec::{self, Kind},
    error::Trouble,
};

const VOTE: &[u8] = b"m/vote";
const COMMITTED: &[u8] = b"m/committed";
const PURGED: &[u8] = b"m/purged";
const FORMAT: &[u8] = b"m/format";
const SYNCS: &[u8] = b"m/syncs";

/// The format that this version writes: the keys above, and the values as they are encoded below.
const FORMAT_NUMBER: u16 = 1;

/// The schema of the purge mark: `(index, meta)`.
const PURGED_SCHEMA: u16 = 1;

/// The schema of the format number.
const FORMAT_SCHEMA: u16 = 1;

/// The schema of the number of syncs.
const SYNCS_SCHEMA: u16 = 1;

const WRITING: &str = "writing the log";
const READING: &str = "reading the log";
const SYNCING: &str = "syncing the log";

/// A log in a sled database of its own.
pub struct SledLog {
    dir: PathBuf,
    db: Db,
    /// Our own descriptor of the data file, for `fdatasync`.
    file: File,
    /// How many syncs have answered, and where that is noted.
    syncs: u64,
    promise: Promise,
    bounds: Bounds,
    purged_meta: Option<Bytes>,
    /// Keys up to the purge mark may still be there.
    purging: bool,
    #[cfg(feature = "fault-injection")]
    skips_fdatasync: bool,
}

impl SledLog {
    /// Open the log in `dir`, or create it there. The directory belongs to the log alone.
    ///
    /// # Errors
    /// [`Trouble::Locked`], [`Trouble::Unopenable`], [`Trouble::Full`], [`Trouble::TooNew`]; [`Trouble::Damaged`] when
    /// what is there is not a whole log: it is never opened shortened.
    pub fn open(dir: &Path) -> Result<Self, Trouble> {
        open::open(dir)
    }

    /// Take the `fdatasync` out of every later sync: the check of the power-cut test.
    #[cfg(feature = "fault-injection")]
    #[doc(hidden)]
    #[must_use]
    pub fn without_fdatasync(mut self) -> Self {
        self.skips_fdatasync = true;
        self
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Trouble> {
        let value = self.db.get(key).map_err(|error| trouble(&self.dir, READING, error))?;
        Ok(value.map(|value| Bytes::copy_from_slice(&value)))
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Trouble> {
        self.db.insert(key, value).map_err(|error| trouble(&self.dir, WRITING, error))?;
        Ok(())
    }

    fn apply(&self, batch: Batch) -> Result<(), Trouble> {
        self.db.apply_batch(batch).map_err(|error| trouble(&self.dir, WRITING, error))
    }

    /// A blob file means that a page outgrew a quarter of a segment. sled never syncs those, so what stands in one was
    /// not kept as promised.
    fn refuse_blobs(&self) -> Result<(), Trouble> {
        let blobs =
            fs::read_dir(self.dir.join("blobs")).map_err(|error| Trouble::while_doing(SYNCING, error))?;
        match blobs.into_iter().next() {
            None => Ok(()),
            Some(_) => {
                Err(Trouble::damaged(&self.dir, "sled moved data into a blob file, which it never syncs"))
            }
        }
    }

    fn fdatasync(&self) -> Result<(), Trouble> {
        #[cfg(feature = "fault-injection")]
        if self.skips_fdatasync {
            return Ok(());
        }
        self.file.sync_data().map_err(|error| Trouble::while_doing(SYNCING, error))
    }
}

impl fmt::Debug for SledLog {
    /// Not derived: sled would print every entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledLog")
            .field("dir", &self.dir)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

impl LogStore for SledLog {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn purged_meta(&self) -> Option<Bytes> {
        self.purged_meta.clone()
    }

    fn vote(&self) -> Result<Option<Bytes>, Trouble> {
        self.get(VOTE)
    }

    fn committed(&self) -> Result<Option<Bytes>, Trouble> {
        self.get(COMMITTED)
    }

    fn reader(&self) -> Arc<dyn LogReader> {
        Arc::new(SledReader::new(self.dir.clone(), &self.db))
    }

    fn append_batch(&mut self, entries: &[Entry]) -> Result<(), Trouble> {
        self.bounds.check(entries)?;
        for chunk in entries.chunks(BATCH_ENTRIES) {
            let mut batch = Batch::default();
            for (index, bytes) in chunk {
                batch.insert(&key(*index), bytes.as_ref());
            }
            self.apply(batch)?;
        }
        self.bounds.append(entries);
        Ok(())
    }

    fn save_vote(&mut self, vote: &[u8]) -> Result<(), Trouble> {
        self.put(VOTE, vote)
    }

    fn save_committed(&mut self, committed: &[u8]) -> Result<(), Trouble> {
        self.put(COMMITTED, committed)
    }

    fn truncate_from(&mut self, index: u64) -> Result<(), Trouble> {
        let (first, last) = (self.bounds.first, self.bounds.last);
        self.bounds.truncate(index)?;
        let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
        let mut end = last + 1;
        while end > first.max(index) {
            let start = first.max(index).max(end.saturating_sub(BATCH_ENTRIES as u64));
            self.apply(removal(start..end))?;
            end = start;
        }
        Ok(())
    }

    fn purge_to(&mut self, index: u64, meta: &[u8]) -> Result<(), Trouble> {
        if !self.bounds.purge(index) {
            return Ok(());
        }
        self.put(PURGED, &codec::encode(Kind::LogMeta, PURGED_SCHEMA, &(index, meta))?)?;
        self.purged_meta = Some(Bytes::copy_from_slice(meta));
        self.purging = true;
        Ok(())
    }

    fn purge_step(&mut self) -> Result<bool, Trouble> {
        let Some(purged) = self.bounds.purged.filter(|_| self.purging) else { return Ok(false) };
        let mut batch = Batch::default();
        let mut removed = 0;
        for row in self.db.range(key(0)..=key(purged)).take(PURGE_STEP) {
            let (key, _) = row.map_err(|error| trouble(&self.dir, READING, error))?;
            batch.remove(key);
            removed += 1;
        }
        self.apply(batch)?;
        self.purging = removed == PURGE_STEP;
        Ok(self.purging)
    }

    fn sync(&mut self) -> Result<(), Trouble> {
        let syncs = self.syncs + 1;
        self.put(SYNCS, &codec::encode(Kind::LogMeta, SYNCS_SCHEMA, &syncs)?)?;
        self.db.flush().map_err(|error| trouble(&self.dir, SYNCING, error))?;
        self.fdatasync()?;
        self.refuse_blobs()?;
        self.syncs = syncs;
        self.promise.note(syncs).map_err(|error| Trouble::while_doing(SYNCING, error))
    }

    fn disk_bytes(&self) -> u64 {
        self.db.size_on_disk().unwrap_or(0)
    }
}

/// The key of an entry.
fn key(index: u64) -> [u8; 9] {
    let mut key = *b"l\0\0\0\0\0\0\0\0";
    key[1..].copy_from_slice(&index.to_be_bytes());
    key
}

/// The index in the key of an entry.
fn index_of(key: &IVec) -> Option<u64> {
    let (prefix, index) = key.split_first()?;
    (*prefix == b'l').then(|| index.try_into().ok().map(u64::from_be_bytes)).flatten()
}

fn removal(indexes: std::ops::Range<u64>) -> Batch {
    let mut batch = Batch::default();
    indexes.for_each(|index| batch.remove(&key(index)));
    batch
}

/// What an error of sled means while the log is used.
fn trouble(dir: &Path, doing: &'static str, error: ::sled::Error) -> Trouble {
    match error {
        ::sled::Error::Io(error) => Trouble::while_doing(doing, error),
        other => Trouble::damaged(dir, format!("{doing}: {other}")),
    }
}
