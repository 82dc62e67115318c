//! One attempt: from its lease to its report. It holds a seat while the request is under way, and a claim until the report
//! is settled, or nobody would take it any more, and this node's machine knows ([`super::unheard`]).

use std::time::Duration;
use tokio::time::Instant;

use campanile_core::attempt::{Holder, Lease, Report, Verdict};
use campanile_core::command::SettleItem;
use campanile_core::time::Timestamp;

use super::Tools;
use super::breaker::Ended;
use super::desk::Place;
use super::stops::Word;
use super::webhook::{Order, Sent};
use super::{unheard, webhook_of};

/// What must be left of a lease when a request is over, to say what came of it; of a lease that a deadline cuts short at
/// least a quarter.
const REPORTING: Duration = Duration::from_secs(2);
/// A request that could take no longer than this is not worth sending.
const LEAST: Duration = Duration::from_millis(100);

/// An attempt whose lease is committed.
pub(super) struct Attempt {
    pub(super) place: Place,
    pub(super) lease: Lease,
    /// Before the lease was asked for.
    pub(super) asked_at: Instant,
}

impl Attempt {
    /// Sends, and brings to the log what came of it.
    pub(super) async fn run(mut self, tools: Tools) {
        let Some(Sent { report, host }) = self.report(&tools).await else {
            return self.gave_up(&tools).await;
        };
        tools.metrics.attempted(report.verdict);
        self.place.seat.ended(host);
        let ends_at = self.ends_at();
        let Place { firing, seat, claim, name } = self.place;
        drop(seat);
        tracing::debug!(
            schedule = %name, firing = %firing.id, attempt = self.lease.attempt.0,
            verdict = ?report.verdict, status = report.status, "attempt ended"
        );
        let item = SettleItem { firing: firing.id, attempt: self.lease.attempt, report };
        let under_way = tools.metrics.settling();
        // Across any change of leaders, as long as the lease lasts; after it, the clock has ended the attempt.
        match tools.intake.settle(item, ends_at).await {
            Ok(Ok(_)) => {}
            // It was settled before: by this very report, heard twice, or by the end of its lease.
            Ok(Err(refused)) => tracing::debug!(firing = %firing.id, ?refused, "a report came too late"),
            Err(undone) => {
                tracing::warn!(schedule = %name, firing = %firing.id, %undone, "a report was not settled; its lease ends instead");
                tools.metrics.dropped_report();
            }
        }
        drop(under_way);
        unheard::is_over(firing.id, self.lease.attempt, &tools).await;
        drop(claim);
    }

    /// What came of it; `None` when there is nobody to tell any more. A request that is under way is cut off when its
    /// firing is to stop: its receiver sees the connection go.
    async fn report(&self, tools: &Tools) -> Option<Sent> {
        let Some(within) = self.within() else { return Some(self.too_late(tools)) };
        let (line, sent_at) = (self.place.claim.line(), tools.clock.now());
        tokio::select! {
            biased;
            report = self.send(tools, within) => Some(report),
            word = line.word() => match word {
                Word::Stop => Some(Sent { report: stopped(sent_at), host: Ended::Abandoned }),
                Word::Over => None,
            },
        }
    }

    /// Its token is dead: a report would be refused.
    async fn gave_up(self, tools: &Tools) {
        tools.metrics.aborted();
        let Place { firing, seat, claim, name } = self.place;
        drop(seat);
        tracing::debug!(
            schedule = %name, firing = %firing.id, attempt = self.lease.attempt.0, "request given up, its firing is over"
        );
        unheard::is_over(firing.id, self.lease.attempt, tools).await;
        drop(claim);
    }

    /// When the lease is over, on the monotonic clock, counted from before anybody else can count it from.
    fn ends_at(&self) -> Instant {
        self.asked_at + self.lasts()
    }

    fn lasts(&self) -> Duration {
        Duration::from_millis(self.lease.until.since(self.lease.begun_at).as_millis())
    }

    /// How long the request may take: the target's timeout, or less when a deadline cuts the lease short. `None` when the
    /// lease is nearly over.
    fn within(&self) -> Option<Duration> {
        let timeout = Duration::from_millis(webhook_of(&self.place.firing)?.timeout.as_millis());
        let reporting = REPORTING.min(self.lasts() / 4);
        let left = self.ends_at().saturating_duration_since(Instant::now()).checked_sub(reporting)?;
        (left >= LEAST.min(timeout)).then(|| timeout.min(left))
    }

    /// Certain not to have been sent, so it may be tried again whatever the promise is.
    fn too_late(&self, tools: &Tools) -> Sent {
        let report = Report {
            verdict: Verdict::NotSent,
            sent_at: tools.clock.now(),
            status: None,
            error: "its lease was nearly over before the request could leave".into(),
            output: "".into(),
        };
        Sent { report, host: Ended::Abandoned }
    }

    async fn send(&self, tools: &Tools, within: Duration) -> Sent {
        let firing = &*self.place.firing;
        if self.lease.attempt.0 == 1 {
            tools.metrics.sent(tools.clock.now().since(firing.id.nominal));
        }
        let Holder::Node(node) = self.lease.holder else { return self.too_late(tools) };
        let order = Order { firing, name: &self.place.name, lease: &self.lease, node, within };
        let view = tools.quorum.view();
        tools.sender.send(order, &view, tools.clock).await
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
