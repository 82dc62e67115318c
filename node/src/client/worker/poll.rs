//! Asking for leases until there are some: through silence, elections and dead nodes.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{Worker, span};
use crate::client::insist::Waits;
use crate::client::lease::read;
use crate::client::{Call, Error};
use crate::wire::lease::{LeaseRequest, Leased, MAX_LEASES};
use crate::wire::time::Length;

/// How long a request under way is heard out after the stop. In a queue that is never empty its leases are being given at
/// that moment, and they would run out unused; in an idle queue nothing comes, and nothing is lost by hanging up.
const LAST_WORD: Duration = Duration::from_millis(500);
/// The least distance between two requests that bring nothing: a paused queue may be answered at once.
const IDLE: Duration = Duration::from_secs(1);

/// The longest that one round over the nodes may take, however many there are.
const MAX_ROUND: Duration = Duration::from_secs(600);

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

/// A request that can be sent again: under one key, so that a node that gave leases and was not heard gives the same.
struct Request {
    call: Call,
    /// When it was sent first, from when on the leases count.
    sent: Instant,
}

impl Worker {
    /// Asks for at most `free` leases until a node answers.
    pub(super) async fn poll(&self, free: usize, stop: &CancellationToken) -> Polled {
        let (mut waits, mut unheard) = (Waits::default(), None::<Request>);
        loop {
            // Leases of an old request would be old themselves.
            let young = unheard.take().filter(|request| request.sent.elapsed() < self.options.ttl / 3);
            let request = match young.map_or_else(|| self.request(free), Ok) {
                Ok(request) => request,
                Err(error) => return Polled::Refused(error),
            };
            match self.ask(&request, stop).await {
                None => return Polled::Stopped,
                Some(Ok(leases)) => {
                    if waits.have_passed() {
                        tracing::info!(queue = self.options.queue, "the cluster answers again");
                    }
                    return answered(leases, free, request.sent, stop).await;
                }
                Some(Err(error)) if !error.may_pass() => return Polled::Refused(error),
                Some(Err(error)) => {
                    // Told once; what follows is the same until it has passed.
                    if !waits.have_passed() {
                        let error = told(&error);
                        tracing::warn!(queue = self.options.queue, error, "no leases, keeps trying");
                    }
                    unheard = Some(request);
                    if unless(stop, sleep(waits.next())).await.is_none() {
                        return Polled::Stopped;
                    }
                }
            }
        }
    }

    /// Sends a request to each node until one answers. `None` after the stop.
    async fn ask(&self, request: &Request, stop: &CancellationToken) -> Option<Result<Vec<Leased>, Error>> {
        if stop.is_cancelled() {
            return None;
        }
        let nodes = u32::try_from(self.client.endpoints().len()).unwrap_or(u32::MAX);
        let until =
            Instant::now() + (self.wait() + self.client.prompt()).saturating_mul(nodes).min(MAX_ROUND);
        let round = self.client.round(&request.call, until.into_std());
        tokio::pin!(round);
        let answer = match unless(stop, &mut round).await {
            Some(answer) => answer,
            None => timeout(LAST_WORD, &mut round).await.ok()?,
        };
        Some(answer.and_then(|answer| read(&answer)))
    }

    fn request(&self, free: usize) -> Result<Request, Error> {
        let max = u32::try_from(free).unwrap_or(MAX_LEASES).min(MAX_LEASES);
        let (ttl, wait) = (Length(span(self.options.ttl)), Length(span(self.wait())));
        let request = LeaseRequest { worker: self.options.name.clone(), max, ttl, wait };
        let sent = Instant::now();
        Ok(Request { call: self.client.lease_call(&self.options.queue, &request)?, sent })
    }

    fn wait(&self) -> Duration {
        self.options.wait.min(self.options.ttl / 3)
    }
}

async fn answered(mut leases: Vec<Leased>, free: usize, sent: Instant, stop: &CancellationToken) -> Polled {
    // A node that gives more than was asked for is wrong; what is too much runs out.
    leases.truncate(free);
    if leases.is_empty() && unless(stop, sleep(IDLE.saturating_sub(sent.elapsed()))).await.is_none() {
        return Polled::Stopped;
    }
    Polled::Leased { leases, sent }
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
