//! What follows the end of a firing: noted when it ends, decided by a Tick. That nothing follows itself is seen to when it
//! is defined ([`super::cycle`]).

use std::sync::Arc;

use super::Turn;
use super::decide::{self, New};
use super::overlap::{self, Entry};
use crate::chain::{Chain, ChainId, Next};
use crate::command::FireChain;
use crate::definition::{Action, AfterCompletion, CatchUp, Definition, Overlap, Policy, RetryPolicy, Target};
use crate::event::{DropReason, Event};
use crate::firing::{Cause, EndState, Firing, FiringId, Kind};
use crate::id::{Run, Uid};
use crate::schedule::{Schedule, State};
use crate::time::Span;

/// Notes what its definition asks for when a firing has ended so; its schedule exists.
pub(super) fn note(turn: &mut Turn<'_>, firing: &Firing, cause: Cause) {
    let definition = &firing.definition;
    let action = match cause.state {
        EndState::Succeeded => definition.on_success.as_deref(),
        EndState::Failed | EndState::TimedOut | EndState::Unknown => definition.on_failure.as_deref(),
        EndState::Cancelled => None,
    };
    // A notice is the end of a chain.
    let Some(action) = action.filter(|_| !firing.is_notice()) else { return };
    let next = match action {
        Action::Trigger(name) => Next::Trigger(name.clone()),
        Action::Notify(target) => {
            let definition = notice(definition, target.clone());
            Next::Notify { definition: Arc::new(definition), revision: firing.revision }
        }
    };
    let id = ChainId { index: turn.moment.index, place: turn.chained };
    turn.chained += 1;
    turn.state.insert_chain(Chain { id, from: firing.id.uid, cause: Arc::new(cause), next });
}

/// The definition of a notice: another target, delivered as persistently, and nothing that is about instants.
fn notice(definition: &Definition, target: Target) -> Definition {
    let policy = &definition.policy;
    let policy = Policy {
        overlap: Overlap::Allow,
        after_completion: AfterCompletion::Keep,
        catch_up: CatchUp::default(),
        retry: RetryPolicy { until_next: false, ..policy.retry },
        pause_after_failures: None,
        ..Policy::clone(policy)
    };
    Definition {
        about: definition.about.clone(),
        policy: Arc::new(policy),
        ..Definition::new(Vec::new(), target)
    }
}

/// Fires what follows, once: whoever decides it takes it out. `false` when it was decided before, or its schedule has
/// changed or its identity been taken since it was planned; then it is planned again.
pub(super) fn fire(turn: &mut Turn<'_>, item: &FireChain) -> bool {
    let Some(chain) = turn.state.chains.get(&item.id).cloned() else { return false };
    let schedule = of(turn, &chain).cloned();
    if let Some(reason) = drop_reason(schedule.as_deref(), &chain) {
        return abandon(turn, &chain, reason);
    }
    let (Some(schedule), Some(nominal)) = (schedule, item.nominal) else { return false };
    let id = FiringId { uid: schedule.uid, nominal, run: Run(0) };
    // An edit since the plan may have made it an instant of the schedule: those begin with the next one.
    if schedule.next_at.is_some_and(|next_at| nominal >= next_at)
        || nominal <= schedule.free_after(turn.moment.at)
        || nominal > turn.moment.at
        || turn.state.firing(id).is_some()
    {
        return false;
    }
    let kind = match chain.next {
        Next::Trigger(_) => Kind::Chained(chain.cause.firing),
        Next::Notify { .. } => Kind::Notice(chain.cause.firing),
    };
    let new = New {
        id,
        kind,
        payload: None,
        cause: Some(chain.cause.clone()),
        overtaken_at: None,
        delay: Span::ZERO,
    };
    let started = match &chain.next {
        Next::Trigger(_) => {
            let entry = overlap::enter(turn, id.uid, schedule.definition.policy.overlap);
            if entry != Entry::Skip {
                decide::start(turn, new, entry);
            }
            entry != Entry::Skip
        }
        Next::Notify { definition, revision } => {
            decide::start_as(turn, new, Entry::Start, *revision, definition.clone());
            true
        }
    };
    if !started {
        return abandon(turn, &chain, DropReason::Overlap);
    }
    turn.state.touch(id.uid, |schedule| schedule.triggered_at = nominal);
    done(turn, &chain);
    true
}

/// The schedule that the firing which follows is of.
fn of<'a>(turn: &'a Turn<'_>, chain: &Chain) -> Option<&'a Arc<Schedule>> {
    match &chain.next {
        Next::Trigger(name) => turn.state.named(name),
        Next::Notify { .. } => turn.state.schedule(chain.from),
    }
}

/// Why nothing follows, if nothing does. A schedule that somebody has paused is not to run; its notices are about what has
/// run.
fn drop_reason(schedule: Option<&Schedule>, chain: &Chain) -> Option<DropReason> {
    let Some(schedule) = schedule else { return Some(DropReason::NoSchedule) };
    match (&schedule.state, &chain.next) {
        (State::Paused { .. }, Next::Trigger(_)) => Some(DropReason::Paused),
        (State::Parked { .. }, Next::Trigger(_)) => Some(DropReason::Parked),
        _ => None,
    }
}

fn abandon(turn: &mut Turn<'_>, chain: &Chain, reason: DropReason) -> bool {
    tell_dropped(turn, chain, reason);
    done(turn, chain);
    true
}

fn tell_dropped(turn: &mut Turn<'_>, chain: &Chain, reason: DropReason) {
    let to = match &chain.next {
        Next::Trigger(name) => Some(name.clone()),
        Next::Notify { .. } => None,
    };
    turn.tell(Event::ChainDropped { cause: chain.cause.firing, to, reason });
}

fn done(turn: &mut Turn<'_>, chain: &Chain) {
    turn.state.remove_chain(chain.id);
    decide::complete(turn, chain.from);
}

/// A schedule is removed: what was to follow its firings goes with it.
pub(super) fn drop_all_of(turn: &mut Turn<'_>, uid: Uid) {
    for chain in turn.state.remove_chains_of(uid) {
        tell_dropped(turn, &chain, DropReason::NoSchedule);
    }
}
