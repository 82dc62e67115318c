//! Whether a ledger accounts for every instant: its rows read, their chain checked, and each heard by the verifier of core.
//!
//! ```text
//!   ledger of a node ─┐                        channel                       ┌─▶ chain: ends that rows state
//!                     ├─▶ source: reads, hashes ──────▶ one thread: decodes ─┤
//!   archive (export) ─┘                        4 batches                     └─▶ core::verify: instants
//! ```
//! The two threads cost about the same, so a pass takes about half of both. This folder knows nothing of HTTP or of a
//! command line; it proposes nothing, and it believes neither the index nor the machine: only rows.

mod archive;
mod chain;
mod heads;
mod ledger;
mod level;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use campanile_core::event::Row as CoreRow;
use campanile_core::id::LogIndex;
use campanile_core::verify::{Place, Scope, Verdict, Verifier};
use campanile_raft::level as bytes;
use campanile_storage::Kind;
use campanile_storage::ledger::{Hash, Position, Row};

pub use archive::{NotAnArchive, OfArchive};
pub use chain::{Break, Chain};
pub use heads::{KnownHead, NoHead};
pub use ledger::OfLedger;
use level::Level;

/// So many batches wait for the slower thread.
const BATCHES: usize = 4;

/// Where rows come from, in the order of the log.
pub trait Source: Send {
    /// Whether rows before its first one were dropped.
    fn begins_midway(&self) -> bool;

    /// The row before the first one and the hash there, where rows were dropped and it is known.
    fn base(&self) -> Option<(Position, Hash)> {
        None
    }

    /// The next rows; `None` at the end. What is wrong with a row stands beside it; what makes it impossible to go on is the
    /// end of the last batch.
    fn next(&mut self) -> Option<Batch>;
}

/// What a pass has to find out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Which instants.
    pub scope: Scope,
    /// What the chain must meet on its way: an end that was cut off is before one of them.
    pub heads: Vec<KnownHead>,
}

impl From<Scope> for Asked {
    fn from(scope: Scope) -> Self {
        Self { scope, heads: Vec::new() }
    }
}

/// Some rows in the order of the log.
#[derive(Debug, Default)]
pub struct Batch {
    /// Each row, and why it does not continue the one before it.
    pub rows: Vec<(Row, Option<String>)>,
    /// Why nothing behind these rows can be read.
    pub cut: Option<String>,
    /// Whether what was not read yet is gone, and rightly so: the pass must begin again.
    pub overtaken: bool,
    /// How much is read, of how much.
    pub progress: Progress,
}

/// How far a pass is, in a unit of the source's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// So much is done.
    pub done: u64,
    /// Of so much.
    pub of: u64,
}

/// What became of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The instants.
    pub verdict: Verdict,
    /// The hash chain.
    pub chain: Chain,
}

impl Found {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.verdict.is_clean() && self.chain.is_whole()
    }
}

/// Why a pass came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Nobody waits for it any more.
    Unwatched,
    /// Retention, or an image of a peer, took rows away before they were read.
    Overtaken,
}

/// Judges everything that a source has. `watch` is told now and then how far it is; the pass ends when it answers `false`.
/// It blocks, and it uses two threads: this one and one of its own.
///
/// # Errors
/// When it came to nothing, which says nothing of the ledger.
pub fn verify(
    source: impl Source,
    asked: impl Into<Asked>,
    watch: impl FnMut(Progress) -> bool,
) -> Result<Found, Ended> {
    let Asked { scope, heads } = asked.into();
    let mut verifier = Verifier::new(scope);
    if source.begins_midway() {
        verifier.begins_midway();
    }
    let chain = Chain::expecting(heads, source.base());
    std::thread::scope(|threads| {
        let (send, batches) = sync_channel(BATCHES);
        threads.spawn(move || read(source, &send));
        judge(&batches, verifier, chain, watch)
    })
}

/// Reads until the end, or until nobody listens.
fn read(mut source: impl Source, to: &SyncSender<Batch>) {
    while let Some(batch) = source.next() {
        if to.send(batch).is_err() {
            return;
        }
    }
}

fn judge(
    batches: &Receiver<Batch>,
    mut verifier: Verifier,
    mut chain: Chain,
    mut watch: impl FnMut(Progress) -> bool,
) -> Result<Found, Ended> {
    let mut level = Level::default();
    while let Ok(batch) = batches.recv() {
        for (row, flaw) in &batch.rows {
            chain.pass(row.position, row.hash, flaw.as_deref());
            match bytes::read_with_level::<CoreRow>(Kind::Event, &row.body) {
                Ok((at, read)) => {
                    if let Some(why) = level.pass(row.position, at, &read.event) {
                        chain.flawed(row.position, why);
                    }
                    chain.hear(row.position, &read.event);
                    verifier.hear(Place { index: LogIndex(row.position.index), n: row.position.n }, &read);
                }
                Err(wrong) => chain.unreadable(row.position, &wrong.to_string()),
            }
        }
        if let Some(why) = batch.cut {
            chain.cut(why);
        }
        if batch.overtaken {
            return Err(Ended::Overtaken);
        }
        if !watch(batch.progress) {
            return Err(Ended::Unwatched);
        }
    }
    chain.end();
    Ok(Found { verdict: verifier.finish(), chain })
}
