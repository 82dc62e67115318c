//! One lease from its grant to its outcome.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::keep::Keeper;
use super::poll::told;
use super::term::Term;
use super::{Outcome, Stop};
use crate::client::Client;
use crate::wire::lease::Leased;

/// How long an outcome is reported at least, past the end of the lease if need be: while there is no leader no lease is
/// taken away either, and whether the outcome still counts is for the log to judge.
const LAST_REPORT: Duration = Duration::from_secs(10);

/// How a lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The cluster took the outcome.
    Settled,
    /// It was lost before.
    Lost,
}

/// Does the work of a lease that was asked for at `sent`: keeps it, runs `handling`, and settles it.
pub(super) async fn work(
    client: Arc<Client>,
    leased: Arc<Leased>,
    sent: Instant,
    ttl: Duration,
    tell: watch::Sender<Option<Stop>>,
    handling: impl Future<Output = Outcome> + Send + 'static,
) -> Ended {
    let mut term = Term::granted(&leased, ttl, sent);
    let keeper = Keeper::new(&client, &leased);
    if !may_start(&leased, &keeper, &mut term, &tell).await {
        return Ended::Lost;
    }
    let begun = Instant::now();
    tracing::info!(
        firing = leased.firing, schedule = leased.schedule, nominal = %leased.nominal, attempt = leased.attempt,
        fencing_token = leased.fencing_token, "begun"
    );
    // A task of its own: a handler that keeps its thread busy, or panics, does not stop the heartbeats.
    let mut handler = AbortOnDropHandle::new(tokio::spawn(handling));
    let outcome = tokio::select! {
        biased;
        done = &mut handler => done,
        () = keeper.keep(&mut term, &tell) => (&mut handler).await,
    };
    let outcome = outcome.unwrap_or_else(|_| Outcome::failed("the handler panicked"));
    let lost = (*tell.borrow()).filter(|stop| stop.is_lost());
    match lost {
        Some(why) => {
            dropped(&leased, &outcome, why.as_str());
            Ended::Lost
        }
        None => settle(&client, &leased, &outcome, begun, term.end()).await,
    }
}

/// Whether enough of the lease is left to begin. When the count is vague, a node is asked first.
async fn may_start(
    leased: &Leased,
    keeper: &Keeper<'_>,
    term: &mut Term,
    tell: &watch::Sender<Option<Stop>>,
) -> bool {
    let looked = if term.is_vague(Instant::now()) { keeper.look(term).await.map(Some) } else { Ok(None) };
    let why = match looked {
        Ok(beat) if term.allows_a_start(Instant::now()) => {
            if beat.is_some_and(|beat| beat.stop) {
                tell.send_replace(Some(Stop::Asked));
            }
            return true;
        }
        Ok(_) => "too little of the lease is left",
        Err(lost) => lost.as_str(),
    };
    let Leased { firing, schedule, attempt, fencing_token, .. } = leased;
    tracing::warn!(firing, schedule, attempt, fencing_token, why, "not begun");
    false
}

/// Reports the outcome until a node answers or the lease has ended.
async fn settle(client: &Client, leased: &Leased, outcome: &Outcome, begun: Instant, end: Instant) -> Ended {
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let until = end.max(Instant::now() + LAST_REPORT);
    let request = outcome.request();
    match client.settle(&leased.lease, request, until.into_std()).await {
        Ok(settled) => {
            tracing::info!(
                firing = leased.firing, schedule = leased.schedule, attempt = leased.attempt,
                outcome = ?request.outcome, error = request.error, state = settled.state, took_ms, "settled"
            );
            Ended::Settled
        }
        Err(error) => {
            let why = if error.is_lease_lost() { Stop::Refused.as_str().to_owned() } else { told(&error) };
            dropped(leased, outcome, &why);
            Ended::Lost
        }
    }
}

fn dropped(leased: &Leased, outcome: &Outcome, why: &str) {
    let outcome = outcome.request();
    tracing::warn!(
        firing = leased.firing, schedule = leased.schedule, attempt = leased.attempt,
        fencing_token = leased.fencing_token, outcome = ?outcome.outcome, error = outcome.error, why, "outcome dropped"
    );
}
