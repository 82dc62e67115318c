//! Reading: by position, by place, page by page. Any number of readers beside the one writer, none of them in its way.

use std::{path::PathBuf, sync::Arc};

use super::{
    cursor::Cursor,
    position::{Hash, Head, Place, Position, Row},
    scan::Scan,
    segment::Segment,
    shared::{Shared, View},
};
use crate::Trouble;

/// A handle for reading. Cheap to clone, and usable from every thread.
#[derive(Clone, Debug)]
pub struct LedgerReader {
    shared: Arc<Shared>,
}

/// One file of the ledger, for shipping and export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// The file.
    pub path: PathBuf,
    /// The lowest log index it may hold: the name of the segment.
    pub id: u64,
    /// The head before its first row.
    pub before: Head,
    /// Its last row; `None` when it has none yet.
    pub last: Option<Position>,
    /// Bytes of the header and of whole records. A copy of the newest file must stop there.
    pub bytes: u64,
}

impl LedgerReader {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The end of the ledger.
    pub fn head(&self) -> Head {
        self.shared.head()
    }

    /// The head before the oldest row that a file still holds: where a copy of all files begins.
    pub fn base(&self) -> Head {
        self.shared.view().segments[0].before
    }

    /// Up to `limit` rows behind `after`, in order, at least one if there is one, and no more than fit into `max_bytes` of
    /// bodies. Costs what it answers and at most 32 KiB more, however long the ledger is; the first read of an older
    /// segment after a start checks that segment (about 0.2 s for 64 MiB).
    ///
    /// When `after` is older than what retention has left, the answer starts at the oldest row: ask `reaches` first.
    ///
    /// # Errors
    /// Damage, naming file and byte, and failed reads.
    pub fn read(&self, after: Option<Position>, limit: usize, max_bytes: usize) -> Result<Vec<Row>, Trouble> {
        let rows = self.read_placed(after, limit, max_bytes)?;
        Ok(rows.into_iter().map(|(row, _)| row).collect())
    }

    /// As `read`, with the place of each row.
    ///
    /// # Errors
    /// As `read`.
    pub fn read_placed(
        &self,
        after: Option<Position>,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<(Row, Place)>, Trouble> {
        self.steady(|view| rows_behind(view, visible(view, after), limit, max_bytes))
    }

    /// As `read`, without a floor: also rows that retention has dropped and whose segment still stands. For copies, which
    /// begin at `base`.
    ///
    /// # Errors
    /// As `read`.
    pub fn read_held(
        &self,
        after: Option<Position>,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Row>, Trouble> {
        let rows = self.steady(|view| rows_behind(view, after, limit, max_bytes))?;
        Ok(rows.into_iter().map(|(row, _)| row).collect())
    }

    /// Every row that the files hold now, from `base` to `head`, front to back and checked. What is appended, cut or dropped
    /// meanwhile changes nothing about it.
    pub fn scan(&self) -> Scan {
        Scan::new(Arc::clone(&self.shared))
    }

    /// The row at `position` if its record lies at `place`; `None` when something else lies there, or nothing.
    ///
    /// # Errors
    /// Failed reads.
    pub fn get(&self, position: Position, place: Place) -> Result<Option<Row>, Trouble> {
        self.steady(|view| match view.segment(place.segment) {
            Some(segment) => segment.read_at(place.offset, position),
            None => Ok(None),
        })
    }

    /// The row at `position`; `None` when it is dropped or was never there.
    ///
    /// # Errors
    /// As `read`.
    pub fn find(&self, position: Position) -> Result<Option<Row>, Trouble> {
        Ok(self.read(before(position), 1, 0)?.pop().filter(|row| row.position == position))
    }

    /// The row at `position`, tried at `place` first. A place from before a cut or an install is only slower.
    ///
    /// # Errors
    /// As `read`.
    pub fn fetch(&self, position: Position, place: Place) -> Result<Option<Row>, Trouble> {
        match self.get(position, place)? {
            Some(row) if row.position.index >= self.shared.view().floor => Ok(Some(row)),
            Some(_) => Ok(None),
            None => self.find(position),
        }
    }

    /// The oldest row that is not dropped.
    ///
    /// # Errors
    /// As `read`.
    pub fn first(&self) -> Result<Option<Position>, Trouble> {
        Ok(self.read(None, 1, 0)?.first().map(|row| row.position))
    }

    /// Whether every row behind `after` is still here. When not, a watcher that stopped there has missed rows.
    ///
    /// # Errors
    /// As `read`.
    pub fn reaches(&self, after: Option<Position>) -> Result<bool, Trouble> {
        self.steady(|view| {
            if view.segments[0].before.position > after {
                return Ok(false);
            }
            let next = rows_behind(view, after, 1, 0)?;
            Ok(next.first().is_none_or(|(row, _)| row.position.index >= view.floor))
        })
    }

    /// Rows of earlier entries are hidden, whether a file still holds them or not.
    pub fn floor(&self) -> u64 {
        self.shared.view().floor
    }

    /// The files, oldest first.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let view = self.shared.view();
        let ends = view.segments.iter().skip(1).map(|next| next.before.position).chain([view.head.position]);
        view.segments.iter().zip(ends).map(|(segment, last)| info(segment, last)).collect()
    }

    /// Bytes on the disk, by which retention judges.
    pub fn bytes_held(&self) -> u64 {
        self.shared.view().segments.iter().map(|segment| u64::from(segment.len())).sum()
    }

    /// Grows when rows were cut from the end or all were replaced.
    pub fn generation(&self) -> u64 {
        self.shared.view().generation
    }

    pub(crate) fn want_forgotten(&self) {
        self.shared.want_forgotten();
    }

    /// The rows of a segment that retention dropped, once for each.
    pub(crate) fn take_forgotten(&self) -> Option<Result<Vec<Row>, Trouble>> {
        self.shared.take_forgotten().map(|segment| segment_rows(&segment))
    }

    /// The running hash at `position`, dropped or not; `None` when no file holds a row there.
    pub(crate) fn hash_at(&self, position: Position) -> Result<Option<Hash>, Trouble> {
        let rows = self.steady(|view| rows_behind(view, before(position), 1, 0))?;
        Ok(rows.first().filter(|(row, _)| row.position == position).map(|(row, _)| row.hash))
    }

    pub(crate) fn view(&self) -> View {
        self.shared.view()
    }

    /// Reads from one view, and again from the next one when the rows under it were cut or replaced meanwhile.
    pub(crate) fn steady<T>(&self, read: impl Fn(&View) -> Result<T, Trouble>) -> Result<T, Trouble> {
        loop {
            let view = self.shared.view();
            let answer = read(&view);
            let Err(trouble) = &answer else { return answer };
            if self.generation() == view.generation {
                self.shared.found.tell(trouble);
                return answer;
            }
        }
    }
}

/// The last position that a row before this one can have.
fn before(position: Position) -> Option<Position> {
    match position.n {
        0 => position.index.checked_sub(1).map(Position::end_of),
        n => Some(Position::new(position.index, n - 1)),
    }
}

/// `after`, or the end of what is dropped when that is later.
fn visible(view: &View, after: Option<Position>) -> Option<Position> {
    after.max(view.floor.checked_sub(1).map(Position::end_of))
}

fn rows_behind(
    view: &View,
    after: Option<Position>,
    limit: usize,
    max_bytes: usize,
) -> Result<Vec<(Row, Place)>, Trouble> {
    let mut rows = Vec::new();
    let mut bytes = 0;
    if limit == 0 || view.head.position <= after {
        return Ok(rows);
    }
    for segment in &view.segments[view.segment_behind(after)..] {
        let mut cursor = Cursor::new(&**segment, segment.start_for(after)?);
        let skipped = cursor.skip(after)?;
        skipped.map_err(|flaw| segment.damaged(cursor.offset(), &flaw))?;
        while let Some((row, place)) = next(segment, &mut cursor)? {
            if Some(row.position) <= after {
                continue;
            }
            bytes += row.body.len();
            if !rows.is_empty() && bytes > max_bytes {
                return Ok(rows);
            }
            rows.push((row, place));
            if rows.len() == limit {
                return Ok(rows);
            }
        }
    }
    Ok(rows)
}

fn next(segment: &Segment, cursor: &mut Cursor<&Segment>) -> Result<Option<(Row, Place)>, Trouble> {
    let at = cursor.offset();
    cursor.next_row()?.map_err(|flaw| segment.damaged(at, &flaw))
}

fn segment_rows(segment: &Segment) -> Result<Vec<Row>, Trouble> {
    let mut rows = Vec::new();
    let mut cursor = Cursor::new(segment, segment.start_for(None)?);
    while let Some((row, _)) = next(segment, &mut cursor)? {
        rows.push(row);
    }
    Ok(rows)
}

fn info(segment: &Segment, last: Option<Position>) -> SegmentInfo {
    let last = last.filter(|last| Some(*last) > segment.before.position);
    SegmentInfo {
        path: segment.path.clone(),
        id: segment.id,
        before: segment.before,
        last,
        bytes: u64::from(segment.len()),
    }
}
