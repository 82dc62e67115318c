//! What calendars, queues and secrets have in common: a name, a command that needs no plan, and schedules that name
//! them.

use std::ops::Bound;
use std::sync::Arc;

use campanile_core::command::Body;
use campanile_core::definition::{Definition, ScheduleName};
use campanile_core::machine::Machine;
use campanile_core::reply::{Rejection, Reply};
use campanile_core::schedule::Schedule;

use super::Service;
use super::write::{Caller, Failure, PlanWrite, Planned, refused};
use crate::problem::{Code, Problem};

/// So many of the schedules that keep a thing from being removed are named.
const NAMED: usize = 10;

impl Service {
    /// Proposes a command about a thing with a name, of that kind.
    pub(super) async fn write_named(
        self: &Arc<Self>,
        caller: &Caller,
        kind: &'static str,
        name: &str,
        body: Body,
    ) -> Result<Reply, Failure> {
        self.write_as_it_is(caller, body, |why| refused_named(kind, name, why)).await
    }

    /// Proposes a command that is the same whatever the state is.
    pub(super) async fn write_as_it_is(
        self: &Arc<Self>,
        caller: &Caller,
        body: Body,
        refused: impl Fn(Rejection) -> Failure,
    ) -> Result<Reply, Failure> {
        let plan: PlanWrite = Arc::new(move |_, _, _| Planned::Propose(Box::new(body.clone())));
        self.write_or(caller, plan, refused).await
    }

    /// A failure to remove a thing, with the first of the schedules that name it when that is why.
    pub(super) async fn in_use(
        self: &Arc<Self>,
        failure: Failure,
        names: impl Fn(&Definition) -> bool + Send + 'static,
    ) -> Failure {
        let problem = match failure {
            Failure::Problem(problem) if problem.code == Code::InUse => *problem,
            other => return other,
        };
        let machine = self.quorum().view();
        let users = self.think(move |_| {
            let users = users_of(&machine, names).take(NAMED);
            Ok(users.map(|schedule| schedule.name.to_string()).collect::<Vec<_>>())
        });
        match users.await {
            Ok(users) if !users.is_empty() => {
                let detail = format!("{}; the first are {}", problem.detail, users.join(", "));
                Problem { detail, ..problem }.into()
            }
            _ => problem.into(),
        }
    }
}

/// The schedules whose definition names a thing, in the order of their names. Slow: it looks at all.
pub(super) fn users_of<'a>(
    machine: &'a Machine,
    names: impl Fn(&Definition) -> bool + 'a,
) -> impl Iterator<Item = &'a Arc<Schedule>> {
    machine.by_name(Bound::<ScheduleName>::Unbounded).filter(move |schedule| names(&schedule.definition))
}

fn refused_named(kind: &str, name: &str, rejection: Rejection) -> Failure {
    let (code, detail) = match rejection {
        // RFC 9110 §13.1.1: a tag is asked for, and nothing has one.
        Rejection::NotFound => (
            Code::VersionConflict,
            format!("If-Match asks for a version of the {kind} {name}, and nobody has put it"),
        ),
        Rejection::AlreadyExists => (
            Code::AlreadyExists,
            format!("the {kind} {name} exists, and If-None-Match asks that it does not"),
        ),
        Rejection::VersionConflict(index) => (
            Code::VersionConflict,
            format!(
                "the {kind} {name} was changed: its ETag is \"{index}\" now; read it again and redo the change"
            ),
        ),
        Rejection::InUse(users) => {
            (Code::InUse, format!("{users} schedules name the {kind} {name}; change them first"))
        }
        other => return refused(other),
    };
    Problem::new(code, detail).into()
}
