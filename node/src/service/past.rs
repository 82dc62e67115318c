//! Writes that depend on what has fired: planned on a thread of their own, since the past is on the disk, and proposed as
//! they were planned. What has changed meanwhile makes `apply` refuse, and they are planned again.

use std::sync::Arc;

use campanile_core::backfill::Backfill;
use campanile_core::id::BackfillId;
use campanile_core::machine::Machine;
use campanile_core::plan::{Past, Planner, Refusal};
use campanile_core::reply::Reply;
use campanile_core::schedule::Schedule;
use campanile_core::time::Timestamp;
use campanile_core::{definition::ScheduleName, query};

use super::Service;
use super::schedules::no_such;
use super::write::{Caller, Failure, PlanWrite, Planned, ROUNDS, Tried, overtaken, refused as rejected};
use crate::problem::{Code, Flaw, Problem};
use crate::wire::backfill::backfill_id;

/// Plans a write from the state and the past.
pub(super) type PlanWithPast =
    Arc<dyn Fn(&mut Planner, Timestamp, &Machine, &dyn Past) -> Planned + Send + Sync>;

impl Service {
    /// As [`Service::write`], with the past.
    ///
    /// # Errors
    /// As [`Service::write`]; `not_ready` when the past is not known for certain.
    pub(super) async fn write_with_past(
        self: &Arc<Self>,
        caller: &Caller,
        plan: PlanWithPast,
    ) -> Result<Reply, Failure> {
        for _ in 0..ROUNDS {
            if let Some(reply) = self.recall(caller)? {
                return Ok(reply);
            }
            let now = self.now();
            let plan = plan.clone();
            let planned = self
                .planned_with_past(now, move |planner, at, machine, past| plan(planner, at, machine, past));
            let planned = match tokio::time::timeout_at(caller.deadline, planned).await {
                Ok(planned) => planned?,
                Err(_) => return Err(slow().into()),
            };
            let body = match planned {
                Planned::Propose(body) => body,
                Planned::Refuse(problem) => return Err(problem.into()),
                Planned::NextMillisecond => continue,
            };
            let as_planned: PlanWrite = Arc::new(move |_, _, _| Planned::Propose(body.clone()));
            match self.try_write(caller, now, &as_planned, &rejected).await? {
                Tried::Answered(reply) => return Ok(reply),
                Tried::Overtaken | Tried::TooEarly => {}
            }
        }
        Err(overtaken())
    }

    /// What `plan` makes of the machine as it stands and of the past.
    ///
    /// # Errors
    /// As [`super::records::Records::with_past`].
    pub(super) async fn planned_with_past<T: Send + 'static>(
        self: &Arc<Self>,
        now: Timestamp,
        plan: impl FnOnce(&mut Planner, Timestamp, &Machine, &dyn Past) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let machine = self.quorum().view();
        self.think(move |service| {
            let at = now.max(machine.clock());
            // One of its own: the other is in use by every proposal, and this one may take its time.
            let mut planner = Planner::new(service.options().plan);
            service.records().with_past(&machine, |past| plan(&mut planner, at, &machine, past))
        })
        .await
    }
}

/// Where in the body of a request the instants stand that a refusal speaks of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// The instant from which the past is needed.
    pub(super) from: &'static str,
    /// The instant that ends it.
    pub(super) to: &'static str,
}

/// What a user hears of a refusal.
pub(super) fn refused(refusal: &Refusal, name: &ScheduleName, places: Places) -> Problem {
    let flaw = |pointer: &str, hint: &str| {
        let flaw =
            Flaw { pointer: pointer.into(), detail: refusal.to_string(), hint: hint.into(), column: None };
        Problem::with_errors(Code::InvalidSchedule, vec![flaw])
    };
    match refusal {
        Refusal::NoSchedule => no_such(name),
        Refusal::Gone
        | Refusal::NotFired
        | Refusal::DueByItself
        | Refusal::MarkIsThere
        | Refusal::NotActive => Problem::new(Code::Conflict, refusal.to_string()),
        Refusal::Ahead => flaw(places.to, "name an instant that is past"),
        Refusal::EmptyRange => flaw(places.to, "a later instant"),
        Refusal::NothingDecided(_) => flaw(places.from, "an instant before the mark"),
        Refusal::TooMany(_) => flaw(places.to, "several shorter ranges, one after another"),
        Refusal::NoRoom => flaw("/max_live", "at least 1"),
        Refusal::Forgotten(_) => flaw(places.from, "an instant that the ledger still reaches"),
        Refusal::DecidedByNow => flaw(places.to, "an instant to come; or pause the schedule"),
        Refusal::Unevaluable(_) => flaw("", "mend the specs of the schedule first"),
    }
}

/// One backfill of a schedule runs at a time.
pub(super) fn check_none_runs(machine: &Machine, schedule: &Schedule) -> Result<(), Problem> {
    match query::running_backfill(machine, schedule.uid) {
        None => Ok(()),
        Some(other) => Err(Problem::new(
            Code::Conflict,
            format!("{} of this schedule runs: wait until it has ended, or cancel it", backfill_id(other.id)),
        )),
    }
}

/// A backfill as it stands.
pub(super) fn find_backfill(machine: &Machine, id: BackfillId) -> Result<&Arc<Backfill>, Problem> {
    machine.backfill(id).ok_or_else(|| no_such_backfill(&backfill_id(id)))
}

/// The problem that a text names no backfill.
#[must_use]
pub fn no_such_backfill(id: &str) -> Problem {
    Problem::not_found(format!("there is no backfill {id}, or it ended too long ago"))
}

fn slow() -> Problem {
    Problem::new(Code::NotReady, "reading what has fired takes too long now; nothing was done, ask again")
}
