//! Named calendars: put, read, removed; and which instants a change of one would move, told before it is made.

use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::calendar::Calendar;
use campanile_core::command::{Body, Condition, DeleteCalendar, PutCalendar};
use campanile_core::definition::Definition;
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::reply::{Change, Rejection, Reply};
use campanile_core::series::{Calendars, Series, Texts};
use campanile_core::spec::Exclusion;
use campanile_core::state::{NamedCalendar, State};

use super::diff::{self, Bounds, Side};
use super::dry_run::change_word;
use super::lint::all_excluded;
use super::named::users_of;
use super::schedules::unexpected;
use super::write::{Caller, Failure, refused};
use super::{Consistency, Service};
use crate::problem::{Code, Problem};
use crate::wire::calendar::{CalendarDryRun, CalendarRow, MovedSchedule, Remark};
use crate::wire::page::{Page, after_name};
use crate::wire::schedule::Warning;

/// At most so many schedules that name a calendar are looked at in a dry run.
const LOOKED_AT: usize = 100;
/// How long that may take.
const WITHIN: Duration = Duration::from_secs(3);

/// A calendar after a write.
#[derive(Debug, Clone)]
pub struct Written {
    /// What the write did.
    pub change: Change,
    /// How it stands.
    pub named: Arc<NamedCalendar>,
    /// How many schedules name it.
    pub users: u32,
}

impl Service {
    /// A page of calendars.
    ///
    /// # Errors
    /// `bad_request` for a token that this list did not give.
    pub fn calendars(
        &self,
        machine: &Machine,
        limit: usize,
        page_token: Option<&str>,
    ) -> Result<Page<CalendarRow>, Problem> {
        let after = after_name(page_token)?;
        let behind = machine.calendars_after(after.as_deref());
        let rows = behind.map(|(name, named)| CalendarRow::of(name, named, machine.calendar_users(name)));
        Ok(Page::by_name(limit, rows, |row| &row.name))
    }

    /// Creates or replaces a calendar.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn put_calendar(
        self: &Arc<Self>,
        caller: &Caller,
        name: &str,
        condition: Condition,
        calendar: Calendar,
    ) -> Result<Written, Failure> {
        let command = PutCalendar {
            name: name.into(),
            calendar: Arc::new(calendar),
            condition,
            request: caller.request(),
        };
        let body = Body::PutCalendar(command);
        let reply = self.write_as_it_is(caller, body, |why| refused_calendar(name, why)).await?;
        let Reply::Calendar(change, _) = reply else { return Err(unexpected(&reply)) };
        let machine = self.quorum().view();
        let named = machine.calendar(name).cloned().ok_or_else(|| {
            Problem::not_found(format!("the calendar {name} was written, and has been removed since"))
        })?;
        Ok(Written { change, named, users: machine.calendar_users(name) })
    }

    /// Removes a calendar that no schedule names; `false` when there was none.
    ///
    /// # Errors
    /// As [`Service::write`]; `in_use` with the first of the schedules that name it.
    pub async fn delete_calendar(
        self: &Arc<Self>,
        caller: &Caller,
        name: &str,
        condition: Condition,
    ) -> Result<bool, Failure> {
        let command = DeleteCalendar { name: name.into(), condition, request: caller.request() };
        let body = Body::DeleteCalendar(command);
        match self.write_as_it_is(caller, body, |why| refused_calendar(name, why)).await {
            Ok(Reply::Deleted(was_there)) => Ok(was_there),
            Ok(other) => Err(unexpected(&other)),
            Err(failure) => Err(self.in_use(failure, names_calendar(name.to_owned())).await),
        }
    }

    /// What [`Service::put_calendar`] would do to the schedules that name it.
    ///
    /// # Errors
    /// Those of the put, but for a race.
    pub async fn put_calendar_dry(
        self: &Arc<Self>,
        name: String,
        condition: Condition,
        calendar: Calendar,
        remarks: Vec<Remark>,
    ) -> Result<CalendarDryRun, Failure> {
        let machine = self.read(Consistency::Linearizable).await?;
        condition
            .judge(machine.calendar(&name).map(|named| named.updated_index))
            .map_err(|why| refused_calendar(&name, why))?;
        let told = self.think(move |service| Ok(service.would_move(&machine, &name, calendar, remarks)));
        Ok(told.await?)
    }

    fn would_move(
        &self,
        machine: &Machine,
        name: &str,
        calendar: Calendar,
        remarks: Vec<Remark>,
    ) -> CalendarDryRun {
        let now = self.now().max(machine.clock());
        let bounds = Bounds { now, most: diff::MOST, deadline: Instant::now() + WITHIN };
        let (date_count, span_count) = (calendar.dates.len(), calendar.spans.len());
        let change = match machine.calendar(name) {
            None => Change::Created,
            Some(named) if *named.calendar == calendar => Change::Unchanged,
            Some(_) => Change::Changed,
        };
        let changed = Changed { state: machine, name, calendar: Arc::new(calendar) };
        let (mut moved, mut warnings, mut looked_at) = (Vec::new(), Vec::new(), 0);
        // A new calendar is named by nobody yet, and an equal one moves nothing.
        let users = (change == Change::Changed)
            .then(|| users_of(machine, names_calendar(name.to_owned())).take(LOOKED_AT));
        for schedule in users.into_iter().flatten() {
            if Instant::now() >= bounds.deadline {
                break;
            }
            looked_at += 1;
            let mut texts = Texts::default();
            let definition: &Definition = &schedule.definition;
            let state: &State = machine;
            let (Ok(before), Ok(after)) =
                (Series::of(definition, state, &mut texts), Series::of(definition, &changed, &mut texts))
            else {
                continue;
            };
            let [old, new] =
                [&before, &after].map(|series| Side { series, definition, fired: schedule.fired });
            let ticks = diff::ticks(Some(&old), Some(&new), bounds);
            warnings.extend(all_excluded(&before, &after, now).map(|warning| Warning {
                message: format!("{}: {}", schedule.name, warning.message),
                ..warning
            }));
            if !ticks.added.is_empty() || !ticks.removed.is_empty() {
                moved.push(MovedSchedule { schedule: schedule.name.to_string(), ticks });
            }
        }
        CalendarDryRun {
            change: change_word(change).into(),
            date_count,
            span_count,
            users: machine.calendar_users(name),
            looked_at,
            moved,
            warnings,
            remarks,
        }
    }
}

/// Whether a definition names that calendar.
fn names_calendar(name: String) -> impl Fn(&Definition) -> bool {
    move |definition| definition.exclude.iter().filter_map(Exclusion::calendar).any(|named| named == name)
}

/// The calendars of a state, one of them as it would be.
struct Changed<'a> {
    state: &'a State,
    name: &'a str,
    calendar: Arc<Calendar>,
}

impl Calendars for Changed<'_> {
    fn calendar(&self, name: &str) -> Option<Arc<Calendar>> {
        if name == self.name { Some(self.calendar.clone()) } else { Calendars::calendar(self.state, name) }
    }

    fn changed_at(&self) -> LogIndex {
        self.state.changed_at()
    }
}

fn refused_calendar(name: &str, rejection: Rejection) -> Failure {
    let (code, detail) = match rejection {
        // RFC 9110 §13.1.1: a tag is asked for, and nothing has one.
        Rejection::NotFound => (
            Code::VersionConflict,
            format!("If-Match asks for a version of the calendar {name}, and it does not exist"),
        ),
        Rejection::AlreadyExists => (
            Code::AlreadyExists,
            format!("the calendar {name} exists, and If-None-Match asks that it does not"),
        ),
        Rejection::VersionConflict(index) => (
            Code::VersionConflict,
            format!(
                "the calendar {name} was changed: its ETag is \"{index}\" now; read it again and redo the change"
            ),
        ),
        other => return refused(other),
    };
    Problem::new(code, detail).into()
}

/// The problem that a name has no calendar.
#[must_use]
pub fn no_such_calendar(name: &str) -> Problem {
    Problem::not_found(format!("there is no calendar {name}"))
}
