//! Queues as users see and change them: their limits, their pauses, and how much waits in them.

use std::sync::Arc;

use campanile_core::command::{Body, Condition, DeleteQueue, PauseQueue, PutQueue, ResumeQueue};
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::queue::QueueSettings;
use campanile_core::reply::{Change, Reply};

use super::Service;
use super::schedules::unexpected;
use super::write::{Caller, Failure};
use crate::problem::Problem;
use crate::wire::page::{Page, after_name};
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
        let after = after_name(page_token)?;
        let now = self.now().max(machine.clock());
        let behind = machine.queue_names_after(after.as_deref(), limit + 1).into_iter();
        let queues = behind.map(|name| Queue::of(machine, &name, now));
        Ok(Page::by_name(limit, queues, |queue| &queue.name))
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
}
