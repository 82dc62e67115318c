//! What a leader does, and for how long: the duties of an office run in one scope that ends with it.
//!
//! ```text
//!   offices (from consensus) ── Some(office) ─> scope { ticker, refresher, backfills, keeper, raiser } ── None, another office, stop ─> joined
//! ```
//! An office is a committed `LeaderEpoch`: consensus hands it out after its reply, never from a metric. No duty keeps what
//! it could not find again in the machine, so taking office costs nothing that grows with the number of schedules, and a
//! duty that outlived its office would only be refused.

mod backfills;
mod duty;
mod keeper;
pub mod office;
mod raiser;
mod refresh;
mod ticker;

use campanile_raft::runtime;
use std::sync::Arc;

use campanile_core::plan;
use campanile_raft::runtime::watch;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::service::records::Records;
pub use backfills::Backfills;
pub use duty::Duty;
pub use keeper::{Keeper, Retention};
use office::Office;
use raiser::Raiser;
use refresh::Refresher;
pub use ticker::Ticker;

/// What the duties are done with.
#[derive(Debug, Clone)]
pub struct Duties {
    /// The node's clock.
    pub clock: Clock,
    /// Settings of the cluster that planning depends on.
    pub plan: plan::Options,
    /// What has happened, for what is to happen again.
    pub records: Records,
    /// How much of it is kept.
    pub retention: Retention,
    /// Where it is counted.
    pub metrics: Arc<Metrics>,
}

/// How a node is told to stop, gently first.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// Begin no attempt any more; go on ticking and settling.
    pub begin_nothing: CancellationToken,
    /// Leave office, and end what is under way.
    pub leave: CancellationToken,
}

/// Does the duties of each office that this node gets, until it is told to leave. Every duty has ended when it returns.
/// `hold` makes of what consensus hands out what the duties use.
pub async fn lead<T: Clone, O: Office>(
    mut offices: watch::Receiver<Option<T>>,
    hold: impl Fn(T) -> O,
    duties: Duties,
    stop: Stop,
) {
    while !stop.leave.is_cancelled() {
        // Copied out at once: a borrow held across an await would hold up consensus.
        let office = offices.borrow_and_update().clone();
        let scope = office.map(|office| Scope::open(&hold(office), &duties, &stop));
        tokio::select! {
            biased;
            () = stop.leave.cancelled() => {}
            changed = offices.changed() => if changed.is_err() { stop.leave.cancel() },
        }
        if let Some(scope) = scope {
            scope.close().await;
        }
    }
}

/// Plans so that heartbeats do not wait: what takes `long` is done aside of the runtime's workers, where it has several.
fn plan_aside<T>(long: bool, plan: impl FnOnce() -> T) -> T {
    if long && Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        tokio::task::block_in_place(plan)
    } else {
        plan()
    }
}

/// The duties of one office.
#[derive(Debug)]
struct Scope {
    end: CancellationToken,
    tasks: TaskTracker,
}

impl Scope {
    fn open<O: Office>(office: &O, duties: &Duties, stop: &Stop) -> Self {
        tracing::debug!(node = office.node().0, epoch = office.view().epoch().0, "duties begin");
        duties.metrics.took_office();
        let end = stop.leave.child_token();
        let tasks = TaskTracker::new();
        let ticker = Ticker::new(office.clone(), duties.clock, duties.plan, Arc::clone(&duties.metrics));
        let refresher = Refresher::new(office.clone(), duties.clock, duties.plan);
        let backfills = Backfills::new(
            office.clone(),
            duties.clock,
            duties.plan,
            duties.records.clone(),
            Arc::clone(&duties.metrics),
        );
        let keeper = Keeper::new(office.clone(), duties.clock, duties.records.reader(), duties.retention);
        runtime::spawn_on(&tasks, ticker.run(end.clone()));
        runtime::spawn_on(&tasks, keeper.run(end.clone()));
        runtime::spawn_on(&tasks, backfills.run(end.clone()));
        runtime::spawn_on(&tasks, refresher.run(end.clone()));
        runtime::spawn_on(&tasks, Raiser::new(office.clone(), duties.clock).run(end.clone()));
        Self { end, tasks }
    }

    async fn close(self) {
        self.end.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        tracing::debug!("duties have ended");
    }
}
