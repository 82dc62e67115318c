//! What the watchdogs of a node have seen and done; counted by them, and read when somebody looks.

use std::sync::atomic::{AtomicU64, Ordering};

use campanile_raft::watchdog::Counts;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Set from [`Counts`].
#[derive(Default)]
pub(super) struct Watchdogs {
    disk_hangs_now: Gauge,
    disk_hangs: Counter,
    disk_hand_overs: Counter,
    consensus_stops: Counter,
}

impl Watchdogs {
    pub(super) fn register(&self, to: &mut Registry) {
        to.register(
            "disk_hanging",
            "1 while a write of the log does not end: this node does not lead",
            self.disk_hangs_now.clone(),
        );
        to.register(
            "disk_hangs",
            "How often a write of the log took longer than watchdog.disk_hand_over",
            self.disk_hangs.clone(),
        );
        to.register(
            "disk_hand_overs",
            "How often the office was given away for that",
            self.disk_hand_overs.clone(),
        );
        to.register(
            "consensus_stops",
            "1 once this node stops since consensus stands still; the process ends with it",
            self.consensus_stops.clone(),
        );
    }

    pub(super) fn set(&self, now: &Counts) {
        // They only grow, since what counted them lives as long as this.
        let set = |counter: &Counter<u64, AtomicU64>, to: u64| counter.inner().store(to, Ordering::Relaxed);
        self.disk_hangs_now.set(i64::from(now.disk_hangs_now));
        set(&self.disk_hangs, now.disk_hangs);
        set(&self.disk_hand_overs, now.disk_hand_overs);
        set(&self.consensus_stops, now.consensus_stops);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Metrics, Snapshot};
    use super::*;

    #[test]
    fn what_the_watchdogs_have_counted_stands_on_the_page() {
        let metrics = Metrics::new();
        let page = |watchdogs| metrics.text(&Snapshot { watchdogs, ..Snapshot::default() });
        let before = page(Counts::default());
        let after =
            page(Counts { disk_hangs_now: true, disk_hangs: 3, disk_hand_overs: 2, consensus_stops: 1 });
        for (name, count) in [
            ("campanile_disk_hanging", 1),
            ("campanile_disk_hangs_total", 3),
            ("campanile_disk_hand_overs_total", 2),
            ("campanile_consensus_stops_total", 1),
        ] {
            let shows = |page: &str, count| page.lines().any(|line| line == format!("{name} {count}"));
            assert!(shows(&before, 0) && shows(&after, count), "{name}\n{before}\n{after}");
        }
    }
}
