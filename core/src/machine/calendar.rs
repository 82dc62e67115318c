//! Calendars, zones, and the look at all schedules that a change of either asks for.
//!
//! What is decided, is decided: a change counts for the instants after it, as an edit does. A plan names the place of the
//! last change that it was made with, so none is applied under rules that it did not know.

use std::sync::Arc;

use super::Turn;
use crate::calendar::Calendar;
use crate::command::{DeleteCalendar, Moved, PutCalendar, Refresh, UseZones};
use crate::event::Event;
use crate::reply::{Change, Rejection, Reply};
use crate::schedule::State;
use crate::state::{KEPT_VERSIONS, NamedCalendar, Refreshing};
use crate::time::Timestamp;

/// The most calendars of a cluster.
pub(super) const MAX_CALENDARS: usize = 1_000;

pub(super) fn put(turn: &mut Turn<'_>, command: &PutCalendar) -> Result<Reply, Rejection> {
    command.calendar.check().map_err(|bad| Rejection::Invalid(bad.to_string().into()))?;
    let current = turn.state.calendar(&command.name).cloned();
    command.condition.judge(current.as_ref().map(|known| known.updated_index))?;
    let change = match &current {
        Some(known) if known.calendar == command.calendar => {
            return Ok(Reply::Calendar(Change::Unchanged, known.updated_index));
        }
        Some(_) => Change::Changed,
        None if turn.state.calendars.len() >= MAX_CALENDARS => {
            return Err(Rejection::Limit(format!("more than {MAX_CALENDARS} calendars").into()));
        }
        None => Change::Created,
    };
    let named = NamedCalendar {
        calendar: command.calendar.clone(),
        before: current.as_deref().map(|known| versions(known, turn.moment.at)).unwrap_or_default(),
        updated_at: turn.moment.at,
        updated_index: turn.moment.index,
        updated_by: command.request.by.clone(),
    };
    turn.state.calendars.insert(Arc::from(&*command.name), Arc::new(named));
    turn.tell(Event::CalendarPut {
        name: command.name.clone(),
        calendar: command.calendar.clone(),
        by: command.request.by.clone(),
    });
    // A new calendar is named by nobody yet.
    if change == Change::Changed {
        look_again(turn);
    }
    Ok(Reply::Calendar(change, turn.moment.index))
}

/// What counts for the instants up to `at`: the version that is replaced, behind those before it.
fn versions(known: &NamedCalendar, at: Timestamp) -> Vec<(Arc<Calendar>, Timestamp)> {
    let mut versions = known.before.clone();
    versions.push((known.calendar.clone(), at));
    versions.drain(..versions.len().saturating_sub(KEPT_VERSIONS));
    versions
}

/// Idempotent; refused while a schedule names it.
pub(super) fn delete(turn: &mut Turn<'_>, command: &DeleteCalendar) -> Result<Reply, Rejection> {
    let current = turn.state.calendar(&command.name).cloned();
    command.condition.judge(current.as_ref().map(|known| known.updated_index))?;
    let users = turn.state.calendar_users(&command.name);
    if users > 0 {
        return Err(Rejection::InUse(users));
    }
    if current.is_none() {
        return Ok(Reply::Deleted(false));
    }
    turn.state.calendars.remove(&*command.name);
    turn.tell(Event::CalendarDeleted { name: command.name.clone(), by: command.request.by.clone() });
    Ok(Reply::Deleted(true))
}

/// A leader plans with another version of the zones than the one before it.
pub(super) fn use_zones(turn: &mut Turn<'_>, command: &UseZones) -> Reply {
    if turn.state.rules.zones == command.version {
        return Reply::Refreshed(false);
    }
    let first = turn.state.rules.zones.is_empty();
    turn.state.rules.zones = command.version.clone();
    turn.tell(Event::ZonesUsed { version: command.version.clone() });
    if !first {
        look_again(turn);
    }
    Reply::Refreshed(true)
}

fn look_again(turn: &mut Turn<'_>) {
    turn.state.rules.changed_at = turn.moment.index;
    turn.state.rules.refreshing = Some(Refreshing::default());
}

/// Corrects when schedules are next looked at.
pub(super) fn refresh(turn: &mut Turn<'_>, command: &Refresh) -> Reply {
    let current = turn.state.rules.refreshing.is_some_and(|refreshing| refreshing.after == command.after)
        && turn.state.rules_at() == command.rules_at;
    if !current {
        return Reply::Refreshed(false);
    }
    for moved in &command.moved {
        move_next(turn, moved);
    }
    turn.state.rules.refreshing = command.to.map(|after| Refreshing { after: Some(after) });
    Reply::Refreshed(true)
}

fn move_next(turn: &mut Turn<'_>, moved: &Moved) {
    let Some(schedule) = turn.state.schedule(moved.uid) else { return };
    let current = schedule.is_active() && schedule.revision == moved.revision && schedule.mark == moved.after;
    if !current || schedule.next_at == moved.next_at {
        return;
    }
    let from = schedule.next_at;
    let finished = turn.state.change(moved.uid, |schedule| {
        schedule.next_at = moved.next_at;
        if schedule.next_at.is_none() {
            schedule.state = State::Finished;
        }
        schedule.next_at.is_none()
    });
    turn.tell(Event::NextMoved { uid: moved.uid, from, to: moved.next_at });
    if finished == Some(true) {
        turn.tell(Event::Finished { uid: moved.uid });
        super::decide::complete(turn, moved.uid);
    }
}
