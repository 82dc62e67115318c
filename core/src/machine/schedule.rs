//! Put, delete, pause and resume: what users do to schedules.
//!
//! Each first decides, under the definition in force, what was due up to its own moment; so an edit, a pause or a removal
//! swallows nothing and fires nothing again.

use std::sync::Arc;

use super::cycle::Look;
use super::{Turn, backfill, chain, decide, overlap, settle};
use crate::command::{Condition, Decision, DeleteSchedule, PauseSchedule, PutSchedule, ResumeSchedule, Seen};
use crate::definition::Overlap;
use crate::event::Event;
use crate::firing::{EndState, Phase};
use crate::id::{Revision, Uid};
use crate::reply::{Change, Rejection, Reply, Ticked, Written};
use crate::schedule::{Schedule, State};
use crate::spec::Exclusion;
use crate::time::Timestamp;

/// Puts a schedule.
pub(super) fn put(turn: &mut Turn<'_>, command: &PutSchedule) -> Result<Written, Rejection> {
    check_put(turn, command)?;
    Look::default().check(turn, &command.name, &command.definition)?;
    write(turn, command, 0)
}

/// Puts a schedule of a set, at that place of it. What follows what is judged when the set stands.
pub(super) fn put_in_set(
    turn: &mut Turn<'_>,
    command: &PutSchedule,
    place: usize,
) -> Result<Written, Rejection> {
    check_put(turn, command)?;
    write(turn, command, place)
}

fn check_put(turn: &Turn<'_>, command: &PutSchedule) -> Result<(), Rejection> {
    command.definition.check().map_err(|flaws| Rejection::Invalid(flaws[0].detail.as_str().into()))?;
    let current = turn.state.named(&command.name);
    check(current.map(|schedule| &**schedule), command.condition, command.seen)?;
    check_rules(turn, command)
}

fn write(turn: &mut Turn<'_>, command: &PutSchedule, place: usize) -> Result<Written, Rejection> {
    match turn.state.named(&command.name).cloned() {
        None => Ok(create(turn, command, Uid::of(turn.moment.index, place))),
        Some(schedule) if schedule.definition == command.definition && !is_parked(&schedule) => {
            Ok(written(&schedule, Change::Unchanged))
        }
        Some(schedule) => edit(turn, command, &schedule),
    }
}

/// Its calendars and secrets exist, and its plan knew what the calendars hold.
fn check_rules(turn: &Turn<'_>, command: &PutSchedule) -> Result<(), Rejection> {
    let mut calendars = command.definition.exclude.iter().filter_map(Exclusion::calendar);
    if let Some(unknown) = calendars.find(|name| turn.state.calendar(name).is_none()) {
        return Err(Rejection::NoCalendar(unknown.into()));
    }
    if let Some(unknown) = command.definition.secrets().find(|name| turn.state.secret(name).is_none()) {
        return Err(Rejection::NoSecret((**unknown).into()));
    }
    if command.rules_at == turn.state.rules_at() { Ok(()) } else { Err(Rejection::Raced) }
}

fn create(turn: &mut Turn<'_>, command: &PutSchedule, uid: Uid) -> Written {
    let revision = Revision(1);
    let since = command.since.min(turn.moment.at);
    turn.state.insert(Schedule {
        uid,
        name: command.name.clone(),
        revision,
        definition: command.definition.clone(),
        created_at: turn.moment.at,
        updated_at: turn.moment.at,
        updated_index: turn.moment.index,
        updated_by: Arc::from(&*command.request.by),
        state: State::Active,
        mark: since,
        next_at: command.next_at,
        fired: 0,
        live: 0,
        held: 0,
        notices: 0,
        chained: 0,
        refired: 0,
        triggered_at: turn.moment.at - crate::time::Span::from_millis(1),
        consecutive_failures: 0,
        outcomes: None,
    });
    tell_defined(turn, uid, command, revision, since);
    decide::move_mark(turn, uid, since, command.next_at);
    decide::complete(turn, uid);
    Written { uid, revision, updated_index: turn.moment.index, change: Change::Created }
}

/// A new revision: its search starts here, at the commit of the edit.
fn edit(turn: &mut Turn<'_>, command: &PutSchedule, before: &Schedule) -> Result<Written, Rejection> {
    decide_before(turn, before, command.before.as_ref())?;
    let uid = before.uid;
    let revision = Revision(before.revision.0 + 1);
    let moment = turn.moment;
    turn.state.change(uid, |schedule| {
        schedule.revision = revision;
        stamp(schedule, moment.at, moment.index, &command.request.by);
        if !matches!(schedule.state, State::Paused { .. }) {
            schedule.state = State::Active;
        }
    });
    turn.state.redefine(uid, &command.definition);
    let mark = moment.at.max(before.mark);
    tell_defined(turn, uid, command, revision, mark);
    if command.definition.policy.overlap == Overlap::Allow {
        overlap::release_all_of(turn, uid);
    }
    let paused = matches!(before.state, State::Paused { .. });
    // A mark that was set ahead of the clock stays there: nothing before it is looked at.
    let next_at = command.next_at.filter(|_| !paused).map(|next_at| next_at.max(mark.successor()));
    decide::move_mark(turn, uid, mark, next_at);
    decide::complete(turn, uid);
    Ok(Written { uid, revision, updated_index: moment.index, change: Change::Changed })
}

fn tell_defined(turn: &mut Turn<'_>, uid: Uid, command: &PutSchedule, revision: Revision, mark: Timestamp) {
    turn.tell(Event::Defined {
        uid,
        name: command.name.clone(),
        revision,
        definition: command.definition.clone(),
        mark,
        by: command.request.by.clone(),
    });
}

/// Idempotent: what is gone stays gone. What has not begun is cancelled; what runs may still say how it ended.
pub(super) fn delete(turn: &mut Turn<'_>, command: &DeleteSchedule) -> Result<Reply, Rejection> {
    let Some(schedule) = turn.state.named(&command.name).cloned() else {
        return match command.condition {
            Condition::Unchanged(_) => Err(Rejection::NotFound),
            Condition::None | Condition::Absent => Ok(Reply::Deleted(false)),
        };
    };
    check(Some(&schedule), command.condition, command.seen)?;
    decide_before(turn, &schedule, command.before.as_ref())?;
    let idle = |phase: &Phase| !matches!(phase, Phase::Running(_));
    let mut waiting: Vec<_> =
        turn.state.live_of(schedule.uid).filter(|firing| idle(&firing.phase)).cloned().collect();
    // Those that wait for others first, so that none of them is released while the others are ended.
    waiting.sort_by_key(|firing| firing.phase != Phase::Held);
    for firing in waiting {
        settle::close(turn, &firing, None, EndState::Cancelled);
    }
    remove(turn, schedule.uid, &command.request.by);
    Ok(Reply::Deleted(true))
}

/// Takes a schedule out; its backfills end with it.
pub(super) fn remove(turn: &mut Turn<'_>, uid: Uid, by: &str) {
    backfill::end_all_of(turn, uid);
    chain::drop_all_of(turn, uid);
    turn.state.letters.remove_schedule(uid);
    turn.state.remove(uid);
    turn.tell(Event::Deleted { uid, by: by.into() });
}

pub(super) fn pause(turn: &mut Turn<'_>, command: &PauseSchedule) -> Result<Reply, Rejection> {
    let schedule = turn.state.named(&command.name).cloned().ok_or(Rejection::NotFound)?;
    check(Some(&schedule), Condition::None, command.seen)?;
    let paused = State::Paused { note: command.note.clone(), until: command.until };
    if schedule.state == paused {
        return Ok(Reply::Schedule(written(&schedule, Change::Unchanged)));
    }
    decide_before(turn, &schedule, command.before.as_ref())?;
    stop(turn, schedule.uid, paused, &command.request.by);
    Ok(reply_now(turn, schedule.uid))
}

/// A rule of the schedule itself pauses it; what is undecided by now falls into the pause.
pub(super) fn pause_by_rule(turn: &mut Turn<'_>, uid: Uid, note: &str) {
    if turn.state.schedule(uid).is_some_and(|schedule| schedule.is_active()) {
        stop(turn, uid, State::Paused { note: note.into(), until: None }, "campanile");
    }
}

fn stop(turn: &mut Turn<'_>, uid: Uid, paused: State, by: &str) {
    let State::Paused { note, until } = &paused else { return };
    turn.tell(Event::Paused { uid, note: note.clone(), until: *until, by: by.into() });
    let moment = turn.moment;
    turn.state.change(uid, |schedule| {
        schedule.state = paused;
        schedule.next_at = None;
        stamp(schedule, moment.at, moment.index, by);
    });
}

pub(super) fn resume(turn: &mut Turn<'_>, command: &ResumeSchedule) -> Result<Reply, Rejection> {
    let schedule = turn.state.named(&command.name).cloned().ok_or(Rejection::NotFound)?;
    check(Some(&schedule), Condition::None, command.seen)?;
    match (&schedule.state, &command.decision) {
        (State::Active | State::Finished, _) => Ok(Reply::Schedule(written(&schedule, Change::Unchanged))),
        (State::Paused { .. } | State::Parked { .. }, Some(decision))
            if decide::is_current(turn, decision) =>
        {
            go_on(turn, decision, &command.request.by, &mut Ticked::default());
            let reply = reply_now(turn, schedule.uid);
            decide::complete(turn, schedule.uid);
            Ok(reply)
        }
        _ => Err(Rejection::Raced),
    }
}

/// Ends a pause: decides what fell into it, and goes on from there.
pub(super) fn go_on(turn: &mut Turn<'_>, decision: &Decision, by: &str, ticked: &mut Ticked) {
    let moment = turn.moment;
    if decision.park.is_none() {
        turn.state.change(decision.uid, |schedule| {
            schedule.state = State::Active;
            stamp(schedule, moment.at, moment.index, by);
        });
        turn.tell(Event::Resumed { uid: decision.uid, mark: decision.mark, by: by.into() });
    }
    decide::carry_out(turn, decision, ticked);
}

/// What must be so, and what the proposer must have seen.
pub(super) fn check(
    schedule: Option<&Schedule>,
    condition: Condition,
    seen: Option<Seen>,
) -> Result<(), Rejection> {
    condition.judge(schedule.map(|schedule| schedule.updated_index))?;
    if seen == schedule.map(Schedule::seen) { Ok(()) } else { Err(Rejection::Raced) }
}

/// Decides what an active schedule was due for up to now, as its proposer planned it.
pub(super) fn decide_before(
    turn: &mut Turn<'_>,
    schedule: &Schedule,
    before: Option<&Decision>,
) -> Result<(), Rejection> {
    match before {
        None if !schedule.is_active() => Ok(()),
        Some(decision)
            if schedule.is_active() && decision.uid == schedule.uid && decide::is_current(turn, decision) =>
        {
            decide::carry_out(turn, decision, &mut Ticked::default());
            Ok(())
        }
        _ => Err(Rejection::Raced),
    }
}

pub(super) fn stamp(schedule: &mut Schedule, at: Timestamp, index: crate::id::LogIndex, by: &str) {
    schedule.updated_at = at;
    schedule.updated_index = index;
    schedule.updated_by = by.into();
}

fn is_parked(schedule: &Schedule) -> bool {
    matches!(schedule.state, State::Parked { .. })
}

fn written(schedule: &Schedule, change: Change) -> Written {
    Written { uid: schedule.uid, revision: schedule.revision, updated_index: schedule.updated_index, change }
}

pub(super) fn reply_now(turn: &Turn<'_>, uid: Uid) -> Reply {
    turn.state.schedule(uid).map_or(Reply::Rejected(Rejection::NotFound), |schedule| {
        Reply::Schedule(written(schedule, Change::Changed))
    })
}
