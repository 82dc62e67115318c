//! What the holder of a lease says: that it lives, and what came of its work.
//!
//! A lease that is lost is told as `lease_lost`, and nothing that was said under it changes anything. An outcome that was
//! accepted before, and whose answer was lost, is answered as it was then: the ledger knows.

use std::sync::Arc;

use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::command::{Extend, SettleItem};
use campanile_core::definition::Target;
use campanile_core::event::Outcome;
use campanile_core::firing::Firing;
use campanile_core::reply::{Refused, SettledNow};
use campanile_core::time::{Span, Timestamp};
use tokio::time::Instant;

use super::super::write::Failure;
use super::super::{Consistency, Service};
use super::shown::deadline_of;
use crate::problem::{Code, Problem};
use crate::wire::lease::{DEFAULT_TTL, Heartbeat, SettleOrder, SettleOutcome, Settled};
use crate::wire::lease_ref::LeaseRef;
use crate::wire::schedule::end_word;
use crate::wire::time::Instant as ShownInstant;

impl Service {
    /// Extends a lease: from now on for `ttl`, or for as long as it was taken.
    ///
    /// # Errors
    /// `lease_lost`; those of a write that was not heard.
    pub async fn heartbeat(
        self: &Arc<Self>,
        lease: LeaseRef,
        ttl: Option<Span>,
    ) -> Result<Heartbeat, Failure> {
        let firing = self.leased(lease).await?.ok_or_else(|| lost(Refused::NotLive))?;
        let ttl = match ttl {
            Some(ttl) => ttl,
            None => self.taken_for(lease).await?,
        };
        let extend = Extend { firing: lease.firing, attempt: lease.attempt, ttl };
        let deadline = Instant::now() + self.options.write_within;
        match self.intake.extend(extend, deadline).await {
            Ok(Ok(extended)) => Ok(Heartbeat {
                until: ShownInstant(extended.until),
                deadline: deadline_of(&firing),
                stop: extended.stop,
            }),
            Ok(Err(refused)) => Err(lost(refused).into()),
            Err(undone) => Err(self.held_up(undone).await.into()),
        }
    }

    /// Settles the attempt of a lease.
    ///
    /// # Errors
    /// As [`Service::heartbeat`].
    pub async fn settle(self: &Arc<Self>, lease: LeaseRef, order: SettleOrder) -> Result<Settled, Failure> {
        let Some(firing) = self.leased(lease).await? else {
            return Ok(self.settled_before(lease, verdict_of(&order, self.now()), Refused::NotLive).await?);
        };
        let verdict = verdict_of(&order, self.now().max(self.quorum.view().clock()));
        let sent_at = firing.lease().map_or(firing.decided.at, |lease| lease.begun_at);
        let report = Report { verdict, sent_at, status: None, error: order.error, output: order.output };
        let item = SettleItem { firing: lease.firing, attempt: lease.attempt, report };
        let deadline = Instant::now() + self.options.write_within;
        match self.intake.settle(item, deadline).await {
            Ok(Ok(now)) => {
                if let Some(metrics) = &self.metrics {
                    metrics.attempted(verdict);
                }
                Ok(settled(lease, now))
            }
            Ok(Err(refused)) => Ok(self.settled_before(lease, verdict, refused).await?),
            Err(undone) => Err(self.held_up(undone).await.into()),
        }
    }

    /// The firing of a lease, if it is one that workers hold; `None` when it is over. Looks again behind a barrier before it
    /// says so, since this node may not have heard of it yet.
    async fn leased(self: &Arc<Self>, lease: LeaseRef) -> Result<Option<Arc<Firing>>, Problem> {
        let runs = |firing: &Arc<Firing>| firing.lease().is_some_and(|held| held.attempt == lease.attempt);
        let mut firing = self.quorum.view().firing(lease.firing).cloned();
        if !firing.as_ref().is_some_and(runs) {
            firing = self.read(Consistency::Linearizable).await?.firing(lease.firing).cloned();
        }
        match firing.as_ref().map(|firing| &firing.definition.target) {
            // What a node sends, it speaks for.
            Some(Target::Webhook(_)) => Err(lost(Refused::OtherAttempt)),
            _ => Ok(firing),
        }
    }

    /// For how long a lease was taken: the ledger has it as it was given.
    async fn taken_for(&self, lease: LeaseRef) -> Result<Span, Problem> {
        let told = self.records.attempt(self.quorum.view(), lease.firing, lease.attempt).await?;
        Ok(told.begun.map_or(DEFAULT_TTL, |begun| begun.until.since(begun.begun_at)))
    }

    /// The answer that the same outcome of the same attempt got before. Looked up behind a barrier: what was proposed here and
    /// refused may have been settled by an entry that this node has not applied yet.
    async fn settled_before(
        self: &Arc<Self>,
        lease: LeaseRef,
        verdict: Verdict,
        refused: Refused,
    ) -> Result<Settled, Problem> {
        let view = self.read(Consistency::Linearizable).await?;
        let told = self.records.attempt(view, lease.firing, lease.attempt).await?;
        let by_worker = told.begun.is_none_or(|begun| matches!(begun.holder, Holder::Worker(_)));
        match told.settled {
            Some((Some(said), outcome)) if by_worker && is_same(said.verdict, verdict) => {
                Ok(settled(lease, now_of(outcome)))
            }
            _ => Err(lost(refused)),
        }
    }
}

fn verdict_of(order: &SettleOrder, now: Timestamp) -> Verdict {
    match order.outcome {
        SettleOutcome::Succeeded => Verdict::Succeeded,
        SettleOutcome::Failed => Verdict::Refused,
        SettleOutcome::Cancelled => Verdict::Stopped,
        SettleOutcome::Retry => Verdict::Retry { not_before: order.retry_after.map(|after| now + after) },
    }
}

/// When it is to be tried again was counted from when it was said, so it is another instant each time.
fn is_same(said: Verdict, verdict: Verdict) -> bool {
    matches!((said, verdict), (Verdict::Retry { .. }, Verdict::Retry { .. })) || said == verdict
}

const fn now_of(outcome: Outcome) -> SettledNow {
    match outcome {
        Outcome::Retry { at } => SettledNow::Retry(at),
        Outcome::End { state, .. } => SettledNow::End(state),
    }
}

fn settled(lease: LeaseRef, now: SettledNow) -> Settled {
    let (state, retry_at) = match now {
        SettledNow::Retry(at) => ("waiting", Some(ShownInstant(at))),
        SettledNow::End(state) => (end_word(state), None),
    };
    Settled { firing: lease.firing.to_string(), attempt: lease.attempt.0, state: state.into(), retry_at }
}

/// The problem that a lease is not its holder's any more.
fn lost(refused: Refused) -> Problem {
    let why = match refused {
        Refused::NotLive => "the firing has ended: it was cancelled, settled, or its deadline came",
        Refused::OtherAttempt | Refused::NotYet(_) | Refused::Held | Refused::InQueue => {
            "the lease has ended, and the attempt with it; another may have begun"
        }
    };
    Problem::new(Code::LeaseLost, format!("{why}; nothing was changed, and the work must stop"))
}
