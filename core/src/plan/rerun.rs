//! Plans of re-runs, and of triggers that name their nominal: each gets a run that no firing of its instant has had.

use super::backfill::{Past, is_known};
use super::{Planner, Refusal, Wanted};
use crate::command::{Body, Request, Rerun};
use crate::definition::Overlap;
use crate::firing::{FiringId, Kind};
use crate::id::Run;
use crate::schedule::{Schedule, State as ScheduleState};
use crate::state::State;
use crate::time::{Span, Timestamp};

/// What a firing that a user asks for has of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instead {
    /// Instead of the definition's payload.
    pub payload: Option<Box<str>>,
    /// Instead of the definition's overlap policy.
    pub overlap: Option<Overlap>,
}

impl Planner {
    /// Fires the nominal of a firing once more, under the definition in force.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn rerun(
        &mut self,
        state: &State,
        firing: FiringId,
        instead: Instead,
        request: Request,
        past: &dyn Past,
    ) -> Result<Body, Refusal> {
        let schedule = state.schedule(firing.uid).ok_or(Refusal::Gone)?;
        let highest = highest_run(schedule, firing.nominal, past)?;
        let highest = highest.filter(|highest| firing.run <= *highest).ok_or(Refusal::NotFired)?;
        Ok(body(schedule, firing.nominal, after(highest), Kind::Rerun, instead, request))
    }

    /// Fires once, now, in the name of an instant that is not later than now.
    ///
    /// Below the mark that is run zero when nothing has fired there. Above it run zero is left to the tick, which may come
    /// to it when calendars or zones change.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn trigger_at(
        &mut self,
        state: &State,
        at: Timestamp,
        wanted: Wanted,
        nominal: Timestamp,
        instead: Instead,
        past: &dyn Past,
    ) -> Result<Body, Refusal> {
        let schedule = state.named(&wanted.name).ok_or(Refusal::NoSchedule)?;
        if nominal > at {
            return Err(Refusal::Ahead);
        }
        let is_decided = nominal <= schedule.mark;
        if !is_decided && self.is_due_by_itself(state, schedule, nominal) {
            return Err(Refusal::DueByItself);
        }
        let run = match highest_run(schedule, nominal, past)? {
            Some(highest) => after(highest),
            None => Run(u32::from(!is_decided)),
        };
        Ok(body(schedule, nominal, run, Kind::Manual, instead, wanted.request))
    }

    /// Whether an instant above the mark is still to be decided. A definition that cannot be evaluated names none, and
    /// nothing more is decided of one that is finished.
    fn is_due_by_itself(&mut self, state: &State, schedule: &Schedule, nominal: Timestamp) -> bool {
        schedule.state != ScheduleState::Finished
            && self.evaluated(state, schedule).is_ok_and(|series| series.contains(nominal))
    }
}

fn highest_run(schedule: &Schedule, nominal: Timestamp, past: &dyn Past) -> Result<Option<Run>, Refusal> {
    let before = nominal - Span::from_millis(1);
    is_known(schedule, before, past)?;
    Ok(past.runs(schedule.uid, before, nominal).get(&nominal).copied())
}

fn after(run: Run) -> Run {
    Run(run.0.saturating_add(1))
}

fn body(
    schedule: &Schedule,
    nominal: Timestamp,
    run: Run,
    kind: Kind,
    instead: Instead,
    request: Request,
) -> Body {
    Body::Rerun(Rerun {
        firing: FiringId { uid: schedule.uid, nominal, run },
        kind,
        refired: schedule.refired,
        payload: instead.payload,
        overlap: instead.overlap,
        request,
    })
}
