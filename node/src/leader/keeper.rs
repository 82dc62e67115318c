//! The ledger duty: states the end of the ledger so that every node compares its own, tells again what stands, and drops
//! what is older than retention.
//!
//! ```text
//!   look -> begun a telling? its next part : due one? begin : rows to drop? drop : many rows since the last check? state the end : sleep
//! ```
//! A ledger may begin where everything was told again, so it is told again eight times within what is kept, and older rows
//! go up to such a place. What stands is in the machine and what was told is in the ledger: another leader goes on where
//! this one stopped. It must not read the ledger on a worker of the runtime, and must not drop what is younger than the
//! retention unless there are more bytes than may be.

use campanile_raft::runtime;
use std::collections::BTreeMap;
use std::time::Duration;

use campanile_core::command::{Body, DropLedger, Restate};
use campanile_core::id::{LogIndex, Uid};
use campanile_core::state::{Keeping, Restated};
use campanile_core::time::{Span, Timestamp};
use campanile_storage::Trouble;
use campanile_storage::ledger::LedgerReader;

use super::duty::Duty;
use super::office::Office;
use crate::clock::Clock;
use crate::service::records::read_row;

/// How many times what stands is told again within what is kept: rows stay up to an eighth longer than they must.
const TELLINGS: u64 = 8;
/// Schedules told again in one entry.
const PART: u32 = 200;

/// How much of the ledger is kept, and at what pace it is looked after.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Rows are kept for at least so long,
    pub age: Span,
    /// unless they take more than so many bytes.
    pub max_bytes: u64,
    /// What stands is told again no more often than this, whatever the age; where the ledger grows fast, no more often than
    /// a sixtieth of it.
    pub least_gap: Span,
    /// The end of the ledger is stated after so many rows.
    pub check_rows: u64,
    /// How often it is looked whether there is anything to do.
    pub look_every: Duration,
    /// The wait after each part, for everybody else's proposals; after one that failed too.
    pub pause: Duration,
}

impl Default for Retention {
    /// 30 days, 8 GiB; 10,000 rows between comparisons.
    fn default() -> Self {
        Self {
            age: Span::from_secs(30 * 24 * 60 * 60),
            max_bytes: 8 << 30,
            least_gap: Span::from_secs(60 * 60),
            check_rows: 10_000,
            look_every: Duration::from_secs(1),
            pause: Duration::from_millis(20),
        }
    }
}

/// What is known of the ledger's size, read outside of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    /// Bytes behind what is dropped.
    kept: u64,
    /// Bytes since what stands was last told, or since the ledger begins.
    untold: u64,
    /// When the oldest row was written; looked at only when nothing was told yet.
    began: Option<Timestamp>,
}

/// Looks after the ledger while its office lasts.
#[derive(Debug)]
pub struct Keeper<O> {
    office: O,
    clock: Clock,
    ledger: LedgerReader,
    retention: Retention,
    /// Rows that the ledger had when its end was last stated; `None` before this office has asked its peers once.
    checked_at: Option<u64>,
    /// Bytes before places of the ledger: what costs the walk of a segment is done once a place.
    bytes_before: BTreeMap<LogIndex, u64>,
}

impl<O: Office> Keeper<O> {
    /// The duty of that office.
    pub fn new(office: O, clock: Clock, ledger: LedgerReader, retention: Retention) -> Self {
        Self { office, clock, ledger, retention, checked_at: None, bytes_before: BTreeMap::new() }
    }
}

impl<O: Office> Duty for Keeper<O> {
    /// One look, and the one thing that it finds to do.
    async fn turn(&mut self) {
        let wall = self.clock.now();
        if !self.office.allows(wall) {
            return tokio::time::sleep(self.retention.look_every).await;
        }
        if let Some(body) = self.due_check().await {
            return self.propose(body).await;
        }
        let view = self.office.view();
        let keeping = view.keeping().clone();
        if let Some(under_way) = keeping.restating {
            return self.propose(restate(Some(under_way.after))).await;
        }
        match self.size(&keeping).await {
            Ok(size) => match self.decide(&keeping, size, wall.max(view.clock())) {
                Some(body) => self.propose(body).await,
                None => tokio::time::sleep(self.retention.look_every).await,
            },
            Err(trouble) => {
                tracing::warn!(%trouble, "the ledger's size cannot be read; nothing of it is dropped");
                tokio::time::sleep(self.retention.look_every).await;
            }
        }
    }
}

impl<O: Office> Keeper<O> {
    /// The end of the ledger, when so many rows came since it was last stated. The first look of an office only asks the
    /// peers: taking office has stated it.
    async fn due_check(&mut self) -> Option<Body> {
        let rows = self.ledger.head().rows;
        match self.checked_at {
            Some(at) if rows < at.saturating_add(self.retention.check_rows) => None,
            Some(_) => {
                self.checked_at = Some(rows);
                self.office.compared_end().await.map(Body::CheckLedger)
            }
            None => {
                self.checked_at = Some(rows);
                self.office.compared_end().await;
                None
            }
        }
    }

    /// Reads the sizes on a thread.
    async fn size(&mut self, keeping: &Keeping) -> Result<Size, Trouble> {
        let told = keeping.restated.last().map(|place| place.from);
        let floor = keeping.floor;
        let places: Vec<LogIndex> = [Some(floor), told].into_iter().flatten().collect();
        self.bytes_before.retain(|place, _| places.contains(place));
        let missing: Vec<LogIndex> =
            places.iter().filter(|place| !self.bytes_before.contains_key(place)).copied().collect();
        let (ledger, first_too) = (self.ledger.clone(), told.is_none());
        let read = runtime::blocking(move || measure(&ledger, &missing, first_too)).await;
        // A panic there was told by its hook; the next look measures again.
        let (found, began) = read.unwrap_or_else(|_| Ok((Vec::new(), None)))?;
        self.bytes_before.extend(found);
        let total = self.ledger.head().bytes;
        let behind =
            |place: &LogIndex| self.bytes_before.get(place).map_or(0, |before| total.saturating_sub(*before));
        let kept = behind(&floor);
        Ok(Size { kept, untold: told.as_ref().map_or(kept, behind), began })
    }

    fn decide(&self, keeping: &Keeping, size: Size, now: Timestamp) -> Option<Body> {
        let retention = &self.retention;
        if let Some(before) = droppable(keeping, size, now, retention) {
            tracing::info!(%before, kept_bytes = size.kept, "older rows of the ledger are dropped");
            return Some(Body::DropLedger(DropLedger { before }));
        }
        let told_at = keeping.restated.last().map(|place| place.at).or(size.began)?;
        let gap = Span::from_millis(retention.age.as_millis() / TELLINGS).max(retention.least_gap);
        let is_old = now.since(told_at) >= gap;
        // The telling itself takes bytes: where a million schedules outgrow a small bound, it must not go on without end.
        let may_again = now.since(told_at).as_millis() >= retention.least_gap.as_millis() / 60;
        let is_large = may_again && size.untold >= (retention.max_bytes / TELLINGS).max(1);
        (is_old || is_large).then(|| {
            tracing::debug!(untold_bytes = size.untold, "what stands is told again");
            restate(None)
        })
    }

    async fn propose(&self, body: Body) {
        match self.office.propose(self.clock.now(), move |_, _| Some(body)).await {
            Ok(_) => {}
            Err(why) => tracing::debug!(%why, "the ledger is looked after later"),
        }
        tokio::time::sleep(self.retention.pause).await;
    }
}

const fn restate(after: Option<Option<Uid>>) -> Body {
    Body::Restate(Restate { after, most: PART })
}

/// The first entry that is kept, when rows before it may go: the newest place that is older than the retention, or the
/// next place of all while there are more bytes than may be.
fn droppable(keeping: &Keeping, size: Size, now: Timestamp, retention: &Retention) -> Option<LogIndex> {
    let later = || keeping.restated.iter().filter(|place| place.from > keeping.floor);
    let is_old = |place: &&Restated| now.since(place.at) >= retention.age;
    let by_age = later().filter(is_old).map(|place| place.from).next_back();
    by_age.or_else(|| later().map(|place| place.from).next().filter(|_| size.kept > retention.max_bytes))
}

/// The bytes of all rows before each place, and when the oldest row was written.
type Ages = (Vec<(LogIndex, u64)>, Option<Timestamp>);

/// Reads them.
fn measure(ledger: &LedgerReader, places: &[LogIndex], first_too: bool) -> Result<Ages, Trouble> {
    let bytes = |place: &LogIndex| Ok((*place, ledger.head_before(place.0)?.bytes));
    let found = places.iter().map(bytes).collect::<Result<_, Trouble>>()?;
    let first = if first_too { ledger.read(None, 1, 0)?.pop() } else { None };
    let began = first.and_then(|row| read_row(&row).ok()).map(|row| row.at);
    Ok((found, began))
}

#[cfg(test)]
mod tests;
