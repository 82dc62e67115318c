//! The collector: takes what attempts report and settles it in batches, one Settle under way.
//!
//! A Settle whose outcome is unknown is proposed again while the office lasts: apply accepts one report an attempt, so the
//! second is refused there and changes nothing. What is left when the office ends is dropped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use campanile_core::command::{Body, Settle, SettleItem};
use campanile_core::reply::Reply;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::desk::Claim;
use crate::clock::Clock;
use crate::leader::office::Office;
use crate::metrics::Metrics;

/// The most reports in one Settle,
const ITEMS: usize = 512;
/// and the most bytes: an entry takes 100 KiB, and one report up to 32.
const BYTES: usize = 64 * 1024;
/// What a report takes beside its texts.
const ITEM_BYTES: usize = 64;
/// The wait before a failed Settle is proposed again.
const PAUSE: Duration = Duration::from_millis(20);

/// A report, with the claim on its firing that ends when it is settled.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) item: SettleItem,
    pub(super) claim: Claim,
}

#[derive(Debug)]
pub(super) struct Collector<O> {
    office: O,
    incoming: mpsc::Receiver<Outcome>,
    waiting: VecDeque<Outcome>,
    clock: Clock,
    metrics: Arc<Metrics>,
}

impl<O: Office> Collector<O> {
    pub(super) fn new(
        office: O,
        incoming: mpsc::Receiver<Outcome>,
        clock: Clock,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { office, incoming, waiting: VecDeque::new(), clock, metrics }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.collect() => {}
        }
        self.drop_rest();
    }

    /// Until every dispatcher and attempt that could report is gone.
    async fn collect(&mut self) {
        while self.fill().await {
            self.settle_front().await;
        }
    }

    /// Takes what is there, and waits only when there is nothing at all.
    async fn fill(&mut self) -> bool {
        while self.waiting.len() < ITEMS
            && let Ok(outcome) = self.incoming.try_recv()
        {
            self.waiting.push_back(outcome);
        }
        if self.waiting.is_empty() {
            self.waiting.extend(self.incoming.recv().await);
        }
        !self.waiting.is_empty()
    }

    /// Settles as many of the waiting as fit into one entry; they wait until that is known to be done.
    async fn settle_front(&mut self) {
        let count = fitting(self.waiting.iter().map(|outcome| &outcome.item));
        let items: Vec<SettleItem> =
            self.waiting.iter().take(count).map(|outcome| outcome.item.clone()).collect();
        let _under_way = self.metrics.settling(count);
        // The wait before a retry is counted from this moment, so it must be now and not the last entry's.
        let now = self.clock.now();
        let proposed = self.office.propose(now, move |_, _| Some(Body::Settle(Settle { items }))).await;
        match proposed {
            Ok(Some(Reply::Settled(results))) => {
                for (outcome, result) in self.waiting.drain(..count).zip(results) {
                    settled(outcome, result.err().map(|refused| format!("{refused:?}")));
                }
            }
            Ok(reply) => self.again(&format!("{reply:?}")).await,
            Err(error) => self.again(&error.to_string()).await,
        }
    }

    async fn again(&self, reason: &str) {
        tracing::debug!(reason, reports = self.waiting.len(), "a settlement is proposed again");
        tokio::time::sleep(PAUSE).await;
    }

    fn drop_rest(&mut self) {
        self.incoming.close();
        let mut dropped = self.waiting.len();
        while self.incoming.try_recv().is_ok() {
            dropped += 1;
        }
        if dropped > 0 {
            tracing::warn!(
                reports = dropped,
                "the office ended before these reports were settled; their leases end instead"
            );
            self.metrics.dropped_reports(dropped);
        }
    }
}

/// A refusal means that the attempt was settled before: by this very report, sent twice, or by the end of its lease.
fn settled(outcome: Outcome, refused: Option<String>) {
    if let Some(refused) = refused {
        tracing::debug!(firing = %outcome.item.firing, attempt = outcome.item.attempt.0, refused, "a report came too late");
    }
    drop(outcome.claim);
}

/// How many reports from the front fit into one entry; at least one.
fn fitting<'a>(items: impl Iterator<Item = &'a SettleItem>) -> usize {
    let mut bytes = 0;
    let fits = items.take(ITEMS).take_while(|item| {
        bytes += ITEM_BYTES + item.report.output.len() + item.report.error.len();
        bytes <= BYTES
    });
    fits.count().max(1)
}
