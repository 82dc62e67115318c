//! A firing as an HTTP request: what is sent, and how its answer is read.
//!
//! Nothing is tried again in here: the machine decides about tries. The network is behind an [`Exit`].

mod body;
pub mod cloud_events;
mod headers;
mod output;

use std::sync::Arc;
use std::time::Duration;

use campanile_core::attempt::{Lease, MAX_OUTPUT, Report};
use campanile_core::definition::{ScheduleName, Webhook};
use campanile_core::firing::Firing;
use campanile_core::id::NodeId;
use campanile_core::machine::Machine;
use campanile_core::secret::SecretText;
use campanile_core::time::Timestamp;
use reqwest::{Method, Url};

use super::breaker::Ended;
use super::classify::{self, Failure};
use super::egress::Egress;
use super::exit::{Clients, Exit, Lost, Parcel, Unusable};
use super::sign::SigningKey;
use super::webhook_of;
use crate::clock::Clock;
pub(crate) use body::of as body_of;
pub(crate) use headers::traceparent;

/// Sends requests. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Sender {
    exit: Arc<dyn Exit>,
}

/// One request to make.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// What fires.
    pub firing: &'a Firing,
    /// Of which schedule.
    pub name: &'a ScheduleName,
    /// The right to send.
    pub lease: &'a Lease,
    /// Who sends.
    pub node: NodeId,
    /// How long it may take.
    pub within: Duration,
}

/// What came of a request.
#[derive(Debug)]
pub struct Sent {
    /// What it means for the firing.
    pub report: Report,
    /// What it tells of the host.
    pub host: Ended,
}

impl Sender {
    /// A sender to what `egress` lets pass, and a warning when this machine has no certificates to judge `https`
    /// receivers by.
    ///
    /// # Errors
    /// [`Unusable`] when there is no cryptography.
    pub fn new(egress: Arc<Egress>) -> Result<(Self, Option<String>), Unusable> {
        let (clients, warning) = Clients::new(egress)?;
        Ok((Self::by(Arc::new(clients)), warning))
    }

    /// A sender by this exit, which judges what may be called.
    #[must_use]
    pub fn by(exit: Arc<dyn Exit>) -> Self {
        Self { exit }
    }

    /// Sends, signed with the secret that the target names as `machine` has it, waits for the answer, and says what came of
    /// it.
    pub async fn send(&self, order: Order<'_>, machine: &Machine, clock: Clock) -> Sent {
        let sent_at = clock.now();
        let parcel = match parcel(order, machine, sent_at) {
            Ok(parcel) => parcel,
            Err(why) => return failure(Lost::new(Failure::Impossible, why), sent_at),
        };
        let mut answer = match self.exit.send(parcel).await {
            Ok(answer) => answer,
            Err(lost) => return failure(lost, sent_at),
        };
        let status = answer.status;
        let verdict = classify::answered(status, answer.retry_after.as_deref(), clock.now());
        // The status decides; an answer whose body breaks off has still been given.
        let (output, error) = output::tail(&mut answer.body, MAX_OUTPUT).await;
        let report =
            Report { verdict, sent_at, status: Some(status), error: error.into(), output: output.into() };
        Sent { report, host: Ended::Answered }
    }
}

/// The request that a firing is.
fn parcel(order: Order<'_>, machine: &Machine, sent_at: Timestamp) -> Result<Parcel, String> {
    let webhook = webhook_of(order.firing).ok_or("it stands in a queue")?;
    let url = Url::parse(&webhook.url).map_err(|error| error.to_string())?;
    let method = Method::from_bytes(webhook.method.as_bytes()).map_err(|error| error.to_string())?;
    let body = body::of(order.firing);
    let keys = keys(webhook, machine, sent_at)?;
    let headers = headers::of(order, webhook, &keys, sent_at.as_millis().div_euclid(1_000), &body)?;
    Ok(Parcel { method, url, headers, body: body.into(), within: order.within })
}

/// The keys that sign a request now, the current one first.
fn keys(webhook: &Webhook, machine: &Machine, now: Timestamp) -> Result<Vec<SigningKey>, String> {
    let Some(name) = &webhook.secret else { return Ok(Vec::new()) };
    let secret = machine.secret(name).ok_or_else(|| format!("there is no secret {name}"))?;
    let key =
        |text: &SecretText| SigningKey::read(text.expose()).map_err(|bad| format!("the secret {name} {bad}"));
    secret.signing(now).map(key).collect()
}

fn failure(Lost { failure, why }: Lost, sent_at: Timestamp) -> Sent {
    let report = Report {
        verdict: classify::failed(failure),
        sent_at,
        status: None,
        error: why.into(),
        output: "".into(),
    };
    let host = match failure {
        Failure::NotConnected | Failure::TimedOut | Failure::Broken => Ended::Unanswered,
        Failure::Impossible => Ended::Abandoned,
    };
    Sent { report, host }
}
