//! Leases of queues: given, extended, settled, by whichever node a worker asks.
//!
//! ```text
//! worker ─▶ any node: is there work? ── no ──▶ wait for the log, in line ──┐
//!                          ▲   └─ yes ─▶ Take, through the intake ─▶ log   │
//!                          └───────────────────────────────────────────────┘
//! ```
//! A node waits on its own view, which costs the cluster nothing; what a worker gets is decided in the log, so a view that
//! is behind costs a question at most, never a firing. Nothing is decided here, and no lease is kept here.

mod room;
mod settle;
mod shown;

use std::sync::Arc;
use std::time::Duration;

use campanile_core::command::Take;
use campanile_core::query;
use campanile_core::reply::{Leased, Reply};
use tokio::time::{Instant, sleep, timeout_at};

use super::quorum::Undone;
use super::schedules::unexpected;
use super::write::{Caller, Failure, refused};
use super::{Consistency, Service};
use crate::problem::{Code, Problem};
use crate::wire::lease::{LeaseOrder, Leased as Shown};
use room::Place;
pub(super) use room::Room;

/// How long a wait for an instant or the log may be before the wall clock is read again.
const SLICE: Duration = Duration::from_secs(1);
/// What each who waits at this node adds to the time between two looks of one of them: so that all of them together
/// look about 100,000 times a second at most, however busy the log is. One look takes two microseconds.
const SHARE: Duration = Duration::from_micros(10);
/// After having asked for nothing: others were faster, or this node's view or clock is not the leader's.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The longest of those, which double.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Service {
    /// Leases firings of a queue for a worker, and waits for some as long as it asks for.
    ///
    /// # Errors
    /// `rate_limited` when too many wait here, `no_quorum` when nobody can say whether there is work, `unknown_outcome`
    /// when leases may have been given: asking again under the same key gets the same.
    pub async fn lease(
        self: &Arc<Self>,
        caller: &Caller,
        queue: &Arc<str>,
        order: &LeaseOrder,
    ) -> Result<Vec<Shown>, Failure> {
        let until = Instant::now() + Duration::from_millis(order.wait.as_millis());
        let place = self.room.enter(queue).ok_or_else(crowded)?;
        let take = Take {
            queue: queue.clone(),
            worker: order.worker.as_ref().into(),
            most: order.max,
            ttl: order.ttl,
            request: caller.request(),
        };
        let mut leased = match self.recall(caller)? {
            Some(Reply::Leased(leased)) => leased,
            Some(other) => return Err(unexpected(&other)),
            None => self.take_now(&place, &take).await?,
        };
        if leased.is_empty() && Instant::now() < until {
            leased = self.take_when_there_is_some(&place, &take, until).await?;
        }
        // Whoever waits in line need not wait for the answer to be written.
        drop(place);
        Ok(self.show_leases(&leased).await?)
    }

    /// Asks once. The barrier is what makes "there is nothing" true, and what tells a worker that this node is cut off;
    /// without it an empty answer would need an entry in the log.
    async fn take_now(self: &Arc<Self>, place: &Place<'_>, take: &Take) -> Result<Vec<Leased>, Failure> {
        self.read(Consistency::Linearizable).await?;
        self.take(place, take).await
    }

    async fn take_when_there_is_some(
        self: &Arc<Self>,
        place: &Place<'_>,
        take: &Take,
        until: Instant,
    ) -> Result<Vec<Leased>, Failure> {
        let Some(_turn) = self.rest(until, place.watch()).await? else { return Ok(Vec::new()) };
        let mut pause = FIRST_PAUSE;
        while Instant::now() < until {
            match self.opens_in(place) {
                Some(Duration::ZERO) => {
                    let leased = self.take(place, take).await?;
                    if !leased.is_empty() {
                        return Ok(leased);
                    }
                    self.rest(until, sleep(pause)).await?;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                opens => {
                    pause = FIRST_PAUSE;
                    self.rest(until, self.news(opens.unwrap_or(SLICE).min(SLICE))).await?;
                }
            }
        }
        Ok(Vec::new())
    }

    /// In how long there is something to lease, as far as this node knows; `None` for when the log changes something.
    fn opens_in(&self, place: &Place<'_>) -> Option<Duration> {
        let view = self.quorum.view();
        let now = self.now().max(view.clock());
        let opens = query::queue_opens_at(&view, place.queue(), now)?;
        Some(Duration::from_millis(opens.since(now).as_millis()))
    }

    /// Until the log has gone on, or so long; and then its share of all who wait here.
    async fn news(&self, within: Duration) {
        let applied = self.quorum.view().applied();
        // Whichever comes first: both are looked at again.
        let _ = tokio::time::timeout(within, self.quorum.applied_beyond(applied)).await;
        sleep(SHARE * u32::try_from(self.room.length()).unwrap_or(u32::MAX)).await;
    }

    /// Waits until `until` at the longest; `None` when that came first.
    ///
    /// # Errors
    /// `not_ready` when this node stops: another one has the answer.
    async fn rest<T>(&self, until: Instant, wait: impl Future<Output = T>) -> Result<Option<T>, Problem> {
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => {
                Err(Problem::new(Code::NotReady, "this node is stopping; ask another one"))
            }
            rested = timeout_at(until, wait) => Ok(rested.ok()),
        }
    }

    /// What the log gives, if there seems to be something.
    async fn take(self: &Arc<Self>, place: &Place<'_>, take: &Take) -> Result<Vec<Leased>, Failure> {
        let deadline = Instant::now() + self.options.write_within;
        let turn = timeout_at(deadline, place.ask()).await;
        let Ok(Some(_turn)) = turn else { return Err(self.held_up(Undone::Busy).await.into()) };
        // Those before in line may have got the last of it.
        if self.opens_in(place) != Some(Duration::ZERO) {
            return Ok(Vec::new());
        }
        match self.intake.take(take.clone(), deadline).await {
            Ok(Ok(leased)) => Ok(leased),
            Ok(Err(rejection)) => Err(refused(rejection)),
            Err(undone) => Err(self.held_up(undone).await.into()),
        }
    }

    /// What a holder hears when what it said did not get through.
    pub(super) async fn held_up(&self, undone: Undone) -> Problem {
        match undone {
            Undone::Unknown(why) => Problem::new(
                Code::UnknownOutcome,
                format!("{why}; it may have been heard: say it again, with the same Idempotency-Key"),
            ),
            Undone::Busy => Problem::new(Code::RateLimited, "too much is under way; ask again in a moment"),
            Undone::Stopped(why) => Problem::new(Code::NotReady, format!("{why}; ask another node")),
            Undone::NotSent(_) | Undone::TooLarge { .. } => self.no_quorum(&undone.to_string()).await,
        }
    }
}

fn crowded() -> Problem {
    Problem::new(Code::RateLimited, "10000 requests for leases wait at this node; ask another one, or later")
}
