//! Overlap: what becomes of a firing while another of its lane runs. Judged here, at the log position, and nowhere else.
//!
//! Something *runs* from fired until settled. What waits for it is held outside of the work, and released in the order of
//! its decision when the lane is idle. A run is a lease with an end, so a dead holder blocks nobody for ever.
//!
//! A firing stands in the lane of the revision that decided it. What runs of a schedule runs for it in every lane, so that an
//! edit of its concurrency key lets no second one start beside it.

use std::sync::Arc;

use super::{Turn, decide, settle};
use crate::definition::Overlap;
use crate::event::Event;
use crate::firing::{EndState, Firing, FiringId, Lane, Phase};
use crate::id::Uid;

/// What becomes of a new firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// It may begin.
    Start,
    /// It waits for those before it.
    Hold,
    /// It is skipped as `overlap`.
    Skip,
}

/// How a new firing of a schedule enters its lane. `Replace` and `Terminate` make room on the way; the schedule itself
/// outlives that, since it is about to have another firing.
pub(super) fn enter(turn: &mut Turn<'_>, uid: Uid, mode: Overlap) -> Entry {
    let Some(definition) = turn.state.schedule(uid).map(|schedule| schedule.definition.clone()) else {
        return Entry::Skip;
    };
    let lane = Lane::of(uid, &definition);
    if mode == Overlap::Allow || is_idle(turn, uid, &lane) {
        return Entry::Start;
    }
    match mode {
        Overlap::Allow => Entry::Start,
        Overlap::Skip => Entry::Skip,
        Overlap::QueueOne => hold_up_to(turn, &lane, 1),
        Overlap::QueueAll => hold_up_to(turn, &lane, definition.policy.queue_limit),
        Overlap::Replace => {
            replace(turn, uid, &lane);
            if is_idle(turn, uid, &lane) { Entry::Start } else { Entry::Hold }
        }
        Overlap::Terminate => {
            terminate(turn, uid, &lane);
            Entry::Start
        }
    }
}

/// Lets the next begin of those that waited for a firing which has ended: in its lane, and of its schedule in whatever lane.
pub(super) fn release_after(turn: &mut Turn<'_>, ended: &Firing) {
    release(turn, &ended.lane());
    let uid = ended.id.uid;
    if turn.state.schedule(uid).is_some_and(|schedule| schedule.held > 0) {
        let first = turn.state.live_of(uid).find(|firing| firing.phase == Phase::Held);
        if let Some(lane) = first.map(|firing| firing.lane()) {
            release(turn, &lane);
        }
    }
}

/// Lets all of a schedule begin that wait: its firings may run beside each other from now on, and among those that do,
/// one that waits for all of them could wait for ever.
pub(super) fn release_all_of(turn: &mut Turn<'_>, uid: Uid) {
    let held = turn.state.live_of(uid).filter(|firing| firing.phase == Phase::Held).map(|firing| firing.id);
    for id in held.collect::<Vec<_>>() {
        let_begin(turn, id);
    }
}

/// Lets the next of a lane begin, if nothing runs any more that it waits for.
fn release(turn: &mut Turn<'_>, lane: &Lane) {
    let Some(next) = turn.state.due().held_in(lane).next() else { return };
    if !is_blocked(turn, next.uid, lane) {
        let_begin(turn, next);
    }
}

fn let_begin(turn: &mut Turn<'_>, id: FiringId) {
    turn.state.change_firing(id, |firing| firing.phase = Phase::Queued);
    turn.state.touch(id.uid, |schedule| schedule.held -= 1);
}

fn hold_up_to(turn: &Turn<'_>, lane: &Lane, most: u32) -> Entry {
    let full = turn.state.due().held_in(lane).nth(most.saturating_sub(1) as usize).is_some();
    if full { Entry::Skip } else { Entry::Hold }
}

/// Those that wait make room, those that have not begun too; the holders of the others are asked to stop.
fn replace(turn: &mut Turn<'_>, uid: Uid, lane: &Lane) {
    for firing in live_in(turn, uid, lane) {
        match firing.phase {
            Phase::Running(_) => ask_to_stop(turn, &firing),
            Phase::Held | Phase::Queued | Phase::Waiting { .. } => make_room(turn, uid, &firing),
        }
    }
}

fn terminate(turn: &mut Turn<'_>, uid: Uid, lane: &Lane) {
    for firing in live_in(turn, uid, lane) {
        make_room(turn, uid, &firing);
    }
}

/// Cancels a firing so that one of `uid` can take its place.
fn make_room(turn: &mut Turn<'_>, uid: Uid, firing: &Firing) {
    turn.tell(Event::Cancelled { firing: firing.id, by: "campanile".into() });
    settle::close(turn, firing, None, EndState::Cancelled);
    if firing.id.uid != uid {
        decide::complete(turn, firing.id.uid);
    }
}

fn ask_to_stop(turn: &mut Turn<'_>, firing: &Firing) {
    if firing.stop_asked.is_none() {
        let at = turn.moment.at;
        turn.state.change_firing(firing.id, |firing| firing.stop_asked = Some(at));
        turn.tell(Event::StopAsked { firing: firing.id });
    }
}

/// Settles a firing as cancelled at once: what its holder says of it later is refused.
pub(super) fn cancel(turn: &mut Turn<'_>, firing: &Firing, by: &str) {
    turn.tell(Event::Cancelled { firing: firing.id, by: by.into() });
    settle::end_firing(turn, firing, None, EndState::Cancelled);
}

/// The live firings of a lane and those of the schedule in others; first those that wait, so that none of them is released
/// while the others are ended.
fn live_in(turn: &Turn<'_>, uid: Uid, lane: &Lane) -> Vec<Arc<Firing>> {
    let state = &turn.state;
    let of_lane = state.live_of(uid).filter(|firing| !firing.is_notice());
    let (held, begun): (Vec<_>, Vec<_>) = of_lane.partition(|firing| firing.phase == Phase::Held);
    let elsewhere = held.into_iter().filter(|firing| firing.lane() != *lane).cloned();
    let keyed = match lane {
        Lane::Own(_) => Vec::new(),
        Lane::Key(key) => state.due().keyed(key).filter(|id| id.uid != uid).collect(),
    };
    let of = |id| state.firing(id).cloned();
    let waiting = state.due().held_in(lane).filter_map(of).chain(elsewhere);
    waiting.chain(begun.into_iter().cloned()).chain(keyed.into_iter().filter_map(of)).collect()
}

/// Nothing runs or waits that a new firing of the schedule would have to wait for.
fn is_idle(turn: &Turn<'_>, uid: Uid, lane: &Lane) -> bool {
    !is_blocked(turn, uid, lane) && turn.state.due().held_in(lane).next().is_none()
}

/// Something runs that a firing of the schedule in this lane waits for.
fn is_blocked(turn: &Turn<'_>, uid: Uid, lane: &Lane) -> bool {
    is_busy(turn, lane) || is_busy(turn, &Lane::Own(uid))
}

/// Something of a lane runs.
fn is_busy(turn: &Turn<'_>, lane: &Lane) -> bool {
    match lane {
        Lane::Own(uid) => {
            turn.state.schedule(*uid).is_some_and(|schedule| schedule.live > schedule.held + schedule.notices)
        }
        Lane::Key(key) => turn.state.due().keyed(key).next().is_some(),
    }
}
