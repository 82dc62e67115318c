//! Which incarnation of a name, which definition was in force, and whether instants were decided.

use campanile_core::definition::ScheduleName;
use campanile_core::event::{Event, Row as CoreRow};
use campanile_core::id::{Run, Uid};
use campanile_core::machine::Machine;
use campanile_core::schedule::State;
use campanile_core::time::Timestamp;
use campanile_storage::history::{Order, Window};

use super::{Gap, InForce, Standing, Stood};
use crate::problem::Problem;
use crate::service::records::changes::{Changed, Walk, up_to};
use crate::service::records::places::{Change, named};
use crate::service::records::{BATCH, Records, Telling, read_row, rebuilding, rows};

/// The incarnation of a name, and when and by whom it was created, when that was later than the instant.
type Incarnation = (Uid, Option<(Timestamp, String)>);

impl Telling<'_> {
    /// The newest incarnation of the name at an instant; without one the next.
    pub(super) fn incarnation(
        &self,
        name: &ScheduleName,
        at: Timestamp,
    ) -> Result<Option<Incarnation>, Problem> {
        if let Some(live) = self.machine.named(name).filter(|live| live.created_at <= at) {
            return Ok(Some((live.uid, None)));
        }
        let then = self.records.last_until(named(name), at)?;
        if let Some((uid, _, _)) = self.first_named(name, up_to(then), Order::Descending)? {
            return Ok(Some((uid, None)));
        }
        let later = Window { after: i64::try_from(then).ok(), before: None };
        let Some((uid, row, mark)) = self.first_named(name, later, Order::Ascending)? else {
            return Ok(None);
        };
        let by = match row.event {
            Event::Defined { by, .. } => by.to_string(),
            // It was told again: it is older than what retention has left.
            _ => return Ok(Some((uid, None))),
        };
        // One that was created for an instant of the past begins before it was created.
        Ok(Some((uid, (mark >= at).then_some((row.at, by)))))
    }

    /// The first row of the window that carries the name: its schedule, the row, and the mark in it.
    fn first_named(
        &self,
        name: &ScheduleName,
        window: Window,
        order: Order,
    ) -> Result<Option<(Uid, CoreRow, Timestamp)>, Problem> {
        let found = self.records.history().scan(named(name).0, window, BATCH, order);
        for entry in found.map_err(|wrong| rebuilding(&wrong))? {
            let Some(row) = self.records.row_of(&entry)? else { continue };
            match &row.event {
                Event::Defined { uid, name: of, mark, .. } | Event::Standing { uid, name: of, mark, .. }
                    if of == name =>
                {
                    let (uid, mark) = (*uid, *mark);
                    return Ok(Some((uid, row, mark)));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The definition that decided it, by its revision; without a decision the newest one at `index` whose search began
    /// before `at`, or the newest of all.
    pub(super) fn in_force(
        &self,
        uid: Uid,
        revision: Option<u32>,
        at: Timestamp,
        index: u64,
    ) -> Result<Option<InForce>, Problem> {
        if let Some(found) = revision.map(|revision| self.of_revision(uid, revision)).transpose()?.flatten() {
            return Ok(Some(found));
        }
        let (mut found, mut newest) = (None, None);
        self.records.changes_back(uid, index, |changed| {
            if !matches!(changed.change, Change::Defined | Change::Standing) {
                return Ok(Walk::On);
            }
            let Some(in_force) = self.records.row_of(&changed.entry)?.and_then(in_force) else {
                return Ok(Walk::Enough);
            };
            let is_it = revision.map_or(in_force.mark < at, |revision| in_force.revision == revision);
            newest.get_or_insert_with(|| in_force.clone());
            found = is_it.then_some(in_force);
            Ok(if is_it { Walk::Enough } else { Walk::On })
        })?;
        // One that was created later is told as it was created.
        let later = || self.of_revision(uid, 1);
        let found = match found.or(newest) {
            Some(found) => Some(found),
            None => later()?,
        };
        // What the ledger does not hold any more, the machine may.
        Ok(found.or_else(|| {
            let live = self.machine.schedule(uid)?;
            Some(InForce {
                revision: live.revision.0,
                definition: live.definition.clone(),
                by: live.updated_by.to_string(),
                since: None,
                mark: live.created_at,
            })
        }))
    }

    fn of_revision(&self, uid: Uid, revision: u32) -> Result<Option<InForce>, Problem> {
        let under = rows::definitions_of(uid).0;
        let found = self.records.history().scan_firing(under, i64::from(revision), Run(0).0);
        let Some(entry) = found.map_err(|wrong| rebuilding(&wrong))?.pop() else { return Ok(None) };
        Ok(self.records.row_of(&entry)?.and_then(in_force))
    }
}

impl Records {
    /// The last entry before the first row of a space that is younger than `at`, in a space that is sorted by log index; the
    /// last entry of all when none is. A bisection over keys, since the ledger itself is slow to look into at random.
    pub(super) fn last_until(&self, space: Uid, at: Timestamp) -> Result<u64, Problem> {
        let head = self.ledger.head().position.map_or(0, |last| last.index);
        let (mut low, mut high, mut middle) = (0, head + 1, head);
        while low < high {
            let found = self.history().scan(space.0, up_to(middle), 1, Order::Descending);
            let entry = found.map_err(|wrong| rebuilding(&wrong))?.pop();
            let row = entry.as_ref().map(|entry| self.row_of(entry)).transpose()?.flatten();
            match (entry, row) {
                (Some(entry), Some(row)) if row.at > at => high = entry.key.position.index,
                _ => low = middle + 1,
            }
            middle = low + (high.max(low) - low) / 2;
        }
        Ok(low.saturating_sub(1))
    }

    /// Rows of before this moment may be gone. When nothing was ever dropped, no file is read for that.
    pub(super) fn reaches_back_to(&self, machine: &Machine) -> Result<Timestamp, Problem> {
        let is_whole = machine.keeping().floor.0 == 0 && self.ledger.base().position.is_none();
        if is_whole { Ok(Timestamp::from_millis(i64::MIN)) } else { self.known_since(machine) }
    }

    /// How a schedule stood behind the entry at `index`.
    pub(super) fn stood(&self, uid: Uid, index: u64) -> Result<Standing, Problem> {
        let mut standing = Standing::default();
        let mut edited = false;
        self.changes_back(uid, index, |Changed { change, entry }| {
            if matches!(change, Change::NextMoved | Change::MarkSet) || (edited && change == Change::Defined)
            {
                return Ok(Walk::On);
            }
            let Some(row) = self.row_of(&entry)? else { return Ok(Walk::Enough) };
            if change == Change::Defined {
                edited = true;
                standing = Standing { since: Some(row.at), ..Standing::default() };
                return Ok(Walk::On);
            }
            let found = standing_of(row);
            // An edit releases what was parked or finished, and leaves a pause as it is.
            if !edited || found.state == Stood::Paused {
                standing = found;
            }
            Ok(Walk::Enough)
        })?;
        Ok(standing)
    }

    /// The gap between leaders into which an instant fell that was decided at `decided`.
    pub(super) fn gap_over(&self, at: Timestamp, decided: Timestamp) -> Result<Option<Gap>, Problem> {
        let found = self.outage_after(at)?.filter(|(_, from, to)| *from <= decided && *to <= decided);
        Ok(found.map(|(position, from, to)| Gap { position, from, to }))
    }

    /// When the leader that decided the entry at `index` took office, and which node it is, when that was after `at`.
    pub(super) fn taken_since(&self, index: u64, at: Timestamp) -> Result<Option<(Timestamp, u64)>, Problem> {
        let Some(entry) = self.office_entry(index)? else { return Ok(None) };
        let Some(row) = self.row(&entry)?.as_ref().map(read_row).transpose()? else { return Ok(None) };
        Ok(match row.event {
            Event::LeaderEpoch { node, .. } if row.at > at => Some((row.at, node.0)),
            _ => None,
        })
    }
}

fn in_force(row: CoreRow) -> Option<InForce> {
    let (revision, definition, mark, by, since) = match row.event {
        Event::Defined { revision, definition, mark, by, .. } => {
            (revision, definition, mark, by, Some(row.at))
        }
        Event::Standing { revision, definition, mark, by, .. } => (revision, definition, mark, by, None),
        _ => return None,
    };
    Some(InForce { revision: revision.0, definition, by: by.to_string(), since, mark })
}

fn standing_of(row: CoreRow) -> Standing {
    let text = |text: Box<str>| (!text.is_empty()).then(|| text.to_string());
    let by = |by: Box<str>| Some(by.to_string());
    let plain = Standing { since: Some(row.at), ..Standing::default() };
    match row.event {
        Event::Paused { note, until, by: who, .. } => {
            Standing { state: Stood::Paused, note: text(note), until, by: by(who), ..plain }
        }
        Event::Parked { reason, .. } => Standing { state: Stood::Parked, note: text(reason), ..plain },
        Event::Finished { .. } => Standing { state: Stood::Finished, ..plain },
        Event::Deleted { by: who, .. } => Standing { state: Stood::Deleted, by: by(who), ..plain },
        Event::Standing { state, .. } => {
            // Since when is not known: it was told again.
            let told = Standing::default();
            match state {
                State::Active => told,
                State::Paused { note, until } => {
                    Standing { state: Stood::Paused, note: text(note), until, ..told }
                }
                State::Parked { reason } => Standing { state: Stood::Parked, note: text(reason), ..told },
                State::Finished => Standing { state: Stood::Finished, ..told },
            }
        }
        _ => plain,
    }
}
