//! The Raft log and the vote, as bytes.
//!
//! ```text
//!   Log (group)           any thread: append, save_vote, truncate_from, purge_to, read_range; never waits for a disk
//!     |   window          the unflushed tail and the recent past in RAM
//!     v   queue           one order for entries, votes, truncation and purging
//!   Writer (group)        one std thread: drain, write, sync once, answer in order
//!     v
//!   LogStore (trait)      blocking: sled (hardened), memory (the twin)
//! ```
//!
//! What an entry means, who leads and what is committed is not known here. Nothing here is async and nothing retries:
//! a failed write or sync poisons the log and the node stops.

mod bounds;
mod group;
mod memory;
mod sled;
mod window;
mod writer;

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

pub use self::{
    bounds::Bounds,
    group::{Busy, Done, Limits, Log, LogStats},
    memory::{MemoryDisk, MemoryLog},
    sled::SledLog,
    writer::{Writer, Written},
};
use crate::error::Trouble;

/// One entry: its index and its bytes. Cloning it copies no bytes.
pub type Entry = (u64, Bytes);

/// The largest entry, in bytes: 100 KiB hold about 4,000 firings of one tick. A leaf of sled splits above 16 entries,
/// so a page stays under 17 × 100 KiB, which is less than the 2 MiB (a quarter of a segment) from which sled would put
/// it into a blob file, and those it never syncs.
pub const ENTRY_LIMIT: usize = 100 << 10;

/// How many entries are written in one batch, at most.
pub const BATCH_ENTRIES: usize = 512;

/// How many bytes of entries are written in one batch, at most.
pub const BATCH_BYTES: usize = 1 << 20;

/// How many keys one purge step removes, at most: 9 µs a key in sled, so a step holds the queue up for under 5 ms.
pub const PURGE_STEP: usize = 500;

/// A place where the log lives. Blocking, owned by one thread, and without a memory of callers: group commit and the RAM
/// tail stand above it.
///
/// Writes take effect in the order of the calls and are durable only after [`LogStore::sync`]. After a crash the store
/// holds the effect of a prefix of those calls that contains at least everything before the last sync that returned
/// `Ok`. An append of up to [`BATCH_ENTRIES`] is in that prefix whole or not at all.
///
/// Every method may answer [`Trouble`]; after [`Trouble::Io`], [`Trouble::Full`] or [`Trouble::Damaged`] the store must
/// not be used any more.
pub trait LogStore: Send + 'static {
    /// Which indexes are here.
    fn bounds(&self) -> Bounds;

    /// What was stored with the purge mark, if anything was ever purged.
    fn purged_meta(&self) -> Option<Bytes>;

    /// The last saved vote.
    ///
    /// # Errors
    /// When it cannot be read.
    fn vote(&self) -> Result<Option<Bytes>, Trouble>;

    /// The last saved committed mark. A hint that may lag: it is written with the next batch, never for itself.
    ///
    /// # Errors
    /// When it cannot be read.
    fn committed(&self) -> Result<Option<Bytes>, Trouble>;

    /// A handle that reads beside the writer.
    fn reader(&self) -> Arc<dyn LogReader>;

    /// Write entries; the first follows the last one here, and each its predecessor.
    ///
    /// # Errors
    /// [`Trouble::OutOfOrder`], [`Trouble::TooLarge`] (nothing was written), or what the disk says.
    fn append_batch(&mut self, entries: &[Entry]) -> Result<(), Trouble>;

    /// Remember the vote.
    ///
    /// # Errors
    /// What the disk says.
    fn save_vote(&mut self, vote: &[u8]) -> Result<(), Trouble>;

    /// Remember the committed mark.
    ///
    /// # Errors
    /// What the disk says.
    fn save_committed(&mut self, committed: &[u8]) -> Result<(), Trouble>;

    /// Remove every entry from `index` on, from the end backwards, so that a crash leaves no hole.
    ///
    /// # Errors
    /// [`Trouble::OutOfOrder`] when that was purged already, or what the disk says.
    fn truncate_from(&mut self, index: u64) -> Result<(), Trouble>;

    /// Forget every entry up to and including `index`, which may lie behind the last one (a snapshot was installed). The
    /// mark is written at once, the keys go in [`LogStore::purge_step`]s. An index that is purged already is nothing.
    ///
    /// # Errors
    /// What the disk says.
    fn purge_to(&mut self, index: u64, meta: &[u8]) -> Result<(), Trouble>;

    /// Remove at most [`PURGE_STEP`] keys below the purge mark; whether any are left.
    ///
    /// # Errors
    /// What the disk says.
    fn purge_step(&mut self) -> Result<bool, Trouble>;

    /// Make everything before durable. Never called again after it failed: a kernel reports a lost write once, and the
    /// second answer would be a lie.
    ///
    /// # Errors
    /// What the disk says.
    fn sync(&mut self) -> Result<(), Trouble>;

    /// What the files take, in bytes; 0 when unknown. It does not shrink by purging: freed space is used again.
    fn disk_bytes(&self) -> u64;
}

/// Reads entries beside the one that writes.
pub trait LogReader: Send + Sync {
    /// The entries of `range`, in order and without a hole, from its start to the first that is missing or the one that
    /// passes `max_bytes`; at least one when the first is here.
    ///
    /// # Errors
    /// What the disk says.
    fn read_range(&self, range: Range<u64>, max_bytes: usize) -> Result<Vec<Entry>, Trouble>;
}
