//! Begin: the right to send. Nobody sends before this is committed, and the lease names who and until when.

use super::Turn;
use crate::attempt::Lease;
use crate::command::{Begin, BeginItem};
use crate::event::Event;
use crate::firing::Phase;
use crate::id::{AttemptNumber, FencingToken, NodeId};
use crate::reply::{Refused, Reply};

pub(super) fn begin(turn: &mut Turn<'_>, command: &Begin) -> Reply {
    let lease = |(place, item)| begin_one(turn, command.holder, place, item);
    Reply::Begun(command.items.iter().enumerate().map(lease).collect())
}

fn begin_one(turn: &mut Turn<'_>, holder: NodeId, place: usize, item: &BeginItem) -> Result<Lease, Refused> {
    let firing = turn.state.firing(item.firing).ok_or(Refused::NotLive)?;
    if item.attempt != AttemptNumber(firing.attempt.0 + 1) {
        return Err(Refused::OtherAttempt);
    }
    match firing.phase {
        Phase::Running(_) => return Err(Refused::OtherAttempt),
        Phase::Held => return Err(Refused::Held),
        Phase::Waiting { until } if until > turn.moment.at => return Err(Refused::NotYet(until)),
        Phase::Queued | Phase::Waiting { .. } => {}
    }
    let lease = Lease {
        attempt: item.attempt,
        holder,
        begun_at: turn.moment.at,
        until: item.until.max(turn.moment.at.successor()),
        fencing_token: FencingToken::of(turn.moment.index, place),
    };
    turn.state.change_firing(item.firing, |firing| {
        firing.attempt = item.attempt;
        firing.phase = Phase::Running(lease);
    });
    turn.tell(Event::Begun { firing: item.firing, lease });
    Ok(lease)
}
