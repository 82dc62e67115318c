//! Skipping ahead: an operator decides that instants are not to fire. The mark moves forward, never back; going back is a
//! backfill.

use super::{Turn, decide, schedule};
use crate::command::{Condition, SetMark};
use crate::event::{Event, SkipReason};
use crate::reply::{Rejection, Reply};
use crate::schedule::Schedule;

/// What is due by now is decided first, under the catch-up rule; what comes after it, up to `to`, is skipped. Then the
/// mark may be ahead of the log's time.
pub(super) fn set_mark(turn: &mut Turn<'_>, command: &SetMark) -> Result<Reply, Rejection> {
    let schedule = turn.state.named(&command.name).cloned().ok_or(Rejection::NotFound)?;
    schedule::check(Some(&schedule), Condition::None, command.seen)?;
    if !schedule.is_active() {
        return Err(Rejection::Invalid("only the mark of an active schedule can be moved".into()));
    }
    // All of it before anything changes: a refusal has no consequences.
    check(&schedule, command)?;
    schedule::decide_before(turn, &schedule, command.before.as_ref())?;
    // What was due can have been its last.
    if turn.state.schedule(schedule.uid).is_some_and(|schedule| schedule.is_active()) {
        skip_ahead(turn, &schedule, command);
    }
    let reply = schedule::reply_now(turn, schedule.uid);
    decide::complete(turn, schedule.uid);
    Ok(reply)
}

fn check(schedule: &Schedule, command: &SetMark) -> Result<(), Rejection> {
    let mark = command.before.as_ref().map_or(schedule.mark, |before| before.mark);
    let moves_on = command.to > mark.max(schedule.mark)
        && command.next_at.is_none_or(|next_at| next_at > command.to)
        && command
            .skip
            .as_ref()
            .is_none_or(|skip| skip.from > mark && skip.from <= skip.to && skip.to <= command.to);
    if moves_on { Ok(()) } else { Err(Rejection::Raced) }
}

fn skip_ahead(turn: &mut Turn<'_>, schedule: &Schedule, command: &SetMark) {
    let uid = schedule.uid;
    turn.tell(Event::MarkSet { uid, to: command.to, by: command.request.by.clone() });
    if let Some(skip) = &command.skip {
        turn.tell(Event::Skipped {
            uid,
            revision: schedule.revision,
            reason: SkipReason::Superseded,
            from: skip.from,
            to: skip.to,
            count: skip.count,
        });
    }
    decide::move_mark(turn, uid, command.to, command.next_at);
    let moment = turn.moment;
    turn.state.change(uid, |schedule| {
        schedule::stamp(schedule, moment.at, moment.index, &command.request.by);
    });
}
