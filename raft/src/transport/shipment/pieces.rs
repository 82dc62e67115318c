//! The pieces of a shipped image between a file and a socket.
//!
//! Files are read and written on blocking threads, which wait for room and for the next piece. A simulated process does one
//! thing after the other: there, all pieces wait, and what unpacks them comes when all are here.

use std::io::{self, Read, Write};

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};

use crate::runtime::Process;

/// A piece on the wire.
pub(super) const PIECE: usize = 256 << 10;
/// Pieces that wait between disk and socket.
const IN_FLIGHT: usize = 4;

/// A piece on its way between a file and a socket, or why there is none.
pub(super) type Piece = Result<Bytes, io::Error>;

/// How many pieces wait, at most. A simulated process does one thing after the other, so all of them wait there.
pub(super) fn in_flight() -> usize {
    if Process::is_here() { Semaphore::MAX_PERMITS } else { IN_FLIGHT }
}

/// Waits for room on a thread; where there is room for all, takes it.
pub(super) fn hand_over(pieces: &mpsc::Sender<Piece>, piece: Piece) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    match Process::is_here() {
        true => pieces.try_send(piece).map_err(|_| gone()),
        false => pieces.blocking_send(piece).map_err(|_| gone()),
    }
}

/// Writes pieces into a channel. On blocking threads only.
pub(super) struct Pieces(pub(super) mpsc::Sender<Piece>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(&bytes[..bytes.len().min(PIECE)]);
        let length = piece.len();
        hand_over(&self.0, Ok(piece))?;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the pieces of a channel. On blocking threads only.
pub(super) struct Arriving {
    pieces: mpsc::Receiver<Piece>,
    piece: Bytes,
}

impl Arriving {
    pub(super) const fn new(pieces: mpsc::Receiver<Piece>) -> Self {
        Self { pieces, piece: Bytes::new() }
    }
}

impl Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let piece = match Process::is_here() {
                true => self.pieces.try_recv().ok(),
                false => self.pieces.blocking_recv(),
            };
            match piece {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.piece.len());
        buffer[..length].copy_from_slice(&self.piece.split_to(length));
        Ok(length)
    }
}
