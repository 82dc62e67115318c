//! The log as openraft wants it, over the log that storage keeps.
//!
//! Only turns entries into bytes and waits for answers: order, durability, group commit and the tail in RAM are storage's.
//! A failed write poisons the log there; openraft hears of it by the failed callback and stops, and so does the node.

use std::fmt::Debug;
use std::io;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use bytes::Bytes;
use campanile_storage::Trouble;
use campanile_storage::log::{Busy, Done, Log};
use openraft::async_runtime::OneshotSender;
use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::type_config::TypeConfigExt;
use openraft::{AsyncRuntime, LogState, OptionalSend, RaftLogReader};

use crate::format;
use crate::types::{Entry, LogId, Types, Vote};

/// How many bytes of entries one append carries to a peer, at most (the last entry may pass it). A peer syncs them all
/// before it answers, and 1 MiB is one batch of its log.
pub const APPEND_BYTES: usize = 1 << 20;

/// openraft's view of a [`Log`]. Clones are the same log.
pub struct LogAdapter<R> {
    log: Log,
    runtime: PhantomData<fn() -> R>,
}

impl<R> Clone for LogAdapter<R> {
    fn clone(&self) -> Self {
        Self::new(self.log.clone())
    }
}

impl<R> LogAdapter<R> {
    /// Over this log.
    #[must_use]
    pub const fn new(log: Log) -> Self {
        Self { log, runtime: PhantomData }
    }

    /// The entries of `range` up to `max_bytes`, at least one when the first is here.
    fn read(&self, range: std::ops::Range<u64>, max_bytes: usize) -> Result<Vec<Entry>, io::Error> {
        let stored = self.log.read_range(range, max_bytes).map_err(io::Error::other)?;
        stored.iter().map(|(index, bytes)| read_entry(*index, bytes)).collect()
    }
}

fn read_entry(index: u64, bytes: &Bytes) -> Result<Entry, io::Error> {
    let entry = format::entry(bytes).map_err(io::Error::other)?;
    assert_eq!(entry.log_id.index, index, "the log holds another entry at {index}");
    Ok(entry)
}

fn mark(bytes: &Bytes) -> Result<LogId, io::Error> {
    format::mark(bytes).map_err(io::Error::other)
}

impl<R: AsyncRuntime> RaftLogReader<Types<R>> for LogAdapter<R> {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry>, io::Error> {
        let start = match range.start_bound() {
            Bound::Included(index) => *index,
            Bound::Excluded(index) => index + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(index) => index + 1,
            Bound::Excluded(index) => *index,
            Bound::Unbounded => u64::MAX,
        };
        // What is purged is simply not here, as openraft understands it.
        let start = start.max(self.log.bounds().first.unwrap_or(start));
        if start >= end {
            return Ok(Vec::new());
        }
        self.read(start..end, usize::MAX)
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<Entry>, io::Error> {
        self.read(start..end, APPEND_BYTES)
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, io::Error> {
        self.log.vote().map(|bytes| format::vote(&bytes).map_err(io::Error::other)).transpose()
    }
}

impl<R: AsyncRuntime> RaftLogStorage<Types<R>> for LogAdapter<R> {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types<R>>, io::Error> {
        let last_purged_log_id = self.log.purged().map(|(_, bytes)| mark(&bytes)).transpose()?;
        let last = self.log.last().map_err(io::Error::other)?;
        let last = last.map(|(index, bytes)| read_entry(index, &bytes)).transpose()?;
        Ok(LogState {
            last_purged_log_id,
            last_log_id: last.map(|entry| entry.log_id).or(last_purged_log_id),
        })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), io::Error> {
        let bytes = format::vote_bytes(vote);
        durable::<R>(|done| self.log.save_vote(bytes, done)).await
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), io::Error> {
        if let Some(committed) = committed {
            self.log.save_committed(format::mark_bytes(committed));
        }
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, io::Error> {
        self.log.committed().map(|bytes| mark(&bytes)).transpose()
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<Types<R>>) -> Result<(), io::Error>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut entries = entries
            .into_iter()
            .map(|entry| (entry.log_id.index, format::entry_bytes(&entry)))
            .collect::<Vec<_>>();
        let mut done: Done = Box::new(|result| callback.io_completed(result.map_err(io::Error::other)));
        while let Err(busy) = self.log.append(entries, done) {
            // The disk is behind: openraft waits here, and with it every proposal, which is what should happen.
            Busy { entries, done } = busy;
            let (room, wait) = Types::<R>::oneshot();
            self.log.when_room(Box::new(|| {
                let _ = room.send(());
            }));
            let _ = wait.await;
        }
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogId>) -> Result<(), io::Error> {
        let from = last.map_or(0, |id| id.index + 1);
        durable::<R>(|done| self.log.truncate_from(from, done)).await
    }

    async fn purge(&mut self, upto: LogId) -> Result<(), io::Error> {
        // Not waited for: openraft's core would stand still for a sync that promises nothing. Should it fail, the log is
        // poisoned, and the next append says so.
        self.log.purge_to(upto.index, format::mark_bytes(upto), Box::new(|_| ()));
        Ok(())
    }
}

/// Waits until the log has told what became of a write.
async fn durable<R: AsyncRuntime>(write: impl FnOnce(Done)) -> Result<(), io::Error> {
    let (sender, receiver) = Types::<R>::oneshot();
    write(Box::new(|result| {
        let _ = sender.send(result);
    }));
    let told: Result<(), Trouble> = receiver.await.unwrap_or(Err(Trouble::Closed));
    told.map_err(io::Error::other)
}
