//! One schedule at an earlier moment: its changes walked back from there until its definition and its state are known, and
//! its mark from the newest of what moved it.

use std::sync::Arc;

use campanile_core::definition::{Definition, ScheduleName};
use campanile_core::event::{Event, Row};
use campanile_core::firing::Kind;
use campanile_core::id::{Revision, Uid};
use campanile_core::schedule::State;
use campanile_core::series::Series;
use campanile_core::time::Timestamp;
use campanile_storage::history::{Entry, Order, Window};

use super::moment::Moment;
use crate::problem::{Code, Problem};
use crate::service::records::changes::Walk;
use crate::service::records::places::Change;
use crate::service::records::{Records, SKIPS, rebuilding};

/// How many keys are read at once.
const BATCH: usize = 64;
/// The most keys that are looked at for a mark. Those behind it that are no decision are firings that somebody asked for,
/// and instants that were decided later.
const LOOKED_AT: usize = 100_000;

/// A schedule as it stood.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) name: ScheduleName,
    pub(super) revision: Revision,
    pub(super) definition: Arc<Definition>,
    pub(super) state: State,
    /// When it was last changed; unknown when that was before it was told again.
    pub(super) changed_at: Option<Timestamp>,
    pub(super) by: Option<Box<str>>,
    /// The mark may be later, by what was decided since, never earlier.
    moved_to: Timestamp,
}

/// The schedule and its name, in rows that carry both.
pub(super) fn name_in(event: &Event) -> Option<(Uid, &ScheduleName)> {
    match event {
        Event::Defined { uid, name, .. } | Event::Standing { uid, name, .. } => Some((*uid, name)),
        _ => None,
    }
}

/// What is known so far, on the way back.
#[derive(Debug, Default)]
struct Walked {
    definition: Option<(ScheduleName, Revision, Arc<Definition>)>,
    state: Option<State>,
    /// An edit that came later releases what was parked or finished, and leaves a pause as it is.
    edited: bool,
    moved_to: Option<Timestamp>,
    changed: Option<(Option<Timestamp>, Option<Box<str>>)>,
    gone: bool,
}

/// The schedule as it stood; `None` when it did not exist then.
pub(super) fn find(records: &Records, uid: Uid, moment: Moment) -> Result<Option<Standing>, Problem> {
    let mut walked = Walked::default();
    records.changes_back(uid, moment.index, |changed| {
        match changed.change {
            Change::NextMoved => return Ok(Walk::On),
            Change::Deleted => {
                walked.gone = true;
                return Ok(Walk::Enough);
            }
            _ => {}
        }
        // What was dropped has been told again since.
        let Some(row) = records.row_of(&changed.entry)? else { return Ok(Walk::On) };
        walked.hear(row);
        Ok(if walked.is_over() { Walk::Enough } else { Walk::On })
    })?;
    Ok(walked.standing())
}

impl Walked {
    fn is_over(&self) -> bool {
        self.definition.is_some() && self.state.is_some()
    }

    fn hear(&mut self, row: Row) {
        let at = Some(row.at);
        match row.event {
            Event::Defined { name, revision, definition, mark, by, .. } => {
                self.change(at, Some(by));
                self.move_to(mark);
                self.definition.get_or_insert((name, revision, definition));
                if revision == Revision(1) {
                    self.stand(State::Active);
                }
                self.edited = true;
            }
            Event::Standing { name, revision, definition, mark, state, by, .. } => {
                self.change(None, Some(by));
                self.move_to(mark);
                self.definition.get_or_insert((name, revision, definition));
                self.stand(state);
            }
            Event::Paused { note, until, by, .. } => {
                self.change(at, Some(by));
                self.stand(State::Paused { note, until });
            }
            Event::Resumed { mark, by, .. } => {
                self.change(at, Some(by));
                self.move_to(mark);
                self.stand(State::Active);
            }
            Event::Parked { reason, .. } => {
                self.change(at, None);
                self.stand(State::Parked { reason });
            }
            Event::Finished { .. } => self.stand(State::Finished),
            Event::MarkSet { to, by, .. } => {
                self.change(at, Some(by));
                self.move_to(to);
            }
            _ => {}
        }
    }

    /// The newest word of its state counts.
    fn stand(&mut self, state: State) {
        let released = self.edited && !matches!(state, State::Paused { .. });
        self.state.get_or_insert(if released { State::Active } else { state });
    }

    fn move_to(&mut self, mark: Timestamp) {
        self.moved_to = self.moved_to.max(Some(mark));
    }

    fn change(&mut self, at: Option<Timestamp>, by: Option<Box<str>>) {
        self.changed.get_or_insert((at, by));
    }

    fn standing(self) -> Option<Standing> {
        let (name, revision, definition) = self.definition.filter(|_| !self.gone)?;
        let (changed_at, by) = self.changed.unwrap_or_default();
        Some(Standing {
            name,
            revision,
            definition,
            state: self.state.unwrap_or(State::Active),
            changed_at,
            by,
            moved_to: self.moved_to.unwrap_or(Timestamp::EPOCH),
        })
    }
}

/// Everything up to here was decided then: the newest instant that had been decided, or what moved the mark without one.
pub(super) fn mark(
    records: &Records,
    uid: Uid,
    standing: &Standing,
    series: Option<&Series>,
    moment: Moment,
) -> Result<Timestamp, Problem> {
    // Nothing is decided before its time, but for what a user skips ahead, which moves the mark by itself.
    let before = Some(moment.at.successor().as_millis());
    let window = Window { after: Some(standing.moved_to.as_millis()), before };
    let (mut last, mut looked_at): (Option<Entry>, usize) = (None, 0);
    loop {
        let history = records.history();
        let found = match last {
            Some(last) => history.scan_from(last.key, window, BATCH, Order::Descending),
            None => history.scan(uid.0, window, BATCH, Order::Descending),
        };
        let entries = found.map_err(|wrong| rebuilding(&wrong))?;
        for entry in &entries {
            if is_decided(records, *entry, series, moment)? {
                return Ok(Timestamp::from_millis(entry.key.nominal));
            }
        }
        looked_at += entries.len();
        last = entries.last().copied();
        if entries.len() < BATCH {
            return Ok(standing.moved_to);
        }
        if looked_at > LOOKED_AT {
            let why = "too much was fired out of turn since its mark to find it; ask as of another moment";
            return Err(Problem::new(Code::NotReady, why));
        }
    }
}

/// Whether the row is the decision of a nominal instant, and was there then.
fn is_decided(
    records: &Records,
    entry: Entry,
    series: Option<&Series>,
    moment: Moment,
) -> Result<bool, Problem> {
    if entry.key.position.index > moment.index {
        return Ok(false);
    }
    match entry.key.run {
        SKIPS => Ok(true),
        // Its first row is the decision; rows of attempts share its key.
        0 => Ok(match records.row_of(&entry)?.map(|row| row.event) {
            Some(Event::Fired { kind: Kind::Scheduled | Kind::CatchUp, .. }) => true,
            // Whoever asked for exactly this instant decided it.
            Some(Event::Fired { .. }) => {
                let nominal = Timestamp::from_millis(entry.key.nominal);
                series.is_some_and(|series| series.contains(nominal))
            }
            _ => false,
        }),
        _ => Ok(false),
    }
}
