//! Which entry of the log an instant means, and from which entry on a ledger knows everything that stood.

use campanile_core::event::Row;
use campanile_core::machine::Machine;
use campanile_core::time::Timestamp;
use campanile_storage::history::{Order, Window};
use campanile_storage::ledger::Position;

use crate::problem::{Code, Problem};
use crate::service::records::places::RESTATED;
use crate::service::records::{Records, read_row, rebuilding};
use crate::wire::as_of::Moment as Shown;
use crate::wire::time::{self, Instant};

/// As of when somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// Behind the entry of that index.
    Index(u64),
    /// Behind everything that was decided at or before that instant of the log's time.
    Time(Timestamp),
}

impl AsOf {
    /// Reads a log index or an instant.
    ///
    /// # Errors
    /// `bad_request` for anything else.
    pub fn read(text: &str) -> Result<Self, Problem> {
        if let Ok(index) = text.parse() {
            return Ok(Self::Index(index));
        }
        // A `+` of an offset that was not escaped arrives as a blank.
        let instant = time::parse(text).or_else(|| time::parse(&text.replace(' ', "+")));
        instant.map(Self::Time).ok_or_else(|| {
            Problem::bad_request(format!(
                "the query parameter \"as_of\" is a log index or an RFC 3339 instant, not {text:?}"
            ))
        })
    }
}

/// A place in the log, found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// The last entry that counts.
    pub(super) index: u64,
    /// When the last row up to it was decided; nothing up to it is later.
    pub(super) at: Timestamp,
}

impl From<Moment> for Shown {
    fn from(moment: Moment) -> Self {
        Self { index: moment.index, at: Instant(moment.at) }
    }
}

/// The moment that is meant.
pub(super) fn find(
    records: &Records,
    machine: &Machine,
    now: Timestamp,
    as_of: AsOf,
) -> Result<Moment, Problem> {
    let is_within = |index: u64, row: &Row| match as_of {
        AsOf::Index(last) => index <= last,
        AsOf::Time(last) => row.at <= last,
    };
    match as_of {
        AsOf::Index(index) if index > machine.applied().0 => {
            return Err(Problem::bad_request(format!(
                "entry {index} is to come: the last one is {}",
                machine.applied()
            )));
        }
        AsOf::Time(at) if at > now.max(machine.clock()) => {
            return Err(Problem::bad_request(format!("{} is to come", Instant(at))));
        }
        AsOf::Index(_) | AsOf::Time(_) => {}
    }
    let last = last_within(records, machine.applied().0, is_within)?;
    Ok(match (last, as_of) {
        (Some((_, at)), AsOf::Index(index)) => Moment { index, at },
        (Some((index, at)), AsOf::Time(_)) => Moment { index, at },
        (None, AsOf::Index(index)) => Moment { index, at: Timestamp::EPOCH },
        (None, AsOf::Time(at)) => Moment { index: 0, at },
    })
}

/// The last entry with a row that is within, found by halving: rows are in the order of both, index and time.
fn last_within(
    records: &Records,
    end: u64,
    is_within: impl Fn(u64, &Row) -> bool,
) -> Result<Option<(u64, Timestamp)>, Problem> {
    let (mut low, mut high, mut last) = (0, end, None);
    while low <= high {
        let middle = low + (high - low) / 2;
        match first_from(records, middle)?.filter(|(index, row)| is_within(*index, row)) {
            Some((index, row)) => {
                last = Some((index, row.at));
                low = index + 1;
            }
            None if middle == 0 => break,
            None => high = middle - 1,
        }
    }
    Ok(last)
}

/// The first row of the first entry that has one, at or behind this one.
fn first_from(records: &Records, index: u64) -> Result<Option<(u64, Row)>, Problem> {
    let after = index.checked_sub(1).map(Position::end_of);
    let found = records.rows_behind(after, 1)?;
    found.first().map(|row| Ok((row.position.index, read_row(row)?))).transpose()
}

/// From this entry on, everything that stood is known: from the beginning, or from where everything was told again for the
/// first time behind what retention has dropped. [`u64::MAX`] when it was not told again yet.
pub(super) fn known_from(records: &Records) -> Result<u64, Problem> {
    if records.is_whole()? {
        return Ok(0);
    }
    let Some((first, _)) = first_from(records, 0)? else { return Ok(u64::MAX) };
    let behind = Window { after: i64::try_from(first).ok().map(|first| first - 1), before: None };
    let found = records.history().scan(RESTATED.0, behind, 1, Order::Ascending);
    let told = found.map_err(|wrong| rebuilding(&wrong))?;
    Ok(told.first().map_or(u64::MAX, |entry| entry.key.position.index))
}

/// Retention has passed what stood then.
pub(super) fn expired(known_from: u64) -> Problem {
    let known = match known_from {
        u64::MAX => "nothing that stood earlier than now is known whole yet".to_owned(),
        index => format!("what stood is known from entry {index} on"),
    };
    Problem::new(Code::WatchExpired, format!("retention has dropped what stood then: {known}"))
}
