//! What a node is told, and every setting of openraft that follows from it, each with its reason.
//!
//! Nothing is left to a default of openraft that touches safety or liveness: several of them switch a feature off
//! without a word.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use campanile_core::format::FormatLevel;
use campanile_core::mutant::{self, Mutant};
use campanile_storage::Trouble;
use campanile_storage::ledger::Options as LedgerOptions;
use campanile_storage::log::{Log, LogStore, SledLog};
use openraft::{Config, ConfigError, SnapshotPolicy, StepDownPolicy};

use crate::stamp::StampBound;
use crate::transport::clocks::WallClock;
use crate::transport::guard::Secret;
use crate::transport::lanes::Lanes;
use crate::transport::network::Network;
use crate::watchdog::Limits;

/// Opens the log's store in a directory.
pub type LogOpener = Arc<dyn Fn(&Path) -> Result<Box<dyn LogStore>, Trouble> + Send + Sync>;
/// Starts a log over its store: with a thread that writes, or with whatever a simulation writes by.
pub type LogStarter = Arc<dyn Fn(Box<dyn LogStore>) -> Result<Log, Trouble> + Send + Sync>;

/// What a node is told when it starts. Its id is not among it: that is found on its disk, or given by the cluster.
#[derive(Clone)]
pub struct Options {
    /// The name of the cluster; peers of another one are refused.
    pub cluster: String,
    /// What all its nodes know. Without one, whoever reaches the peer address may ask anything.
    pub secret: Option<Secret>,
    /// The directory of this node's data.
    pub data: PathBuf,
    /// Where its peers reach this node, `host:port`; one of `peers`.
    pub peer_address: String,
    /// Where its users reach it; only passed on.
    pub api_address: String,
    /// The peer addresses of all nodes that found the cluster, the same on each of them.
    pub peers: Vec<String>,
    /// The wall clock.
    pub clock: WallClock,
    /// What bounds the stamps of entries when this clock is too far ahead of the others.
    pub stamp_bound: StampBound,
    /// The version of this node's tz data, for its peers; only passed on.
    pub tz_data: Option<String>,
    /// How often a leader says that it is there.
    pub heartbeat: Duration,
    /// After how long a silence a follower stands for election, at least.
    pub election_min: Duration,
    /// And at most.
    pub election_max: Duration,
    /// An image after so many entries.
    pub image_every_entries: u64,
    /// Or after so many bytes of commands, whichever is first.
    pub image_every_bytes: u64,
    /// Entries that stay in the log behind an image, so that a follower that was away for a moment needs no image.
    pub keep_entries: u64,
    /// Proposals in flight, at most; beyond, a proposer is told to come again.
    pub in_flight: usize,
    /// How the ledger keeps its files.
    pub ledger: LedgerOptions,
    /// When this node stops for a part of it that stands still.
    pub watchdog: Limits,
    /// Opens the log.
    pub open_log: LogOpener,
    /// Starts it.
    pub start_log: LogStarter,
    /// The way to peers.
    pub network: Arc<dyn Network>,
    /// The newest format level that this node reads and says so; older than this program's only where one plays an older
    /// version.
    pub speaks: FormatLevel,
}

impl Options {
    /// A node at `peer_address` that is a cluster of its own, with the defaults of the design for everything else.
    #[must_use]
    pub fn new(cluster: &str, data: &Path, peer_address: &str, clock: WallClock) -> Self {
        Self {
            cluster: cluster.into(),
            secret: None,
            data: data.into(),
            peer_address: peer_address.into(),
            api_address: String::new(),
            peers: vec![peer_address.into()],
            clock,
            // One clock, one judgement: who hands in a clock that can be wrong hands in the bound too.
            stamp_bound: Arc::new(|now, _| now),
            tz_data: None,
            // On a healthy network a failover takes about twice the maximum: 0.55 s here.
            heartbeat: Duration::from_millis(50),
            election_min: Duration::from_millis(150),
            election_max: Duration::from_millis(300),
            image_every_entries: 20_000,
            image_every_bytes: 64 << 20,
            keep_entries: 5_000,
            in_flight: 1_024,
            ledger: LedgerOptions::default(),
            watchdog: Limits::default(),
            open_log: Arc::new(|dir| Ok(Box::new(SledLog::open(dir)?))),
            start_log: Arc::new(Log::open),
            network: Arc::new(Lanes::default()),
            speaks: FormatLevel::NEWEST,
        }
    }

    /// How long a peer may take to make an append durable: half an election, and never less than 250 ms, since slow
    /// disks do not know how patient a cluster is.
    pub(crate) fn append_patience(&self) -> Duration {
        (self.election_max / 2).max(Duration::from_millis(250))
    }

    /// How long to wait for an answer that needs a quorum.
    pub(crate) fn quorum_patience(&self) -> Duration {
        (self.election_max * 4).max(Duration::from_millis(1_000))
    }

    /// openraft's settings.
    ///
    /// # Errors
    /// When the times contradict each other.
    pub(crate) fn config(&self) -> Result<Config, ConfigError> {
        let (heartbeat, min, max) =
            (millis(self.heartbeat), millis(self.election_min), millis(self.election_max));
        let config = Config {
            cluster_name: self.cluster.clone(),
            heartbeat_interval: heartbeat,
            election_timeout_min: min,
            election_timeout_max: max,
            // Every tick sends a heartbeat. Suppressing them under load would save little and delays a lost leader's
            // discovery.
            heartbeat_min_interval: Some(0),
            // Ticks, heartbeats and elections are what keeps a cluster alive without us.
            enable_tick: true,
            enable_heartbeat: true,
            enable_elect: true,
            // The default restores a leader without an election: killed between replicating and its own sync, it used a
            // log id again for other content, and replicas parted silently (3 of 120 seeded runs; 0 of 200 without).
            enable_leader_restore: Some(mutant::is_on(Mutant::LeaderRestore)),
            // A node that cannot win must not raise the term: it would depose a healthy leader when it comes back.
            enable_pre_vote: Some(true),
            // Without it a one-way partition stalls the cluster for ever: a leader that nobody hears goes on for ever.
            // openraft asks for at least lease + election max, which is twice the maximum.
            quorum_loss_probe_interval: Some(2 * max),
            // Must reach beyond lease + election max for the same reason; more than 5 s would only make a peer that is
            // back wait.
            backoff: format!("200ms 400ms ...{}ms", (2 * max + 200).max(5_000)),
            // A planned transfer goes to a peer that is there: its backoff of before says nothing.
            reset_backoff_on_transfer_leader: Some(true),
            // A follower whose log went back has lost what it promised. It must be noticed and never be talked away.
            allow_log_reversion: None,
            // A removed leader hands over, then leaves; time for the entry's commit to reach the followers.
            removed_leader_step_down: StepDownPolicy::After(max),
            // Bounded by bytes in the log reader (1 MiB); this only keeps heads small when entries are tiny.
            max_payload_entries: 4_096,
            // One batch of the log.
            max_append_entries: Some(4_096),
            // Our policy asks, since it knows bytes too.
            snapshot_policy: SnapshotPolicy::Never,
            max_in_snapshot_log_to_keep: self.keep_entries,
            // One purge step of the log; no more than is kept, or a log that keeps little would never be purged.
            purge_batch_size: self.keep_entries.clamp(1, 500),
            // A follower further behind gets an image. Above the distance of two images, or catching up by image could
            // never end.
            replication_lag_threshold: (2 * self.image_every_entries + self.keep_entries).max(10_000),
            // For a whole image, which goes on a connection of its own; each piece has a shorter limit.
            install_snapshot_timeout: 3_600_000,
            // Bounds: what is in flight is bounded by proposals; these hold them and peers' questions with room to spare.
            api_channel_size: Some(4_096),
            notification_channel_size: Some(65_536),
            state_machine_channel_size: Some(1_024),
            // All that waits is appended at once, and nothing waits for more.
            api_batch_capacity: 4_096,
            api_batch_linger_ms: 0,
            broadcast_submitted_on_append: Some(false),
            ..Config::default()
        };
        config.validate()
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use campanile_core::time::Timestamp;

    use super::*;

    fn options(heartbeat: u64, min: u64, max: u64) -> Options {
        Options {
            heartbeat: Duration::from_millis(heartbeat),
            election_min: Duration::from_millis(min),
            election_max: Duration::from_millis(max),
            ..Options::new("alpha", Path::new("/nowhere"), "localhost:1", Arc::new(|| Timestamp::EPOCH))
        }
    }

    #[test]
    fn every_pace_that_was_measured_makes_a_valid_configuration() {
        for (heartbeat, min, max) in
            [(30, 100, 200), (50, 150, 300), (100, 400, 800), (250, 1_000, 2_000), (500, 3_000, 6_000)]
        {
            let config = options(heartbeat, min, max).config().unwrap();
            let cap = config.build_backoff().nth(50).unwrap();
            assert!(cap > Duration::from_millis(2 * max), "at {max} ms the backoff ends at {cap:?}");
        }
    }

    #[test]
    fn an_election_that_is_shorter_than_a_heartbeat_is_refused() {
        assert!(options(200, 150, 300).config().is_err());
    }

    #[cfg(feature = "mutants")]
    #[test]
    fn a_mutant_lets_a_leader_lead_on_without_an_election() {
        let restores = || options(50, 150, 300).config().unwrap().enable_leader_restore;
        assert_eq!(mutant::with(None, restores), Some(false));
        assert_eq!(mutant::with(Some(Mutant::LeaderRestore), restores), Some(true));
    }
}
