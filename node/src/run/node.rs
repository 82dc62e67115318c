//! One node from its ports to its end.

use campanile_raft::runtime;
use std::sync::Arc;
use std::time::Duration;

use campanile_core::firing::Phase;
use campanile_core::{cron, plan};
use campanile_raft::{Consensus, Options, Secret, watchdog};
use campanile_storage::history::{History, Indexer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::clocks::{self, Clocks};
use super::failure::Failure;
use super::held::Held;
use super::quorum::Cluster;
use super::ready::{self, Stopping};
use super::signals::Signals;
use super::{notify, ports, segments};
use crate::auth;
use crate::backup::{Backups, Restores};
use crate::clock::Clock;
use crate::clock::guard::Guard;
use crate::config::{Config, Watchdog};
use crate::dispatch::egress::{Egress, Members};
use crate::dispatch::{self, Desk, Limits, Tools, webhook};
use crate::http::{self, App};
use crate::leader::{self, Duties, Retention, Stop};
use crate::metrics::{self, Metrics, Snapshot};
use crate::service::quorum::Quorum;
use crate::service::records::{Records, history_keys};
use crate::service::{self, Service};

/// How long requests under way may take to end and be settled before the office is handed on. Most take milliseconds;
/// one that takes longer is tried again by the next leader when its lease ends.
const DRAIN: Duration = Duration::from_secs(2);
/// How long handing the leadership on may take; after it the others elect.
const HAND_OVER: Duration = Duration::from_secs(2);
/// How long open connections may take to be answered.
const GOODBYE: Duration = Duration::from_secs(2);

/// Runs a node until a signal, or until it must stop.
pub(super) async fn run(config: Config) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let api = ports::take(&config.api.listen, "api.listen", "--listen").await?;
    let peers = ports::take(&config.peer.listen, "peer.listen", "--peer-listen").await?;
    let clock = Clock::of_node();
    let guard = Guard { max_ahead: config.cluster.max_clock_ahead };
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"), cluster = config.cluster.name, api = %config.api.listen,
        peer = %config.peer.listen, data = %config.data_dir.display(), "starting"
    );
    let consensus = tokio::select! {
        biased;
        signal = signals.received() => {
            tracing::info!(signal, "stopped before it had started");
            return Ok(());
        }
        started = Consensus::start(options(&config, clock, guard), peers) => started?,
    };
    let node = Node::start(&config, Clocks::new(clock, guard, consensus.clone()), consensus, api)?;
    notify::ready();
    let end = node.until_the_end(&mut signals).await;
    notify::stopping();
    node.stop(end).await
}

/// Everything that runs in one node.
struct Node {
    consensus: Consensus,
    cluster: Arc<Cluster>,
    tools: Tools,
    stopping: Stopping,
    stop: Stop,
    close_api: CancellationToken,
    api: JoinHandle<std::io::Result<()>>,
    leader: JoinHandle<()>,
    dispatch: JoinHandle<()>,
    watch: JoinHandle<()>,
}

/// Why a node ends.
enum End {
    Signal(&'static str),
    Fatal(String),
}

impl Node {
    fn start(
        config: &Config,
        clocks: Clocks,
        consensus: Consensus,
        api: TcpListener,
    ) -> Result<Self, Failure> {
        let (metrics, clock) = (Metrics::new(), clocks.clock());
        let egress = Arc::new(Egress::new(config.egress.clone(), members(config, &consensus)));
        let plan =
            plan::Options { failover_grace: config.cluster.failover_grace, ..plan::Options::default() };
        let cluster = Arc::new(Cluster::new(config.cluster.name.clone(), consensus.clone(), clocks.clone()));
        let records = records(config, &consensus)?;
        let (stopping, stop, close_api) = (Stopping::default(), Stop::default(), CancellationToken::new());
        let service = service(clock, plan, records.clone(), Arc::clone(&cluster));
        let service = Arc::new(service.counting(Arc::clone(&metrics)).guarded(Arc::clone(&egress)));
        let tools = tools(config, clock, &metrics, &egress, &service)?;
        let app = App {
            service,
            gate: Some(auth::gate(config.api.token.clone())),
            metrics: metrics_text(&consensus, &cluster, &tools),
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
            keeping: Some(http::Keeping {
                backups: Backups::new(consensus.clone(), config.cluster.name.clone(), clock),
                restores: Restores::new(config.data_dir.clone()),
            }),
        };
        consensus.answer_forwarded(http::forwarded(&app));
        let api = runtime::spawn(http::serve(api, app, close_api.clone()));
        let retention = Retention {
            age: config.ledger.retention,
            max_bytes: config.ledger.max_bytes,
            ..Retention::default()
        };
        let duties = Duties { clock, plan, records, retention, metrics };
        let leader = runtime::spawn(lead(consensus.clone(), duties, stop.clone()));
        let dispatch = dispatch::run(tools.clone(), stop.begin_nothing.clone(), stop.leave.clone());
        let dispatch = runtime::spawn(dispatch);
        let watch = runtime::spawn(clocks.watch(Arc::clone(&cluster), stop.leave.clone()));
        tracing::info!(
            node = consensus.node().0,
            incarnation = consensus.incarnation(),
            api = config.api.advertise,
            "serving"
        );
        Ok(Self { consensus, cluster, tools, stopping, stop, close_api, api, leader, dispatch, watch })
    }

    async fn until_the_end(&self, signals: &mut Signals) -> End {
        let mut fatal = self.consensus.fatal();
        tokio::select! {
            biased;
            signal = signals.received() => End::Signal(signal),
            reason = fatal.wait_for(Option::is_some) => {
                End::Fatal(reason.ok().and_then(|reason| reason.clone()).unwrap_or_else(|| "consensus has ended".into()))
            }
        }
    }

    /// Down in order. A node that must stop at once skips what needs a working disk or a quorum.
    async fn stop(self, end: End) -> Result<(), Failure> {
        self.stopping.begin();
        self.close_api.cancel();
        match end {
            End::Fatal(reason) => {
                self.stop.leave.cancel();
                // Closing the stores waits for the disk, which may be what has failed. The process ends instead.
                std::mem::forget(self);
                Err(Failure::Fatal(reason))
            }
            End::Signal(signal) => {
                tracing::info!(signal, "stopping");
                self.hand_over().await;
                self.leave().await;
                tracing::info!("stopped");
                Ok(())
            }
        }
    }

    /// Lets what is under way end, then gives the leadership away, so that nobody has to notice a silence.
    async fn hand_over(&self) {
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

    async fn leave(self) {
        self.stop.leave.cancel();
        // A panic of a task was told by its hook; what is left is to go on stopping.
        let _ = tokio::join!(self.leader, self.dispatch, self.watch);
        if timeout(GOODBYE, self.api).await.is_err() {
            tracing::info!("connections are still open; they are cut");
        }
        self.consensus.stop().await;
    }
}

async fn lead(consensus: Consensus, duties: Duties, stop: Stop) {
    let offices = consensus.offices();
    let hold = |office| Held { consensus: consensus.clone(), office };
    leader::lead(offices, hold, duties, stop).await;
}

fn options(config: &Config, clock: Clock, guard: Guard) -> Options {
    let millis = |span: campanile_core::time::Span| Duration::from_millis(span.as_millis());
    let clock = Arc::new(move || clock.now());
    let defaults = Options::new(&config.cluster.name, &config.data_dir, &config.peer.advertise, clock);
    Options {
        ledger: segments::from_environment(defaults.ledger),
        secret: config.peer.secret.as_ref().map(|secret| Secret::new(secret.expose())),
        api_address: config.api.advertise.clone(),
        peers: config.cluster.peers.clone(),
        stamp_bound: clocks::stamp_bound(guard),
        tz_data: cron::tzdb_version(),
        heartbeat: millis(config.raft.heartbeat),
        election_min: millis(config.raft.election_min),
        election_max: millis(config.raft.election_max),
        watchdog: watchdogs(&config.watchdog),
        image_every_entries: config.raft.snapshot_entries,
        image_every_bytes: config.raft.snapshot_bytes,
        ..defaults
    }
}

/// Zero is never.
fn watchdogs(config: &Watchdog) -> watchdog::Limits {
    let limit = |span: campanile_core::time::Span| {
        Some(Duration::from_millis(span.as_millis())).filter(|span| !span.is_zero())
    };
    watchdog::Limits {
        disk_hand_over: limit(config.disk_hand_over),
        disk_stop: limit(config.disk_stop),
        quorum_leases: Some(config.quorum_leases).filter(|leases| *leases > 0),
    }
}

/// Where the nodes listen: as the membership and the configuration say, and where this one does, which may be behind
/// another address.
fn members(config: &Config, consensus: &Consensus) -> Members {
    let own = [config.api.listen.to_string(), config.peer.listen.to_string(), config.api.advertise.clone()];
    let own: Vec<String> = own.into_iter().chain(config.cluster.peers.iter().cloned()).collect();
    let consensus = consensus.clone();
    Arc::new(move || {
        let members = consensus.status().members.into_iter();
        let addresses = members.flat_map(|member| [member.peer.peer_address, member.peer.api_address]);
        own.iter().cloned().chain(addresses).collect()
    })
}

fn tools(
    config: &Config,
    clock: Clock,
    metrics: &Arc<Metrics>,
    egress: &Arc<Egress>,
    service: &Service,
) -> Result<Tools, Failure> {
    let (sender, warning) = webhook::Sender::new(Arc::clone(egress))
        .map_err(|error| Failure::Usage(format!("{error}: install ca-certificates")))?;
    if let Some(warning) = warning {
        tracing::warn!(warning);
    }
    let limits = Limits { in_flight: config.dispatch.max_in_flight, per_host: config.dispatch.per_host };
    let (desk, attempts) = (Arc::new(Desk::new(limits)), TaskTracker::new());
    let (quorum, intake) = (Arc::clone(service.quorum()), service.intake().clone());
    Ok(Tools { sender, desk, attempts, clock, metrics: Arc::clone(metrics), quorum, intake })
}

fn records(config: &Config, consensus: &Consensus) -> Result<Records, Failure> {
    let ledger = consensus.ledger();
    let history = History::open(&config.data_dir.join("history"))?;
    let indexer = Indexer::spawn(history, ledger.clone(), history_keys)?;
    Ok(Records::new(ledger, Arc::new(indexer)))
}

fn service(clock: Clock, plan: plan::Options, records: Records, cluster: Arc<Cluster>) -> Service {
    let options = service::Options { plan, ..service::Options::default() };
    Service::new(cluster, records, Arc::new(move || clock.now()), options)
}

fn metrics_text(consensus: &Consensus, cluster: &Arc<Cluster>, tools: &Tools) -> http::MetricsText {
    let (consensus, cluster, tools) = (consensus.clone(), Arc::clone(cluster), tools.clone());
    Arc::new(move || {
        let (status, view, seen) = (consensus.status(), consensus.view(), cluster.status());
        tools.metrics.text(&Snapshot {
            is_leader: consensus.offices().borrow().is_some(),
            applied: status.applied.0,
            last_log: status.last_log.0,
            term: status.term.0,
            schedules: view.schedule_count(),
            live_firings: view.live_count(),
            held_firings: view.live().filter(|firing| firing.phase == Phase::Held).count(),
            running_backfills: view.backfills().filter(|backfill| backfill.is_running()).count(),
            in_flight: tools.desk.in_flight(),
            circuits_open: tools.desk.circuits_open(),
            queues: metrics::depths(&view),
            log_sync_seconds: status.log.stats.last_sync.as_secs_f64(),
            log_slowest_sync_seconds: status.log.stats.slowest_sync.as_secs_f64(),
            clock_offset_seconds: seen.standing.offset_millis as f64 / 1_000.0,
            clock_ahead: seen.standing.is_ahead,
            tz_versions: seen.tz_versions().len(),
            format_level: view.format_level().0,
            watchdogs: status.watchdogs,
        })
    })
}
