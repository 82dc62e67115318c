//! How full the queues are: by name for those that somebody has put, as many as a scrape can bear, and the rest in one sum.

use campanile_core::due::Counts;
use campanile_core::machine::Machine;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The most queues that have a label of their own.
const NAMED: usize = 100;
/// The label of all others together.
const OTHER: &str = "other";

/// How many firings of a queue there are; the sum of several under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Depth {
    queue: String,
    waiting: u64,
    leased: u64,
}

/// The depth of every queue that was put, the first of them by name, and the sum of the rest if there is any.
#[must_use]
pub fn depths(machine: &Machine) -> Vec<Depth> {
    let queued = machine.due().queued();
    let depth = |queue: &str, counts: Counts| Depth {
        queue: queue.to_owned(),
        waiting: counts.waiting.into(),
        leased: counts.leased.into(),
    };
    let mut depths: Vec<Depth> =
        machine.queues().take(NAMED).map(|(name, _)| depth(name, queued.counts(name))).collect();
    let is_named = |name: &str| depths.binary_search_by(|known| known.queue.as_str().cmp(name)).is_ok();
    let mut rest = None;
    for (_, counts) in queued.queues().filter(|(name, _)| !is_named(name)) {
        let sum = rest.get_or_insert_with(|| depth(OTHER, Counts::default()));
        sum.waiting += u64::from(counts.waiting);
        sum.leased += u64::from(counts.leased);
    }
    depths.extend(rest);
    depths
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByQueue {
    queue: String,
}

/// Their gauges.
#[derive(Debug, Default)]
pub(super) struct Queues {
    depth: Family<ByQueue, Gauge>,
    leased: Family<ByQueue, Gauge>,
}

impl Queues {
    pub(super) fn register(&self, to: &mut Registry) {
        to.register(
            "queue_depth",
            "Firings that wait in a queue; of queues without settings under \"other\"",
            self.depth.clone(),
        );
        to.register("queue_leased", "Firings of a queue that workers have leased", self.leased.clone());
    }

    /// Queues that are gone leave the page.
    pub(super) fn set(&self, depths: &[Depth]) {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        for (family, number) in
            [(&self.depth, (|it| it.waiting) as fn(&Depth) -> u64), (&self.leased, |it| it.leased)]
        {
            family.clear();
            for depth in depths {
                // A queue that is called like the sum is in it.
                family.get_or_create(&ByQueue { queue: depth.queue.clone() }).inc_by(whole(number(depth)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use campanile_core::command::{Body, Command, Condition, LeaderEpoch, PutQueue, Request};
    use campanile_core::id::{Epoch, LogIndex, NodeId, Term};
    use campanile_core::queue::QueueSettings;
    use campanile_core::time::Timestamp;

    use super::*;
    use crate::metrics::{Metrics, Snapshot};

    /// A machine with so many queues that were put.
    fn put(count: u64) -> Machine {
        let mut machine = Machine::default();
        let epoch = LeaderEpoch {
            node: NodeId(1),
            incarnation: 1,
            term: Term(1),
            ledger: None,
            leaderless_since: None,
        };
        let command = |epoch, body| Command { at: Timestamp::EPOCH, epoch, body };
        machine.apply(LogIndex(1), &command(Epoch(0), Body::LeaderEpoch(epoch)));
        for n in 0..count {
            let put = PutQueue {
                name: format!("q{n:03}").into(),
                settings: QueueSettings::default(),
                condition: Condition::None,
                request: Request { by: "test".into(), key: None },
            };
            machine.apply(LogIndex(n + 2), &command(Epoch(1), Body::PutQueue(put)));
        }
        machine
    }

    #[test]
    fn a_hundred_queues_have_a_name_and_no_more() {
        assert_eq!(depths(&put(2)).len(), 2);
        let many = depths(&put(150));
        assert_eq!((many.len(), many[99].queue.as_str()), (100, "q099"));
    }

    #[test]
    fn a_queue_that_is_gone_leaves_the_page_and_what_is_called_like_the_sum_is_in_it() {
        let metrics = Metrics::new();
        let depth = |queue: &str, waiting, leased| Depth { queue: queue.into(), waiting, leased };
        let page = |queues| metrics.text(&Snapshot { queues, ..Snapshot::default() });
        let first = page(vec![depth("batch", 7, 2), depth(OTHER, 1, 0), depth(OTHER, 3, 4)]);
        for line in [
            "campanile_queue_depth{queue=\"batch\"} 7",
            "campanile_queue_leased{queue=\"batch\"} 2",
            "campanile_queue_depth{queue=\"other\"} 4",
        ] {
            assert!(first.lines().any(|found| found == line), "{line} is not in\n{first}");
        }
        assert!(!page(Vec::new()).contains("queue=\"batch\""));
    }
}
