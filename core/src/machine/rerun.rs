//! Re-runs, and triggers that name their nominal: an instant fires once more because a user asks.
//!
//! Which runs of it there have been is in the ledger, so the proposer chose the run. It is new as long as nothing else has
//! fired below the mark since (`refired`); an instant above the mark has its run zero from the tick alone.

use super::{Turn, trigger};
use crate::command::Rerun;
use crate::firing::{FiringId, Kind};
use crate::id::Run;
use crate::reply::{Rejection, Reply};
use crate::schedule::Schedule;
use crate::time::{Span, Timestamp};

pub(super) fn rerun(turn: &mut Turn<'_>, command: &Rerun) -> Result<Reply, Rejection> {
    let id = command.firing;
    let schedule = turn.state.schedule(id.uid).ok_or(Rejection::NotFound)?;
    check(schedule, command, turn.moment.at)?;
    if is_notice(turn, id) {
        return Err(Rejection::Invalid(
            "a notice is not run again: run the firing again that it tells of".into(),
        ));
    }
    if turn.state.firing(id).is_some() {
        return Err(Rejection::Raced);
    }
    let new = super::decide::New {
        id,
        kind: command.kind,
        payload: command.payload.clone(),
        cause: None,
        overtaken_at: None,
        delay: Span::ZERO,
    };
    let Some(reply) = trigger::fire_by_request(turn, new, command.overlap) else {
        return Ok(Reply::Overlapped);
    };
    // Whatever came to nothing of this instant, it runs again.
    turn.state.letters.remove_nominal(id.uid, id.nominal);
    turn.state.touch(id.uid, |schedule| {
        schedule.refired += 1;
        if command.kind == Kind::Manual {
            // One that is on its way for the same instant is planned again.
            schedule.triggered_at = schedule.triggered_at.max(id.nominal);
        }
    });
    Ok(reply)
}

/// Whether what fired at that instant was a notice: to run it again would fire the schedule instead. Known while it is live
/// or a dead letter.
fn is_notice(turn: &Turn<'_>, id: FiringId) -> bool {
    let first = FiringId { run: Run(0), ..id };
    turn.state.firing(first).is_some_and(|firing| firing.is_notice())
        || turn.state.letters().get(first).is_some_and(|letter| matches!(letter.kind, Kind::Notice(_)))
}

fn check(schedule: &Schedule, command: &Rerun, now: Timestamp) -> Result<(), Rejection> {
    let id = command.firing;
    let first = id.run.0 == 0;
    match command.kind {
        Kind::Rerun if first => {
            return Err(Rejection::Invalid("a re-run has a run of its own".into()));
        }
        Kind::Rerun | Kind::Manual => {}
        Kind::Scheduled | Kind::CatchUp | Kind::Backfill(_) | Kind::Chained(_) | Kind::Notice(_) => {
            return Err(Rejection::Invalid("a user asks for a re-run or a trigger".into()));
        }
    }
    let is_current = schedule.refired == command.refired && id.nominal <= now;
    // The first run of an instant above the mark is the tick's.
    let is_free = !first || id.nominal <= schedule.mark;
    if is_current && is_free { Ok(()) } else { Err(Rejection::Raced) }
}
