//! What a handler is given, and what it gives back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::span;
use crate::wire::lease::{Leased, SettleOutcome, SettleRequest, tail};
use crate::wire::time::Length;

/// Why a job has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Its holder is asked to: a newer firing replaces it, or somebody cancelled it. Settle as [`Outcome::cancelled`].
    Asked,
    /// The cluster says that the lease is somebody else's. What comes of the job changes nothing.
    Refused,
    /// No heartbeat was answered in time. What comes of the job changes nothing.
    Expired,
    /// The firing has reached its deadline. What comes of the job changes nothing.
    Deadline,
}

impl Stop {
    /// Whether the lease is lost, so that the outcome is dropped.
    #[must_use]
    pub const fn is_lost(self) -> bool {
        !matches!(self, Self::Asked)
    }

    /// A word for a log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked to stop",
            Self::Refused => "the lease is somebody else's",
            Self::Expired => "no heartbeat was answered before the lease ended",
            Self::Deadline => "the deadline has passed",
        }
    }
}

/// One attempt of one firing, while its lease lasts.
#[derive(Debug, Clone)]
pub struct Job {
    leased: Arc<Leased>,
    stop: watch::Receiver<Option<Stop>>,
}

impl Job {
    pub(super) fn new(leased: Arc<Leased>) -> (Self, watch::Sender<Option<Stop>>) {
        let (tell, stop) = watch::channel(None);
        (Self { leased, stop }, tell)
    }

    /// What there is to do.
    #[must_use]
    pub fn leased(&self) -> &Leased {
        &self.leased
    }

    /// Whether the job has to stop, and why.
    #[must_use]
    pub fn stop(&self) -> Option<Stop> {
        *self.stop.borrow()
    }

    /// Waits until the job has to stop; for ever when it never has to. It may be dropped and called again.
    ///
    /// A job that was asked to stop can still lose its lease: [`Job::stop`] tells the latest reason.
    pub async fn stopped(&self) -> Stop {
        let mut stop = self.stop.clone();
        let told = stop.wait_for(Option::is_some).await.ok().and_then(|told| *told);
        match told {
            Some(reason) => reason,
            // Whoever would have told is gone: the job has ended, and this is a clone that outlived it.
            None => std::future::pending().await,
        }
    }
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome(SettleRequest);

impl Outcome {
    /// Done.
    #[must_use]
    pub fn succeeded() -> Self {
        Self::new(SettleOutcome::Succeeded, String::new())
    }

    /// Failed for good: no other attempt is made.
    #[must_use]
    pub fn failed(error: impl Into<String>) -> Self {
        Self::new(SettleOutcome::Failed, error.into())
    }

    /// Failed, and may be tried again while attempts are left.
    #[must_use]
    pub fn retry(error: impl Into<String>) -> Self {
        Self::new(SettleOutcome::Retry, error.into())
    }

    /// Stopped, as it was asked to.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(SettleOutcome::Cancelled, String::new())
    }

    fn new(outcome: SettleOutcome, error: String) -> Self {
        Self(SettleRequest { outcome, output: String::new(), error: bounded(error), retry_after: None })
    }

    /// What the work said; its last 16 KiB are kept.
    #[must_use]
    pub fn output(mut self, output: impl Into<String>) -> Self {
        self.0.output = bounded(output.into());
        self
    }

    /// The least wait before the next attempt, at most a day; it goes with [`Outcome::retry`] and changes no other.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        if self.0.outcome == SettleOutcome::Retry {
            self.0.retry_after = Some(Length(span(wait)));
        }
        self
    }

    /// The outcome as a node is told it.
    #[must_use]
    pub fn request(&self) -> &SettleRequest {
        &self.0
    }
}

/// What a node would keep of it; the rest need not travel.
fn bounded(text: String) -> String {
    match tail(&text) {
        end if end.len() == text.len() => text,
        end => end.to_owned(),
    }
}
