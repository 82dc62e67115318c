//! What is looked up when somebody looks: how the machine, consensus and the process stand at the moment of a scrape.

use std::sync::atomic::AtomicU64;

use campanile_raft::watchdog::Counts;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::process;
use super::queues::{Depth, Queues};
use super::watchdogs::Watchdogs;

/// What stands in the machine and in consensus at the moment of a scrape.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Whether this node is in office.
    pub is_leader: bool,
    /// The last applied index.
    pub applied: u64,
    /// The last index of the log.
    pub last_log: u64,
    /// The Raft term.
    pub term: u64,
    /// How many schedules exist.
    pub schedules: usize,
    /// How many firings are not settled.
    pub live_firings: usize,
    /// How many of them wait for those before them.
    pub held_firings: usize,
    /// How many backfills run.
    pub running_backfills: usize,
    /// Requests under way.
    pub in_flight: usize,
    /// Hosts whose circuit is not closed.
    pub circuits_open: usize,
    /// How full the queues are.
    pub queues: Vec<Depth>,
    /// How long the last sync of the log took, in seconds.
    pub log_sync_seconds: f64,
    /// How long the slowest sync of the log took, in seconds.
    pub log_slowest_sync_seconds: f64,
    /// How far this node's clock is ahead of a quorum of clocks, in seconds.
    pub clock_offset_seconds: f64,
    /// Whether that is too far to decide anything.
    pub clock_ahead: bool,
    /// How many versions of tz data the nodes are known to have.
    pub tz_versions: usize,
    /// The format level at which the cluster writes.
    pub format_level: u16,
    /// What its watchdogs have seen.
    pub watchdogs: Counts,
}

/// Set from a [`Snapshot`] when somebody looks.
#[derive(Default)]
pub(super) struct Gauges {
    is_leader: Gauge,
    applied: Gauge,
    last_log: Gauge,
    term: Gauge,
    schedules: Gauge,
    live_firings: Gauge,
    held_firings: Gauge,
    running_backfills: Gauge,
    in_flight: Gauge,
    circuits_open: Gauge,
    queues: Queues,
    log_sync: Gauge<f64, AtomicU64>,
    log_slowest_sync: Gauge<f64, AtomicU64>,
    clock_offset: Gauge<f64, AtomicU64>,
    clock_ahead: Gauge,
    tz_versions: Gauge,
    format_level: Gauge,
    watchdogs: Watchdogs,
    resident: Gauge,
}

impl Gauges {
    pub(super) fn register(&self, to: &mut Registry) {
        let seconds = || Unit::Seconds;
        to.register("is_leader", "1 while this node is in office", self.is_leader.clone());
        to.register("applied_index", "The last applied entry", self.applied.clone());
        to.register("last_log_index", "The last entry of the log", self.last_log.clone());
        to.register("term", "The Raft term", self.term.clone());
        to.register("schedules", "Schedules that exist", self.schedules.clone());
        to.register("live_firings", "Firings that are not settled", self.live_firings.clone());
        to.register(
            "held_firings",
            "Firings that wait for those before them (overlap)",
            self.held_firings.clone(),
        );
        to.register(
            "running_backfills",
            "Backfills that have instants to go through",
            self.running_backfills.clone(),
        );
        to.register("requests_in_flight", "Webhooks under way from this node", self.in_flight.clone());
        to.register(
            "circuits_open",
            "Hosts that did not answer this node and are asked less often",
            self.circuits_open.clone(),
        );
        self.queues.register(to);
        to.register_with_unit(
            "log_sync",
            "The last write and sync of the log",
            seconds(),
            self.log_sync.clone(),
        );
        to.register_with_unit(
            "log_sync_slowest",
            "The slowest one since the start",
            seconds(),
            self.log_slowest_sync.clone(),
        );
        to.register_with_unit(
            "clock_offset",
            "How far the clock of this node is ahead of a quorum of clocks; negative when it is behind",
            seconds(),
            self.clock_offset.clone(),
        );
        to.register(
            "clock_ahead",
            "1 while that is more than max_clock_ahead: as leader it decides nothing",
            self.clock_ahead.clone(),
        );
        to.register(
            "tz_data_versions",
            "Versions of tz data among the nodes; more than 1 is a mixed cluster",
            self.tz_versions.clone(),
        );
        to.register(
            "format_level",
            "The format level at which the cluster writes",
            self.format_level.clone(),
        );
        self.watchdogs.register(to);
        to.register_with_unit("resident", "Memory of the process", Unit::Bytes, self.resident.clone());
    }

    pub(super) fn set(&self, now: &Snapshot) {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.is_leader.set(i64::from(now.is_leader));
        self.applied.set(whole(now.applied));
        self.last_log.set(whole(now.last_log));
        self.term.set(whole(now.term));
        self.schedules.set(whole(now.schedules as u64));
        self.live_firings.set(whole(now.live_firings as u64));
        self.held_firings.set(whole(now.held_firings as u64));
        self.running_backfills.set(whole(now.running_backfills as u64));
        self.in_flight.set(whole(now.in_flight as u64));
        self.circuits_open.set(whole(now.circuits_open as u64));
        self.queues.set(&now.queues);
        self.log_sync.set(now.log_sync_seconds);
        self.log_slowest_sync.set(now.log_slowest_sync_seconds);
        self.clock_offset.set(now.clock_offset_seconds);
        self.clock_ahead.set(i64::from(now.clock_ahead));
        self.tz_versions.set(whole(now.tz_versions as u64));
        self.format_level.set(i64::from(now.format_level));
        self.watchdogs.set(&now.watchdogs);
        self.resident.set(whole(process::resident_bytes()));
    }
}
