//! One write: planned under the office, proposed, and planned again when something came between.
//!
//! Every write carries a key, the client's or one drawn here, so that whoever does not know what became of it may simply
//! ask again. It must not act anywhere but in the log.

mod caller;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use campanile_core::command::Body;
use campanile_core::firing::Kind;
use campanile_core::machine::Machine;
use campanile_core::plan::Planner;
use campanile_core::reply::{Rejection, Reply};
use campanile_core::time::Timestamp;

use super::Service;
use super::quorum::Undone;
use crate::problem::{Code, Problem};
pub use caller::{Caller, Key, fingerprint};

/// How often a write that was overtaken is planned again before it gives up: each round loses only to another write of
/// the same schedule, or to a tick of it.
pub(super) const ROUNDS: usize = 32;
/// A trigger whose millisecond is taken asks again after the next.
const NEXT_MILLISECOND: Duration = Duration::from_millis(2);

/// What a plan says.
#[derive(Debug)]
pub enum Planned {
    /// Propose this.
    Propose(Box<Body>),
    /// This very millisecond is taken; plan again in the next.
    NextMillisecond,
    /// It cannot be done, and the user must hear why.
    Refuse(Problem),
}

/// Why a write has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The user must hear this.
    Problem(Box<Problem>),
    /// This node could not do it; whoever sent it here asks elsewhere, or again.
    Undone(Undone),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

/// Plans a write from the state under which it will be judged.
pub type PlanWrite = Arc<dyn Fn(&mut Planner, Timestamp, &Machine) -> Planned + Send + Sync>;

impl Service {
    /// Proposes what `plan` says until the log takes or refuses it.
    ///
    /// # Errors
    /// The refusal as a problem; or that it was not, or may have been, done.
    pub async fn write(self: &Arc<Self>, caller: &Caller, plan: PlanWrite) -> Result<Reply, Failure> {
        self.write_or(caller, plan, refused).await
    }

    /// The same for a write of which `refused` says what a user hears of a refusal.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub(super) async fn write_or(
        self: &Arc<Self>,
        caller: &Caller,
        plan: PlanWrite,
        refused: impl Fn(Rejection) -> Failure,
    ) -> Result<Reply, Failure> {
        let mut now = self.now();
        for _ in 0..ROUNDS {
            // What was answered is a fact of the log, whatever the state is now; only what is new is planned.
            if let Some(reply) = self.recall(caller)? {
                return Ok(reply);
            }
            match self.try_write(caller, now, &plan, &refused).await? {
                Tried::Answered(reply) => return Ok(reply),
                Tried::Overtaken => now = self.now(),
                Tried::TooEarly => now = self.next_millisecond().await,
            }
        }
        Err(overtaken())
    }

    /// The answer that this very request got before.
    pub(super) fn recall(&self, caller: &Caller) -> Result<Option<Reply>, Failure> {
        self.quorum().view().requests().recall(&caller.request()).map_err(refused)
    }

    /// The wall clock brings the next millisecond by itself. One that was set back would let a user wait for as long as
    /// that; then the log's time, which is ahead of it anyhow, goes on by one.
    async fn next_millisecond(&self) -> Timestamp {
        tokio::time::sleep(NEXT_MILLISECOND).await;
        let (now, log) = (self.now(), self.quorum().view().clock());
        if now < log { log.successor() } else { now }
    }

    pub(super) async fn try_write(
        self: &Arc<Self>,
        caller: &Caller,
        now: Timestamp,
        plan: &PlanWrite,
        refused: &impl Fn(Rejection) -> Failure,
    ) -> Result<Tried, Failure> {
        let said = Arc::new(Mutex::new(None));
        let kind = Arc::new(OnceLock::new());
        let (service, plan, saying, asked) = (self.clone(), plan.clone(), said.clone(), kind.clone());
        let propose = Box::new(move |at: Timestamp, machine: &Machine| {
            let planned = plan(&mut service.planner(), at, machine);
            match planned {
                Planned::Propose(body) => {
                    kind_of(&body).map(|kind| asked.set(kind));
                    return Some(*body);
                }
                other => *saying.lock().unwrap_or_else(PoisonError::into_inner) = Some(other),
            }
            None
        });
        let proposed = tokio::time::timeout_at(caller.deadline, self.quorum.propose(now, propose)).await;
        match proposed {
            Err(_) => Err(Failure::Undone(Undone::Unknown("no majority answered in time".into()))),
            Ok(Err(Undone::Busy)) => {
                Err(Problem::new(Code::RateLimited, "too many requests are under way; ask again").into())
            }
            Ok(Err(too_large @ Undone::TooLarge { .. })) => Err(too_large_for_the_log(&too_large)),
            Ok(Err(undone)) => Err(Failure::Undone(undone)),
            Ok(Ok(Some(Reply::Rejected(rejection)))) => match rejection {
                Rejection::Raced | Rejection::ClockBehind(_) => Ok(Tried::Overtaken),
                other => Err(refused(other)),
            },
            Ok(Ok(Some(reply))) => {
                if let (Reply::Fired(_), Some(kind)) = (&reply, kind.get()) {
                    self.count_fired(*kind);
                }
                Ok(Tried::Answered(reply))
            }
            Ok(Ok(None)) => match said.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(Planned::Refuse(problem)) => Err(problem.into()),
                _ => Ok(Tried::TooEarly),
            },
        }
    }
}

/// The kind of the firing that a user asks for.
fn kind_of(body: &Body) -> Option<Kind> {
    match body {
        Body::Trigger(_) => Some(Kind::Manual),
        Body::Rerun(rerun) => Some(rerun.kind),
        _ => None,
    }
}

/// What became of one try.
pub(super) enum Tried {
    /// This is the answer.
    Answered(Reply),
    /// Another command came first.
    Overtaken,
    /// Not in this very millisecond.
    TooEarly,
}

/// The failure that others came first in every try.
pub(super) fn overtaken() -> Failure {
    Problem::new(Code::RateLimited, "others changed the same schedule in every try; ask again").into()
}

/// Nothing was proposed, and another try would not fit either.
fn too_large_for_the_log(undone: &Undone) -> Failure {
    let detail = format!("{undone}; do it in parts, each of which is atomic");
    Problem::new(Code::PayloadTooLarge, detail).into()
}

/// What a user hears of a refusal.
pub(super) fn refused(rejection: Rejection) -> Failure {
    let (code, why) = match rejection {
        Rejection::StaleEpoch(_) => {
            return Failure::Undone(Undone::NotSent("another leader has taken office".into()));
        }
        Rejection::Raced | Rejection::ClockBehind(_) => {
            (Code::RateLimited, "others changed the same schedule meanwhile; ask again".to_owned())
        }
        Rejection::NotFound => (Code::NotFound, "there is no such schedule".to_owned()),
        Rejection::AlreadyExists => {
            (Code::AlreadyExists, "the schedule exists, and If-None-Match asks that it does not".to_owned())
        }
        Rejection::VersionConflict(index) => (
            Code::VersionConflict,
            format!(
                "the schedule was changed: its ETag is \"{index}\" now; read it again and redo the change"
            ),
        ),
        Rejection::KeyReused => (
            Code::IdempotencyMismatch,
            "the Idempotency-Key was used for another request within 24 hours; use a new one for each"
                .to_owned(),
        ),
        Rejection::Invalid(why) => (Code::InvalidSchedule, why.into()),
        Rejection::Limit(why) => (Code::RateLimited, why.into()),
        Rejection::NoCalendar(name) => (
            Code::InvalidSchedule,
            format!("there is no calendar {name:?}; put it before the schedules that name it"),
        ),
        Rejection::NoSecret(name) => (
            Code::InvalidSchedule,
            format!("there is no secret {name:?}; put it first: PUT /v1/secrets/{name}"),
        ),
        Rejection::Cycle(path) => (
            Code::InvalidSchedule,
            format!(
                "the schedules that follow each other would go in a circle: {path}; take one of the steps out of on_failure \
                 or on_success"
            ),
        ),
        Rejection::InUse(users) => (
            Code::InUse,
            format!("{users} schedules name this calendar; change them first, or put an empty calendar"),
        ),
        // Whoever proposed the set knows the names of its parts, and says which one it is.
        Rejection::Part(_, why) => return refused(*why),
    };
    Problem::new(code, why).into()
}
