//! A firing as an HTTP request: what is sent, and how its answer is read.
//!
//! No redirect is followed, no proxy of the environment used, nothing tried again in here: the machine decides about
//! tries. The connection is kept for the next firing. Nothing is connected to that [`Egress`] has not let pass.

mod body;
pub mod cloud_events;
mod headers;
mod output;

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::attempt::{Lease, MAX_OUTPUT, Report};
use campanile_core::definition::{ScheduleName, Webhook};
use campanile_core::firing::Firing;
use campanile_core::id::NodeId;
use campanile_core::machine::Machine;
use campanile_core::secret::SecretText;
use campanile_core::time::Timestamp;
use reqwest::{Client, Method, RequestBuilder, Response, Url};
use tokio::time::timeout;

use super::breaker::Ended;
use super::classify::{self, Failure};
use super::egress::{Egress, Guarded, Unresolved, Way};
use super::sign::SigningKey;
use super::webhook_of;
use crate::clock::Clock;
pub(crate) use body::of as body_of;
pub(crate) use headers::traceparent;

/// A receiver that is up accepts at once; more is a dead machine, and the seat is needed.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Servers close idle connections after 5 s and more. A shorter time here means that a firing hardly ever meets a
/// connection that its receiver is just closing, which would look like a lost answer.
const IDLE_LIMIT: Duration = Duration::from_secs(4);

/// Sends requests. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Sender {
    egress: Arc<Egress>,
    out: Client,
    beside: Client,
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

/// No HTTP client can be made at all.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client: {0}")]
pub struct Unusable(String);

impl Sender {
    /// A sender to what `egress` lets pass, and a warning when this machine has no certificates to judge `https`
    /// receivers by.
    ///
    /// # Errors
    /// [`Unusable`] when there is no cryptography.
    pub fn new(egress: Arc<Egress>) -> Result<(Self, Option<String>), Unusable> {
        // An error says that one is installed already, which is what is wanted.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (out, warning) = client(&egress, Way::Out)?;
        let (beside, _) = client(&egress, Way::Beside)?;
        Ok((Self { egress, out, beside }, warning))
    }

    /// Sends, signed with the secret that the target names as `machine` has it, waits for the answer, and says what came of
    /// it.
    pub async fn send(&self, order: Order<'_>, machine: &Machine, clock: Clock) -> Sent {
        let sent_at = clock.now();
        let started = Instant::now();
        // Judging may ask for the addresses of names, and counts as a part of the request.
        let request = match timeout(order.within, self.request(order, machine, sent_at)).await {
            Ok(Ok(request)) => request,
            Ok(Err(why)) => return failure(Failure::Impossible, why, sent_at),
            Err(_) => {
                return failure(Failure::NotConnected, "its name was not resolved in time".into(), sent_at);
            }
        };
        let left = order.within.saturating_sub(started.elapsed());
        let mut response = match request.timeout(left).send().await {
            Ok(response) => response,
            Err(error) => return failure(kind_of(&error), told(error), sent_at),
        };
        let status = response.status().as_u16();
        let verdict = classify::answered(status, retry_after(&response), clock.now());
        // The status decides; an answer whose body breaks off has still been given.
        let (output, error) = output::tail(&mut response, MAX_OUTPUT).await;
        let report =
            Report { verdict, sent_at, status: Some(status), error: error.into(), output: output.into() };
        Sent { report, host: Ended::Answered }
    }

    /// The client does not ask its resolver for a literal, so the URL is judged here, each time.
    async fn request(
        &self,
        order: Order<'_>,
        machine: &Machine,
        sent_at: Timestamp,
    ) -> Result<RequestBuilder, String> {
        let webhook = webhook_of(order.firing).ok_or("it stands in a queue")?;
        let url = Url::parse(&webhook.url).map_err(|error| error.to_string())?;
        let http = match self.egress.judge(&url).await.map_err(|refused| refused.to_string())? {
            Way::Out => &self.out,
            Way::Beside => &self.beside,
        };
        let method = Method::from_bytes(webhook.method.as_bytes()).map_err(|error| error.to_string())?;
        let body = body::of(order.firing);
        let keys = keys(webhook, machine, sent_at)?;
        let headers = headers::of(order, webhook, &keys, sent_at.as_millis().div_euclid(1_000), &body)?;
        let request = http.request(method, url).headers(headers);
        Ok(if body.is_empty() { request } else { request.body(body) })
    }
}

/// The keys that sign a request now, the current one first.
fn keys(webhook: &Webhook, machine: &Machine, now: Timestamp) -> Result<Vec<SigningKey>, String> {
    let Some(name) = &webhook.secret else { return Ok(Vec::new()) };
    let secret = machine.secret(name).ok_or_else(|| format!("there is no secret {name}"))?;
    let key =
        |text: &SecretText| SigningKey::read(text.expose()).map_err(|bad| format!("the secret {name} {bad}"));
    secret.signing(now).map(key).collect()
}

fn client(egress: &Arc<Egress>, way: Way) -> Result<(Client, Option<String>), Unusable> {
    let error = match builder(egress, way).build() {
        Ok(http) => return Ok((http, None)),
        Err(error) => chain(&error),
    };
    let without = builder(egress, way).tls_certs_only(std::iter::empty());
    let http = without.build().map_err(|error| Unusable(chain(&error)))?;
    let warning = format!(
        "https receivers will fail, this machine has no CA certificates ({error}): install ca-certificates"
    );
    Ok((http, Some(warning)))
}

fn builder(egress: &Arc<Egress>, way: Way) -> reqwest::ClientBuilder {
    Client::builder()
        .dns_resolver(Guarded { egress: Arc::clone(egress), way })
        .user_agent(concat!("campanile/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_LIMIT)
        .pool_idle_timeout(IDLE_LIMIT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
}

fn failure(failure: Failure, error: String, sent_at: Timestamp) -> Sent {
    let report = Report {
        verdict: classify::failed(failure),
        sent_at,
        status: None,
        error: error.into(),
        output: "".into(),
    };
    let host = match failure {
        Failure::NotConnected | Failure::TimedOut | Failure::Broken => Ended::Unanswered,
        Failure::Impossible => Ended::Abandoned,
    };
    Sent { report, host }
}

/// A timeout while connecting is a failure to connect: nothing was sent.
fn kind_of(error: &reqwest::Error) -> Failure {
    if error.is_builder() {
        Failure::Impossible
    } else if error.is_connect() {
        Failure::NotConnected
    } else if error.is_timeout() {
        Failure::TimedOut
    } else {
        Failure::Broken
    }
}

fn retry_after(response: &Response) -> Option<&str> {
    response.headers().get("retry-after")?.to_str().ok()
}

/// What failed, for the attempt. A name that may not be called is told without the layers that the reason came through.
fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    let resolving = causes.filter_map(|cause| cause.downcast_ref::<Unresolved>()).next();
    resolving.map_or_else(|| chain(&error), ToString::to_string)
}

/// An error with what caused it, as one line.
fn chain(error: &reqwest::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}
