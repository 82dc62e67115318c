//! What came of instants, row by row, for those who count: of all schedules by the time of the rows, of one by the index.
//!
//! A firing counts as fired by the row that decided it and as ended by the row that ended it, so that the parts of a count
//! that was cut can be added up.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use campanile_core::event::{Event, Outcome, Row as CoreRow, SkipReason};
use campanile_core::firing::{EndState, FiringId, Kind};
use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::time::{Span, Timestamp};
use campanile_storage::history::{Order, Window};
use campanile_storage::ledger::Position;

use super::{BATCH, Records, Telling, cursor_token, parse_position, read_cursor, read_row, rebuilding};
use crate::problem::Problem;
use crate::wire::page::{parts, token};

/// The most rows of all schedules that one answer looks at.
const ROWS: usize = 200_000;
/// The most rows of one schedule that one answer looks at: each is read on its own.
const ROWS_OF_ONE: usize = 20_000;
/// Instants of before the end of the window that were decided later than this behind it are not looked for.
const SLACK: Span = Span::from_secs(600);
/// The most firings of which the end is looked up, since it lies behind the rows that were read.
const LOOKED_UP: usize = 2_000;
/// The most firings that are open.
const OPEN: usize = 100_000;

/// Which instants.
#[derive(Debug, Clone)]
pub(in crate::service) struct Stretch<'a> {
    /// From here on.
    pub(in crate::service) from: Timestamp,
    /// Up to, and without, this one.
    pub(in crate::service) to: Timestamp,
    /// Of schedules in this namespace.
    pub(in crate::service) namespace: Option<&'a str>,
    /// Of this schedule.
    pub(in crate::service) uid: Option<Uid>,
    /// Behind what the answer before looked at.
    pub(in crate::service) next: Option<&'a str>,
}

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub(in crate::service) enum Seen {
    /// A firing was decided, so long after its nominal.
    Fired { firing: FiringId, kind: Kind, lateness: Span },
    /// A firing ended.
    Ended { firing: FiringId, state: EndState },
    /// Instants were decided not to fire.
    Skipped { uid: Uid, reason: SkipReason, to: Timestamp, count: u64 },
    /// A firing has not ended.
    Open { firing: FiringId },
}

/// How far a count came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::service) struct Counted {
    /// Whether nothing is left out.
    pub(in crate::service) complete: bool,
    /// Where to go on.
    pub(in crate::service) next: Option<String>,
}

impl Seen {
    fn of(row: &CoreRow) -> Option<Self> {
        Some(match &row.event {
            Event::Fired { firing, kind, .. } => {
                Self::Fired { firing: *firing, kind: *kind, lateness: row.at.since(firing.nominal) }
            }
            Event::Settled { firing, outcome: Outcome::End { state, .. }, .. } => {
                Self::Ended { firing: *firing, state: *state }
            }
            Event::Skipped { uid, reason, to, count, .. } => {
                Self::Skipped { uid: *uid, reason: *reason, to: *to, count: *count }
            }
            _ => return None,
        })
    }

    /// Of which schedule.
    pub(in crate::service) const fn uid(&self) -> Uid {
        match self {
            Self::Fired { firing, .. } | Self::Ended { firing, .. } | Self::Open { firing } => firing.uid,
            Self::Skipped { uid, .. } => *uid,
        }
    }

    /// Where it counts.
    pub(in crate::service) const fn nominal(&self) -> Timestamp {
        match self {
            Self::Fired { firing, .. } | Self::Ended { firing, .. } | Self::Open { firing } => firing.nominal,
            Self::Skipped { to, .. } => *to,
        }
    }
}

impl Records {
    /// Tells `see` everything that came of those instants, up to a bound. On a blocking thread.
    ///
    /// # Errors
    /// `bad_request` for a `next` that no answer gave; `not_ready` while the index is built again.
    pub(in crate::service) fn count(
        &self,
        machine: &Machine,
        span: &Stretch<'_>,
        see: &mut dyn FnMut(Seen),
    ) -> Result<Counted, Problem> {
        self.caught_up()?;
        let mut telling = Telling::new(self, machine);
        let mut counting = Counting { span, see, open: BTreeSet::new(), ended: BTreeSet::new() };
        let next = match span.uid {
            Some(uid) => counting.of_one(&mut telling, uid)?,
            None => counting.of_all(&mut telling)?,
        };
        if next.is_some() {
            return Ok(Counted { complete: false, next });
        }
        Ok(Counted { complete: counting.ends(&mut telling)?, next: None })
    }
}

impl Records {
    /// The names of schedules, as texts. On a blocking thread.
    ///
    /// # Errors
    /// `internal` when the ledger cannot be read.
    pub(in crate::service) fn names_of(
        &self,
        machine: &Machine,
        uids: impl Iterator<Item = Uid>,
    ) -> Result<Vec<Option<String>>, Problem> {
        let mut telling = Telling::new(self, machine);
        uids.map(|uid| Ok(telling.name_of(uid)?.map(|name| name.to_string()))).collect()
    }
}

struct Counting<'a> {
    span: &'a Stretch<'a>,
    see: &'a mut dyn FnMut(Seen),
    /// Fired, and no end was seen yet.
    open: BTreeSet<FiringId>,
    /// Their ends were seen: the view of the machine may be older than the rows.
    ended: BTreeSet<FiringId>,
}

impl Counting<'_> {
    fn of_all(&mut self, telling: &mut Telling<'_>) -> Result<Option<String>, Problem> {
        let records = telling.records;
        let after = match self.span.next {
            Some(given) => Some(read_position(given)?),
            None => records.index_since(self.span.from)?.checked_sub(1).map(Position::end_of),
        };
        let last = self.span.to + SLACK;
        let next = records.walk(after, ROWS.min(records.most), |_, row| {
            if row.at >= last {
                return Ok(ControlFlow::Break(()));
            }
            self.hear(telling, &row)?;
            Ok(ControlFlow::Continue(()))
        })?;
        if next.is_some() {
            self.late_ends(telling, last)?;
        }
        Ok(next.map(|position| token(&[&position.to_string()])))
    }

    /// The ends that no answer of a count that is cut will meet: of what fired in this part, and behind the last row of all.
    fn late_ends(&mut self, telling: &mut Telling<'_>, last: Timestamp) -> Result<(), Problem> {
        let open = std::mem::take(&mut self.open);
        // What has not ended is counted with the last part.
        let settled = open.into_iter().filter(|firing| telling.machine.firing(*firing).is_none());
        for firing in settled.take(LOOKED_UP).collect::<Vec<_>>() {
            if let Some(seen) =
                end_of(telling, firing)?.filter(|row| row.at >= last).as_ref().and_then(Seen::of)
            {
                (self.see)(seen);
            }
        }
        Ok(())
    }

    fn of_one(&mut self, telling: &mut Telling<'_>, uid: Uid) -> Result<Option<String>, Problem> {
        let records = telling.records;
        let window =
            Window { after: Some(self.span.from.as_millis() - 1), before: Some(self.span.to.as_millis()) };
        let mut cursor = self.span.next.map(|given| read_cursor(uid, given)).transpose()?;
        let (most, mut looked_at) = (ROWS_OF_ONE.min(records.most), 0);
        let batch = BATCH.min(most);
        loop {
            let found = match cursor {
                Some(cursor) => records.history().scan_from(cursor, window, batch, Order::Ascending),
                None => records.history().scan(uid.0, window, batch, Order::Ascending),
            };
            let entries = found.map_err(|wrong| rebuilding(&wrong))?;
            for entry in &entries {
                if let Some(row) = records.row(entry)? {
                    self.hear(telling, &read_row(&row)?)?;
                }
            }
            looked_at += entries.len();
            cursor = entries.last().map(|entry| entry.key).or(cursor);
            if entries.len() < batch {
                return Ok(None);
            }
            if looked_at >= most {
                return Ok(cursor.map(cursor_token));
            }
        }
    }

    fn hear(&mut self, telling: &mut Telling<'_>, row: &CoreRow) -> Result<(), Problem> {
        let Some(seen) = Seen::of(row).filter(|seen| self.holds(seen.nominal())) else { return Ok(()) };
        if !self.is_wanted(telling, seen.uid())? {
            return Ok(());
        }
        match seen {
            Seen::Fired { firing, .. } => _ = self.open.insert(firing),
            Seen::Ended { firing, .. } => {
                self.open.remove(&firing);
                self.ended.insert(firing);
            }
            Seen::Skipped { .. } | Seen::Open { .. } => {}
        }
        (self.see)(seen);
        Ok(())
    }

    fn holds(&self, nominal: Timestamp) -> bool {
        nominal >= self.span.from && nominal < self.span.to
    }

    fn is_wanted(&self, telling: &mut Telling<'_>, uid: Uid) -> Result<bool, Problem> {
        if self.span.uid.is_some_and(|only| only != uid) {
            return Ok(false);
        }
        let Some(namespace) = self.span.namespace else { return Ok(true) };
        Ok(telling.name_of(uid)?.is_some_and(|name| name.namespace() == namespace))
    }

    /// What has not ended, and the ends that lie behind the rows that were read. Answers whether that is all.
    fn ends(&mut self, telling: &mut Telling<'_>) -> Result<bool, Problem> {
        let machine = telling.machine;
        let mut live: Vec<FiringId> = match self.span.uid {
            Some(uid) => machine.live_of(uid).take(OPEN).map(|firing| firing.id).collect(),
            None => machine.live().take(OPEN).map(|firing| firing.id).collect(),
        };
        let all_live = live.len() < OPEN;
        live.retain(|id| self.holds(id.nominal) && !self.ended.contains(id));
        for firing in live {
            self.open.remove(&firing);
            if self.is_wanted(telling, firing.uid)? {
                (self.see)(Seen::Open { firing });
            }
        }
        let left = std::mem::take(&mut self.open);
        let all_ends = left.len() <= LOOKED_UP;
        for firing in left.into_iter().take(LOOKED_UP) {
            if let Some(seen) = end_of(telling, firing)?.as_ref().and_then(Seen::of) {
                (self.see)(seen);
            }
        }
        Ok(all_live && all_ends)
    }
}

/// The row by which a firing ended.
fn end_of(telling: &Telling<'_>, firing: FiringId) -> Result<Option<CoreRow>, Problem> {
    let mut end = None;
    for entry in telling.rows_of(firing, firing.run.0)? {
        let row = telling.records.row_of(&entry)?;
        end = row.filter(|row| matches!(Seen::of(row), Some(Seen::Ended { .. }))).or(end);
    }
    Ok(end)
}

fn read_position(given: &str) -> Result<Position, Problem> {
    let [position] = parts::<1>(given)?;
    parse_position(&position).ok_or_else(|| Problem::bad_request("\"next\" is not one that this answer gave"))
}
