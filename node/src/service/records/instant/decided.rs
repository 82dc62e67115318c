//! What was decided of an instant, and what it met: the rows of the history around it.

use campanile_core::event::{Event, Outcome, SkipReason};
use campanile_core::firing::{FiringId, Kind};
use campanile_core::id::{Run, Uid};
use campanile_core::time::{Span, Timestamp};
use campanile_storage::history::{Entry, Order, Window};
use campanile_storage::ledger::Position;

use super::Skip;
use crate::problem::Problem;
use crate::service::records::changes::Walk;
use crate::service::records::places::Change;
use crate::service::records::{BATCH, Telling, rebuilding, rows};
use crate::wire::firing::{Decided, Firing};
use crate::wire::time::Instant;

/// The most runs of one nominal that are told.
const RUNS: u32 = 10;
/// The most keys that one search passes over.
const PASSED: usize = 4_096;
/// The most rows that one search reads.
const READ: usize = 64;
/// A wait that is shorter needs no reason.
pub(in crate::service) const WORTH_A_WORD: Span = Span::from_millis(100);
/// How far from the instant another firing is a neighbour.
const MINUTE: i64 = 60_000;

impl Telling<'_> {
    /// Everything that fired with this nominal, the first run first.
    pub(super) fn firings_at(&mut self, uid: Uid, at: Timestamp) -> Result<Vec<Firing>, Problem> {
        let mut firings = Vec::new();
        for run in 0..RUNS {
            let id = FiringId { uid, nominal: at, run: Run(run) };
            let entries = self.rows_of(id, run)?;
            if entries.is_empty() && self.machine.firing(id).is_none() {
                break;
            }
            firings.extend(self.tell(id, &entries)?);
        }
        Ok(firings)
    }

    /// The run of skips that covers an instant, and whether all that may cover it were looked at.
    pub(super) fn skip_over(&mut self, uid: Uid, at: Timestamp) -> Result<(Option<Skip>, bool), Problem> {
        let (mut read, mut found) = (0, None);
        let from = Window { after: Some(at.as_millis() - 1), before: None };
        let whole = self.pass(uid, from, Order::Ascending, |telling, entry| {
            if entry.key.run != rows::SKIPS {
                return Ok(Walk::On);
            }
            read += 1;
            let event = telling.records.row_of(entry)?.map(|row| row.event);
            let covers = matches!(event, Some(Event::Skipped { from, to, .. }) if from <= at && at <= to);
            found = covers.then_some(*entry);
            Ok(if covers || read == READ { Walk::Enough } else { Walk::On })
        })?;
        let skip = found.map(|entry| self.skip_of(&entry)).transpose()?.flatten();
        Ok((skip, whole && read < READ))
    }

    fn skip_of(&mut self, entry: &Entry) -> Result<Option<Skip>, Problem> {
        let Some(row) = self.records.row_of(entry)? else { return Ok(None) };
        let Event::Skipped { uid, revision, reason, from, to, count } = row.event else { return Ok(None) };
        let position = entry.key.position;
        let office = self.office_at(position.index)?;
        let mut skip = Skip {
            reason,
            revision: revision.0,
            from,
            to,
            count,
            decided: Decided {
                at: Instant(row.at),
                index: position.index,
                term: office.map(|(_, term)| term),
                node: office.map(|(node, _)| node),
            },
            firing: None,
            skipped_ahead: None,
        };
        match reason {
            SkipReason::Overlap => skip.firing = self.running_at(uid, row.at.successor(), position)?,
            SkipReason::Coalesced => skip.firing = self.fired_behind(uid, to, position)?,
            SkipReason::Superseded => skip.skipped_ahead = self.skipped_ahead(uid, position)?,
            _ => {}
        }
        Ok(Some(skip))
    }

    /// A firing of the schedule with a nominal before `before` that had been decided before the row at `position`, and had not
    /// ended.
    fn running_at(
        &self,
        uid: Uid,
        before: Timestamp,
        position: Position,
    ) -> Result<Option<FiringId>, Problem> {
        let (mut found, mut read, mut group) = (None, 0, None);
        let window = Window { after: None, before: Some(before.as_millis()) };
        self.pass(uid, window, Order::Descending, |telling, entry| {
            let key = entry.key;
            let of = Some((key.nominal, key.run));
            // The rows of a firing come last first, so the first of them before the place is its last word there.
            if key.run == rows::SKIPS || key.position >= position || group == of {
                return Ok(Walk::On);
            }
            group = of;
            read += 1;
            let event = telling.records.row_of(entry)?.map(|row| row.event);
            found = event.filter(is_under_way).map(|_| rows::firing_of(key));
            Ok(if found.is_some() || read == READ { Walk::Enough } else { Walk::On })
        })?;
        Ok(found)
    }

    /// What a firing waited for before it began, by the overlap rule, and when that ended.
    pub(super) fn held_by(
        &mut self,
        uid: Uid,
        firing: &Firing,
    ) -> Result<Option<(FiringId, Timestamp)>, Problem> {
        let Some(begun) = firing.attempts.first().map(|attempt| attempt.begun_at.0) else { return Ok(None) };
        if begun.since(firing.decided.at.0) < WORTH_A_WORD {
            return Ok(None);
        }
        let decided = Position::new(firing.decided.index, 0);
        let Some(other) = self.running_at(uid, firing.nominal.0, decided)? else { return Ok(None) };
        let ended = self.firing(other)?.and_then(|other| other.attempts.last()?.settled_at);
        Ok(ended.map(|at| (other, at.0)).filter(|(_, at)| *at <= begun))
    }

    /// The firing that the same entry decided next.
    fn fired_behind(&self, uid: Uid, to: Timestamp, position: Position) -> Result<Option<FiringId>, Problem> {
        let mut found = None;
        let window = Window { after: Some(to.as_millis()), before: None };
        self.pass(uid, window, Order::Ascending, |_, entry| {
            if entry.key.run != rows::SKIPS && entry.key.position.index == position.index {
                found = Some(rows::firing_of(entry.key));
            }
            Ok(if found.is_some() { Walk::Enough } else { Walk::On })
        })?;
        Ok(found)
    }

    /// Who skipped ahead in the entry at `position`, and to where.
    fn skipped_ahead(&self, uid: Uid, position: Position) -> Result<Option<(String, Timestamp)>, Problem> {
        let mut found = None;
        self.records.changes_back(uid, position.index, |changed| {
            if changed.entry.key.position.index < position.index {
                return Ok(Walk::Enough);
            }
            if changed.change == Change::MarkSet
                && let Some(Event::MarkSet { to, by, .. }) =
                    self.records.row_of(&changed.entry)?.map(|row| row.event)
            {
                found = Some((by.to_string(), to));
            }
            Ok(Walk::On)
        })?;
        Ok(found)
    }

    /// The last instant before `at` that the plan had decided up to the entry at `index`.
    pub(super) fn mark_before(
        &self,
        uid: Uid,
        at: Timestamp,
        index: u64,
    ) -> Result<Option<Timestamp>, Problem> {
        let (mut found, mut read) = (None, 0);
        let window = Window { after: None, before: Some(at.as_millis()) };
        self.pass(uid, window, Order::Descending, |telling, entry| {
            let key = entry.key;
            // The first run is the only one that a plan makes.
            if key.position.index > index || (key.run != rows::SKIPS && key.run != 0) {
                return Ok(Walk::On);
            }
            read += 1;
            let event = telling.records.row_of(entry)?.map(|row| row.event);
            let is_plan = matches!(
                event,
                Some(Event::Fired { kind: Kind::Scheduled | Kind::CatchUp, .. } | Event::Skipped { .. })
            );
            found = is_plan.then(|| Timestamp::from_millis(key.nominal));
            Ok(if is_plan || read == READ { Walk::Enough } else { Walk::On })
        })?;
        Ok(found)
    }

    /// Another firing of the same minute that no plan made: one by hand, by a backfill, or by another firing.
    pub(super) fn neighbour(&self, uid: Uid, at: Timestamp) -> Result<Option<FiringId>, Problem> {
        let start = at.as_millis().div_euclid(MINUTE) * MINUTE;
        let window = Window { after: Some(start - 1), before: Some(start + MINUTE) };
        let (mut found, mut read) = (None, 0);
        self.pass(uid, window, Order::Ascending, |telling, entry| {
            if entry.key.run == rows::SKIPS || entry.key.nominal == at.as_millis() {
                return Ok(Walk::On);
            }
            read += 1;
            let event = telling.records.row_of(entry)?.map(|row| row.event);
            let is_other = matches!(&event, Some(Event::Fired { kind, .. })
                if !matches!(kind, Kind::Scheduled | Kind::CatchUp | Kind::Notice(_)));
            if is_other {
                found = Some(rows::firing_of(entry.key));
            }
            Ok(if is_other || read == READ { Walk::Enough } else { Walk::On })
        })?;
        Ok(found)
    }

    /// Goes through the keys of a schedule in a window, at most [`PASSED`] of them; `false` when there were more.
    fn pass<'b>(
        &'b self,
        uid: Uid,
        window: Window,
        order: Order,
        mut look: impl FnMut(&'b Self, &Entry) -> Result<Walk, Problem>,
    ) -> Result<bool, Problem> {
        let (mut last, mut passed) = (None::<Entry>, 0);
        while passed < PASSED {
            let history = self.records.history();
            let found = match last {
                Some(last) => history.scan_from(last.key, window, BATCH, order),
                None => history.scan(uid.0, window, BATCH, order),
            };
            let entries = found.map_err(|wrong| rebuilding(&wrong))?;
            for entry in &entries {
                if look(self, entry)? == Walk::Enough {
                    return Ok(true);
                }
            }
            passed += entries.len();
            last = entries.last().copied();
            if entries.len() < BATCH {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a firing of which this is the last word so far has not ended.
fn is_under_way(event: &Event) -> bool {
    match event {
        Event::Fired { kind, .. } => !matches!(kind, Kind::Notice(_)),
        Event::Begun { .. } | Event::StopAsked { .. } => true,
        Event::Settled { outcome, .. } => matches!(outcome, Outcome::Retry { .. }),
        _ => false,
    }
}
