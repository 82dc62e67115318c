//! Queues as users see and change them: their limits, their pauses, and how much waits in them.

use std::collections::BTreeSet;
use std::sync::Arc;

use campanile_core::command::{Body, Condition, DeleteQueue, PauseQueue, PutQueue, ResumeQueue};
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::queue::QueueSettings;
use campanile_core::reply::{Change, Rejection, Reply};

use super::Service;
use super::schedules::unexpected;
use super::write::{Caller, Failure, PlanWrite, Planned, refused};
use crate::problem::{Code, Problem};
use crate::wire::page::{Page, parts, token};
use crate::wire::queue::Queue;

/// A queue after a write.
#[derive(Debug, Clone)]
pub struct WrittenQueue {
    /// What the write did.
    pub change: Change,
    /// How it stands.
    pub queue: Queue,
    /// Its entity tag.
    pub updated_index: LogIndex,
}

impl Service {
    /// A page of the queues that have limits of their own, or that a schedule names, or that have firings.
    ///
    /// # Errors
    /// `bad_request` for a token that this list did not give.
    pub fn queues(
        &self,
        machine: &Machine,
        limit: usize,
        page_token: Option<&str>,
    ) -> Result<Page<Queue>, Problem> {
        let after = page_token.map(parts::<1>).transpose()?.map(|[name]| name);
        // All are bounded: 10,000 have limits, and the others have a schedule, or had one.
        let with_limits = machine.queues().map(|(name, _)| name);
        let with_firings = machine.due().queued().queues().map(|(name, _)| name);
        let named = machine.queue_users().names();
        let all: BTreeSet<&Arc<str>> = with_limits.chain(with_firings).chain(named).collect();
        let is_behind = |name: &&&Arc<str>| after.as_deref().is_none_or(|after| &****name > after);
        let mut behind = all.iter().filter(is_behind);
        let now = self.now().max(machine.clock());
        let items: Vec<Queue> =
            behind.by_ref().take(limit).map(|name| Queue::of(machine, name, now)).collect();
        let more = behind.next().is_some();
        let next_page_token = items.last().filter(|_| more).map(|last| token(&[&last.name]));
        Ok(Page { items, next_page_token })
    }

    /// Gives a queue limits.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn put_queue(
        self: &Arc<Self>,
        caller: &Caller,
        name: &Arc<str>,
        condition: Condition,
        settings: QueueSettings,
    ) -> Result<WrittenQueue, Failure> {
        let command = PutQueue { name: name.clone(), settings, condition, request: caller.request() };
        self.change_queue(caller, name, Body::PutQueue(command)).await
    }

    /// Stops leasing of a queue.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn pause_queue(
        self: &Arc<Self>,
        caller: &Caller,
        name: &Arc<str>,
        note: Box<str>,
    ) -> Result<WrittenQueue, Failure> {
        let command = PauseQueue { name: name.clone(), note, request: caller.request() };
        self.change_queue(caller, name, Body::PauseQueue(command)).await
    }

    /// Leases of a queue again.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn resume_queue(
        self: &Arc<Self>,
        caller: &Caller,
        name: &Arc<str>,
    ) -> Result<WrittenQueue, Failure> {
        let command = ResumeQueue { name: name.clone(), request: caller.request() };
        self.change_queue(caller, name, Body::ResumeQueue(command)).await
    }

    /// Forgets the limits and the pause of a queue; `false` when it had none. Its firings stay.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn delete_queue(
        self: &Arc<Self>,
        caller: &Caller,
        name: &Arc<str>,
        condition: Condition,
    ) -> Result<bool, Failure> {
        let command = DeleteQueue { name: name.clone(), condition, request: caller.request() };
        match self.write_named(caller, "queue", name, Body::DeleteQueue(command)).await? {
            Reply::Deleted(was_there) => Ok(was_there),
            other => Err(unexpected(&other)),
        }
    }

    async fn change_queue(
        self: &Arc<Self>,
        caller: &Caller,
        name: &Arc<str>,
        body: Body,
    ) -> Result<WrittenQueue, Failure> {
        let reply = self.write_named(caller, "queue", name, body).await?;
        let Reply::Queue(change, updated_index) = reply else { return Err(unexpected(&reply)) };
        let machine = self.quorum().view();
        let now = self.now().max(machine.clock());
        Ok(WrittenQueue { change, queue: Queue::of(&machine, name, now), updated_index })
    }

    /// Proposes a command about a thing with a name, of that kind.
    pub(super) async fn write_named(
        self: &Arc<Self>,
        caller: &Caller,
        kind: &'static str,
        name: &str,
        body: Body,
    ) -> Result<Reply, Failure> {
        let plan: PlanWrite = Arc::new(move |_, _, _| Planned::Propose(Box::new(body.clone())));
        self.write_or(caller, plan, |why| refused_named(kind, name, why)).await
    }
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
