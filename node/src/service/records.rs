//! What happened, told from the ledger and its index: pages of rows, the history of a schedule, the story of one firing.
//!
//! It reads and never decides. Reads of files happen on blocking threads. The index may be behind for a moment, so a reader
//! waits until it has what the ledger had when it was asked.

mod attempt;
pub(super) mod changes;
pub(super) mod counted;
mod cursor;
pub(super) mod follow;
mod index;
pub(super) mod instant;
mod outages;
mod pages;
mod past;
pub(super) mod places;
mod recent;
mod revisions;
mod rows;
pub mod sieve;
mod since;
mod story;

use campanile_raft::runtime;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use campanile_core::definition::ScheduleName;
use campanile_core::event::Event;
use campanile_core::firing::FiringId;
use campanile_core::id::{Run, Uid};
use campanile_core::machine::Machine;
use campanile_core::time::Timestamp;
use campanile_storage::Trouble;
use campanile_storage::history::{Entry, Order, Unreadable, Window};
use campanile_storage::ledger::{LedgerReader, Position, Row};

use crate::problem::{Code, Problem};
use crate::wire::firing::Firing;
use crate::wire::ledger::Row as ShownRow;
use crate::wire::page::Page;

use cursor::{cursor_token, read_cursor};
pub use index::{Asked, Index};
pub(super) use rows::SKIPS;
pub use rows::{history_keys, parse_position, read_row};
use story::Story;

/// How long a reader waits for the index.
const INDEX_WITHIN: Duration = Duration::from_secs(2);
/// The most rows that one page of firings looks at.
const LOOKED_AT: usize = 20_000;
/// How many keys are read from the index at once.
const BATCH: usize = 512;
/// The most bytes of rows in one page of the ledger.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The ledger of this node and its index.
#[derive(Debug, Clone)]
pub struct Records {
    ledger: LedgerReader,
    index: Arc<dyn Index>,
    /// The most rows that one count looks at, below the bound of each kind.
    most: usize,
}

/// Which firings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// In this state, by its word.
    pub state: Option<&'static str>,
    /// Of schedules in this namespace; for firings of all schedules.
    pub namespace: Option<String>,
    /// With a nominal after this.
    pub after: Option<Timestamp>,
    /// With a nominal before this.
    pub before: Option<Timestamp>,
    /// At most so many.
    pub limit: usize,
    /// Behind the item that this names.
    pub page_token: Option<String>,
}

impl Records {
    /// Over a ledger and its index (with [`history_keys`] as its `extract`).
    #[must_use]
    pub fn new(ledger: LedgerReader, index: Arc<dyn Index>) -> Self {
        Self { ledger, index, most: usize::MAX }
    }

    /// Every count (timeline, statistics, outages) is cut after so many rows, if its own bound is not lower.
    #[must_use]
    pub fn counting_at_most(self, rows: usize) -> Self {
        Self { most: rows, ..self }
    }

    /// The story of one firing; `None` when there is none, or retention has passed it.
    ///
    /// # Errors
    /// `not_ready` while the index is built again.
    pub async fn firing(&self, machine: Arc<Machine>, id: FiringId) -> Result<Option<Firing>, Problem> {
        self.on_thread(move |records| {
            records.caught_up()?;
            Telling::new(records, &machine).firing(id)
        })
        .await
    }

    /// The firings and skips of one schedule, the newest nominal first.
    ///
    /// # Errors
    /// As [`Records::firing`]; `bad_request` for a token that this list did not give.
    pub async fn of_schedule(
        &self,
        machine: Arc<Machine>,
        uid: Uid,
        filter: Filter,
    ) -> Result<Page<Firing>, Problem> {
        self.on_thread(move |records| {
            records.caught_up()?;
            Telling::new(records, &machine).of_schedule(uid, &filter)
        })
        .await
    }

    /// The firings and skips of all schedules, the newest decision first.
    ///
    /// # Errors
    /// As [`Records::of_schedule`].
    pub async fn recent(&self, machine: Arc<Machine>, filter: Filter) -> Result<Page<Firing>, Problem> {
        self.on_thread(move |records| {
            records.caught_up()?;
            recent::page(&mut Telling::new(records, &machine), &filter)
        })
        .await
    }

    /// The names of schedules, of those that are gone too; `None` where retention has passed the definition.
    ///
    /// # Errors
    /// `internal` when the ledger cannot be read.
    pub async fn names(
        &self,
        machine: Arc<Machine>,
        uids: Vec<Uid>,
    ) -> Result<Vec<Option<ScheduleName>>, Problem> {
        self.on_thread(move |records| {
            records.caught_up()?;
            let mut telling = Telling::new(records, &machine);
            uids.into_iter().map(|uid| telling.name_of(uid)).collect()
        })
        .await
    }

    /// Waits for the index: a list told from one that is behind would look whole and be short.
    ///
    /// # Errors
    /// `not_ready` when it is still behind, as while it is built again.
    fn caught_up(&self) -> Result<(), Problem> {
        self.indexed_through(self.ledger.head().position.map_or(0, |position| position.index))
    }

    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let records = self.clone();
        runtime::blocking(move || work(&records))
            .await
            .unwrap_or_else(|_| Err(Problem::new(Code::Internal, "reading the records panicked")))
    }

    /// The ledger alone.
    pub(super) fn ledger(&self) -> &LedgerReader {
        &self.ledger
    }

    pub(super) fn rows_behind(&self, after: Option<Position>, limit: usize) -> Result<Vec<Row>, Problem> {
        self.ledger.read(after, limit, PAGE_BYTES).map_err(|trouble| unreadable_ledger(&trouble))
    }

    /// The row of an entry of the index; `None` when retention has dropped it.
    fn row(&self, entry: &Entry) -> Result<Option<Row>, Problem> {
        let row = self.ledger.fetch(entry.key.position, entry.place);
        row.map_err(|trouble| unreadable_ledger(&trouble))
    }

    pub(super) fn history(&self) -> &dyn Index {
        &*self.index
    }
}

/// One answer being told: remembers names and offices that it has looked up.
pub(in crate::service) struct Telling<'a> {
    records: &'a Records,
    machine: &'a Machine,
    names: BTreeMap<Uid, Option<ScheduleName>>,
    offices: BTreeMap<u64, (u64, u64)>,
}

impl<'a> Telling<'a> {
    fn new(records: &'a Records, machine: &'a Machine) -> Self {
        Self { records, machine, names: BTreeMap::new(), offices: BTreeMap::new() }
    }

    /// A firing; when the instant has not fired, the run of skips that ends with it.
    fn firing(&mut self, id: FiringId) -> Result<Option<Firing>, Problem> {
        let fired = self.rows_of(id, id.run.0)?;
        let entries = if fired.is_empty() && id.run == Run(0) && self.machine.firing(id).is_none() {
            self.rows_of(id, SKIPS)?
        } else {
            fired
        };
        self.tell(id, &entries)
    }

    fn rows_of(&self, id: FiringId, run: u32) -> Result<Vec<Entry>, Problem> {
        let found = self.records.history().scan_firing(id.uid.0, id.nominal.as_millis(), run);
        found.map_err(|wrong| rebuilding(&wrong))
    }

    /// The story that the rows of one identity make.
    fn tell(&mut self, id: FiringId, entries: &[Entry]) -> Result<Option<Firing>, Problem> {
        let mut story = Story::default();
        for entry in entries {
            if let Some(row) = self.records.row(entry)? {
                story.hear(row.position, &read_row(&row)?);
            }
        }
        self.finish_story(id, story)
    }

    /// A story with what only the machine and other rows know of it.
    fn finish_story(&mut self, id: FiringId, story: Story) -> Result<Option<Firing>, Problem> {
        let Some(mut firing) = story.tell(id, self.machine) else { return Ok(None) };
        firing.schedule = self.name_of(id.uid)?.map(|name| name.to_string());
        if let Some((node, term)) = self.office_at(firing.decided.index)? {
            firing.decided.node = Some(node);
            firing.decided.term = Some(term);
        }
        Ok(Some(firing))
    }

    fn of_schedule(&mut self, uid: Uid, filter: &Filter) -> Result<Page<Firing>, Problem> {
        let window = Window {
            after: filter.after.map(Timestamp::as_millis),
            before: filter.before.map(Timestamp::as_millis),
        };
        let mut cursor = filter.page_token.as_deref().map(|given| read_cursor(uid, given)).transpose()?;
        let (mut items, mut group, mut looked_at) = (Vec::new(), Vec::<Entry>::new(), 0);
        loop {
            let entries = match cursor {
                Some(cursor) => self.records.history().scan_from(cursor, window, BATCH, Order::Descending),
                None => self.records.history().scan(uid.0, window, BATCH, Order::Descending),
            }
            .map_err(|wrong| rebuilding(&wrong))?;
            let last = entries.len() < BATCH;
            for entry in &entries {
                if group.last().is_some_and(|before| !same_firing(before, entry)) {
                    let end = self.finish(&mut group, filter, &mut items)?;
                    if items.len() == filter.limit || looked_at >= LOOKED_AT {
                        return Ok(Page { items, next_page_token: end });
                    }
                }
                looked_at += 1;
                group.push(*entry);
            }
            cursor = entries.last().map(|entry| entry.key).or(cursor);
            if last {
                self.finish(&mut group, filter, &mut items)?;
                return Ok(Page { items, next_page_token: None });
            }
        }
    }

    /// Tells a whole group of rows of one firing, and gives the token that goes on behind it.
    fn finish(
        &mut self,
        group: &mut Vec<Entry>,
        filter: &Filter,
        items: &mut Vec<Firing>,
    ) -> Result<Option<String>, Problem> {
        let mut entries = std::mem::take(group);
        let Some(last) = entries.last().map(|entry| entry.key) else { return Ok(None) };
        // They came newest first, and a story is told in the order of the log.
        entries.reverse();
        let told = self.tell(rows::firing_of(last), &entries)?;
        items.extend(told.filter(|firing| filter.state.is_none_or(|state| firing.state == state)));
        Ok(Some(cursor_token(last)))
    }

    /// The name of a schedule: of one that is gone, by the row of its newest definition.
    fn name_of(&mut self, uid: Uid) -> Result<Option<ScheduleName>, Problem> {
        if let Some(schedule) = self.machine.schedule(uid) {
            return Ok(Some(schedule.name.clone()));
        }
        if let Some(known) = self.names.get(&uid) {
            return Ok(known.clone());
        }
        let name = self.records.newest_name(uid)?;
        self.names.insert(uid, name.clone());
        Ok(name)
    }

    /// Node and term of the leader in office at an index.
    fn office_at(&mut self, index: u64) -> Result<Option<(u64, u64)>, Problem> {
        let office = self.machine.office();
        if office.epoch.0 > 0 && index >= office.epoch.0 {
            return Ok(Some((office.node.0, office.term.0)));
        }
        let found = self.records.history().scan(rows::OFFICES.0, changes::up_to(index), 1, Order::Descending);
        let Some(entry) = found.map_err(|wrong| rebuilding(&wrong))?.pop() else { return Ok(None) };
        if let Some(known) = self.offices.get(&entry.key.position.index) {
            return Ok(Some(*known));
        }
        let Some(row) = self.records.row(&entry)? else { return Ok(None) };
        let Event::LeaderEpoch { node, term, .. } = read_row(&row)?.event else { return Ok(None) };
        self.offices.insert(entry.key.position.index, (node.0, term.0));
        Ok(Some((node.0, term.0)))
    }
}

fn same_firing(a: &Entry, b: &Entry) -> bool {
    (a.key.nominal, a.key.run) == (b.key.nominal, b.key.run)
}

fn unreadable_ledger(trouble: &Trouble) -> Problem {
    Problem::new(Code::Internal, format!("the ledger of this node cannot be read: {trouble}"))
}

pub(super) fn rebuilding(wrong: &Unreadable) -> Problem {
    Problem::new(Code::NotReady, format!("{wrong}; ask again in a moment, or another node"))
}
