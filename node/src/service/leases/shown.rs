//! Leases as workers read them: what the log gave, with what there is to do.

use std::sync::Arc;

use campanile_core::definition::Target;
use campanile_core::firing::Firing;
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::reply::Leased;
use campanile_core::time::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::super::Service;
use crate::dispatch::webhook;
use crate::problem::{Code, Problem};
use crate::wire::lease::Leased as Shown;
use crate::wire::lease_ref::LeaseRef;
use crate::wire::payload::Payload;
use crate::wire::time::Instant as ShownInstant;

/// 9999-12-31T23:59:59Z: what a firing without a deadline has for one, since RFC 3339 has no later instant.
const NO_DEADLINE: Timestamp = Timestamp::from_millis(253_402_300_799_000);

impl Service {
    /// What a worker got, once this node has seen it given. A firing that has ended since, or went to another, is left out.
    ///
    /// # Errors
    /// `unknown_outcome` when this node does not see it in time: the same request gets the same leases.
    pub(super) async fn show_leases(&self, leased: &[Leased]) -> Result<Vec<Shown>, Problem> {
        let Some(given_at) = leased.iter().map(|one| one.lease.fencing_token.index()).max() else {
            return Ok(Vec::new());
        };
        let machine = self.view_at(given_at).await?;
        Ok(leased.iter().filter_map(|one| show(&machine, one)).collect())
    }

    async fn view_at(&self, index: LogIndex) -> Result<Arc<Machine>, Problem> {
        let deadline = Instant::now() + self.options.read_within;
        loop {
            let view = self.quorum.view();
            if view.applied() >= index {
                return Ok(view);
            }
            if timeout_at(deadline, self.quorum.applied_beyond(view.applied())).await.is_err() {
                return Err(Problem::new(
                    Code::UnknownOutcome,
                    "leases were given, and this node is too far behind to tell them; ask another one with the same \
                     Idempotency-Key",
                ));
            }
        }
    }
}

/// The last instant at which an attempt of it may be held.
pub(super) fn deadline_of(firing: &Firing) -> ShownInstant {
    ShownInstant(firing.deadline().min(NO_DEADLINE))
}

fn show(machine: &Machine, leased: &Leased) -> Option<Shown> {
    let firing = machine.firing(leased.firing)?;
    let lease = firing.lease().filter(|lease| lease.attempt == leased.lease.attempt)?;
    let Target::Queue(target) = &firing.definition.target else { return None };
    let schedule = machine.schedule(firing.id.uid)?;
    let attempt = lease.attempt;
    let labels = firing.definition.about.labels.iter();
    Some(Shown {
        lease: LeaseRef { firing: firing.id, attempt }.to_string(),
        firing: firing.id.to_string(),
        schedule: schedule.name.to_string(),
        uid: firing.id.uid.to_string(),
        revision: firing.revision.0,
        queue: target.queue.to_string(),
        nominal: ShownInstant(firing.id.nominal),
        run: firing.id.run.0,
        kind: firing.kind.as_str().into(),
        cause: firing.kind.cause().map(|cause| cause.to_string()),
        attempt: attempt.0,
        fencing_token: lease.fencing_token.0,
        begun_at: ShownInstant(lease.begun_at),
        until: ShownInstant(lease.until),
        deadline: deadline_of(firing),
        traceparent: webhook::traceparent(firing.id, attempt),
        labels: labels.map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        payload: Payload(webhook::body_of(firing).into()),
    })
}
