//! One attempt: from its lease to its report. It holds a seat while the request is under way and a claim until the report
//! is settled.

use std::time::{Duration, Instant};

use campanile_core::attempt::{Lease, Report, Verdict};
use campanile_core::command::SettleItem;
use campanile_core::id::NodeId;
use campanile_core::time::Timestamp;
use tokio::sync::mpsc;

use super::desk::Place;
use super::settle::Outcome;
use super::stops::Word;
use super::webhook::Order;
use super::{Tools, lease_of, webhook_of};

/// An attempt whose lease is committed.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) place: Place,
    pub(super) lease: Lease,
    pub(super) node: NodeId,
    /// Before the lease was proposed.
    pub(super) asked_at: Instant,
}

impl Attempt {
    /// Sends, and hands in what came of it.
    pub(super) async fn run(self, tools: Tools, reports: mpsc::Sender<Outcome>) {
        let Some(report) = self.report(&tools).await else { return self.gave_up(&tools) };
        tools.metrics.attempted(report.verdict);
        let Place { firing, seat, claim, name } = self.place;
        tracing::debug!(
            schedule = %name, firing = %firing.id, attempt = self.lease.attempt.0,
            verdict = ?report.verdict, status = report.status, "attempt ended"
        );
        let item = SettleItem { firing: firing.id, attempt: self.lease.attempt, report };
        // An error says that the office is over: the lease ends instead, see the head of this folder.
        if reports.send(Outcome { item, claim }).await.is_err() {
            tools.metrics.dropped_reports(1);
        }
        drop(seat);
    }

    /// What came of it; `None` when there is nobody to tell any more. A request that is under way is cut off when its
    /// firing is to stop: its receiver sees the connection go.
    async fn report(&self, tools: &Tools) -> Option<Report> {
        if self.is_nearly_over() {
            return Some(self.too_late(tools));
        }
        let (line, sent_at) = (self.place.claim.line(), tools.clock.now());
        tokio::select! {
            biased;
            report = self.send(tools) => Some(report),
            word = line.word() => match word {
                Word::Stop => Some(stopped(sent_at)),
                Word::Over => None,
            },
        }
    }

    /// Its token is dead: a report would be refused.
    fn gave_up(self, tools: &Tools) {
        tools.metrics.aborted();
        let Place { firing, name, .. } = self.place;
        tracing::debug!(
            schedule = %name, firing = %firing.id, attempt = self.lease.attempt.0, "request given up, its firing is over"
        );
    }

    /// Whether less of the lease is left than the request may take.
    fn is_nearly_over(&self) -> bool {
        let firing = &self.place.firing;
        let needed = self.asked_at.elapsed() + Duration::from_millis(webhook_of(firing).timeout.as_millis());
        needed > Duration::from_millis(lease_of(firing).as_millis())
    }

    /// Certain not to have been sent, so it may be tried again whatever the promise is.
    fn too_late(&self, tools: &Tools) -> Report {
        Report {
            verdict: Verdict::NotSent,
            sent_at: tools.clock.now(),
            status: None,
            error: "its lease was nearly over before the request could leave".into(),
            output: "".into(),
        }
    }

    async fn send(&self, tools: &Tools) -> Report {
        let firing = &*self.place.firing;
        if self.lease.attempt.0 == 1 {
            tools.metrics.sent(tools.clock.now().since(firing.id.nominal));
        }
        let order = Order { firing, name: &self.place.name, lease: &self.lease, node: self.node };
        tools.sender.send(order, tools.clock).await
    }
}

/// The request may have had its effect, as with every answer that is lost.
fn stopped(sent_at: Timestamp) -> Report {
    Report {
        verdict: Verdict::Stopped,
        sent_at,
        status: None,
        error: "stopped before it was answered: a newer firing takes its place".into(),
        output: "".into(),
    }
}
