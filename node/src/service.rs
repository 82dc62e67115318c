//! What the handlers call: schedules written and read, firings and the ledger told, without a word of HTTP.
//!
//! ```text
//! handler ── wire ──▶ core::Definition ── write ──▶ Planner under the office ──▶ Quorum ──▶ Reply ──▶ wire
//!                                          read ──▶ barrier ──▶ view, history, ledger            ──▶ wire
//! ```
//! Writes are planned on the leader only, under the office, so that what is proposed was true at the place of the log where
//! it lands; what was overtaken is planned again. This folder must not know axum, and it never answers from a guess: an
//! outcome that is not known is said to be unknown.

mod apply;
pub mod as_of;
pub mod backfills;
pub mod calendars;
pub mod cluster;
mod diff;
mod dry_run;
mod explain;
pub mod frame;
mod judge;
mod leases;
pub mod letters;
mod lint;
pub mod list;
mod mark;
mod named;
pub mod outages;
pub mod past;
pub mod probe;
pub mod queues;
pub mod quorum;
pub mod records;
pub(crate) mod reruns;
pub mod schedules;
pub mod secrets;
pub mod show;
mod stats;
pub mod stream;
pub mod timeline;
pub mod verify;
pub(crate) mod warnings;
pub mod write;

use campanile_raft::runtime;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use campanile_core::firing::{FiringId, Kind};
use campanile_core::machine::Machine;
use campanile_core::plan::{self, Planner};
use campanile_core::time::Timestamp;

use crate::dispatch::egress::Egress;
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};
use crate::wire::firing::Firing;
use crate::work::Intake;
use quorum::{Quorum, Undone};
use records::Records;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Reads the wall clock; the node's clock in production.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How long the service waits, and what it plans by.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// A write is answered within this, if only by "unknown".
    pub write_within: Duration,
    /// A read is answered within this.
    pub read_within: Duration,
    /// Who follows the ledger is told after so long without a row that all is well.
    pub silence: Duration,
    /// What planning depends on; the same as the ticker's.
    pub plan: plan::Options,
}

impl Default for Options {
    /// A write waits longer than the worst failover that was measured (about 6 s, after a one-way partition).
    fn default() -> Self {
        Self {
            write_within: Duration::from_secs(10),
            read_within: Duration::from_secs(5),
            silence: Duration::from_secs(15),
            plan: plan::Options::default(),
        }
    }
}

/// Everything that a handler may ask for.
pub struct Service {
    quorum: Arc<dyn Quorum>,
    records: Records,
    clock: Clock,
    planner: Mutex<Planner>,
    questions: Arc<Semaphore>,
    judgements: Arc<Semaphore>,
    options: Options,
    metrics: Option<Arc<Metrics>>,
    intake: Intake,
    room: leases::Room,
    streams: stream::Places,
    exports: stream::export::Exports,
    stopping: CancellationToken,
    egress: Option<Arc<Egress>>,
    knock: probe::Knock,
    verifying: verify::Place,
}

impl Service {
    /// A service over a cluster, its records and a clock, in this runtime.
    #[must_use]
    pub fn new(quorum: Arc<dyn Quorum>, records: Records, clock: Clock, options: Options) -> Self {
        let intake = Intake::start(Arc::clone(&quorum), Arc::clone(&clock));
        Self {
            intake,
            quorum,
            records,
            clock,
            planner: Mutex::new(Planner::new(options.plan)),
            questions: Arc::new(Semaphore::new(QUESTIONS)),
            judgements: Arc::new(Semaphore::new(JUDGEMENTS)),
            options,
            metrics: None,
            room: leases::Room::default(),
            streams: stream::Places::default(),
            exports: stream::export::Exports::default(),
            stopping: CancellationToken::new(),
            egress: None,
            knock: probe::by_tcp(),
            verifying: verify::Place::default(),
        }
    }

    /// The same, counting the firings that users ask for.
    #[must_use]
    pub fn counting(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// The same, refusing definitions that would call what the dispatcher refuses to.
    #[must_use]
    pub fn guarded(self, egress: Arc<Egress>) -> Self {
        Self { egress: Some(egress), ..self }
    }

    /// The same, finding out by `knock` which nodes are missing, not by TCP.
    #[must_use]
    pub fn knocking(self, knock: probe::Knock) -> Self {
        Self { knock, ..self }
    }

    fn count_fired(&self, kind: Kind) {
        if let Some(metrics) = &self.metrics {
            metrics.fired(kind, 1);
        }
    }

    /// The cluster.
    #[must_use]
    pub fn quorum(&self) -> &Arc<dyn Quorum> {
        &self.quorum
    }

    /// The way to the log for holders of leases.
    #[must_use]
    pub fn intake(&self) -> &Intake {
        &self.intake
    }

    /// Cancelled when this node stops: who waits here is told to ask another one.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// The ledger and its index.
    #[must_use]
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The story of one firing; `None` when there is none, or retention has passed it.
    ///
    /// # Errors
    /// As [`Records::firing`].
    pub async fn firing(&self, machine: Arc<Machine>, id: FiringId) -> Result<Option<Firing>, Problem> {
        self.records.firing(machine, id).await
    }

    /// The settings.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The wall clock of this node.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Answers a question that may take long, such as a search of instants, beside the threads that others wait for; a few
    /// at once, so that nobody's questions take the processors from everybody.
    ///
    /// # Errors
    /// Those of `think`; `internal` when it panics.
    pub async fn think<T: Send + 'static>(
        self: &Arc<Self>,
        think: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.think_in(&self.questions, think).await
    }

    /// The same for what a write waits for: reading and judging what is to be written. It never queues behind questions.
    ///
    /// # Errors
    /// As [`Service::think`].
    pub async fn think_for_write<T: Send + 'static>(
        self: &Arc<Self>,
        think: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.think_in(&self.judgements, think).await
    }

    async fn think_in<T: Send + 'static>(
        self: &Arc<Self>,
        places: &Arc<Semaphore>,
        think: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        // The place belongs to the thread: a caller that goes away does not make room while it still works. Nobody closes
        // the semaphore.
        let place = places.clone().acquire_owned().await.ok();
        let service = self.clone();
        let thought = runtime::blocking(move || {
            let _place = place;
            think(&service)
        });
        thought.await.unwrap_or_else(|_| Err(Problem::new(Code::Internal, "evaluating the specs panicked")))
    }

    /// A view for a reader.
    ///
    /// # Errors
    /// `no_quorum` when a linearizable one cannot be had in time.
    pub async fn read(&self, consistency: Consistency) -> Result<Arc<Machine>, Problem> {
        if consistency == Consistency::Linearizable {
            self.barrier().await?;
        }
        Ok(self.quorum.view())
    }

    /// Asks until the barrier was passed or the time is up: an election in between is not the reader's trouble.
    async fn barrier(&self) -> Result<(), Problem> {
        let deadline = tokio::time::Instant::now() + self.options.read_within;
        loop {
            let why = match tokio::time::timeout_at(deadline, self.quorum.read_barrier()).await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(Undone::Stopped(why))) => {
                    return Err(Problem::new(Code::NotReady, format!("stopping: {why}")));
                }
                Ok(Err(undone)) => undone.to_string(),
                Err(_) => "no answer in time".to_owned(),
            };
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            if left.is_zero() {
                return Err(self.no_quorum(&why).await);
            }
            self.quorum.leader_change(left.min(RETRY_PAUSE)).await;
        }
    }

    /// Whether this node, which leads, hears of no majority: it could append, and nothing would be committed.
    #[must_use]
    pub fn lacks_majority(&self) -> bool {
        let nodes = self.quorum.status().nodes;
        let voters = nodes.iter().filter(|node| node.role != "learner").count();
        let answering =
            nodes.iter().filter(|node| node.role != "learner" && node.reachable == Some(true)).count();
        voters > 0 && answering * 2 <= voters
    }

    /// The problem that no majority can be reached, with the nodes that are missing: each is asked now.
    pub async fn no_quorum(&self, why: &str) -> Problem {
        let status = self.quorum.status();
        let missing = probe::missing(&status.nodes, status.node.0, &self.knock).await;
        let named = match missing.as_slice() {
            [] => "every node answers, so a leader should be there in a moment".to_owned(),
            missing => format!("missing: {}", missing.join(", ")),
        };
        let detail =
            format!("{why}; {named}; ask again when a majority is back, or with consistency=stale to read");
        Problem { missing_nodes: missing, ..Problem::new(Code::NoQuorum, detail) }
    }

    /// The planner of this node's writes and previews. A panic while planning poisons nothing that matters: it keeps
    /// parsed patterns only.
    fn planner(&self) -> MutexGuard<'_, Planner> {
        self.planner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many questions are answered at once; each takes seconds at most.
const QUESTIONS: usize = 2;
/// How many definitions are read and judged at once; each takes less than a millisecond, but for those that are refused.
const JUDGEMENTS: usize = 4;

/// How long to wait for news of a leader before asking again.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// How fresh an answer must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// Everything that was acknowledged before the question is in it.
    #[default]
    Linearizable,
    /// What this node knows.
    Stale,
}
