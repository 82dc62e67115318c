//! What becomes of instants: the one place in which firings are made, marks move and schedules finish.

use super::Turn;
use crate::command::{Decision, Skip};
use crate::definition::Overlap;
use crate::event::{Event, SkipReason};
use crate::firing::{Firing, FiringId, Kind, Phase};
use crate::id::{AttemptNumber, Run, Uid};
use crate::reply::Ticked;
use crate::schedule::State;
use crate::time::Timestamp;

/// Whether a decision was planned for the schedule as it stands now: same incarnation, same revision, same mark, and
/// nothing in it that has not come yet.
pub(super) fn is_current(turn: &Turn<'_>, decision: &Decision) -> bool {
    turn.state.schedule(decision.uid).is_some_and(|schedule| {
        schedule.revision == decision.revision
            && schedule.mark == decision.after
            && decision.mark >= decision.after
            && decision.mark <= turn.moment.at
            && decision.fire.iter().all(|(nominal, _)| *nominal > decision.after && *nominal <= decision.mark)
            && decision.skips.iter().all(|skip| skip.from > decision.after && skip.to <= decision.mark)
    })
}

/// Carries a current decision out, whatever the state of its schedule: skips first, then firings, in order.
pub(super) fn carry_out(turn: &mut Turn<'_>, decision: &Decision, ticked: &mut Ticked) {
    if let Some(reason) = &decision.park {
        return park(turn, decision.uid, reason);
    }
    for skip in &decision.skips {
        ticked.skipped += skip.count;
        tell_skip(turn, decision, skip);
    }
    for (place, (nominal, kind)) in decision.fire.iter().enumerate() {
        let overtaken_at = match decision.fire.get(place + 1) {
            Some((next, _)) => Some(*next),
            None => decision.next_at,
        };
        fire_nominal(turn, decision.uid, *nominal, *kind, overtaken_at, ticked);
    }
    move_mark(turn, decision.uid, decision.mark, decision.next_at);
}

fn tell_skip(turn: &mut Turn<'_>, decision: &Decision, skip: &Skip) {
    turn.tell(Event::Skipped {
        uid: decision.uid,
        revision: decision.revision,
        reason: skip.reason,
        from: skip.from,
        to: skip.to,
        count: skip.count,
    });
}

/// Fires one nominal instant, unless the schedule's own policy, judged here at the log position, says otherwise.
pub(super) fn fire_nominal(
    turn: &mut Turn<'_>,
    uid: Uid,
    nominal: Timestamp,
    kind: Kind,
    overtaken_at: Option<Timestamp>,
    ticked: &mut Ticked,
) {
    let Some(schedule) = turn.state.schedule(uid) else { return };
    if cfg!(feature = "plant-duplicates")
        && turn.state.firing(FiringId { uid, nominal, run: Run(0) }).is_some()
    {
        return; // The state cannot hold it twice at once; the plant doubles those that are settled.
    }
    if schedule.definition.max_firings.is_some_and(|most| schedule.fired >= most) {
        return;
    }
    if schedule.definition.policy.overlap == Overlap::Skip && schedule.live > 0 {
        let revision = schedule.revision;
        ticked.skipped += 1;
        turn.tell(Event::Skipped {
            uid,
            revision,
            reason: SkipReason::Overlap,
            from: nominal,
            to: nominal,
            count: 1,
        });
        return;
    }
    ticked.fired += 1;
    let id = FiringId { uid, nominal, run: Run(0) };
    start(turn, id, kind, None, if kind == Kind::Scheduled { overtaken_at } else { None });
    turn.state.touch(uid, |schedule| schedule.fired += 1);
}

/// Makes a firing live.
pub(super) fn start(
    turn: &mut Turn<'_>,
    id: FiringId,
    kind: Kind,
    payload: Option<Box<str>>,
    overtaken_at: Option<Timestamp>,
) {
    assert!(id.nominal <= turn.moment.at, "nothing fires before its nominal");
    let Some((revision, definition)) = turn.state.touch(id.uid, |schedule| {
        schedule.live += 1;
        (schedule.revision, schedule.definition.clone())
    }) else {
        return;
    };
    turn.state.insert_firing(Firing {
        id,
        kind,
        revision,
        definition,
        decided: turn.moment,
        payload,
        overtaken_at,
        attempt: AttemptNumber(0),
        last_end: None,
        phase: Phase::Queued,
    });
    turn.tell(Event::Fired { firing: id, revision, kind });
}

/// Everything up to `mark` is decided; when nothing more can come, the schedule is finished.
pub(super) fn move_mark(turn: &mut Turn<'_>, uid: Uid, mark: Timestamp, next_at: Option<Timestamp>) {
    let finished = turn.state.change(uid, |schedule| {
        assert!(mark >= schedule.mark, "a mark never retreats");
        schedule.mark = mark;
        schedule.next_at = next_at;
        let used_up = schedule.definition.max_firings.is_some_and(|most| schedule.fired >= most);
        let finished = schedule.is_active() && (next_at.is_none() || used_up);
        if finished {
            schedule.state = State::Finished;
            schedule.next_at = None;
        }
        finished
    });
    if finished == Some(true) {
        turn.tell(Event::Finished { uid });
    }
}

fn park(turn: &mut Turn<'_>, uid: Uid, reason: &str) {
    turn.state.change(uid, |schedule| {
        schedule.state = State::Parked { reason: reason.into() };
        schedule.next_at = None;
        schedule.updated_at = turn.moment.at;
        schedule.updated_index = turn.moment.index;
    });
    turn.tell(Event::Parked { uid, reason: reason.into() });
}
