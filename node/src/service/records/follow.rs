//! Reading on behind a position, a page at a time, for those who follow the ledger: no row is left out unnoticed.
//!
//! Each page must continue the chain of the one before it. So a row that retention took in between, or that an install
//! replaced under the reader, ends the reading instead of leaving a hole. It does not wait, and it does not know who reads.

use std::sync::Arc;

use campanile_core::machine::Machine;
use campanile_storage::ledger::{Hash, LedgerReader, Place, Position, Row, Scan, chain_hash};

use super::{Records, ShownRow, Telling, read_row, rows, sieve::Sieve, unreadable_ledger};
use crate::problem::{Code, Problem};

/// The most rows of one page, and the most bytes of their bodies: what a reader that stands still keeps in memory.
const ROWS: usize = 500;
const BYTES: usize = 128 * 1024;

/// How far somebody has read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::service) struct Bookmark {
    /// Behind this row, or before the oldest one.
    pub(in crate::service) position: Option<Position>,
    /// The running hash there, where it is known.
    hash: Option<Hash>,
}

impl Bookmark {
    /// Before the oldest row that is kept.
    pub(in crate::service) const OLDEST: Self = Self { position: None, hash: None };

    /// Behind a position that a reader names.
    pub(in crate::service) fn behind(position: Position) -> Self {
        Self { position: Some(position), hash: None }
    }
}

/// What stands behind a bookmark.
#[derive(Debug)]
pub(in crate::service) struct Reading {
    /// In order; none when there is nothing more yet.
    pub(in crate::service) rows: Vec<Row>,
    /// Behind the last of them.
    pub(in crate::service) bookmark: Bookmark,
    /// About how many more there are behind them.
    pub(in crate::service) left: u64,
}

/// The same as answers.
#[derive(Debug)]
pub(in crate::service) struct Shown {
    /// Those that are wanted.
    pub(in crate::service) rows: Vec<ShownRow>,
    /// How many were read.
    pub(in crate::service) read: usize,
    /// Behind the last that was read.
    pub(in crate::service) bookmark: Bookmark,
    /// About how many more there are behind them.
    pub(in crate::service) left: u64,
}

impl Records {
    /// The end of the ledger, as this node has it.
    pub(in crate::service) fn end(&self) -> Bookmark {
        let head = self.ledger.head();
        Bookmark { position: head.position, hash: Some(head.hash) }
    }

    /// Every row that the files hold now.
    pub(in crate::service) fn scan(&self) -> Scan {
        self.ledger.scan()
    }

    /// Makes sure that every row behind a bookmark is still here.
    ///
    /// # Errors
    /// `watch_expired` when one is not; `internal` when the ledger cannot be read.
    pub(in crate::service) async fn reaches(&self, bookmark: Bookmark) -> Result<(), Problem> {
        self.on_thread(move |records| records.must_reach(bookmark)).await
    }

    /// A page behind `bookmark`, of entries that `machine` has applied; `None` when retention has passed it. The sieve
    /// comes back, since it learns.
    ///
    /// # Errors
    /// `internal` when the ledger cannot be read or does not continue.
    pub(in crate::service) async fn follow(
        &self,
        machine: Arc<Machine>,
        bookmark: Bookmark,
        mut sieve: Sieve,
    ) -> Result<(Sieve, Option<Shown>), Problem> {
        self.on_thread(move |records| {
            let Some(Reading { rows, bookmark, left }) = records.read_on(bookmark, machine.applied().0)?
            else {
                return Ok((sieve, None));
            };
            let read = rows.len();
            let rows = show_wanted(records, &machine, &mut sieve, &rows)?;
            Ok((sieve, Some(Shown { rows, read, bookmark, left })))
        })
        .await
    }

    /// A page behind `bookmark`, of entries up to `through`; `None` when retention has passed it. Reads files.
    ///
    /// # Errors
    /// As [`Records::follow`].
    pub(in crate::service) fn read_on(
        &self,
        bookmark: Bookmark,
        through: u64,
    ) -> Result<Option<Reading>, Problem> {
        let read = self.ledger.read_placed(bookmark.position, ROWS, BYTES);
        let mut placed = read.map_err(|trouble| unreadable_ledger(&trouble))?;
        let is_whole = match (placed.first(), bookmark.hash) {
            (Some((first, _)), Some(before)) => {
                chain_hash(&before, first.position, &first.body) == first.hash
            }
            // Asked after the reading: what is still reached now was reached then, since retention only moves on.
            (_, None) => self.still_reaches(bookmark)?,
            (None, Some(_)) => true,
        };
        if !is_whole {
            return if self.still_reaches(bookmark)? { Err(torn(bookmark)) } else { Ok(None) };
        }
        placed.truncate(placed.partition_point(|(row, _)| row.position.index <= through));
        let left = match placed.last() {
            Some((_, place)) if placed.len() > 1 => left_behind(&self.ledger, *place),
            _ => 0,
        };
        let bookmark = placed
            .last()
            .map_or(bookmark, |(row, _)| Bookmark { position: Some(row.position), hash: Some(row.hash) });
        Ok(Some(Reading { rows: placed.into_iter().map(|(row, _)| row).collect(), bookmark, left }))
    }

    /// As [`Records::reaches`], on a thread that may block.
    pub(super) fn must_reach(&self, bookmark: Bookmark) -> Result<(), Problem> {
        let Some(position) = bookmark.position else { return Ok(()) };
        if self.still_reaches(bookmark)? {
            return Ok(());
        }
        let oldest = self.ledger.first().map_err(|trouble| unreadable_ledger(&trouble))?;
        Err(expired(position, oldest))
    }

    fn still_reaches(&self, bookmark: Bookmark) -> Result<bool, Problem> {
        // Whoever begins with the oldest row misses none, whichever that is.
        let Some(position) = bookmark.position else { return Ok(true) };
        self.ledger.reaches(Some(position)).map_err(|trouble| unreadable_ledger(&trouble))
    }
}

/// Those of some rows that are wanted, as answers.
pub(super) fn show_wanted(
    records: &Records,
    machine: &Machine,
    sieve: &mut Sieve,
    read: &[Row],
) -> Result<Vec<ShownRow>, Problem> {
    if sieve.takes_all() {
        return read.iter().map(rows::show).collect();
    }
    let mut telling = Telling::new(records, machine);
    let mut wanted = Vec::new();
    for row in read {
        let fact = read_row(row)?;
        if sieve.takes(&fact.event, |uid| telling.name_of(uid))? {
            wanted.push(ShownRow::of(row.position.to_string(), &fact, &row.hash));
        }
    }
    Ok(wanted.into_iter().filter(|row| sieve.takes_word(row.fact.word())).collect())
}

/// About how many rows stand behind a place: counted where segments begin, and by its share of bytes within one.
fn left_behind(ledger: &LedgerReader, place: Place) -> u64 {
    let (segments, end) = (ledger.segments(), ledger.head().rows);
    let Some(at) = segments.iter().position(|segment| segment.id == place.segment) else { return 0 };
    let segment = &segments[at];
    let rows_at_end = segments.get(at + 1).map_or(end, |next| next.before.rows);
    let rows = u128::from(rows_at_end.saturating_sub(segment.before.rows));
    let before = rows * u128::from(place.offset) / u128::from(segment.bytes.max(1));
    end.saturating_sub(segment.before.rows + u64::try_from(before).unwrap_or(u64::MAX))
}

fn expired(position: Position, oldest: Option<Position>) -> Problem {
    let left = match oldest {
        Some(oldest) => format!("the oldest that is kept is {oldest}"),
        None => "none is left".to_owned(),
    };
    Problem::new(
        Code::WatchExpired,
        format!(
            "rows behind {position} have been dropped by retention, {left}; begin again without a position, and count \
             what lies between as missed"
        ),
    )
}

fn torn(bookmark: Bookmark) -> Problem {
    let behind =
        bookmark.position.map_or_else(|| "its oldest row".to_owned(), |position| position.to_string());
    Problem::new(Code::Internal, format!("the ledger of this node does not continue behind {behind}"))
}
