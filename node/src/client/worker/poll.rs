//! Asking for leases until there are some: through silence, elections and dead nodes.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{Worker, span};
use crate::client::insist::Waits;
use crate::client::lease::{PROMPT, read};
use crate::client::{Call, Error};
use crate::wire::lease::{LeaseRequest, Leased, MAX_LEASES};
use crate::wire::time::Length;

/// How long a request under way is heard out after the stop. In a queue that is never empty its leases are being given at
/// that moment, and they would run out unused; in an idle queue nothing comes, and nothing is lost by hanging up.
const LAST_WORD: Duration = Duration::from_millis(500);
/// The least distance between two requests that bring nothing: a paused queue may be answered at once.
const IDLE: Duration = Duration::from_secs(1);

/// What came of asking.
pub(super) enum Polled {
    /// There is work, or none came while a node waited for it.
    Leased {
        /// What there is to do.
        leases: Vec<Leased>,
        /// From when on the leases count.
        sent: Instant,
    },
    /// The worker was told to stop.
    Stopped,
    /// What no moment mends.
    Refused(Error),
}

impl Worker {
    /// Asks for at most `free` leases until a node answers.
    pub(super) async fn poll(&self, free: usize, stop: &CancellationToken) -> Polled {
        let mut waits = Waits::default();
        let mut failing = false;
        loop {
            let sent = Instant::now();
            match self.ask(free, sent, stop).await {
                None => return Polled::Stopped,
                Some(Ok(mut leases)) => {
                    if failing {
                        tracing::info!(queue = self.options.queue, "the cluster answers again");
                    }
                    // A node that gives more than was asked for is wrong; what is too much runs out.
                    leases.truncate(free);
                    if leases.is_empty()
                        && unless(stop, sleep(IDLE.saturating_sub(sent.elapsed()))).await.is_none()
                    {
                        return Polled::Stopped;
                    }
                    return Polled::Leased { leases, sent };
                }
                Some(Err(error)) if !error.may_pass() => return Polled::Refused(error),
                Some(Err(error)) => {
                    // Told once; what follows is the same until it has passed.
                    if !std::mem::replace(&mut failing, true) {
                        tracing::warn!(
                            queue = self.options.queue,
                            error = told(&error),
                            "no leases, keeps trying"
                        );
                    }
                    if unless(stop, sleep(waits.next())).await.is_none() {
                        return Polled::Stopped;
                    }
                }
            }
        }
    }

    /// One request, under one key, to whichever node answers. The leases that it is given count from its first try, so
    /// that it is given up for a new one before they are old. `None` after the stop.
    async fn ask(
        &self,
        free: usize,
        sent: Instant,
        stop: &CancellationToken,
    ) -> Option<Result<Vec<Leased>, Error>> {
        let request = self.request(free);
        let call = match self.client.lease_call(&self.options.queue, &request) {
            Ok(call) => call,
            Err(error) => return Some(Err(error)),
        };
        if stop.is_cancelled() {
            return None;
        }
        let tries = self.tries(&call, sent);
        tokio::pin!(tries);
        let answer = match unless(stop, &mut tries).await {
            Some(answer) => answer,
            None => timeout(LAST_WORD, &mut tries).await.ok()?,
        };
        Some(answer.and_then(|answer| read(&answer)))
    }

    /// Two rounds at most: a lost answer may have given leases, and the same key asks for the same ones.
    async fn tries(&self, call: &Call, sent: Instant) -> Result<crate::client::Answer, Error> {
        let until = (sent + self.wait() + 2 * PROMPT).into_std();
        match self.client.round(call, until).await {
            Err(Error::TimedOut { may_have_acted: true, .. }) if sent.elapsed() < self.options.ttl / 3 => {
                self.client.round(call, until).await
            }
            answer => answer,
        }
    }

    fn request(&self, free: usize) -> LeaseRequest {
        let max = u32::try_from(free).unwrap_or(MAX_LEASES).min(MAX_LEASES);
        let (ttl, wait) = (Length(span(self.options.ttl)), Length(span(self.wait())));
        LeaseRequest { worker: self.options.name.clone(), max, ttl, wait }
    }

    fn wait(&self) -> Duration {
        self.options.wait.min(self.options.ttl / 3)
    }
}

/// What `work` gives, or `None` when the stop comes first.
async fn unless<T>(stop: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        done = work => Some(done),
    }
}

/// An error with what became of each try.
pub(super) fn told(error: &Error) -> String {
    let tried = match error {
        Error::Unreachable { tried } | Error::TimedOut { tried, .. } => tried.as_slice(),
        _ => &[],
    };
    let tried: Vec<String> = tried.iter().map(|tried| format!("{}: {}", tried.endpoint, tried.why)).collect();
    if tried.is_empty() { error.to_string() } else { format!("{error} ({})", tried.join("; ")) }
}
