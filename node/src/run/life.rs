//! What a running node consists of besides its ports, its signals and its process: the service for users, the duties of an
//! office, the dispatcher, the watch over clocks.
//!
//! ```text
//!   serve        ports, signals, exit codes ─┐
//!                                            ├─> Life: App, leader, dispatch, clocks   over Consensus
//!   simulation   a world of machines ────────┘
//! ```
//! Whatever comes from the machine or the network is given to it, so that what is simulated is what ships. It must not open
//! a port, read the environment or end the process.

use std::sync::Arc;
use std::time::Duration;

use campanile_core::plan;
use campanile_raft::{Consensus, runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::clocks::Clocks;
pub use super::clocks::stamp_bound;
use super::gauges::Gauges;
use super::held::Held;
use super::quorum::Cluster;
use super::ready::{self, Stopping};
use crate::clock::Clock;
use crate::clock::guard::Guard;
use crate::dispatch::egress::Egress;
use crate::dispatch::{self, Desk, Limits, Tools, webhook};
use crate::http::{self, App, Front, Gate, Keeping};
use crate::leader::{self, Duties, Retention, Stop};
use crate::metrics::Metrics;
use crate::service::probe::Knock;
use crate::service::quorum::Quorum;
use crate::service::records::Records;
use crate::service::{self, Service};

/// How long requests under way may take to end and be settled before the office is handed on. Most take milliseconds;
/// one that takes longer is tried again by the next leader when its lease ends.
const DRAIN: Duration = Duration::from_secs(2);
/// How long handing the leadership on may take; after it the others elect.
const HAND_OVER: Duration = Duration::from_secs(2);

/// What a node is started with.
pub struct Setting {
    /// The name of the cluster.
    pub cluster: String,
    /// The wall clock of this machine.
    pub clock: Clock,
    /// How far it may be ahead; the same as what bounds the stamps of consensus ([`stamp_bound`]).
    pub guard: Guard,
    /// What planning depends on.
    pub plan: plan::Options,
    /// How much of what has happened is kept.
    pub retention: Retention,
    /// How much is sent at once.
    pub limits: Limits,
    /// What definitions may call.
    pub egress: Arc<Egress>,
    /// Sends what fires.
    pub sender: webhook::Sender,
    /// The ledger of `consensus`, and what is found in it.
    pub records: Records,
    /// Whether anybody answers at the address of a peer.
    pub knock: Knock,
    /// Judges who asks; without one everybody is `anonymous`.
    pub gate: Option<Gate>,
    /// Takes backups, where there is a disk.
    pub keeping: Option<Keeping>,
}

/// A running node. Dropping it ends nothing: say [`Life::stop`], or kill its process.
pub struct Life {
    consensus: Consensus,
    cluster: Arc<Cluster>,
    app: App,
    tools: Tools,
    stopping: Stopping,
    stop: Stop,
    leader: JoinHandle<()>,
    dispatch: JoinHandle<()>,
    watch: JoinHandle<()>,
}

impl Life {
    /// Starts everything over a consensus that runs, in this runtime.
    #[must_use]
    pub fn start(consensus: Consensus, setting: Setting) -> Self {
        let Setting { clock, guard, plan, records, retention, .. } = setting;
        let (metrics, stopping, stop) = (Metrics::new(), Stopping::default(), Stop::default());
        let clocks = Clocks::new(clock, guard, consensus.clone());
        let cluster = Arc::new(Cluster::new(setting.cluster, consensus.clone(), clocks.clone()));
        let service = service(clock, plan, records.clone(), Arc::clone(&cluster));
        let service =
            Arc::new(service.counting(Arc::clone(&metrics)).guarded(setting.egress).knocking(setting.knock));
        let tools = tools(setting.sender, setting.limits, clock, &metrics, &service);
        let gauges =
            Gauges { consensus: consensus.clone(), cluster: Arc::clone(&cluster), tools: tools.clone() };
        let app = App {
            service,
            gate: setting.gate,
            metrics: Arc::new(move || gauges.text()),
            hosts: {
                let desk = Arc::clone(&tools.desk);
                Arc::new(move || dispatch::hosts::hosts(&desk, clock.now()))
            },
            not_ready: {
                let (consensus, clocks, stopping) = (consensus.clone(), clocks.clone(), stopping.clone());
                Arc::new(move || ready::reasons(&consensus, &clocks, &stopping))
            },
            observer: Some({
                let metrics = Arc::clone(&metrics);
                Arc::new(move |seen| metrics.answered(seen.method, seen.route, seen.status))
            }),
            keeping: setting.keeping,
        };
        consensus.answer_forwarded(http::forwarded(&app));
        let duties = Duties { clock, plan, records, retention, metrics };
        let leader = runtime::spawn(lead(consensus.clone(), duties, stop.clone()));
        let dispatch = dispatch::run(tools.clone(), stop.begin_nothing.clone(), stop.leave.clone());
        let dispatch = runtime::spawn(dispatch);
        let watch = runtime::spawn(clocks.watch(Arc::clone(&cluster), stop.leave.clone()));
        Self { consensus, cluster, app, tools, stopping, stop, leader, dispatch, watch }
    }

    /// What its users are answered by.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// The same where there are no sockets.
    #[must_use]
    pub fn front(&self) -> Front {
        Front::of(self.app.clone())
    }

    /// What it runs over.
    #[must_use]
    pub fn consensus(&self) -> &Consensus {
        &self.consensus
    }

    /// The cluster as it sees it.
    #[must_use]
    pub fn quorum(&self) -> Arc<dyn Quorum> {
        Arc::clone(&self.cluster) as Arc<dyn Quorum>
    }

    /// Down in order: nothing new begins, the office is handed on, everything ends.
    pub async fn stop(self) {
        self.begin_stopping();
        self.hand_over().await;
        self.leave().await.stop().await;
    }

    /// Says that it stops, to who asks whether it is ready and to who waits for work.
    pub(super) fn begin_stopping(&self) {
        self.stopping.begin();
        self.app.service.stopping().cancel();
    }

    /// Lets what is under way end, then gives the leadership away, so that nobody has to notice a silence.
    pub(super) async fn hand_over(&self) {
        self.stop.begin_nothing.cancel();
        if timeout(DRAIN, self.tools.desk.idle()).await.is_err() {
            tracing::warn!(
                requests = self.tools.desk.in_flight(),
                "requests are still under way; their leases end instead"
            );
        }
        if !self.cluster.leads() {
            return;
        }
        match self.cluster.transfer(None).await {
            Ok(()) => {
                let mut offices = self.consensus.offices();
                let left = offices.wait_for(Option::is_none);
                if timeout(HAND_OVER, left).await.is_err() {
                    tracing::warn!("nobody took the leadership in time; the others will elect");
                }
            }
            Err(error) => tracing::info!(%error, "the leadership is not handed on"),
        }
    }

    /// Ends all but consensus, which may have to answer who is still connected.
    pub(super) async fn leave(self) -> Consensus {
        self.stop.leave.cancel();
        // A panic of a task was told by its hook; what is left is to go on stopping.
        let _ = tokio::join!(self.leader, self.dispatch, self.watch);
        self.consensus
    }

    /// Ends nothing in order. Closing the stores waits for the disk, which may be what has failed: they are left open, and
    /// the process has to end.
    pub(super) fn abandon(self) {
        self.stop.leave.cancel();
        std::mem::forget(self);
    }
}

async fn lead(consensus: Consensus, duties: Duties, stop: Stop) {
    let offices = consensus.offices();
    let hold = |office| Held { consensus: consensus.clone(), office };
    leader::lead(offices, hold, duties, stop).await;
}

fn service(clock: Clock, plan: plan::Options, records: Records, cluster: Arc<Cluster>) -> Service {
    let options = service::Options { plan, ..service::Options::default() };
    Service::new(cluster, records, Arc::new(move || clock.now()), options)
}

fn tools(
    sender: webhook::Sender,
    limits: Limits,
    clock: Clock,
    metrics: &Arc<Metrics>,
    service: &Service,
) -> Tools {
    let (desk, attempts) = (Arc::new(Desk::new(limits)), TaskTracker::new());
    let (quorum, intake) = (Arc::clone(service.quorum()), service.intake().clone());
    Tools { sender, desk, attempts, clock, metrics: Arc::clone(metrics), quorum, intake }
}
