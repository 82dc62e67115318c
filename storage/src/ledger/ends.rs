//! The end of the ledger at an entry of the past: what replicas are compared by, and where a copy may begin.
//!
//! What retention hides counts here, as long as a file holds it: a comparison is about what was written.

use super::{
    cursor::Cursor,
    position::{Hash, Head, Position},
    reader::LedgerReader,
    segment::Segment,
    shared::View,
};
use crate::Trouble;

/// Where the ledger ended at an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The last row of that entry or of one before it; `None` when there was none yet.
    pub position: Option<Position>,
    /// The running hash there.
    pub hash: Hash,
}

impl From<Head> for End {
    fn from(head: Head) -> Self {
        Self { position: head.position, hash: head.hash }
    }
}

impl LedgerReader {
    /// Where the ledger ended at the entry `index`; its end now when it does not reach that far yet, `None` when no file
    /// reaches back to it. Reads at most 32 KiB, and walks a segment that nobody has read since the start.
    ///
    /// # Errors
    /// As `read`.
    pub fn end_at(&self, index: u64) -> Result<Option<End>, Trouble> {
        let limit = Some(Position::end_of(index));
        self.steady(|view| match segment_of(view, limit) {
            Within::Newest => Ok(Some(view.head.into())),
            Within::Segment(segment) => last_up_to(segment, limit).map(Some),
            Within::Dropped => Ok(None),
        })
    }

    /// The head before the first row of the entry `index` or of one behind it: where a copy begins that holds the rows from
    /// there on. The head before the oldest row that a file holds when they do not reach back that far. Walks a segment.
    ///
    /// # Errors
    /// As `read`.
    pub fn head_before(&self, index: u64) -> Result<Head, Trouble> {
        let limit = index.checked_sub(1).map(Position::end_of);
        self.steady(|view| match segment_of(view, limit) {
            Within::Newest => Ok(view.head),
            Within::Segment(segment) => head_up_to(segment, limit),
            Within::Dropped => Ok(view.segments[0].before),
        })
    }
}

enum Within<'a> {
    /// Nothing lies behind it.
    Newest,
    /// The first row behind it lies here.
    Segment(&'a Segment),
    /// The files begin behind it.
    Dropped,
}

fn segment_of(view: &View, limit: Option<Position>) -> Within<'_> {
    if view.head.position <= limit {
        return Within::Newest;
    }
    let segment = &view.segments[view.segment_behind(limit)];
    if segment.before.position > limit { Within::Dropped } else { Within::Segment(segment) }
}

fn last_up_to(segment: &Segment, limit: Option<Position>) -> Result<End, Trouble> {
    let mut end = End::from(segment.before);
    let mut cursor = Cursor::new(segment, segment.start_for(limit)?);
    loop {
        let at = cursor.offset();
        match cursor.next_row()?.map_err(|flaw| segment.damaged(at, &flaw))? {
            Some((row, _)) if Some(row.position) <= limit => {
                end = End { position: Some(row.position), hash: row.hash };
            }
            _ => return Ok(end),
        }
    }
}

fn head_up_to(segment: &Segment, limit: Option<Position>) -> Result<Head, Trouble> {
    let walk = match limit {
        Some(limit) => segment.walk(Some(limit))?,
        None => segment.walk_nothing(),
    };
    match &walk.flaw {
        Some(flaw) => Err(segment.damaged(walk.len, flaw)),
        None => Ok(walk.head),
    }
}
