//! Skipping ahead: an operator decides that instants are not to fire. The mark moves forward, never back; going back is a
//! backfill.

use super::{Turn, decide, schedule};
use crate::command::SetMark;
use crate::event::{Event, SkipReason};
use crate::reply::{Rejection, Reply};

pub(super) fn set_mark(turn: &mut Turn<'_>, command: &SetMark) -> Result<Reply, Rejection> {
    let schedule = turn.state.named(&command.name).cloned().ok_or(Rejection::NotFound)?;
    schedule::check(Some(&schedule), crate::command::Condition::None, command.seen)?;
    if !schedule.is_active() {
        return Err(Rejection::Invalid("only the mark of an active schedule can be moved".into()));
    }
    schedule::decide_before(turn, &schedule, command.before.as_ref())?;
    let uid = schedule.uid;
    let mark = turn.state.schedule(uid).map_or(command.to, |schedule| schedule.mark);
    if command.to <= mark
        || command.skip.as_ref().is_some_and(|skip| skip.from <= mark || skip.to > command.to)
    {
        return Err(Rejection::Raced);
    }
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
    let reply = schedule::reply_now(turn, uid);
    decide::complete(turn, uid);
    Ok(reply)
}
