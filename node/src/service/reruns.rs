//! Orders about one firing: once more, in the name of an instant, stop it.

use std::sync::Arc;

use campanile_core::command::{Body, CancelFiring, Condition};
use campanile_core::definition::ScheduleName;
use campanile_core::firing::FiringId;
use campanile_core::plan::{Instead, Refusal, Wanted};
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;

use super::Service;
use super::past::{Places, PlanWithPast, refused};
use super::schedules::{fired, unexpected};
use super::write::{Caller, Failure, PlanWrite, Planned};
use crate::problem::{Code, Problem};

/// A trigger has one instant in its body.
const PLACES: Places = Places { from: "/nominal", to: "/nominal" };

impl Service {
    /// Fires the instant of a firing once more, under the definition in force.
    ///
    /// # Errors
    /// As [`Service::write`]; `not_found`, `conflict` when there is nothing to repeat, `overlap`.
    pub async fn rerun(
        self: &Arc<Self>,
        caller: &Caller,
        id: FiringId,
        instead: Instead,
    ) -> Result<FiringId, Failure> {
        let request = caller.request();
        let plan: PlanWithPast = Arc::new(move |planner, _, machine, past| {
            match planner.rerun(machine, id, instead.clone(), request.clone(), past) {
                Ok(body) => Planned::Propose(Box::new(body)),
                Err(Refusal::NotFired) => Planned::Refuse(no_such_firing(id)),
                Err(refusal) => Planned::Refuse(no_rerun(&refusal, id)),
            }
        });
        match self.write_with_past(caller, plan).await {
            Ok(reply) => fired(&reply),
            Err(Failure::Problem(problem)) if problem.code == Code::NotFound => {
                Err(self.why_not_fired(id).await?.into())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Of a firing that never was, whether its instant was skipped.
    async fn why_not_fired(&self, id: FiringId) -> Result<Problem, Problem> {
        Ok(match self.firing(self.quorum().view(), id).await? {
            Some(_) => no_rerun(&Refusal::NotFired, id),
            None => no_such_firing(id),
        })
    }

    /// Fires once, now, in the name of an instant that is not later than now.
    ///
    /// # Errors
    /// As [`Service::write`]; `conflict` when the schedule decides that instant by itself, `overlap`.
    pub(super) async fn trigger_at(
        self: &Arc<Self>,
        caller: &Caller,
        name: ScheduleName,
        nominal: Timestamp,
        instead: Instead,
    ) -> Result<FiringId, Failure> {
        let wanted = Wanted { name, condition: Condition::None, request: caller.request() };
        let plan: PlanWithPast = Arc::new(move |planner, at, machine, past| {
            match planner.trigger_at(machine, at, wanted.clone(), nominal, instead.clone(), past) {
                Ok(body) => Planned::Propose(Box::new(body)),
                Err(refusal) => Planned::Refuse(refused(&refusal, &wanted.name, PLACES)),
            }
        });
        fired(&self.write_with_past(caller, plan).await?)
    }

    /// Settles a firing as cancelled, at once.
    ///
    /// # Errors
    /// As [`Service::write`]; `conflict` when it has ended already, `not_found`.
    pub async fn cancel_firing(self: &Arc<Self>, caller: &Caller, id: FiringId) -> Result<(), Failure> {
        let request = caller.request();
        let plan: PlanWrite = Arc::new(move |_, _, machine| match machine.firing(id) {
            Some(_) => {
                let command = CancelFiring { firing: id, request: request.clone() };
                Planned::Propose(Box::new(Body::CancelFiring(command)))
            }
            None => Planned::Refuse(no_such_firing(id)),
        });
        match self.write(caller, plan).await {
            Ok(Reply::Cancelled) => Ok(()),
            Ok(other) => Err(unexpected(&other)),
            Err(Failure::Problem(problem)) if problem.code == Code::NotFound => {
                Err(self.why_not_live(id).await?.into())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Of a firing that does not live, whether it ended or never was.
    async fn why_not_live(&self, id: FiringId) -> Result<Problem, Problem> {
        Ok(match self.firing(self.quorum().view(), id).await? {
            Some(firing) => Problem::new(
                Code::Conflict,
                format!("firing {id} has ended already: {}; there is nothing to cancel", firing.state),
            ),
            None => no_such_firing(id),
        })
    }
}

/// The problem that an id names no firing.
#[must_use]
pub(crate) fn no_such_firing(id: FiringId) -> Problem {
    Problem::not_found(format!("there is no firing {id}, or retention has passed it"))
}

fn no_rerun(refusal: &Refusal, id: FiringId) -> Problem {
    let hint = match refusal {
        Refusal::Gone => "create the schedule again and trigger that",
        Refusal::NotFired => {
            "an instant that was skipped fires by a backfill, or by a trigger that names it as its nominal"
        }
        Refusal::Forgotten(_) => "trigger the schedule instead",
        _ => "ask again",
    };
    Problem::new(Code::Conflict, format!("firing {id} cannot be repeated: {refusal}; {hint}"))
}
