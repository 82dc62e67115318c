//! Where in the log a moment is: bisecting the ledger by the time of its rows, which never runs backwards.

use std::ops::ControlFlow;

use campanile_core::event::Row as CoreRow;
use campanile_core::time::Timestamp;
use campanile_storage::ledger::Position;

use super::{Records, read_row};
use crate::problem::Problem;

/// The rows of one read.
const READ: usize = 8_192;

impl Records {
    /// The lowest log index from which on every row is at or behind `at`; one behind the last row when none is. About twenty
    /// reads of one row each.
    ///
    /// # Errors
    /// `internal` when the ledger cannot be read.
    pub(in crate::service) fn index_since(&self, at: Timestamp) -> Result<u64, Problem> {
        let mut low = self.ledger.base().position.map_or(0, |last| last.index + 1);
        let mut high = self.ledger.head().position.map_or(low, |last| last.index + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.rows_behind(middle.checked_sub(1).map(Position::end_of), 1)?;
            match found.first() {
                Some(row) if read_row(row)?.at < at => low = row.position.index + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// Goes through the rows behind `after`, at most `most` of them, until `look` has seen enough. Answers the last row that
    /// was looked at when there are more, so that the next walk begins there.
    ///
    /// # Errors
    /// `internal` when the ledger cannot be read; those of `look`.
    pub(in crate::service) fn walk(
        &self,
        after: Option<Position>,
        most: usize,
        mut look: impl FnMut(Position, CoreRow) -> Result<ControlFlow<()>, Problem>,
    ) -> Result<Option<Position>, Problem> {
        let (mut last, mut left) = (after, most);
        loop {
            let rows = self.rows_behind(last, left.min(READ))?;
            if rows.is_empty() {
                return Ok(None);
            }
            for row in &rows {
                if look(row.position, read_row(row)?)?.is_break() {
                    return Ok(None);
                }
            }
            last = rows.last().map(|row| row.position);
            left -= rows.len();
            if left == 0 {
                return Ok(last.filter(|last| self.ledger.head().position > Some(*last)));
            }
        }
    }
}
