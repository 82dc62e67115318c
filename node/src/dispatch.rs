//! The dispatcher: begins what may begin, sends what has begun, reports what came of it.
//!
//! ```text
//!   query::work_now ─> desk (who may have a seat) ─> Begin ─> reply: lease ─> webhook ─> Settle
//!         ▲                                           batched, one under way            batched, see `settle`
//!         └── woken by an apply, a freed seat, or the clock; never told what to do
//! ```
//! **Begin before send**: an attempt starts only after its lease is committed, and a holder counts its lease from before
//! it proposed it, on the monotonic clock. So a paused or deposed node does not send under a lease that others think over.
//!
//! An attempt under way whose firing is asked to stop, or is gone, is told by the listener (`stops`), see there.
//!
//! It runs on the leader only. When the office is lost nothing new begins; requests under way end by themselves, within
//! their timeout. What they report then cannot be committed from here: it is dropped, the lease ends, and the next leader
//! tries again. That is the *at least once* of the promise; with *at most once* the firing ends as `unknown`.

mod attempt;
pub mod breaker;
pub mod classify;
mod desk;
pub mod egress;
mod settle;
pub mod sign;
mod stops;
pub mod webhook;

use std::sync::Arc;
use std::time::{Duration, Instant};

use campanile_core::command::{Begin, BeginItem, Body};
use campanile_core::definition::{Target, Webhook};
use campanile_core::firing::Firing;
use campanile_core::id::{AttemptNumber, NodeId};
use campanile_core::machine::Machine;
use campanile_core::query;
use campanile_core::reply::{Refused, Reply};
use campanile_core::time::{Span, Timestamp};
use tokio::sync::futures::OwnedNotified;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use desk::{Desk, Limits};

use crate::clock::Clock;
use crate::leader::office::Office;
use crate::metrics::Metrics;
use attempt::Attempt;
use desk::{Look, Place};
use settle::{Collector, Outcome};
pub use stops::Listener;

/// A lease outlives its request by this: what the report may take to be committed, a failover included.
const MARGIN: Span = Span::from_secs(10);
/// The most leases in one Begin: 32 bytes each, and an entry this small is replicated in one packet or two.
const BEGIN_ITEMS: usize = 256;
/// How many reports may wait to be settled; an attempt that ends beyond keeps its seat, which slows beginning down.
const REPORTS: usize = 4_096;
/// The longest sleep, so that a wall clock that is set is noticed.
const SLICE: Duration = Duration::from_millis(250);
/// How often it is looked at while what waits has no seat.
const FULL: Duration = Duration::from_millis(10);
/// The wait after a failed proposal.
const PAUSE: Duration = Duration::from_millis(20);

/// What all dispatchers of a node share, from office to office.
#[derive(Debug, Clone)]
pub struct Tools {
    /// Sends requests.
    pub sender: webhook::Sender,
    /// Who sits where.
    pub desk: Arc<Desk>,
    /// Every request under way, also those of an office that was lost.
    pub attempts: TaskTracker,
    /// The node's clock.
    pub clock: Clock,
    /// Where attempts are counted.
    pub metrics: Arc<Metrics>,
}

/// Dispatches while its office lasts.
#[derive(Debug)]
pub struct Dispatcher<O> {
    office: O,
    tools: Tools,
    reports: mpsc::Sender<Outcome>,
    failing: bool,
}

/// The parts of dispatching in one office: one begins, one settles, and one hears what is to be stopped.
pub fn open<O: Office>(office: O, tools: Tools) -> (Dispatcher<O>, Settler<O>, Listener<O>) {
    let (reports, incoming) = mpsc::channel(REPORTS);
    let settler = Settler(Collector::new(office.clone(), incoming, tools.clock, Arc::clone(&tools.metrics)));
    let listener = Listener::new(office.clone(), Arc::clone(&tools.desk));
    (Dispatcher { office, tools, reports, failing: false }, settler, listener)
}

/// Settles what the attempts of one office report.
#[derive(Debug)]
pub struct Settler<O>(Collector<O>);

impl<O: Office> Settler<O> {
    /// Settles until `stop`; what is not committed by then is dropped.
    pub async fn run(self, stop: CancellationToken) {
        self.0.run(stop).await;
    }
}

impl<O: Office> Dispatcher<O> {
    /// Begins and sends until either is cancelled. A Begin that is under way then is committed or not; its lease ends by
    /// itself.
    pub async fn run(mut self, begin_nothing: CancellationToken, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = begin_nothing.cancelled() => return,
                () = self.turn() => {}
            }
        }
    }

    async fn turn(&mut self) {
        let view = self.office.view();
        let wall = self.tools.clock.now();
        // By a clock that is ahead, waits before retries would be over that are not.
        if !self.office.allows(wall) {
            return tokio::time::sleep(SLICE).await;
        }
        let now = wall.max(view.clock());
        // Before the look: a seat that is freed between look and wait must still wake.
        let freed = self.tools.desk.freed();
        match self.tools.desk.look(&view, now, BEGIN_ITEMS) {
            Look::Found(places) => self.begin(now, places).await,
            Look::Idle => self.wait(&view, now).await,
            Look::Full => self.wait_for_seat(freed).await,
        }
    }

    /// Proposes leases for those places and starts what got one.
    async fn begin(&mut self, now: Timestamp, places: Vec<Place>) {
        // The lease is counted from here, which is before anybody else can count it from.
        let asked_at = Instant::now();
        let items: Vec<(AttemptNumber, Span, Arc<Firing>)> = places
            .iter()
            .map(|place| (next_attempt(&place.firing), lease_of(&place.firing), Arc::clone(&place.firing)))
            .collect();
        let holder = self.office.node();
        let _under_way = self.tools.metrics.beginning(places.len());
        let proposed =
            self.office.propose(now, move |at, _| (at >= now).then(|| begin_at(at, holder, &items))).await;
        match proposed {
            // The clock was found ahead since it was read.
            Ok(None) => {}
            Ok(Some(Reply::Begun(leases))) => {
                self.recovered();
                for (place, lease) in places.into_iter().zip(leases) {
                    match lease {
                        Ok(lease) => self.start(Attempt { place, lease, node: holder, asked_at }),
                        Err(refused) => skip(&place, refused),
                    }
                }
            }
            Ok(reply) => self.failed(&format!("{reply:?}")).await,
            Err(error) => self.failed(&error.to_string()).await,
        }
    }

    fn start(&self, attempt: Attempt) {
        self.tools.attempts.spawn(attempt.run(self.tools.clone(), self.reports.clone()));
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
        let ahead = query::next_work(view).filter(|at| *at > now);
        let nap = ahead.map_or(SLICE, |at| self.tools.clock.until(at).min(SLICE));
        tokio::select! {
            biased;
            () = self.office.applied_beyond(view.applied()) => {}
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

/// Somebody else settled it, or began it, between the look and the log.
fn skip(place: &Place, refused: Refused) {
    tracing::debug!(firing = %place.firing.id, ?refused, "a lease was refused");
}

fn begin_at(at: Timestamp, holder: NodeId, items: &[(AttemptNumber, Span, Arc<Firing>)]) -> Body {
    let item = |(attempt, lease, firing): &(AttemptNumber, Span, Arc<Firing>)| BeginItem {
        firing: firing.id,
        attempt: *attempt,
        until: at + *lease,
    };
    Body::Begin(Begin { holder, items: items.iter().map(item).collect() })
}

fn next_attempt(firing: &Firing) -> AttemptNumber {
    AttemptNumber(firing.attempt.0 + 1)
}

/// How long the lease on an attempt lasts: its timeout, and time to say what came of it.
fn lease_of(firing: &Firing) -> Span {
    Span::from_millis(webhook_of(firing).timeout.as_millis() + MARGIN.as_millis())
}

fn webhook_of(firing: &Firing) -> &Webhook {
    let Target::Webhook(webhook) = &firing.definition.target;
    webhook
}
