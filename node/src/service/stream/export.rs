//! The whole ledger of this node as one file: an archive that is written while it is sent.
//!
//! A thread reads and writes as fast as the reader takes; what waits between them is bounded. What the files held when it
//! began is what is exported, whatever is appended or dropped meanwhile. It begins with the oldest row that retention has
//! left, as every answer does: a file of dropped rows stands longer at one node than at another. An export that fails on the
//! way breaks off, and lacks the end by which a reader knows that it is whole.

use campanile_raft::runtime;
use std::io::{Error, ErrorKind, Result as IoResult, Write};
use std::sync::Arc;

use bytes::Bytes;
use campanile_storage::archive::ArchiveWriter;
use campanile_storage::ledger::{Head, Scan, Scanned};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::problem::{Code, Problem};
use crate::service::Service;
use crate::wire::time::Instant;

/// The most exports of one node at once: each has a thread, and reads the disk as fast as it can.
const EXPORTS: usize = 2;
/// How large a piece is, and how many wait to be taken.
const PIECE: usize = 256 * 1024;
const WAITING: usize = 4;

/// The places for exports at this node.
#[derive(Debug)]
pub(in crate::service) struct Exports(Arc<Semaphore>);

impl Default for Exports {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(EXPORTS)))
    }
}

/// An export on its way to whoever asked for it.
#[derive(Debug)]
pub struct Export {
    pieces: mpsc::Receiver<IoResult<Bytes>>,
    stopping: CancellationToken,
}

impl Service {
    /// Begins to export every row that is kept.
    ///
    /// # Errors
    /// `rate_limited` when others export.
    pub fn export(&self) -> Result<Export, Problem> {
        let place = self.exports.0.clone().try_acquire_owned().map_err(|_| {
            Problem::new(
                Code::RateLimited,
                "others export the ledger of this node; ask another one, or later",
            )
        })?;
        let scan = self.records.scan();
        let note = self.note(scan.end());
        let (sender, pieces) = mpsc::channel(WAITING);
        // It ends with the last piece, or when nobody takes them any more.
        runtime::blocking(move || {
            let _place = place;
            let mut pipe = Pipe { pieces: sender, gathered: Vec::new() };
            if let Err(why) = write(scan, &mut pipe, note) {
                tracing::warn!(%why, "an export of the ledger broke off");
                // A reader that is gone is why it failed.
                let _ = pipe.pieces.blocking_send(Err(Error::other(why)));
            }
        });
        Ok(Export { pieces, stopping: self.stopping.clone() })
    }

    /// What stands first in the file, for people and for a progress bar.
    fn note(&self, end: Head) -> Value {
        let status = self.quorum.status();
        json!({
            "content": "ledger",
            "cluster": status.name,
            "node": status.node.0,
            "made_at": Instant(self.now()),
            "version": env!("CARGO_PKG_VERSION"),
            "end": end.position.map(|position| position.to_string()),
        })
    }
}

impl Export {
    /// The next piece; `None` at the end of the file.
    ///
    /// # Errors
    /// Why it breaks off.
    pub async fn next(&mut self) -> Option<IoResult<Bytes>> {
        tokio::select! {
            biased;
            piece = self.pieces.recv() => piece,
            () = self.stopping.cancelled() => Some(Err(Error::other("this node is stopping"))),
        }
    }
}

fn write(mut scan: Scan, pipe: &mut Pipe, mut note: Value) -> Result<(), String> {
    let (base, mut next) = first_kept(&mut scan)?;
    note["rows"] = (scan.end().rows - base.rows).into();
    let note = note.to_string();
    let mut archive = ArchiveWriter::begin(pipe, note.as_bytes()).map_err(|trouble| trouble.to_string())?;
    archive.base(base).map_err(|trouble| trouble.to_string())?;
    while let Some(scanned) = next {
        if let Some(flaw) = scanned.flaw {
            return Err(flaw.to_string());
        }
        archive.rows(std::slice::from_ref(&scanned.row)).map_err(|trouble| trouble.to_string())?;
        next = scan.next_row().map_err(|broken| broken.to_string())?;
    }
    archive.end().map(|_| ()).map_err(|trouble| trouble.to_string())
}

/// The oldest row that retention has left, and the head before it.
fn first_kept(scan: &mut Scan) -> Result<(Head, Option<Scanned>), String> {
    loop {
        let before = scan.head();
        let next = scan.next_row().map_err(|broken| broken.to_string())?;
        if next.as_ref().is_none_or(|next| next.row.position.index >= scan.floor()) {
            return Ok((before, next));
        }
    }
}

/// Gathers what is written into pieces, and waits while enough of them wait.
struct Pipe {
    pieces: mpsc::Sender<IoResult<Bytes>>,
    gathered: Vec<u8>,
}

impl Pipe {
    fn send(&mut self) -> IoResult<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.gathered));
        self.pieces
            .blocking_send(Ok(piece))
            .map_err(|_| Error::new(ErrorKind::BrokenPipe, "nobody takes it any more"))
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= PIECE {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> IoResult<()> {
        self.send()
    }
}
