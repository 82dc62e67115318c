//! The dispatcher of a node: begins what it may send, sends what has begun, reports what came of it.
//!
//! ```text
//!   Sends (by host and schedule) ─> shares (whose is it) ─> desk (who may have a seat) ─> Begin ─> lease ─> webhook ─> Settle
//!         ▲                                                                             └── both by the node's intake ──┘
//!         └── woken by an apply, a freed seat, or the clock; never told what to do
//! ```
//! **Begin before send**: an attempt starts only after its lease is committed, and a holder counts its lease from before
//! it proposed it, on the monotonic clock. So a paused or deposed node does not send under a lease that others think over.
//!
//! Every node does this, with or without an office: leases name their holder, and what it says reaches the log through
//! whoever leads ([`crate::work`]). A node that dies leaves its leases to end; then the next attempt is anybody's.
//!
//! An attempt under way whose firing is asked to stop, or is gone, is told by the listener (`stops`), see there.

mod attempt;
pub mod breaker;
pub mod classify;
mod desk;
pub mod egress;
pub mod exit;
pub mod hosts;
mod shares;
pub mod sign;
mod stops;
mod unheard;
pub mod webhook;

use campanile_raft::runtime;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::attempt::Holder;
use campanile_core::command::{Begin, BeginItem};
use campanile_core::definition::{Target, Webhook};
use campanile_core::firing::Firing;
use campanile_core::id::AttemptNumber;
use campanile_core::machine::Machine;
use campanile_core::query;
use campanile_core::reply::Refused;
use campanile_core::time::{Span, Timestamp};
use tokio::sync::futures::OwnedNotified;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use desk::{Desk, Limits};

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::service::quorum::{Quorum, Undone};
use crate::work::Intake;
use attempt::Attempt;
use desk::{Look, Place};
use shares::Shares;
use stops::Listener;

/// A lease outlives its request by this: what the report may take to be committed, a failover included.
const MARGIN: Span = Span::from_secs(10);
/// The most leases in one Begin: 32 bytes each, and an entry this small is replicated in one packet or two.
const BEGIN_ITEMS: usize = 256;
/// The longest sleep, so that a wall clock that is set is noticed.
const SLICE: Duration = Duration::from_millis(250);
/// How often it is looked at while what waits has no seat.
const FULL: Duration = Duration::from_millis(10);
/// The wait after a Begin that could not be brought to the log.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a Begin is carried before the node looks anew: most of a lease must be left when it comes back.
const BEGIN_WITHIN: Duration = Duration::from_secs(2);
/// How often it is looked at while there is work that another node prefers.
const OTHERS: Duration = Duration::from_millis(50);
/// How old the picture of the cluster may be by which the work is shared.
const PICTURE: Duration = Duration::from_millis(250);

/// What a node dispatches with.
#[derive(Clone)]
pub struct Tools {
    /// Sends requests.
    pub sender: webhook::Sender,
    /// Who sits where.
    pub desk: Arc<Desk>,
    /// Every request under way, and every report on its way to the log.
    pub attempts: TaskTracker,
    /// The node's clock.
    pub clock: Clock,
    /// Where attempts are counted.
    pub metrics: Arc<Metrics>,
    /// What is to be sent.
    pub quorum: Arc<dyn Quorum>,
    /// The way to the log.
    pub intake: Intake,
}

/// Dispatches until `stop`; from `begin_nothing` on what is under way goes on, and nothing new begins.
pub async fn run(tools: Tools, begin_nothing: CancellationToken, stop: CancellationToken) {
    let listener = Listener::new(Arc::clone(&tools.quorum), Arc::clone(&tools.desk));
    let shares = Shares::of(&tools.quorum.status(), tools.quorum.leads());
    let dispatcher = Dispatcher { tools, shares, seen_at: Instant::now(), ahead: Span::ZERO, failing: false };
    tokio::join!(dispatcher.run(begin_nothing, stop.clone()), listener.run(stop));
}

/// Begins and sends.
struct Dispatcher {
    tools: Tools,
    shares: Shares,
    /// When the cluster was looked at for them.
    seen_at: Instant,
    /// How far this node's clock was found ahead of the log's, by a Begin that came too early; zero most of the time.
    ahead: Span,
    /// Whether the last Begin failed, so that a long outage is one line in the log.
    failing: bool,
}

impl Dispatcher {
    /// Until either is cancelled. A Begin that is under way at `stop` is committed or not; its lease ends by itself.
    async fn run(mut self, begin_nothing: CancellationToken, stop: CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = begin_nothing.cancelled() => return,
            () = self.catch_up() => {}
        }
        loop {
            let places = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = begin_nothing.cancelled() => return,
                places = self.next() => places,
            };
            // Not cut off by `begin_nothing`: what the log begins now would be sent by nobody until its lease ends.
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.begin(places) => {}
            }
        }
    }

    /// Returns once this node has applied all that was committed by now: an earlier process of this node may have sent
    /// attempts of which the machine that was read from disk does not know yet.
    async fn catch_up(&self) {
        while let Err(why) = self.tools.quorum.read_barrier().await {
            tracing::debug!(%why, "nothing begins before this node has caught up");
            self.tools.quorum.leader_change(PAUSE).await;
        }
    }

    /// What may begin, once there is something. Nothing is lost when it is dropped.
    async fn next(&mut self) -> Vec<Place> {
        loop {
            let view = self.tools.quorum.view();
            self.look_around();
            let now = (self.tools.clock.now() - self.ahead).max(view.clock());
            // Before the look: a seat that is freed between look and wait must still wake.
            let freed = self.tools.desk.freed();
            let sends = |uid, waited| self.shares.sends(uid, waited);
            match self.tools.desk.look(&view, now, BEGIN_ITEMS, sends) {
                Look::Found(places) => return places,
                Look::Idle => self.wait(&view, now).await,
                Look::Full => self.wait_for_seat(freed).await,
            }
        }
    }

    /// Looks at the cluster now and then, to know whose work is whose.
    fn look_around(&mut self) {
        if self.seen_at.elapsed() >= runtime::between_looks(PICTURE) {
            self.shares = Shares::of(&self.tools.quorum.status(), self.tools.quorum.leads());
            self.seen_at = Instant::now();
            self.ahead = Span::ZERO;
        }
    }

    /// Asks for leases for those places and starts what got one.
    async fn begin(&mut self, places: Vec<Place>) {
        // The lease is counted from here, which is before anybody else can count it from.
        let asked_at = Instant::now();
        let item = |place: &Place| BeginItem {
            firing: place.firing.id,
            attempt: next_attempt(&place.firing),
            ttl: lease_of(&place.firing),
        };
        let holder = Holder::Node(self.tools.quorum.node());
        let begin = Begin { holder, items: places.iter().map(item).collect() };
        let under_way = self.tools.metrics.beginning(places.len());
        let begun = self.tools.intake.begin(begin, asked_at + BEGIN_WITHIN).await;
        drop(under_way);
        match begun {
            Ok(leases) => {
                self.recovered();
                for (place, lease) in places.into_iter().zip(leases) {
                    match lease {
                        Ok(lease) => self.start(Attempt { place, lease, asked_at }),
                        // By another node, or by this one in a try whose answer was lost.
                        Err(Refused::OtherAttempt | Refused::NotLive) => self.find_out(place, asked_at),
                        Err(refused) => self.skip(&place, refused),
                    }
                }
            }
            Err(undone) => {
                if let Undone::Unknown(_) = undone {
                    places.into_iter().for_each(|place| self.find_out(place, asked_at));
                }
                self.failed(&undone.to_string()).await;
            }
        }
    }

    /// It is too early by the leader's clock: then this node's is ahead, and for a moment it looks by the log's, so that it
    /// does not ask again and again.
    fn skip(&mut self, place: &Place, refused: Refused) {
        tracing::debug!(firing = %place.firing.id, ?refused, "a lease was refused");
        if let Refused::NotYet(_) = refused {
            let log_time = self.tools.quorum.view().clock();
            self.ahead = self.ahead.max(self.tools.clock.now().since(log_time));
        }
    }

    fn start(&self, attempt: Attempt) {
        runtime::spawn_on(&self.tools.attempts, attempt.run(self.tools.clone()));
    }

    fn find_out(&self, place: Place, asked_at: Instant) {
        runtime::spawn_on(&self.tools.attempts, unheard::find_out(place, asked_at, self.tools.clone()));
    }

    fn recovered(&mut self) {
        if std::mem::take(&mut self.failing) {
            tracing::info!("firings begin again");
        }
    }

    async fn failed(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(reason, "firings could not begin; they are looked at again");
        }
        tokio::time::sleep(PAUSE).await;
    }

    /// Waits until there may be something to begin: the clock reaches it, or an apply brings it.
    async fn wait(&self, view: &Machine, now: Timestamp) {
        let nap = nap(query::next_work(view), now, &self.tools.clock, self.ahead);
        tokio::select! {
            biased;
            () = self.tools.quorum.applied_beyond(view.applied()) => {}
            () = tokio::time::sleep(nap) => {}
        }
    }

    /// Waits for a freed seat. Work for a host that has one may come meanwhile, but looking past a long backlog with
    /// every apply would leave time for nothing else.
    async fn wait_for_seat(&self, freed: OwnedNotified) {
        tokio::select! {
            biased;
            () = freed => {}
            () = tokio::time::sleep(FULL) => {}
        }
    }
}

/// How long to sleep after a look at `now` that found nothing. What is next is slept for by what was looked with, the clock
/// less what it is `ahead`: by the clock alone it would be a sleep of no time, again and again.
fn nap(next: Option<Timestamp>, now: Timestamp, clock: &Clock, ahead: Span) -> Duration {
    match next {
        Some(at) if at <= now => OTHERS,
        Some(at) => clock.until(at + ahead).min(runtime::between_looks(SLICE)),
        None => runtime::between_looks(SLICE),
    }
}

fn next_attempt(firing: &Firing) -> AttemptNumber {
    AttemptNumber(firing.attempt.0 + 1)
}

/// How long the lease on an attempt lasts: its timeout, and time to say what came of it.
fn lease_of(firing: &Firing) -> Span {
    webhook_of(firing)
        .map_or(MARGIN, |webhook| Span::from_millis(webhook.timeout.as_millis() + MARGIN.as_millis()))
}

/// What a node sends; none for what stands in a queue, which no node begins.
fn webhook_of(firing: &Firing) -> Option<&Webhook> {
    match &firing.definition.target {
        Target::Webhook(webhook) => Some(webhook),
        Target::Queue(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hours, so that no machine is slow enough to make a difference.
    #[test]
    fn a_node_whose_clock_is_ahead_sleeps_until_what_is_next_by_the_clock_that_it_looks_with() {
        let (clock, ahead) = (Clock::system(), Span::from_secs(2 * 3_600));
        let now = clock.now() - ahead;
        assert_eq!(nap(Some(now + Span::from_secs(3_600)), now, &clock, ahead), SLICE);
        assert_eq!(nap(Some(now), now, &clock, ahead), OTHERS);
        assert_eq!(nap(None, now, &clock, ahead), SLICE);
    }
}
