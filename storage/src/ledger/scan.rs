//! Every row of the files, front to back, each computed once more and compared: what a verifier, an export and a backup read.
//!
//! It holds the files open that were there when it began, so retention may drop them meanwhile. It costs a read, a checksum
//! and a hash of each row.

use std::{collections::VecDeque, path::PathBuf, sync::Arc};

use super::{
    cursor::Cursor,
    position::{Head, Row},
    record::Flaw,
    run::Weigher,
    segment::{HEADER, Segment},
    shared::Shared,
    verify::{Broken, Why},
};
/// The rows from `base` to `end`. Rows that retention hides are among them, as the chain needs them.
#[derive(Debug)]
pub struct Scan {
    shared: Arc<Shared>,
    generation: u64,
    cursor: Option<Cursor<Arc<Segment>>>,
    /// Where the record of the last row begins.
    at: u32,
    later: VecDeque<Arc<Segment>>,
    base: Head,
    end: Head,
    head: Head,
    weigher: Weigher,
    floor: u64,
    /// What is wrong with the record that was opened, until its first row is told.
    flaw: Option<Flaw>,
    over: bool,
}

/// A row and whether it continues those before it.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// The row, with the hash that its record gives it.
    pub row: Row,
    /// Why its record does not continue the one before it. What follows is judged by this record's own hash, so a chain
    /// that breaks once is told once.
    pub flaw: Option<Flaw>,
}

impl Scan {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let view = shared.view();
        let later: VecDeque<_> = view.segments.iter().cloned().collect();
        let base = later[0].before;
        Self {
            shared,
            generation: view.generation,
            cursor: None,
            at: 0,
            later,
            base,
            end: view.head,
            head: base,
            weigher: Weigher::default(),
            floor: view.floor,
            flaw: None,
            over: false,
        }
    }

    /// The head before the first row.
    pub fn base(&self) -> Head {
        self.base
    }

    /// The end of the ledger when the scan began.
    pub fn end(&self) -> Head {
        self.end
    }

    /// The head behind the rows so far.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Rows of earlier entries are dropped, though they may be among those read here.
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Where the record of the last row begins: its file and the byte in it.
    pub fn place(&self) -> Option<(PathBuf, u32)> {
        self.cursor.as_ref().map(|cursor| (cursor.segment().path.clone(), self.at))
    }

    /// The next row; `None` behind the last one.
    ///
    /// # Errors
    /// What makes it impossible to go on: a record that does not read, or an end that is not the one that the ledger had
    /// when the scan began. Nothing comes behind it.
    pub fn next_row(&mut self) -> Result<Option<Scanned>, Broken> {
        if self.over {
            return Ok(None);
        }
        let next = self.advance();
        self.over = !matches!(next, Ok(Some(_)));
        if let Err(broken) = &next {
            self.tell(broken);
        }
        next
    }

    fn advance(&mut self) -> Result<Option<Scanned>, Broken> {
        loop {
            if let Some((row, _)) = self.cursor.as_mut().and_then(Cursor::row) {
                let weight = self.weigher.weigh(row.position, row.body.len());
                self.head = self.head.advanced(row.position, row.hash, weight);
                return Ok(Some(Scanned { row, flaw: self.flaw.take() }));
            }
            if self.head.position >= self.end.position {
                return self.judge_end();
            }
            if !self.open_record()? && !self.open_segment() {
                return Err(self.broken(Flaw::Short));
            }
        }
    }

    /// Opens the next record of the segment; false when it has no more.
    fn open_record(&mut self) -> Result<bool, Broken> {
        let (position, hash) = (self.head.position, self.head.hash);
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        self.at = cursor.offset();
        let opened = match cursor.peek() {
            Ok(Ok(None)) => return Ok(false),
            Ok(Ok(Some(raw))) => {
                // A gap between two segments is already told, and of the first thing that is wrong is enough.
                let flaw = raw.follows(position, &hash).err();
                self.flaw = self.flaw.take().or(flaw);
                cursor.open().map_err(Why::from)
            }
            Ok(Err(flaw)) => Err(flaw.into()),
            Err(trouble) => Err(trouble.into()),
        };
        match opened {
            Ok(Ok(())) => Ok(true),
            Ok(Err(flaw)) => Err(self.broken(flaw)),
            Err(why) => Err(self.broken(why)),
        }
    }

    /// Goes on to the next segment; false when there is none.
    fn open_segment(&mut self) -> bool {
        let Some(segment) = self.later.pop_front() else { return false };
        if segment.before != self.head {
            self.flaw = Some(Flaw::Gap);
            self.head = segment.before;
        }
        self.at = 0;
        self.cursor = Some(Cursor::new(segment, HEADER));
        true
    }

    /// Nothing states the hash of the last record but the head.
    fn judge_end(&self) -> Result<Option<Scanned>, Broken> {
        match self.head.position {
            Some(last) if self.head != self.end => Err(self.broken(Flaw::Hash(last))),
            _ => Ok(None),
        }
    }

    /// What was read is the ledger's still, and not one that was cut or replaced meanwhile.
    fn tell(&self, broken: &Broken) {
        if let (Why::Flaw(flaw), Some(cursor)) = (&broken.why, &self.cursor)
            && self.shared.view().generation == self.generation
        {
            self.shared.found.tell(&cursor.segment().damaged(broken.offset, flaw));
        }
    }

    fn broken(&self, why: impl Into<Why>) -> Broken {
        let path = self.cursor.as_ref().map(|cursor| cursor.segment().path.clone()).unwrap_or_default();
        Broken { path, offset: self.at, after: self.head.position, why: why.into() }
    }
}
