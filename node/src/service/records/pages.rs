//! Pages of the ledger in the order of the log, for those who ask now and then instead of following.
//!
//! The answer to a position is the one that a stream gives: no row behind it is left out unnoticed.

use std::sync::Arc;

use campanile_core::machine::Machine;
use campanile_storage::ledger::{Position, Row};

use super::follow::{Bookmark, show_wanted};
use super::sieve::Sieve;
use super::{LOOKED_AT, PAGE_BYTES, Records, ShownRow, unreadable_ledger};
use crate::problem::Problem;
use crate::wire::page::Page;

/// So many rows are read at once when some of them are not wanted.
const READ: usize = 2_000;

impl Records {
    /// Rows behind a position, or from the oldest that is kept. With a filter a page looks at 20,000 rows at the most, so
    /// it may be short, or empty, and still have a next one.
    ///
    /// # Errors
    /// `watch_expired` when retention has passed the position; `internal` when the ledger cannot be read.
    pub async fn ledger_page(
        &self,
        machine: Arc<Machine>,
        after: Option<Position>,
        limit: usize,
        mut sieve: Sieve,
    ) -> Result<Page<ShownRow>, Problem> {
        self.on_thread(move |records| {
            if sieve.takes_all() {
                let rows = records.page_of(after, limit)?;
                let end = rows.last().map(|last| last.position);
                return Ok(records.page(show_wanted(records, &machine, &mut sieve, &rows)?, end));
            }
            // Names of schedules that are gone are found by the index.
            records.caught_up()?;
            records.wanted_page(&machine, after, limit, &mut sieve)
        })
        .await
    }

    fn wanted_page(
        &self,
        machine: &Machine,
        after: Option<Position>,
        limit: usize,
        sieve: &mut Sieve,
    ) -> Result<Page<ShownRow>, Problem> {
        let (mut items, mut end, mut looked_at) = (Vec::new(), after, 0);
        while looked_at < LOOKED_AT {
            let rows = self.page_of(end, READ)?;
            let Some(last) = rows.last() else { break };
            (end, looked_at) = (Some(last.position), looked_at + rows.len());
            items.extend(show_wanted(self, machine, sieve, &rows)?);
            if items.len() >= limit {
                items.truncate(limit);
                return Ok(Page { next_page_token: items.last().map(|last| last.position.clone()), items });
            }
        }
        Ok(self.page(items, end))
    }

    /// A page that ends with the row at `end`.
    fn page(&self, items: Vec<ShownRow>, end: Option<Position>) -> Page<ShownRow> {
        let more = end.filter(|end| self.ledger.head().position > Some(*end));
        Page { items, next_page_token: more.map(|end| end.to_string()) }
    }

    /// Rows behind a position, none of them left out.
    fn page_of(&self, after: Option<Position>, limit: usize) -> Result<Vec<Row>, Problem> {
        let rows =
            self.ledger.read(after, limit, PAGE_BYTES).map_err(|trouble| unreadable_ledger(&trouble))?;
        // Asked after the reading: what is still reached now was reached then, since retention only moves on.
        self.must_reach(after.map_or(Bookmark::OLDEST, Bookmark::behind))?;
        Ok(rows)
    }
}
