//! Reading a segment front to back: record by record for a walk, row by row for readers.
//!
//! Must not judge whether a record continues the one before it: its callers know what they have read.

use std::ops::Deref;

use bytes::Bytes;

use super::{
    position::{Hash, Place, Position, Row, chain_hash},
    record::{self, Flaw, Raw},
    segment::Segment,
};
use crate::Trouble;

/// Bytes that one `pread` fetches; about as much as a search reads too much.
const CHUNK: usize = 64 << 10;

/// Stands between two records of a segment, up to the length that it had when the cursor was made.
#[derive(Debug)]
pub(crate) struct Cursor<S> {
    segment: S,
    offset: u32,
    end: u32,
    chunk: Bytes,
    open: Open,
}

/// The rows of the record before the cursor that were not read yet.
#[derive(Debug, Default)]
struct Open {
    rows: Bytes,
    next: Position,
    hash: Hash,
    offset: u32,
}

impl<S: Deref<Target = Segment>> Cursor<S> {
    pub(crate) fn new(segment: S, offset: u32) -> Self {
        let end = segment.len();
        Self { segment, offset, end, chunk: Bytes::new(), open: Open::default() }
    }

    /// What it reads.
    pub(crate) fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Where the next record begins.
    pub(crate) fn offset(&self) -> u32 {
        self.offset
    }

    /// The record here; `None` at the end; the inner error when the bytes are not a record.
    pub(crate) fn peek(&mut self) -> Result<Result<Option<Raw<'_>>, Flaw>, Trouble> {
        if self.offset >= self.end {
            return Ok(Ok(None));
        }
        match self.load() {
            Ok(Ok(())) => Ok(record::parse(&self.chunk).map(Some)),
            Ok(Err(flaw)) => Ok(Err(flaw)),
            Err(trouble) => Err(trouble),
        }
    }

    /// Goes on behind a record of `len` bytes that was peeked at; answers the offset there.
    pub(crate) fn pass(&mut self, len: usize) -> u32 {
        self.chunk = self.chunk.slice(len..);
        self.offset += u32::try_from(len).expect("a record within a segment");
        self.offset
    }

    /// Goes on to the record of the first row behind `after`, without a look at the hashes of those before it.
    pub(crate) fn skip(&mut self, after: Option<Position>) -> Result<Result<(), Flaw>, Trouble> {
        loop {
            match self.peek()? {
                Ok(Some(raw)) if Some(raw.last) <= after => {
                    let len = raw.len;
                    self.pass(len);
                }
                Ok(_) => return Ok(Ok(())),
                Err(flaw) => return Ok(Err(flaw)),
            }
        }
    }

    /// The next row of the record that was opened; `None` when it has no more.
    pub(crate) fn row(&mut self) -> Option<(Row, Place)> {
        let open = &mut self.open;
        let mut rest = &open.rows[..];
        let body = record::take_body(&mut rest)?;
        let body = open.rows.slice_ref(body);
        open.rows = open.rows.slice_ref(rest);
        let position = open.next;
        open.next.n = position.n.wrapping_add(1);
        open.hash = chain_hash(&open.hash, position, &body);
        let place = Place { segment: self.segment.id, offset: open.offset };
        Some((Row { position, hash: open.hash, body }, place))
    }

    /// The next row, of this record or the next; `None` at the end. Bodies share the chunk that they were read in.
    pub(crate) fn next_row(&mut self) -> Result<Result<Option<(Row, Place)>, Flaw>, Trouble> {
        if let Some(row) = self.row() {
            return Ok(Ok(Some(row)));
        }
        match self.open()? {
            Ok(()) => Ok(Ok(self.row())),
            Err(flaw) => Ok(Err(flaw)),
        }
    }

    /// Opens the record here, if there is one, and goes on behind it.
    pub(crate) fn open(&mut self) -> Result<Result<(), Flaw>, Trouble> {
        let raw = match self.peek()? {
            Ok(Some(raw)) => raw,
            Ok(None) => return Ok(Ok(())),
            Err(flaw) => return Ok(Err(flaw)),
        };
        let (next, hash, len, rows) = (raw.first, raw.before, raw.len, raw.rows.len());
        self.open = Open { rows: self.chunk.slice(len - rows..len), next, hash, offset: self.offset };
        self.pass(len);
        Ok(Ok(()))
    }

    /// Sees to it that the chunk begins here and holds the whole record.
    fn load(&mut self) -> Result<Result<(), Flaw>, Trouble> {
        let left = (self.end - self.offset) as usize;
        if self.chunk.len() < record::PREFIX.min(left) {
            self.chunk = self.segment.bytes_at(self.offset, CHUNK.min(left))?.into();
        }
        let len = match record::length(&self.chunk) {
            Ok(len) => len,
            Err(flaw) => return Ok(Err(flaw)),
        };
        if len > left {
            return Ok(Err(Flaw::Short));
        }
        if self.chunk.len() < len {
            self.chunk = self.segment.bytes_at(self.offset, CHUNK.max(len).min(left))?.into();
        }
        Ok(Ok(()))
    }
}
