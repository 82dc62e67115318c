//! Writing an archive, front to back.

use std::io::Write;

use sha2::{Digest, Sha256};

use super::{
    FRAME_LIMIT, MAGIC, NOTE_LIMIT, PIECE, VERSION,
    frame::{self, Part},
};
use crate::{
    Trouble,
    ledger::{Head, Row, run::Weigher},
    varint,
};

/// An archive that is being written. It is whole only after `end`; one that is dropped before reads as cut off.
#[derive(Debug)]
pub struct ArchiveWriter<W: Write> {
    out: W,
    sum: Sha256,
    base: bool,
    end: Head,
    weigher: Weigher,
    /// Rows that are not in a frame yet.
    pending: Vec<u8>,
}

impl<W: Write> ArchiveWriter<W> {
    /// Begins an archive with a note of the caller, which readers see first. Small writes are gathered here, so `out`
    /// needs no buffer.
    ///
    /// # Errors
    /// `Full` and `Io`, here and in every method: the archive is then worthless.
    ///
    /// # Panics
    /// When the note is longer than `NOTE_LIMIT`: no reader would take it.
    pub fn begin(out: W, note: &[u8]) -> Result<Self, Trouble> {
        assert!(note.len() <= NOTE_LIMIT, "a note of {} bytes is beyond {NOTE_LIMIT}", note.len());
        let (sum, end, weigher) = (Sha256::new(), Head::default(), Weigher::default());
        let mut archive = Self { out, sum, base: false, end, weigher, pending: Vec::new() };
        archive.put(&MAGIC)?;
        archive.put(&VERSION.to_le_bytes())?;
        archive.pieces(Part::Note, note)?;
        Ok(archive)
    }

    /// Adds an image: what it covers, in the caller's form, and its bytes.
    ///
    /// # Errors
    /// As `begin`.
    ///
    /// # Panics
    /// When the base or rows stand before it.
    pub fn image(&mut self, covered: &[u8], body: &[u8]) -> Result<(), Trouble> {
        assert!(!self.base, "the image stands before the rows");
        self.pieces(Part::Covered, covered)?;
        self.pieces(Part::Image, body)
    }

    /// States the head before the first row. Without it the rows begin at the very first.
    ///
    /// # Errors
    /// As `begin`.
    ///
    /// # Panics
    /// When it was stated, or rows were added, before.
    pub fn base(&mut self, before: Head) -> Result<(), Trouble> {
        assert!(!self.base, "an archive has one base");
        self.base = true;
        self.end = before;
        self.frame(Part::Base, &before.to_bytes())
    }

    /// Adds rows behind those before. They are written as they are given: that they continue each other is for a reader
    /// to judge, who must do so anyway.
    ///
    /// # Errors
    /// As `begin`.
    pub fn rows(&mut self, rows: &[Row]) -> Result<(), Trouble> {
        self.base_if_missing()?;
        rows.iter().try_for_each(|row| self.row(row))
    }

    /// The head behind the rows so far.
    pub fn head(&self) -> Head {
        self.end
    }

    /// Completes the archive and gives the writer back, flushed. Making it durable is the caller's.
    ///
    /// # Errors
    /// As `begin`.
    pub fn end(mut self) -> Result<W, Trouble> {
        self.base_if_missing()?;
        self.flush_rows()?;
        let mut payload = self.end.to_bytes().to_vec();
        payload.extend_from_slice(&self.sum.clone().finalize());
        self.frame(Part::End, &payload)?;
        self.out.flush().map_err(trouble)?;
        Ok(self.out)
    }

    fn base_if_missing(&mut self) -> Result<(), Trouble> {
        if self.base { Ok(()) } else { self.base(Head::default()) }
    }

    fn row(&mut self, row: &Row) -> Result<(), Trouble> {
        if self.pending.len() + row.body.len() > PIECE {
            self.flush_rows()?;
        }
        varint::put(&mut self.pending, row.position.index);
        varint::put(&mut self.pending, row.position.n.into());
        self.pending.extend_from_slice(&row.hash);
        varint::put(&mut self.pending, row.body.len() as u64);
        self.pending.extend_from_slice(&row.body);
        let weight = self.weigher.weigh(row.position, row.body.len());
        self.end = self.end.advanced(row.position, row.hash, weight);
        Ok(())
    }

    fn flush_rows(&mut self) -> Result<(), Trouble> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        self.frame(Part::Rows, &pending)?;
        self.pending = pending;
        self.pending.clear();
        Ok(())
    }

    fn pieces(&mut self, part: Part, bytes: &[u8]) -> Result<(), Trouble> {
        if bytes.is_empty() {
            return self.frame(part, bytes);
        }
        bytes.chunks(PIECE).try_for_each(|piece| self.frame(part, piece))
    }

    fn frame(&mut self, part: Part, payload: &[u8]) -> Result<(), Trouble> {
        assert!(payload.len() <= FRAME_LIMIT, "a ledger row is bounded");
        self.put(&frame::header(part, payload))?;
        self.put(payload)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        self.sum.update(bytes);
        self.out.write_all(bytes).map_err(trouble)
    }
}

fn trouble(source: std::io::Error) -> Trouble {
    Trouble::while_doing("writing an archive", source)
}
