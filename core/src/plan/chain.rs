//! The plan of what follows the ends of firings: which identity each gets. Whether it fires is decided by `apply`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Planner;
use crate::chain::{Chain, Next};
use crate::command::FireChain;
use crate::firing::FiringId;
use crate::id::{Run, Uid};
use crate::schedule::{Schedule, State as ScheduleState};
use crate::state::State;
use crate::time::{Span, Timestamp};

/// At most so many in one tick: each gets a millisecond of its own, and an entry stays small.
const MOST: usize = 500;

impl Planner {
    /// What follows now, in the order of the ends; those that find no free millisecond wait for the next tick.
    pub(super) fn chains(&mut self, state: &State, now: Timestamp) -> Vec<FireChain> {
        let due: Vec<&Arc<Chain>> = state.chains().take(MOST).collect();
        let mut left: BTreeMap<Uid, i64> = BTreeMap::new();
        for schedule in due.iter().filter_map(|chain| target(state, chain)) {
            *left.entry(schedule.uid).or_default() += 1;
        }
        let mut taken: BTreeMap<Uid, Timestamp> = BTreeMap::new();
        let mut planned = Vec::with_capacity(due.len());
        for chain in due {
            let Some(schedule) = target(state, chain) else {
                planned.push(FireChain { id: chain.id, nominal: None });
                continue;
            };
            let wanted = left.get(&schedule.uid).copied().unwrap_or(1).max(1);
            // As many milliseconds up to now as are needed, so that a burst takes one tick and not one each.
            let first = now - Span::from_millis(wanted.unsigned_abs());
            let after = taken.get(&schedule.uid).copied().unwrap_or(first);
            let Some(nominal) = self.free_instant(state, schedule, after, now) else { continue };
            taken.insert(schedule.uid, nominal);
            planned.push(FireChain { id: chain.id, nominal: Some(nominal) });
        }
        planned
    }

    /// The first millisecond after `after`, up to `now`, that belongs to no instant and to no other firing of the schedule.
    fn free_instant(
        &mut self,
        state: &State,
        schedule: &Schedule,
        after: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut at = after.max(schedule.free_after(now)).successor();
        while at <= now {
            let id = FiringId { uid: schedule.uid, nominal: at, run: Run(0) };
            if state.firing(id).is_none() && !self.is_taken(state, schedule, at) {
                return Some(at);
            }
            at = at.successor();
        }
        None
    }
}

/// The schedule that fires, unless it does not.
fn target<'a>(state: &'a State, chain: &Chain) -> Option<&'a Arc<Schedule>> {
    match &chain.next {
        Next::Notify { .. } => state.schedule(chain.from),
        Next::Trigger(name) => state.named(name).filter(|schedule| {
            !matches!(schedule.state, ScheduleState::Paused { .. } | ScheduleState::Parked { .. })
        }),
    }
}
