//! Following the ledger: every row once, in order, from any position on, as long as somebody takes them.
//!
//! ```text
//!   reader takes ──▶ next page behind its bookmark ──▶ rows
//!        ▲                      │ none yet
//!        └── told ◀── the view moved, or 15 s of silence, or this node stops
//! ```
//! It is pulled: nothing is read before the last page was taken, so a slow reader costs one page and a place. Rows are
//! those of applied entries only, so none is ever taken back. A node that is behind a reader's position waits until it is
//! not. This file must not know how a row is written to a connection.

pub mod export;

use std::sync::Arc;
use std::time::Duration;

use campanile_storage::ledger::Position;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

use super::Service;
use super::records::follow::{Bookmark, Shown};
use super::records::sieve::Sieve;
use crate::problem::{Code, Problem};
use crate::wire::ledger::Row;

/// The most open streams of one node.
pub const STREAMS: usize = 256;
/// A reader that has more rows than this before it is told so.
pub const BEHIND: u64 = 10_000;
/// The rows of so long are gathered into one reading: nobody sees the difference, and 256 readers cost little.
const GATHER: Duration = Duration::from_millis(20);
/// So many rows may pass that a reader does not want before it is told where it is.
const PASSED: usize = 1_000;

/// The places for streams at this node.
#[derive(Debug)]
pub(super) struct Places(Arc<Semaphore>);

impl Default for Places {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(STREAMS)))
    }
}

/// Where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the oldest row that is kept.
    Oldest,
    /// With the first row that this node does not have yet.
    Now,
    /// Behind a position, which may be one that this node has not reached.
    Behind(Position),
}

/// What a reader is told.
#[derive(Debug)]
pub enum Told {
    /// The next rows, at least one.
    Rows(Vec<Row>),
    /// No row that is wanted, and it may go on from here all the same.
    At(Position),
    /// It is slow: about so many rows wait for it.
    Behind(u64),
    /// Nothing has happened for a while.
    Quiet,
    /// Retention has passed where it is; the stream ends with this.
    Expired,
}

/// One reader's way through the ledger.
pub struct Stream {
    service: Arc<Service>,
    bookmark: Bookmark,
    sieve: Sieve,
    /// When it read last.
    read_at: Option<Instant>,
    /// How many rows have passed since it was told of its position.
    passed: usize,
    /// How many rows it was last told to be behind.
    behind: u64,
    pending: Option<Told>,
    ended: bool,
    _place: OwnedSemaphorePermit,
}

impl Service {
    /// Opens a stream.
    ///
    /// # Errors
    /// `watch_expired` when retention has passed the start, `rate_limited` when too many are open, `not_ready` when this
    /// node stops.
    pub async fn stream(self: &Arc<Self>, start: Start, sieve: Sieve) -> Result<Stream, Problem> {
        if self.stopping.is_cancelled() {
            return Err(Problem::new(Code::NotReady, "this node is stopping; ask another one"));
        }
        let place = self.streams.0.clone().try_acquire_owned().map_err(|_| {
            Problem::new(
                Code::RateLimited,
                format!("{STREAMS} streams are open at this node; ask another one"),
            )
        })?;
        let bookmark = match start {
            Start::Oldest => Bookmark::OLDEST,
            Start::Now => self.records.end(),
            Start::Behind(position) => Bookmark::behind(position),
        };
        self.records.reaches(bookmark).await?;
        Ok(Stream {
            service: Arc::clone(self),
            bookmark,
            sieve,
            read_at: None,
            passed: 0,
            behind: 0,
            pending: None,
            ended: false,
            _place: place,
        })
    }
}

impl Stream {
    /// What comes next, once it is there; `None` at the end: this node stops, or its ledger cannot be read.
    ///
    /// Not cancel safe: rows that were read are lost with it. A reader that goes away drops the stream too.
    pub async fn next(&mut self) -> Option<Told> {
        if let Some(told) = self.pending.take() {
            return Some(told);
        }
        if self.ended {
            return None;
        }
        let stopping = self.service.stopping.clone();
        let told = tokio::select! {
            biased;
            () = stopping.cancelled() => None,
            told = self.wait_for_more() => told,
        };
        self.ended = matches!(told, None | Some(Told::Expired));
        told
    }

    async fn wait_for_more(&mut self) -> Option<Told> {
        let quiet = Instant::now() + self.service.options.silence;
        loop {
            let machine = self.service.quorum.view();
            let applied = machine.applied();
            let sieve = std::mem::take(&mut self.sieve);
            let shown = match self.service.records.follow(machine, self.bookmark, sieve).await {
                Ok((sieve, shown)) => {
                    self.sieve = sieve;
                    shown
                }
                Err(problem) => {
                    tracing::error!(detail = problem.detail, "a stream of the ledger ends");
                    return None;
                }
            };
            self.read_at = Some(Instant::now());
            let Some(shown) = shown else { return Some(Told::Expired) };
            let is_level = shown.read == 0;
            if let Some(told) = self.take(shown) {
                return Some(told);
            }
            if is_level {
                let service = Arc::clone(&self.service);
                tokio::select! {
                    biased;
                    () = sleep_until(quiet) => return Some(self.say_where().unwrap_or(Told::Quiet)),
                    () = service.quorum.applied_beyond(applied) => self.gather().await,
                }
            }
        }
    }

    /// Goes on behind a page; what its reader hears of it, if anything.
    fn take(&mut self, shown: Shown) -> Option<Told> {
        self.bookmark = shown.bookmark;
        let behind = self.judge(shown.left).map(Told::Behind);
        if shown.rows.is_empty() {
            self.passed += shown.read;
            return behind.or_else(|| (self.passed >= PASSED).then(|| self.say_where()).flatten());
        }
        // Rows behind the last that is wanted have passed too; the next page, or the silence, tells of them.
        self.passed = usize::from(self.bookmark_is_behind(&shown.rows));
        let rows = Told::Rows(shown.rows);
        match behind {
            None => Some(rows),
            Some(behind) => {
                self.pending = Some(rows);
                Some(behind)
            }
        }
    }

    fn bookmark_is_behind(&self, rows: &[Row]) -> bool {
        let last = rows.last().map(|row| row.position.as_str());
        self.bookmark.position.map(|position| position.to_string()).as_deref() != last
    }

    /// Whether its reader is to be told how far it is behind: once it is, and again each time that doubles.
    fn judge(&mut self, left: u64) -> Option<u64> {
        if left <= BEHIND {
            self.behind = 0;
            return None;
        }
        if self.behind > 0 && left < self.behind.saturating_mul(2) {
            return None;
        }
        self.behind = left;
        Some(left)
    }

    /// Where it is, when it was not told since.
    fn say_where(&mut self) -> Option<Told> {
        let passed = std::mem::take(&mut self.passed);
        self.bookmark.position.filter(|_| passed > 0).map(Told::At)
    }

    /// Lets a few rows come together, so that a reading is not made for each.
    async fn gather(&self) {
        if let Some(read_at) = self.read_at {
            sleep_until(read_at + GATHER).await;
        }
    }
}
