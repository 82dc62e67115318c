//! Keeping a lease: heartbeats in time, and the word to the job when it has to stop.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::poll::told;
use super::term::Term;
use super::{Stop, span};
use crate::client::insist::Waits;
use crate::client::lease::{PROMPT, heartbeat_call, read};
use crate::client::{Client, Error};
use crate::wire::lease::{Heartbeat, HeartbeatRequest, Leased};
use crate::wire::time::Length;

/// The heartbeats of one lease.
pub(super) struct Keeper<'a> {
    client: &'a Client,
    leased: &'a Leased,
}

impl<'a> Keeper<'a> {
    /// The keeper of a lease.
    pub(super) fn new(client: &'a Client, leased: &'a Leased) -> Self {
        Self { client, leased }
    }

    /// Asks how much of the lease is left, though by the count it may be over.
    pub(super) async fn look(&self, term: &mut Term) -> Result<Heartbeat, Stop> {
        let (ttl, over) = (term.look(), term.reason());
        timeout(PROMPT, self.insist(term, ttl, Instant::now() + PROMPT)).await.unwrap_or(Err(over))
    }

    /// Keeps the lease until it is lost, tells why, and ends then.
    pub(super) async fn keep(&self, term: &mut Term, tell: &watch::Sender<Option<Stop>>) {
        let lost = loop {
            // A lease that ends before its next heartbeat is at its deadline: no heartbeat would extend it.
            sleep_until(term.next_beat().min(term.end())).await;
            if Instant::now() >= term.end() {
                break term.reason();
            }
            match self.beat(term).await {
                Ok(beat) if beat.stop => {
                    if tell.send_replace(Some(Stop::Asked)).is_none() {
                        tracing::info!(
                            firing = self.leased.firing,
                            attempt = self.leased.attempt,
                            "asked to stop"
                        );
                    }
                }
                Ok(_) => {}
                Err(lost) => break lost,
            }
        };
        tell.send_replace(Some(lost));
        let Leased { firing, schedule, attempt, fencing_token, .. } = self.leased;
        tracing::warn!(firing, schedule, attempt, fencing_token, why = lost.as_str(), "the lease is lost");
    }

    /// One heartbeat, sent until it is answered or the lease is lost.
    async fn beat(&self, term: &mut Term) -> Result<Heartbeat, Stop> {
        let (ttl, end, over) = (term.ttl(), term.end(), term.reason());
        // The end is kept by this clock and not by the answer: a heartbeat that hangs must not hold a lost lease.
        timeout_at(end, self.insist(term, ttl, end)).await.unwrap_or(Err(over))
    }

    async fn insist(&self, term: &mut Term, ttl: Duration, until: Instant) -> Result<Heartbeat, Stop> {
        let mut waits = Waits::default();
        loop {
            let sent = Instant::now();
            let error = match self.ask(ttl, term.patience(), until).await {
                Ok(beat) => {
                    term.renew(&beat, ttl, sent);
                    return Ok(beat);
                }
                Err(error) if error.is_lease_lost() => return Err(Stop::Refused),
                Err(error) => error,
            };
            // Whatever it is, a right that was withdrawn included: the lease lasts until its end, and it may pass.
            tracing::debug!(
                firing = self.leased.firing,
                error = told(&error),
                "a heartbeat was not answered"
            );
            sleep(waits.next()).await;
        }
    }

    async fn ask(&self, ttl: Duration, patience: Duration, until: Instant) -> Result<Heartbeat, Error> {
        let request = HeartbeatRequest { ttl: Some(Length(span(ttl))) };
        let call = heartbeat_call(&self.leased.lease, &request)?.patience(patience.min(self.client.prompt()));
        read(&self.client.round(&call, until.into_std()).await?)
    }
}
