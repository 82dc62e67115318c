//! What is counted and measured, as Prometheus reads it. One registry a node object, so that several nodes in one process
//! do not mix.
//!
//! Counted at the edge that did the thing: decisions by the leader that proposed them, attempts by the node that sent
//! them. Nothing is decided by a number here.

mod gauges;
mod process;
mod queues;
mod watchdogs;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use campanile_core::attempt::Verdict;
use campanile_core::command::{Fire, Tick};
use campanile_core::firing::Kind;
use campanile_core::reply::Ticked;
use campanile_core::time::{Span, Timestamp};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use gauges::Gauges;
pub use gauges::Snapshot;
pub use queues::{Depth, depths};

/// The content type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByDuty {
    duty: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByReason {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRoute {
    method: String,
    route: String,
    status: u16,
}

/// Every metric of one node.
pub struct Metrics {
    registry: Registry,
    fired: Family<ByKind, Counter>,
    skipped: Family<ByReason, Counter>,
    stale: Counter,
    attempts: Family<ByOutcome, Counter>,
    lateness_commit: Histogram,
    lateness_send: Histogram,
    tick_instants: Histogram,
    tick_plan: Histogram,
    begin_items: Histogram,
    settle_dropped: Counter,
    proposals: Family<ByDuty, Gauge>,
    leader_changes: Counter,
    http: Family<ByRoute, Counter>,
    gauges: Gauges,
    scrape: Mutex<()>,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Metrics")
    }
}

impl Metrics {
    /// A new registry with everything at zero.
    #[must_use]
    pub fn new() -> Arc<Self> {
        // 0.5 ms × 1.3^45 is 67 s: 46 buckets, each within 30 % of its neighbour, so that a p99 read from them is honest.
        let lateness = || Histogram::new(exponential_buckets(0.0005, 1.3, 46));
        let batch = || Histogram::new(exponential_buckets(1.0, 2.0, 13));
        let mut metrics = Self {
            registry: Registry::with_prefix("campanile"),
            fired: Family::default(),
            skipped: Family::default(),
            stale: Counter::default(),
            attempts: Family::default(),
            lateness_commit: lateness(),
            lateness_send: lateness(),
            tick_instants: batch(),
            // 50 µs × 2^15 is 1.6 s: a plan that takes as long as a heartbeat shows.
            tick_plan: Histogram::new(exponential_buckets(0.00005, 2.0, 16)),
            begin_items: batch(),
            settle_dropped: Counter::default(),
            proposals: Family::default(),
            leader_changes: Counter::default(),
            http: Family::default(),
            gauges: Gauges::default(),
            scrape: Mutex::default(),
        };
        metrics.register();
        Arc::new(metrics)
    }

    fn register(&mut self) {
        let Self { registry: to, gauges, .. } = self;
        to.register("firings", "Firings decided by this node as leader, by kind", self.fired.clone());
        to.register("skipped", "Instants decided not to fire, by reason", self.skipped.clone());
        to.register(
            "tick_stale",
            "Decisions that were overtaken before they were applied",
            self.stale.clone(),
        );
        to.register("attempts", "Attempts that this node made, by outcome", self.attempts.clone());
        let seconds = || Unit::Seconds;
        to.register_with_unit(
            "lateness_commit",
            "From nominal to committed",
            seconds(),
            self.lateness_commit.clone(),
        );
        to.register_with_unit(
            "lateness_send",
            "From nominal to sent, first attempts",
            seconds(),
            self.lateness_send.clone(),
        );
        to.register("tick_instants", "Instants in one Tick", self.tick_instants.clone());
        to.register_with_unit("tick_plan", "Planning one Tick", seconds(), self.tick_plan.clone());
        to.register("begin_items", "Leases that this node asked for at once", self.begin_items.clone());
        to.register(
            "settle_dropped",
            "Reports that were not settled while their leases lasted: those end instead",
            self.settle_dropped.clone(),
        );
        to.register(
            "proposals_in_flight",
            "Proposals and what this node asks of the leader, by duty",
            self.proposals.clone(),
        );
        to.register("leader_changes", "How often this node took office", self.leader_changes.clone());
        to.register("http_requests", "Requests to the API, by method, route and status", self.http.clone());
        gauges.register(to);
    }

    /// A Tick was planned, which took so long.
    pub fn planned(&self, took: Duration) {
        self.tick_plan.observe(took.as_secs_f64());
    }

    /// A Tick was committed: counts what it decided, and how late.
    pub fn ticked(&self, tick: &Tick, ticked: Ticked, committed_at: Timestamp) {
        let late = |nominal: Timestamp| self.lateness_commit.observe(seconds(committed_at.since(nominal)));
        let mut planned = tick.on_time.len() as u64;
        let mut missed = 0;
        tick.on_time.iter().for_each(|item| late(item.nominal));
        let decisions = tick.decisions.iter().chain(tick.pause_ends.iter().map(|end| &end.decision));
        for decision in decisions {
            for Fire { nominal, kind, .. } in &decision.fire {
                late(*nominal);
                planned += 1;
                missed += u64::from(*kind == Kind::CatchUp);
            }
            for skip in &decision.skips {
                self.skipped.get_or_create(&ByReason { reason: skip.reason.as_str() }).inc_by(skip.count);
            }
        }
        self.tick_instants.observe(planned as f64);
        self.stale.inc_by(u64::from(ticked.stale));
        let fired = u64::from(ticked.fired);
        let caught_up = missed.min(fired);
        self.fired.get_or_create(&ByKind { kind: "scheduled" }).inc_by(fired - caught_up);
        self.fired.get_or_create(&ByKind { kind: "catch_up" }).inc_by(caught_up);
        // What apply skipped by itself while nothing was stale met a running firing of its schedule.
        if ticked.stale == 0 && planned > fired {
            self.skipped.get_or_create(&ByReason { reason: "overlap" }).inc_by(planned - fired);
        }
    }

    /// So many firings were decided that no tick makes: users or a backfill asked for them.
    pub fn fired(&self, kind: Kind, count: u64) {
        self.fired.get_or_create(&ByKind { kind: kind.as_str() }).inc_by(count);
    }

    /// A request left, that long after its nominal instant.
    pub fn sent(&self, lateness: Span) {
        self.lateness_send.observe(seconds(lateness));
    }

    /// An attempt of this node ended.
    pub fn attempted(&self, verdict: Verdict) {
        let outcome = match verdict {
            Verdict::Succeeded => "succeeded",
            Verdict::Retry { .. } => "retry",
            Verdict::TimedOut => "timed_out",
            Verdict::Refused => "refused",
            Verdict::Gone => "gone",
            Verdict::NotSent => "not_sent",
            Verdict::Stopped => "stopped",
            Verdict::Broken => "broken",
        };
        self.attempts.get_or_create(&ByOutcome { outcome }).inc();
    }

    /// A request under way was given up, since its firing was cancelled: nothing is reported of it.
    pub fn aborted(&self) {
        self.attempts.get_or_create(&ByOutcome { outcome: "aborted" }).inc();
    }

    /// So many leases are asked for until the guard goes.
    pub fn beginning(&self, items: usize) -> UnderWay {
        self.begin_items.observe(items as f64);
        self.under_way("begin")
    }

    /// A report is on its way to the log until the guard goes.
    pub fn settling(&self) -> UnderWay {
        self.under_way("settle")
    }

    /// A Tick is under way until the guard goes.
    pub fn ticking(&self) -> UnderWay {
        self.under_way("tick")
    }

    /// A report did not reach the log while its lease lasted.
    pub fn dropped_report(&self) {
        self.settle_dropped.inc();
    }

    /// This node took office.
    pub fn took_office(&self) {
        self.leader_changes.inc();
    }

    /// A request to the API was answered.
    pub fn answered(&self, method: &str, route: &str, status: u16) {
        let labels = ByRoute { method: method.to_owned(), route: route.to_owned(), status };
        self.http.get_or_create(&labels).inc();
    }

    /// Everything, in the format of [`CONTENT_TYPE`].
    #[must_use]
    pub fn text(&self, snapshot: &Snapshot) -> String {
        // One scrape at a time: the next one begins with taking the queues out.
        let _alone = self.scrape.lock().unwrap_or_else(PoisonError::into_inner);
        self.gauges.set(snapshot);
        let mut page = String::new();
        // Writing into a String cannot fail; were it to, a half page says so to the scraper by its missing end.
        let _ = text::encode(&mut page, &self.registry);
        page
    }

    fn under_way(&self, duty: &'static str) -> UnderWay {
        let gauge = self.proposals.get_or_create(&ByDuty { duty }).clone();
        gauge.inc();
        UnderWay(gauge)
    }
}

/// Counts a proposal as under way while it lives.
#[derive(Debug)]
#[must_use]
pub struct UnderWay(Gauge);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn seconds(span: Span) -> f64 {
    span.as_millis() as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use campanile_core::command::OnTime;
    use campanile_core::id::{Revision, Uid};

    use super::*;

    #[test]
    fn a_late_tick_is_counted_and_measured_in_fine_buckets() {
        let metrics = Metrics::new();
        let nominal = Timestamp::from_millis(10_000);
        let item = OnTime { uid: Uid(1), revision: Revision(1), nominal, next_at: Timestamp::NEVER };
        let tick = Tick { on_time: vec![item; 3], ..Tick::default() };
        metrics.ticked(&tick, Ticked { fired: 2, skipped: 1, stale: 0 }, Timestamp::from_millis(10_040));
        metrics.answered("GET", "/v1/schedules", 200);
        let page = metrics.text(&Snapshot { applied: 7, ..Snapshot::default() });
        for line in [
            "campanile_firings_total{kind=\"scheduled\"} 2",
            "campanile_skipped_total{reason=\"overlap\"} 1",
            "campanile_lateness_commit_seconds_count 3",
            "campanile_lateness_commit_seconds_sum 0.12",
            "campanile_http_requests_total{method=\"GET\",route=\"/v1/schedules\",status=\"200\"} 1",
            "campanile_applied_index 7",
            "# EOF",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
        }
        let buckets =
            page.lines().filter(|line| line.starts_with("campanile_lateness_commit_seconds_bucket")).count();
        assert!(buckets >= 40, "{buckets} buckets");
    }

    #[test]
    fn firings_that_were_asked_for_are_counted_by_kind() {
        let metrics = Metrics::new();
        metrics.fired(Kind::Manual, 1);
        metrics.fired(Kind::Rerun, 2);
        metrics.fired(Kind::Backfill(campanile_core::id::BackfillId(7)), 100);
        let page = metrics.text(&Snapshot { held_firings: 5, running_backfills: 1, ..Snapshot::default() });
        for line in [
            "campanile_firings_total{kind=\"manual\"} 1",
            "campanile_firings_total{kind=\"rerun\"} 2",
            "campanile_firings_total{kind=\"backfill\"} 100",
            "campanile_held_firings 5",
            "campanile_running_backfills 1",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
        }
    }

    #[test]
    fn a_proposal_is_under_way_while_its_guard_lives() {
        let metrics = Metrics::new();
        let line = |metrics: &Metrics, count| {
            let page = metrics.text(&Snapshot::default());
            page.contains(&format!("campanile_proposals_in_flight{{duty=\"begin\"}} {count}"))
        };
        let guard = metrics.beginning(5);
        assert!(line(&metrics, 1));
        drop(guard);
        assert!(line(&metrics, 0));
    }
}
