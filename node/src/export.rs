//! An export of the ledger, judged while it arrives: every checksum, the chain of the rows, and that its end is there.
//!
//! For whoever downloads one. It keeps nothing of the file and knows nothing of where it goes.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use bytes::{Buf, Bytes};
use campanile_storage::archive::ArchiveReader;
use serde_json::Value;

use crate::verify::KnownHead;

/// How many pieces wait to be judged.
const WAITING: usize = 8;

/// Judges the bytes that it is fed, on a thread of its own.
#[derive(Debug)]
pub struct Judge {
    pieces: SyncSender<Bytes>,
    seen: Arc<Seen>,
    thread: JoinHandle<Result<Whole, String>>,
}

/// A whole export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// How many rows it has.
    pub rows: u64,
    /// Its last row, `index.n`.
    pub end: Option<String>,
    /// Its head, as `verify --head` takes it.
    pub head: Option<String>,
}

/// How far it is.
#[derive(Debug, Default)]
struct Seen {
    rows: AtomicU64,
    of: AtomicU64,
}

impl Judge {
    /// Begins with the first byte.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start() -> std::io::Result<Self> {
        let (pieces, receiver) = sync_channel(WAITING);
        let seen = Arc::new(Seen::default());
        let watched = Arc::clone(&seen);
        let thread = Builder::new()
            .name("judge".into())
            .spawn(move || judge(Arrived { pieces: receiver, piece: Bytes::new() }, &watched))?;
        Ok(Self { pieces, seen, thread })
    }

    /// Takes the next piece; `false` when it has found something wrong, which [`Judge::end`] tells.
    #[must_use]
    pub fn feed(&self, piece: Bytes) -> bool {
        self.pieces.send(piece).is_ok()
    }

    /// The share of the rows that has arrived, between 0 and 1, and their number.
    #[must_use]
    pub fn progress(&self) -> (f64, u64) {
        let (rows, of) = (self.seen.rows.load(Ordering::Relaxed), self.seen.of.load(Ordering::Relaxed));
        (rows as f64 / of.max(1) as f64, rows)
    }

    /// Ends the file here.
    ///
    /// # Errors
    /// What is wrong with it, and at which byte.
    pub fn end(self) -> Result<Whole, String> {
        drop(self.pieces);
        self.thread.join().unwrap_or_else(|_| Err("judging it panicked".into()))
    }
}

fn judge(input: impl Read, seen: &Seen) -> Result<Whole, String> {
    let mut archive = ArchiveReader::open(input).map_err(|flawed| flawed.to_string())?;
    let note: Value = serde_json::from_slice(archive.note()).unwrap_or_default();
    seen.of.store(note["rows"].as_u64().unwrap_or_default(), Ordering::Relaxed);
    let mut rows = 0;
    while archive.next_row().map_err(|flawed| flawed.to_string())?.is_some() {
        rows += 1;
        seen.rows.store(rows, Ordering::Relaxed);
    }
    let head = archive.head();
    let known = head.position.map(|position| KnownHead { position, hash: head.hash });
    let end = head.position.map(|position| position.to_string());
    Ok(Whole { rows, end, head: known.map(|known| known.to_string()) })
}

/// The pieces as one text; it ends where nobody feeds any more.
struct Arrived {
    pieces: Receiver<Bytes>,
    piece: Bytes,
}

impl Read for Arrived {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.recv() {
                Ok(piece) => self.piece = piece,
                Err(_) => return Ok(0),
            }
        }
        let length = into.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut into[..length]);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use campanile_storage::archive::ArchiveWriter;
    use campanile_storage::ledger::{Position, Row, chain_hash};

    use super::*;

    fn export() -> Vec<u8> {
        let mut archive = ArchiveWriter::begin(Vec::new(), br#"{"rows": 3}"#).unwrap();
        let mut hash = [0; 16];
        for index in 1..=3 {
            let (position, body) = (Position::new(index, 0), Bytes::from_static(b"fired"));
            hash = chain_hash(&hash, position, &body);
            archive.rows(&[Row { position, hash, body }]).unwrap();
        }
        archive.end().unwrap()
    }

    fn judged(bytes: &[u8], length: usize) -> Result<Whole, String> {
        let judge = Judge::start().unwrap();
        for piece in bytes.chunks(length) {
            if !judge.feed(Bytes::copy_from_slice(piece)) {
                break;
            }
        }
        judge.end()
    }

    #[test]
    fn a_whole_export_is_told_from_one_that_was_cut_anywhere() {
        let export = export();
        for length in [1, 7, export.len()] {
            let whole = judged(&export, length).unwrap();
            assert_eq!((whole.rows, whole.end.as_deref()), (3, Some("3.0")));
            let head: KnownHead = whole.head.unwrap().parse().unwrap();
            assert_eq!(head.position, Position::new(3, 0));
        }
        for cut in 0..export.len() {
            let flaw = judged(&export[..cut], 64).unwrap_err();
            assert!(flaw.contains("cut off"), "{cut} bytes: {flaw}");
        }
    }

    #[test]
    fn a_changed_byte_is_noticed_on_the_way() {
        let mut export = export();
        let middle = export.len() / 2;
        export[middle] ^= 1;
        assert!(judged(&export, 16).is_err());
    }
}
