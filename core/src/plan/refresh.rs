//! Refresh: when schedules are next due, looked at again after calendars or zones changed (`SEMANTICS` §3).
//!
//! It corrects when the ticker looks, and decides nothing: what a tick decides is planned with the rules of its moment
//! anyhow. A bounded part at a time, so that no tick waits for a million schedules.

use super::{Planner, undecided_after};
use crate::command::{Body, Moved, Refresh, UseZones};
use crate::cron::tzdb_version;
use crate::schedule::Schedule;
use crate::state::State;

/// So many schedules are looked at for one command.
const LOOKED_AT: usize = 2_000;
/// So many that moved stand in one command.
const MOVED: usize = 500;

impl Planner {
    /// The next part of a look that is under way, or the command that begins one since this leader has other zones than
    /// the one before it. `None` when there is nothing to do.
    pub fn refresh(&mut self, state: &State) -> Option<Body> {
        // Data without a version cannot be told from others, so there is nothing to compare.
        if let Some(version) = tzdb_version().filter(|version| **version != *state.rules().zones) {
            return Some(Body::UseZones(UseZones { version: version.into() }));
        }
        let after = state.rules().refreshing?.after;
        let mut moved = Vec::new();
        let mut looked_at = None;
        let mut complete = true;
        for (place, schedule) in state.schedules_after(after).enumerate() {
            if place == LOOKED_AT || moved.len() == MOVED {
                complete = false;
                break;
            }
            moved.extend(self.moved(state, schedule));
            looked_at = Some(schedule.uid);
        }
        let to = if complete { None } else { looked_at };
        Some(Body::Refresh(Refresh { after, rules_at: state.rules_at(), moved, to }))
    }

    /// A schedule that cannot be evaluated is left to the tick, which parks it.
    fn moved(&mut self, state: &State, schedule: &Schedule) -> Option<Moved> {
        if !schedule.is_active() {
            return None;
        }
        let next_at = self
            .guarded(schedule, |planner, schedule| {
                let series = planner.series(state, &schedule.definition)?;
                Ok(series.next(undecided_after(state, schedule)).map(|occurrence| occurrence.at))
            })
            .ok()?;
        (next_at != schedule.next_at).then_some(Moved {
            uid: schedule.uid,
            revision: schedule.revision,
            after: schedule.mark,
            next_at,
        })
    }
}
