//! One node from its ports to its end.

use std::sync::Arc;
use std::time::Duration;

use campanile_core::{cron, plan};
use campanile_raft::{Consensus, Options, Secret, runtime, watchdog};
use campanile_storage::history::{History, Indexer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::life::{self, Life, Setting};
use super::signals::Signals;
use super::{notify, ports, segments};
use crate::auth;
use crate::backup::{Backups, Restores};
use crate::clock::Clock;
use crate::clock::guard::Guard;
use crate::config::{Config, Watchdog};
use crate::dispatch::egress::{Egress, Members};
use crate::dispatch::{Limits, webhook};
use crate::http::{self, Keeping};
use crate::leader::Retention;
use crate::service::probe;
use crate::service::records::{Records, history_keys};

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
    let node = Node::start(&config, setting(&config, clock, guard, &consensus)?, consensus, api);
    notify::ready();
    let end = node.until_the_end(&mut signals).await;
    notify::stopping();
    node.stop(end).await
}

/// A node, and its door for users.
struct Node {
    life: Life,
    close_api: CancellationToken,
    api: JoinHandle<std::io::Result<()>>,
}

/// Why a node ends.
enum End {
    Signal(&'static str),
    Fatal(String),
}

impl Node {
    fn start(config: &Config, setting: Setting, consensus: Consensus, api: TcpListener) -> Self {
        let (life, close_api) = (Life::start(consensus, setting), CancellationToken::new());
        let api = runtime::spawn(http::serve(api, life.app().clone(), close_api.clone()));
        tracing::info!(
            node = life.consensus().node().0,
            incarnation = life.consensus().incarnation(),
            api = config.api.advertise,
            "serving"
        );
        Self { life, close_api, api }
    }

    async fn until_the_end(&self, signals: &mut Signals) -> End {
        let mut fatal = self.life.consensus().fatal();
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
        self.life.begin_stopping();
        self.close_api.cancel();
        match end {
            End::Fatal(reason) => {
                self.life.abandon();
                Err(Failure::Fatal(reason))
            }
            End::Signal(signal) => {
                tracing::info!(signal, "stopping");
                self.life.hand_over().await;
                let consensus = self.life.leave().await;
                if timeout(GOODBYE, self.api).await.is_err() {
                    tracing::info!("connections are still open; they are cut");
                }
                consensus.stop().await;
                tracing::info!("stopped");
                Ok(())
            }
        }
    }
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
        stamp_bound: life::stamp_bound(guard),
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

fn setting(config: &Config, clock: Clock, guard: Guard, consensus: &Consensus) -> Result<Setting, Failure> {
    let egress = Arc::new(Egress::new(config.egress.clone(), members(config, consensus)));
    let records = records(config, consensus)?;
    Ok(Setting {
        cluster: config.cluster.name.clone(),
        clock,
        guard,
        plan: plan::Options { failover_grace: config.cluster.failover_grace, ..plan::Options::default() },
        retention: Retention {
            age: config.ledger.retention,
            max_bytes: config.ledger.max_bytes,
            ..Retention::default()
        },
        limits: Limits { in_flight: config.dispatch.max_in_flight, per_host: config.dispatch.per_host },
        sender: sender(&egress)?,
        egress,
        records,
        knock: probe::by_tcp(),
        gate: Some(auth::gate(config.api.token.clone())),
        keeping: Some(Keeping {
            backups: Backups::new(consensus.clone(), config.cluster.name.clone(), clock),
            restores: Restores::new(config.data_dir.clone()),
        }),
    })
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

fn sender(egress: &Arc<Egress>) -> Result<webhook::Sender, Failure> {
    let (sender, warning) = webhook::Sender::new(Arc::clone(egress))
        .map_err(|error| Failure::Usage(format!("{error}: install ca-certificates")))?;
    if let Some(warning) = warning {
        tracing::warn!(warning);
    }
    Ok(sender)
}

fn records(config: &Config, consensus: &Consensus) -> Result<Records, Failure> {
    let ledger = consensus.ledger();
    let history = History::open(&config.data_dir.join("history"))?;
    let indexer = Indexer::spawn(history, ledger.clone(), history_keys)?;
    Ok(Records::new(ledger, Arc::new(indexer)))
}
