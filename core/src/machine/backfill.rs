//! Backfills: instants of a range that fire again, a bounded batch at a time.
//!
//! A step names what its proposer saw (place, revision, rules, firings below the mark); when any of it has moved on, the
//! step changes nothing and is planned anew. Nothing above the mark is fired here: those instants are the tick's. What
//! the overlap rule skips makes no row of the ledger, since those instants were decided before.

use super::Turn;
use super::decide::{self, New};
use super::overlap::{self, Entry};
use super::schedule;
use crate::backfill::{Backfill, BackfillPlan, BackfillState, FIRES_PER_STEP, KEPT_ENDED, MAX_RUNNING};
use crate::command::{CancelBackfill, Condition, CreateBackfill, StepBackfill};
use crate::event::Event;
use crate::firing::{EndState, FiringId, Kind};
use crate::id::{BackfillId, Run, Uid};
use crate::reply::{Rejection, Reply};
use crate::time::{Span, Timestamp};

pub(super) fn create(turn: &mut Turn<'_>, command: &CreateBackfill) -> Result<Reply, Rejection> {
    let schedule = turn.state.named(&command.name).cloned().ok_or(Rejection::NotFound)?;
    schedule::check(Some(&schedule), Condition::None, command.seen)?;
    check_plan(&command.plan, schedule.mark.min(turn.moment.at))?;
    check_room(turn, schedule.uid)?;
    let id = BackfillId(turn.moment.index.0);
    turn.state.insert_backfill(Backfill {
        id,
        uid: schedule.uid,
        name: command.name.clone(),
        plan: command.plan,
        instants: command.instants,
        state: BackfillState::Running,
        position: command.plan.after,
        next_at: turn.moment.at,
        fired: 0,
        passed: 0,
        skipped: 0,
        succeeded: 0,
        failed: 0,
        live: 0,
        created_at: turn.moment.at,
        ended_at: None,
        by: command.request.by.clone(),
    });
    turn.tell(Event::BackfillCreated {
        id,
        uid: schedule.uid,
        plan: command.plan,
        instants: command.instants,
        by: command.request.by.clone(),
    });
    Ok(Reply::Backfill(id))
}

fn check_plan(plan: &BackfillPlan, decided: Timestamp) -> Result<(), Rejection> {
    if plan.after >= plan.until {
        return Err(Rejection::Invalid("the range of a backfill ends after it begins".into()));
    }
    if plan.until > decided {
        return Err(Rejection::Invalid("a backfill ends at the mark, or before it".into()));
    }
    if plan.max_live == 0 {
        return Err(Rejection::Invalid("a backfill needs room for one live firing".into()));
    }
    Ok(())
}

/// One at a time for a schedule, and a bound for all.
fn check_room(turn: &Turn<'_>, uid: Uid) -> Result<(), Rejection> {
    let running = || turn.state.backfills().filter(|backfill| backfill.is_running());
    if let Some(other) = running().find(|backfill| backfill.uid == uid) {
        let id = other.id;
        return Err(Rejection::Limit(
            format!("backfill {id} of this schedule runs: wait until it has ended, or cancel it").into(),
        ));
    }
    if running().count() >= MAX_RUNNING {
        return Err(Rejection::Limit(
            format!("{MAX_RUNNING} backfills run: wait until one has ended, or cancel one").into(),
        ));
    }
    Ok(())
}

pub(super) fn step(turn: &mut Turn<'_>, command: &StepBackfill) -> Reply {
    let Some(uid) = current(turn, command).map(|backfill| backfill.uid) else {
        return Reply::Stepped(false);
    };
    if let Some(reason) = &command.failure {
        end(turn, command.id, BackfillState::Failed(reason.clone()));
    } else {
        go_on(turn, command);
    }
    decide::complete(turn, uid);
    Reply::Stepped(true)
}

/// The backfill, when the step was planned for it and for its schedule as both stand now.
fn current<'a>(turn: &'a Turn<'_>, command: &StepBackfill) -> Option<&'a Backfill> {
    let backfill = turn.state.backfill(command.id).filter(|backfill| backfill.is_running())?;
    let schedule = turn.state.schedule(backfill.uid)?;
    let is_seen = backfill.position == command.after
        && schedule.revision == command.revision
        && schedule.refired == command.refired
        && turn.state.rules_at() == command.rules_at;
    (is_seen && (command.failure.is_some() || makes_sense(turn, backfill, command))).then_some(backfill)
}

/// Whether a step stays within its backfill: range, pace and room.
fn makes_sense(turn: &Turn<'_>, backfill: &Backfill, command: &StepBackfill) -> bool {
    let plan = &backfill.plan;
    let room = (plan.max_live.saturating_sub(backfill.live) as usize).min(FIRES_PER_STEP);
    let most = if plan.pace == Span::ZERO { room } else { room.min(1) };
    let in_range = command.to <= plan.until
        && if command.done { command.to == plan.until } else { command.to > command.after };
    let in_order = command.fire.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let is_new = |(nominal, run): &(Timestamp, Run)| {
        let id = FiringId { uid: backfill.uid, nominal: *nominal, run: *run };
        *nominal > command.after
            && *nominal <= command.to
            && (plan.again || run.0 == 0)
            && turn.state.firing(id).is_none()
    };
    turn.moment.at >= backfill.next_at
        && command.fire.len() <= most
        && in_range
        && in_order
        && command.fire.iter().all(is_new)
}

fn go_on(turn: &mut Turn<'_>, command: &StepBackfill) {
    for (nominal, run) in &command.fire {
        fire(turn, command.id, *nominal, *run);
    }
    let at = turn.moment.at;
    turn.state.change_backfill(command.id, |backfill| {
        backfill.position = command.to;
        backfill.passed = backfill.passed.saturating_add(command.passed);
        // Pace counts from what was tried: else a rule that skips would run through the range in no time.
        backfill.next_at = if command.fire.is_empty() { at } else { at + backfill.plan.pace };
    });
    if command.done {
        end(turn, command.id, BackfillState::Completed);
    }
}

/// Fires one instant under the backfill's own overlap mode.
fn fire(turn: &mut Turn<'_>, id: BackfillId, nominal: Timestamp, run: Run) {
    let Some(backfill) = turn.state.backfill(id).filter(|backfill| backfill.is_running()) else { return };
    let (uid, mode) = (backfill.uid, backfill.plan.overlap);
    let entry = overlap::enter(turn, uid, mode);
    if entry == Entry::Skip {
        turn.state.change_backfill(id, |backfill| backfill.skipped += 1);
        return;
    }
    let firing = FiringId { uid, nominal, run };
    let kind = Kind::Backfill(id);
    decide::start(
        turn,
        New { id: firing, kind, payload: None, cause: None, overtaken_at: None, delay: Span::ZERO },
        entry,
    );
    turn.state.touch(uid, |schedule| schedule.refired += 1);
    turn.state.change_backfill(id, |backfill| {
        backfill.fired += 1;
        backfill.live += 1;
    });
}

/// Idempotent: what has ended stays as it ended. What it has fired goes on.
pub(super) fn cancel(turn: &mut Turn<'_>, command: &CancelBackfill) -> Result<Reply, Rejection> {
    let uid = turn.state.backfill(command.id).ok_or(Rejection::NotFound)?.uid;
    end(turn, command.id, BackfillState::Cancelled);
    decide::complete(turn, uid);
    Ok(Reply::Cancelled)
}

/// One of its firings has ended.
pub(super) fn settled(turn: &mut Turn<'_>, id: BackfillId, state: EndState) {
    turn.state.change_backfill(id, |backfill| {
        backfill.live -= 1;
        match state {
            EndState::Succeeded => backfill.succeeded += 1,
            _ => backfill.failed += 1,
        }
    });
}

/// Its schedule is removed.
pub(super) fn end_all_of(turn: &mut Turn<'_>, uid: Uid) {
    let running = turn.state.backfills().filter(|backfill| backfill.is_running() && backfill.uid == uid);
    for id in running.map(|backfill| backfill.id).collect::<Vec<_>>() {
        end(turn, id, BackfillState::Cancelled);
    }
}

/// Ends one that runs.
fn end(turn: &mut Turn<'_>, id: BackfillId, state: BackfillState) {
    if !turn.state.backfill(id).is_some_and(|backfill| backfill.is_running()) {
        return;
    }
    let at = turn.moment.at;
    let fired = turn.state.change_backfill(id, |backfill| {
        backfill.state = state.clone();
        backfill.ended_at = Some(at);
        backfill.fired
    });
    turn.tell(Event::BackfillEnded { id, state, fired: fired.unwrap_or(0) });
    forget_oldest(turn);
}

/// Keeps a bounded number of those that have ended.
fn forget_oldest(turn: &mut Turn<'_>) {
    let ended = || turn.state.backfills().filter_map(|backfill| Some((backfill.ended_at?, backfill.id)));
    if ended().count() > KEPT_ENDED
        && let Some((_, oldest)) = ended().min()
    {
        turn.state.backfills.remove(&oldest);
    }
}
