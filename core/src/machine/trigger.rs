//! Trigger: one firing now, because a user asks.

use super::Turn;
use super::decide::{self, New};
use super::overlap::{self, Entry};
use crate::command::Trigger;
use crate::definition::Overlap;
use crate::firing::{FiringId, Kind};
use crate::id::Run;
use crate::reply::{Rejection, Reply};
use crate::time::Span;

pub(super) fn trigger(turn: &mut Turn<'_>, command: &Trigger) -> Result<Reply, Rejection> {
    let schedule = turn.state.named(&command.name).ok_or(Rejection::NotFound)?;
    if command.seen != Some(schedule.seen()) {
        return Err(Rejection::Raced);
    }
    // Between the last decided instant and now there is room for one that is nobody else's.
    let id = FiringId { uid: schedule.uid, nominal: command.nominal, run: Run(0) };
    if command.nominal <= schedule.free_after(turn.moment.at)
        || command.nominal > turn.moment.at
        || turn.state.firing(id).is_some()
    {
        return Err(Rejection::Raced);
    }
    let new = New {
        id,
        kind: Kind::Manual,
        payload: command.payload.clone(),
        cause: None,
        overtaken_at: None,
        delay: Span::ZERO,
    };
    let Some(reply) = fire_by_request(turn, new, command.overlap) else { return Ok(Reply::Overlapped) };
    turn.state.touch(id.uid, |schedule| schedule.triggered_at = command.nominal);
    Ok(reply)
}

/// Fires because a user asks, under another overlap policy when the user says so; none when that skips.
pub(super) fn fire_by_request(turn: &mut Turn<'_>, new: New, overlap: Option<Overlap>) -> Option<Reply> {
    let id = new.id;
    let mode = overlap.unwrap_or(turn.state.schedule(id.uid)?.definition.policy.overlap);
    let entry = overlap::enter(turn, id.uid, mode);
    if entry == Entry::Skip {
        return None;
    }
    decide::start(turn, new, entry);
    Some(Reply::Fired(id))
}
