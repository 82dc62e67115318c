//! Trigger: one firing now, because a user asks.

use super::{Turn, decide};
use crate::command::Trigger;
use crate::definition::Overlap;
use crate::firing::{FiringId, Kind};
use crate::id::Run;
use crate::reply::{Rejection, Reply};

pub(super) fn trigger(turn: &mut Turn<'_>, command: &Trigger) -> Result<Reply, Rejection> {
    let schedule = turn.state.named(&command.name).ok_or(Rejection::NotFound)?;
    if command.seen != Some(schedule.seen()) {
        return Err(Rejection::Raced);
    }
    // Between the last decided instant and now there is room for one that is nobody else's.
    if command.nominal <= schedule.mark
        || command.nominal <= schedule.triggered_at
        || command.nominal > turn.moment.at
    {
        return Err(Rejection::Raced);
    }
    let overlap = command.overlap.unwrap_or(schedule.definition.policy.overlap);
    if overlap == Overlap::Skip && schedule.live > 0 {
        return Ok(Reply::Overlapped);
    }
    let id = FiringId { uid: schedule.uid, nominal: command.nominal, run: Run(0) };
    turn.state.touch(id.uid, |schedule| schedule.triggered_at = command.nominal);
    decide::start(turn, id, Kind::Manual, command.payload.clone(), None);
    Ok(Reply::Fired(id))
}
