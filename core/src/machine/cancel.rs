//! Cancelling one firing, because a user asks.

use super::{Turn, overlap};
use crate::command::CancelFiring;
use crate::reply::{Rejection, Reply};

pub(super) fn cancel(turn: &mut Turn<'_>, command: &CancelFiring) -> Result<Reply, Rejection> {
    let firing = turn.state.firing(command.firing).cloned().ok_or(Rejection::NotFound)?;
    overlap::cancel(turn, &firing, &command.request.by);
    Ok(Reply::Cancelled)
}
