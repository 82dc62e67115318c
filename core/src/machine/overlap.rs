//! Overlap: what becomes of a firing while another of its lane runs. Judged here, at the log position, and nowhere else.
//!
//! Something *runs* from fired until settled. What waits for it is held outside of the work, and released in the order of
//! its decision when the lane is idle. A run is a lease with an end, so a dead holder blocks nobody for ever.

use super::{Turn, settle};
use crate::definition::Overlap;
use crate::event::Event;
use crate::firing::{EndState, Firing, FiringId, Lane, Phase};

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

/// How a new firing enters its lane. `Replace` and `Terminate` make room on the way.
pub(super) fn enter(turn: &mut Turn<'_>, lane: &Lane, mode: Overlap, queue_limit: u32) -> Entry {
    if mode == Overlap::Allow || is_idle(turn, lane) {
        return Entry::Start;
    }
    match mode {
        Overlap::Allow => Entry::Start,
        Overlap::Skip => Entry::Skip,
        Overlap::QueueOne => hold_up_to(turn, lane, 1),
        Overlap::QueueAll => hold_up_to(turn, lane, queue_limit),
        Overlap::Replace => {
            replace(turn, lane);
            if is_idle(turn, lane) { Entry::Start } else { Entry::Hold }
        }
        Overlap::Terminate => {
            terminate(turn, lane);
            Entry::Start
        }
    }
}

/// Lets the next of a lane begin, if nothing of it runs any more.
pub(super) fn release(turn: &mut Turn<'_>, lane: &Lane) {
    if is_busy(turn, lane) {
        return;
    }
    let Some(next) = turn.state.due().held_in(lane).next() else { return };
    turn.state.change_firing(next, |firing| firing.phase = Phase::Queued);
    turn.state.touch(next.uid, |schedule| schedule.held -= 1);
}

fn hold_up_to(turn: &Turn<'_>, lane: &Lane, most: u32) -> Entry {
    let full = turn.state.due().held_in(lane).nth(most.saturating_sub(1) as usize).is_some();
    if full { Entry::Skip } else { Entry::Hold }
}

/// Those that wait make room, those that have not begun too; the holders of the others are asked to stop.
fn replace(turn: &mut Turn<'_>, lane: &Lane) {
    for firing in live_in(turn, lane) {
        match firing.phase {
            Phase::Running(_) => ask_to_stop(turn, &firing),
            Phase::Held | Phase::Queued | Phase::Waiting { .. } => cancel(turn, &firing, "campanile"),
        }
    }
}

fn terminate(turn: &mut Turn<'_>, lane: &Lane) {
    for firing in live_in(turn, lane) {
        cancel(turn, &firing, "campanile");
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

/// The live firings of a lane, those that wait first, so that none of them is released while the others are ended.
fn live_in(turn: &Turn<'_>, lane: &Lane) -> Vec<std::sync::Arc<Firing>> {
    let state = &turn.state;
    let held: Vec<FiringId> = state.due().held_in(lane).collect();
    let others: Vec<FiringId> = match lane {
        Lane::Own(uid) => {
            state.live_of(*uid).filter(|firing| firing.phase != Phase::Held).map(|firing| firing.id).collect()
        }
        Lane::Key(key) => state.due().keyed(key).collect(),
    };
    held.into_iter().chain(others).filter_map(|id| state.firing(id).cloned()).collect()
}

/// Nothing of a lane runs or waits.
fn is_idle(turn: &Turn<'_>, lane: &Lane) -> bool {
    !is_busy(turn, lane) && turn.state.due().held_in(lane).next().is_none()
}

/// Something of a lane runs.
fn is_busy(turn: &Turn<'_>, lane: &Lane) -> bool {
    match lane {
        Lane::Own(uid) => turn.state.schedule(*uid).is_some_and(|schedule| schedule.live > schedule.held),
        Lane::Key(key) => turn.state.due().keyed(key).next().is_some(),
    }
}
