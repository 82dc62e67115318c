//! Put, patch, delete, pause, resume and trigger: what a user orders, from parsed words to an answer.
//!
//! Each order is planned anew in every try, from the state under which it will be judged.

use std::sync::Arc;

use campanile_core::command::{Body, Condition};
use campanile_core::definition::{CatchUp, CatchUpMode, Definition, ScheduleName};
use campanile_core::firing::FiringId;
use campanile_core::machine::Machine;
use campanile_core::plan::{PauseUntil, Planner, ResumeFrom, Wanted};
use campanile_core::reply::{Reply, Written};
use campanile_core::schedule::Schedule;
use campanile_core::time::Timestamp;

use super::Service;
use super::judge::cannot_evaluate;
use super::write::{Caller, Failure, PlanWrite, Planned};
use crate::problem::{Code, Problem};
use crate::wire;
use crate::wire::orders::TriggerOrder;
use crate::wire::payload::{Body as JsonBody, Payload};
use crate::wire::{draft, patch};

/// How often a patch is merged again after its schedule was changed by somebody else.
const PATCH_ROUNDS: usize = 16;

/// A schedule after a write.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What the write did.
    pub written: Written,
    /// How the schedule stands.
    pub schedule: Arc<Schedule>,
}

impl Service {
    /// Creates or replaces a schedule.
    ///
    /// # Errors
    /// As [`Service::write`]; `invalid_schedule` for an instant that is past.
    pub async fn put(
        self: &Arc<Self>,
        caller: &Caller,
        name: ScheduleName,
        condition: Condition,
        definition: Definition,
    ) -> Result<Answer, Failure> {
        let wanted = Wanted { name: name.clone(), condition, request: caller.request() };
        let definition = Arc::new(definition);
        let machine = self.quorum().view();
        if !is_remembered(&machine, &wanted) {
            let (current, judged) = (machine.named(&name).cloned(), definition.clone());
            self.think_for_write(move |service| service.judge_one(&machine, current.as_deref(), &judged))
                .await?;
        }
        let plan: PlanWrite = Arc::new(move |planner, at, machine| {
            match plan_put(planner, at, machine, wanted.clone(), &definition) {
                Ok(body) => Planned::Propose(Box::new(body)),
                Err(problem) => Planned::Refuse(problem),
            }
        });
        let reply = self.write(caller, plan).await.map_err(|failure| absent(&name, failure))?;
        self.answer(&name, &reply).map_err(Failure::from)
    }

    /// Changes the fields that a merge-patch names. Merged again when somebody else changed the schedule meanwhile, unless
    /// the user said which version the patch is for.
    ///
    /// # Errors
    /// As [`Service::put`]; `not_found`.
    pub async fn patch(
        self: &Arc<Self>,
        caller: &Caller,
        name: ScheduleName,
        condition: Condition,
        change: &JsonBody,
    ) -> Result<Answer, Failure> {
        for _ in 0..PATCH_ROUNDS {
            let machine = self.quorum().view();
            if let Ok(Some(reply)) = machine.requests().recall(&caller.request()) {
                return self.answer(&name, &reply).map_err(Failure::from);
            }
            let current = machine.named(&name).ok_or_else(|| no_such(&name))?;
            let merged = merge(&current.definition, change);
            let of = name.clone();
            let definition = self.think_for_write(move |_| draft::read(&merged, &of)).await?;
            let seen = match condition {
                Condition::None => Condition::Unchanged(current.updated_index),
                given => given,
            };
            match self.put(caller, name.clone(), seen, definition).await {
                Err(Failure::Problem(problem))
                    if problem.code == Code::VersionConflict && condition == Condition::None => {}
                other => return other,
            }
        }
        Err(Problem::new(Code::VersionConflict, "others changed the schedule in every try; ask again").into())
    }

    /// Removes a schedule; `false` when there was none.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn delete(
        self: &Arc<Self>,
        caller: &Caller,
        name: ScheduleName,
        condition: Condition,
    ) -> Result<bool, Failure> {
        let wanted = Wanted { name, condition, request: caller.request() };
        let plan: PlanWrite =
            Arc::new(move |planner, at, machine| propose(planner.delete(machine, at, wanted.clone())));
        match self.write(caller, plan).await? {
            Reply::Deleted(was_there) => Ok(was_there),
            other => Err(unexpected(&other)),
        }
    }

    /// Stops deciding the instants of a schedule.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn pause(
        self: &Arc<Self>,
        caller: &Caller,
        name: ScheduleName,
        until: PauseUntil,
    ) -> Result<Answer, Failure> {
        let wanted = Wanted { name: name.clone(), condition: Condition::None, request: caller.request() };
        let plan: PlanWrite = Arc::new(move |planner, at, machine| match until.until {
            Some(end) if end <= at && !is_remembered(machine, &wanted) => Planned::Refuse(past_end()),
            _ => propose(planner.pause(machine, at, wanted.clone(), until.clone())),
        });
        let reply = self.write(caller, plan).await?;
        self.answer(&name, &reply).map_err(Failure::from)
    }

    /// Decides them again; when nothing is said about it, from where the definition has it.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn resume(
        self: &Arc<Self>,
        caller: &Caller,
        name: ScheduleName,
        from: Option<ResumeFrom>,
    ) -> Result<Answer, Failure> {
        let wanted = Wanted { name: name.clone(), condition: Condition::None, request: caller.request() };
        let plan: PlanWrite = Arc::new(move |planner, at, machine| {
            let from = from.unwrap_or_else(|| usual_resume(machine, &wanted.name));
            propose(planner.resume(machine, at, wanted.clone(), from))
        });
        let reply = self.write(caller, plan).await?;
        self.answer(&name, &reply).map_err(Failure::from)
    }

    /// Fires once, now.
    ///
    /// # Errors
    /// As [`Service::write`]; `overlap` when another firing runs and the schedule skips then.
    pub async fn trigger(
        self: &Arc<Self>,
        caller: &Caller,
        name: ScheduleName,
        order: TriggerOrder,
    ) -> Result<FiringId, Failure> {
        let TriggerOrder { instead, nominal } = order;
        if let Some(nominal) = nominal {
            return self.trigger_at(caller, name, nominal, instead).await;
        }
        let wanted = Wanted { name, condition: Condition::None, request: caller.request() };
        let plan: PlanWrite = Arc::new(move |planner, at, machine| {
            let body = planner.trigger(machine, at, wanted.clone(), instead.payload.clone(), instead.overlap);
            body.map_or(Planned::NextMillisecond, propose)
        });
        fired(&self.write(caller, plan).await?)
    }

    /// The schedule that a reply speaks of, as it stands now.
    fn answer(&self, name: &ScheduleName, reply: &Reply) -> Result<Answer, Problem> {
        let Reply::Schedule(written) = reply else { return Err(defect(reply)) };
        let machine = self.quorum().view();
        match machine.schedule(written.uid) {
            Some(schedule) => Ok(Answer { written: *written, schedule: schedule.clone() }),
            None => Err(Problem::not_found(format!(
                "{name} was written at log entry {}, and has been removed since",
                written.updated_index
            ))),
        }
    }
}

fn plan_put(
    planner: &mut Planner,
    at: Timestamp,
    machine: &Machine,
    wanted: Wanted,
    definition: &Arc<Definition>,
) -> Result<Body, Problem> {
    let current = machine.named(&wanted.name);
    let same = current.is_some_and(|schedule| schedule.definition.specs == definition.specs);
    if !same && !is_remembered(machine, &wanted) {
        // An edit starts at its commit, so it never fires what is past.
        let fires = |nominal| nominal > at || (current.is_none() && planner.reaches(definition, nominal, at));
        draft::refuse_past(definition, fires)?;
    }
    planner
        .put(machine, at, wanted, definition.clone())
        .map_err(|bad| cannot_evaluate(&bad, &definition.specs, &definition.exclude))
}

/// RFC 9110 §13.1.1: a tag is asked for, and nothing has one.
pub(super) fn absent(name: &ScheduleName, failure: Failure) -> Failure {
    match failure {
        Failure::Problem(problem) if problem.code == Code::NotFound => Problem::new(
            Code::VersionConflict,
            format!("If-Match asks for a version of {name}, and it does not exist"),
        )
        .into(),
        other => other,
    }
}

/// A request that was answered before gets the same answer, whatever the time is now.
fn is_remembered(machine: &Machine, wanted: &Wanted) -> bool {
    matches!(machine.requests().recall(&wanted.request), Ok(Some(_)))
}

/// `{all, unlimited}` is `automatic_backfill`: start and resume walk from the last instant that was decided (`SEMANTICS` §4).
fn usual_resume(machine: &Machine, name: &ScheduleName) -> ResumeFrom {
    const AUTOMATIC: CatchUp = CatchUp { mode: CatchUpMode::All, window: None };
    match machine.named(name) {
        Some(schedule) if schedule.definition.policy.catch_up == AUTOMATIC => ResumeFrom::Mark,
        _ => ResumeFrom::Now,
    }
}

fn merge(current: &Definition, change: &JsonBody) -> JsonBody {
    let shown = wire::definition::Definition::from(current);
    // A struct of texts, numbers and lists always has a JSON value.
    let value = serde_json::to_value(&shown).unwrap_or_default();
    patch::merge_definition(value, &Payload(current.payload.clone()), change)
}

fn propose(body: Body) -> Planned {
    Planned::Propose(Box::new(body))
}

fn past_end() -> Problem {
    let flaw = crate::problem::Flaw {
        pointer: "/until".into(),
        detail: "the pause would end before it begins".into(),
        hint: "name an instant to come, or leave it out".into(),
        column: None,
    };
    Problem::with_errors(Code::InvalidSchedule, vec![flaw])
}

/// The problem that a name has no schedule.
#[must_use]
pub fn no_such(name: &ScheduleName) -> Problem {
    Problem::not_found(format!("there is no schedule {name}"))
}

/// The firing that a user has asked for.
pub(super) fn fired(reply: &Reply) -> Result<FiringId, Failure> {
    match reply {
        Reply::Fired(id) => Ok(*id),
        Reply::Overlapped => Err(Problem::new(
            Code::Overlap,
            "another firing of the schedule runs, and its overlap is \"skip\"; ask with {\"overlap\": \"allow\"} to run beside it",
        )
        .into()),
        other => Err(unexpected(other)),
    }
}

pub(super) fn unexpected(reply: &Reply) -> Failure {
    defect(reply).into()
}

/// A key that was used by another kind of write has another fingerprint, so a reply of another kind is a defect.
fn defect(reply: &Reply) -> Problem {
    Problem::new(Code::Internal, format!("the log answered with something else: {reply:?}"))
}
