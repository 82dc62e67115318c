//! Whether the values of a configuration fit together. Each rule says which number to change.

use std::collections::BTreeSet;

use campanile_core::time::Span;

use super::source::Settings;
use super::{Config, secret};

/// More requests at once than this would outgrow one Begin entry and the open files of a usual process.
const MOST_IN_FLIGHT: usize = 4_096;

/// What was told again eight times within it would be told more often than once an hour.
const LEAST_RETENTION: Span = Span::from_secs(8 * 60 * 60);
/// Ten years: beyond it, somebody has mistyped a unit.
const MOST_RETENTION: Span = Span::from_secs(3_653 * 24 * 60 * 60);
/// Four files of the ledger.
const LEAST_LEDGER: u64 = 256 << 20;

/// Clocks that NTP keeps differ by less than this even over a bad network.
const LEAST_CLOCK_AHEAD: Span = Span::from_millis(100);
/// A clock that is wrong by more than this is wrong, whatever else is meant.
const MOST_CLOCK_AHEAD: Span = Span::from_secs(300);

/// A sync of a disk that is merely busy may take this long.
const LEAST_HANG: Span = Span::from_secs(1);
/// A leader without a quorum is silent for two leases and probes for two; then somebody has to be elected.
const LEAST_LEASES: u32 = 6;

/// Notes what does not fit, and answers what is odd without being wrong.
pub(super) fn judge(config: &Config, settings: &Settings, flaws: &mut Vec<String>) -> Vec<String> {
    let mut judge = Judge { config, settings, flaws };
    judge.open_doors();
    judge.peers();
    judge.elections();
    judge.watchdog();
    judge.images();
    judge.ledger();
    judge.dispatch();
    judge.egress();
    warnings(config)
}

struct Judge<'a> {
    config: &'a Config,
    settings: &'a Settings,
    flaws: &'a mut Vec<String>,
}

impl Judge<'_> {
    /// Closed by default: without its secret a door opens to this machine only.
    fn open_doors(&mut self) {
        let Config { api, peer, .. } = self.config;
        if api.token_file.is_none() && !api.listen.is_loopback() {
            self.flaw(
                "api.listen",
                &format!(
                    "{} would be open to everybody; set api.token_file, or listen on 127.0.0.1",
                    api.listen
                ),
            );
        }
        if peer.secret_file.is_none() && !peer.listen.is_loopback() {
            self.flaw(
                "peer.listen",
                &format!(
                    "{} would trust everybody as a node; set peer.secret_file, or listen on 127.0.0.1",
                    peer.listen
                ),
            );
        }
        if api.listen == peer.listen && api.listen.port() != 0 {
            self.flaw(
                "peer.listen",
                &format!("{} is taken by api.listen; give each its own port", peer.listen),
            );
        }
    }

    fn peers(&mut self) {
        let Config { peer, cluster, .. } = self.config;
        if !cluster.peers.contains(&peer.advertise) {
            let all = cluster.peers.join(", ");
            self.flaw(
                "cluster.peers",
                &format!(
                    "does not hold this node's own peer.advertise {} (it holds {all}); add it",
                    peer.advertise
                ),
            );
        }
        if cluster.peers.iter().collect::<BTreeSet<_>>().len() < cluster.peers.len() {
            self.flaw("cluster.peers", "names a node twice; name each once");
        }
        if cluster.failover_grace < Span::from_secs(1) {
            self.flaw("cluster.failover_grace", "is shorter than a failover may take; write at least \"1s\"");
        }
        if !(LEAST_CLOCK_AHEAD..=MOST_CLOCK_AHEAD).contains(&cluster.max_clock_ahead) {
            self.flaw(
                "cluster.max_clock_ahead",
                &format!("must be between {LEAST_CLOCK_AHEAD}, what clocks that NTP keeps may differ by, and {MOST_CLOCK_AHEAD}: a leader decides instants that much early"),
            );
        }
    }

    fn elections(&mut self) {
        let raft = &self.config.raft;
        if raft.heartbeat < Span::from_millis(10) {
            self.flaw(
                "raft.heartbeat",
                "is shorter than a scheduler of threads can keep; write at least \"10ms\"",
            );
        }
        let twice = Span::from_millis(raft.heartbeat.as_millis().saturating_mul(2));
        if raft.election_min < twice {
            self.flaw("raft.election_min", &format!("{} lets one late heartbeat start an election; write at least twice raft.heartbeat ({twice})", raft.election_min));
        }
        if raft.election_max <= raft.election_min {
            self.flaw("raft.election_max", &format!("{} leaves no room for chance, so nodes would stand at the same moment; write more than raft.election_min ({})", raft.election_max, raft.election_min));
        }
    }

    /// Zero is never, for each of them.
    fn watchdog(&mut self) {
        let dog = &self.config.watchdog;
        let never = Span::from_millis(0);
        for (key, span) in
            [("watchdog.disk_hand_over", dog.disk_hand_over), ("watchdog.disk_stop", dog.disk_stop)]
        {
            if span != never && span < LEAST_HANG {
                self.flaw(key, &format!("{span} is what a busy disk may take for a sync; write at least \"{LEAST_HANG}\", or \"0s\" for never"));
            }
        }
        if dog.disk_stop != never && dog.disk_stop <= dog.disk_hand_over {
            self.flaw("watchdog.disk_stop", &format!("{} leaves no time to give the office away; write more than watchdog.disk_hand_over ({}), or \"0s\" for never", dog.disk_stop, dog.disk_hand_over));
        }
        if (1..LEAST_LEASES).contains(&dog.quorum_leases) {
            self.flaw(
                "watchdog.quorum_leases",
                &format!(
                    "{} is less than an election may take; write at least {LEAST_LEASES}, or 0 for never",
                    dog.quorum_leases
                ),
            );
        }
    }

    fn images(&mut self) {
        let raft = &self.config.raft;
        if raft.snapshot_entries < 100 {
            self.flaw("raft.snapshot_entries", "would take an image all the time; write at least 100");
        }
        if raft.snapshot_bytes < 1 << 20 {
            self.flaw("raft.snapshot_bytes", "would take an image all the time; write at least \"1MiB\"");
        }
    }

    fn ledger(&mut self) {
        let ledger = &self.config.ledger;
        if !(LEAST_RETENTION..=MOST_RETENTION).contains(&ledger.retention) {
            self.flaw(
                "ledger.retention",
                &format!("must be between {LEAST_RETENTION}, within which somebody may still ask what happened, and {MOST_RETENTION}"),
            );
        }
        if ledger.max_bytes < LEAST_LEDGER {
            self.flaw(
                "ledger.max_bytes",
                "is less than a few files of the ledger take, which go as a whole; write at least \"256MiB\"",
            );
        }
    }

    fn dispatch(&mut self) {
        let dispatch = &self.config.dispatch;
        if !(1..=MOST_IN_FLIGHT).contains(&dispatch.max_in_flight) {
            self.flaw("dispatch.max_in_flight", &format!("must be between 1 and {MOST_IN_FLIGHT}"));
        }
        if !(1..=MOST_IN_FLIGHT).contains(&dispatch.per_host) {
            self.flaw("dispatch.per_host", &format!("must be between 1 and {MOST_IN_FLIGHT}"));
        }
    }

    fn egress(&mut self) {
        let egress = &self.config.egress;
        let both: Vec<String> = egress
            .allow
            .iter()
            .filter(|entry| egress.deny.contains(entry))
            .map(ToString::to_string)
            .collect();
        for entry in both {
            self.flaw(
                "egress.allow",
                &format!(
                    "holds \"{entry}\", which stands in egress.deny too, and deny wins; keep one of them"
                ),
            );
        }
    }

    fn flaw(&mut self, key: &str, why: &str) {
        self.flaws.push(format!("{} {why}", self.settings.place(key)));
    }
}

fn warnings(config: &Config) -> Vec<String> {
    let files = [&config.api.token_file, &config.peer.secret_file];
    let mut warnings: Vec<String> =
        files.into_iter().flatten().filter_map(|file| secret::exposure(file)).collect();
    let nodes = config.cluster.peers.len();
    if nodes.is_multiple_of(2) {
        warnings
            .push(format!("{nodes} nodes survive no more losses than {} do; use an odd number", nodes - 1));
    }
    let everything = config.egress.allow.iter().filter(|entry| entry.is_everything());
    warnings.extend(everything.map(|entry| {
        format!("egress.allow \"{entry}\" lets schedules call every machine of the networks around; name the nets or hosts that are meant")
    }));
    warnings
}
