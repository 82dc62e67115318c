//! What the metrics of a running node tell of the moment at which they are asked for.

use std::sync::Arc;

use campanile_core::firing::Phase;
use campanile_raft::Consensus;

use super::quorum::Cluster;
use crate::dispatch::Tools;
use crate::metrics::{self, Snapshot};
use crate::service::quorum::Quorum;

/// Where they are read.
pub(super) struct Gauges {
    pub(super) consensus: Consensus,
    pub(super) cluster: Arc<Cluster>,
    pub(super) tools: Tools,
}

impl Gauges {
    /// All metrics, in the OpenMetrics format.
    pub(super) fn text(&self) -> String {
        let Self { consensus, cluster, tools } = self;
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
    }
}
