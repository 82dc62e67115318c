//! Schedules as they stood at an earlier entry of the log: told from rows of the ledger, found by the index.
//!
//! ```text
//! INDEX|TIME ──▶ moment: the last entry that counts ──▶ standing: definition, state, mark ──▶ next, by calendars of then
//! ```
//! It costs what it shows: a few looks into the index a schedule, whatever has fired since. It reads and never decides. Zones
//! are those of this program. What retention has passed is said to be gone, never guessed.

mod calendars;
mod list;
mod moment;
mod standing;

use std::sync::Arc;

use campanile_core::definition::ScheduleName;
use campanile_core::english;
use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::schedule::State;
use campanile_core::series::{Series, Texts};
use campanile_storage::history::{Entry, Order};

use super::Service;
use super::records::changes::up_to;
use super::records::places::named;
use super::records::{Records, rebuilding};
use super::schedules::no_such;
use super::show::Depth;
use crate::problem::Problem;
use crate::wire::as_of::{ScheduleAsOf, StatusAsOf};
use crate::wire::schedule::state_word;
use crate::wire::time::Instant;

use calendars::CalendarsThen;
pub use moment::AsOf;
use moment::Moment;
use standing::Standing;

/// How many next instants one schedule shows; a row of a list shows the first.
const NEXT_SHOWN: usize = 5;
/// How many keys of a name are read at once.
const BATCH: usize = 64;

impl Service {
    /// A schedule as it stood then, by the name that it had then.
    ///
    /// # Errors
    /// `not_found` when there was none; `watch_expired` when retention has passed what would tell; `bad_request` for a
    /// moment that is to come; `not_ready` while the index is behind.
    pub async fn schedule_as_of(
        self: &Arc<Self>,
        machine: Arc<Machine>,
        name: ScheduleName,
        as_of: AsOf,
    ) -> Result<ScheduleAsOf, Problem> {
        self.think(move |service| {
            let mut then = Then::at(service, &machine, as_of)?;
            match then.uid_of(&name)? {
                Some(uid) => match then.standing(uid)? {
                    Some(standing) => then.show(uid, &standing, Depth::Whole),
                    None => Err(no_such_then(&name, then.moment)),
                },
                None => {
                    then.is_whole()?;
                    Err(no_such_then(&name, then.moment))
                }
            }
        })
        .await
    }
}

/// What stood at one moment.
struct Then<'a> {
    records: &'a Records,
    machine: &'a Machine,
    moment: Moment,
    /// From this entry on everything that stood is known.
    known_from: u64,
    texts: Texts,
}

impl<'a> Then<'a> {
    fn at(service: &'a Service, machine: &'a Machine, as_of: AsOf) -> Result<Self, Problem> {
        let records = service.records();
        records.indexed_through(machine.applied().0)?;
        let moment = moment::find(records, machine, service.now(), as_of)?;
        let known_from = moment::known_from(records)?;
        Ok(Self { records, machine, moment, known_from, texts: Texts::default() })
    }

    /// Whatever is not found did not exist.
    fn is_whole(&self) -> Result<(), Problem> {
        if self.moment.index < self.known_from { Err(moment::expired(self.known_from)) } else { Ok(()) }
    }

    /// The newest incarnation that had this name by then; it may have been removed by then.
    fn uid_of(&self, name: &ScheduleName) -> Result<Option<Uid>, Problem> {
        let mut last: Option<Entry> = None;
        loop {
            let (history, window) = (self.records.history(), up_to(self.moment.index));
            let found = match last {
                Some(last) => history.scan_from(last.key, window, BATCH, Order::Descending),
                None => history.scan(named(name).0, window, BATCH, Order::Descending),
            };
            let entries = found.map_err(|wrong| rebuilding(&wrong))?;
            for entry in &entries {
                let Some(row) = self.records.row_of(entry)? else { continue };
                if let Some((uid, of)) = standing::name_in(&row.event)
                    && of == name
                {
                    return Ok(Some(uid));
                }
            }
            last = entries.last().copied();
            if entries.len() < BATCH {
                return Ok(None);
            }
        }
    }

    fn standing(&self, uid: Uid) -> Result<Option<Standing>, Problem> {
        standing::find(self.records, uid, self.moment)
    }

    fn show(&mut self, uid: Uid, standing: &Standing, depth: Depth) -> Result<ScheduleAsOf, Problem> {
        let definition = &*standing.definition;
        let calendars = CalendarsThen::new(self.records, self.moment);
        let series = Series::of(definition, &calendars, &mut self.texts).ok();
        calendars.close()?;
        let mark = standing::mark(self.records, uid, standing, series.as_ref(), self.moment)?;
        let wanted = if depth == Depth::Whole { NEXT_SHOWN } else { 1 };
        let next = match (&series, &standing.state) {
            (Some(series), State::Active) => {
                let all = std::iter::successors(series.next(mark), |before| series.next(before.at));
                all.take(wanted).map(|instant| Instant(instant.at)).collect()
            }
            _ => Vec::new(),
        };
        let (note, until) = match &standing.state {
            State::Active | State::Finished => (None, None),
            State::Paused { note, until } => (Some(note), *until),
            State::Parked { reason } => (Some(reason), None),
        };
        let status = StatusAsOf {
            state: state_word(&standing.state).into(),
            note: note.filter(|note| !note.is_empty()).map(|note| note.to_string()),
            until: until.map(Instant),
            next,
            mark: Instant(mark),
            text: english::describe(&definition.specs, &definition.exclude, &mut self.texts),
        };
        Ok(ScheduleAsOf {
            namespace: standing.name.namespace().to_owned(),
            name: standing.name.name().to_owned(),
            definition: definition.into(),
            uid: uid.to_string(),
            revision: standing.revision.0,
            updated_at: standing.changed_at.map(Instant),
            updated_by: standing.by.as_ref().map(ToString::to_string),
            as_of: self.moment.into(),
            stands: self.machine.schedule(uid).is_some(),
            status,
        })
    }
}

fn no_such_then(name: &ScheduleName, moment: Moment) -> Problem {
    let Problem { detail, .. } = no_such(name);
    Problem::not_found(format!("{detail} as of entry {} ({})", moment.index, Instant(moment.at)))
}
