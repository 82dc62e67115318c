//! The exit of a real node: HTTP clients, and the judge of what may be called. The connection is kept for the next firing.
//! Nothing is connected to that [`Egress`] has not let pass.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use reqwest::{Client, RequestBuilder, Response};
use tokio::time::{Instant, timeout};

use super::{Answer, Exit, Lost, Parcel};
use crate::dispatch::classify::Failure;
use crate::dispatch::egress::{Egress, Guarded, Unresolved, Way};

/// A receiver that is up accepts at once; more is a dead machine, and the seat is needed.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Servers close idle connections after 5 s and more. A shorter time here means that a firing hardly ever meets a
/// connection that its receiver is just closing, which would look like a lost answer.
const IDLE_LIMIT: Duration = Duration::from_secs(4);

/// The HTTP clients of a node.
#[derive(Debug)]
pub struct Clients {
    egress: Arc<Egress>,
    out: Client,
    beside: Client,
}

/// No HTTP client can be made at all.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client: {0}")]
pub struct Unusable(String);

impl Clients {
    /// Clients for what `egress` lets pass, and a warning when this machine has no certificates to judge `https` receivers
    /// by.
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

    /// The client does not ask its resolver for a literal, so the URL is judged here, each time.
    async fn request(&self, parcel: Parcel) -> Result<RequestBuilder, String> {
        let Parcel { method, url, headers, body, within: _ } = parcel;
        let http = match self.egress.judge(&url).await.map_err(|refused| refused.to_string())? {
            Way::Out => &self.out,
            Way::Beside => &self.beside,
        };
        let request = http.request(method, url).headers(headers);
        Ok(if body.is_empty() { request } else { request.body(body) })
    }
}

impl Exit for Clients {
    fn send(&self, parcel: Parcel) -> BoxFuture<'_, Result<Answer, Lost>> {
        async move {
            let (within, started) = (parcel.within, Instant::now());
            // Judging may ask for the addresses of names, and counts as a part of the request.
            let request = match timeout(within, self.request(parcel)).await {
                Ok(Ok(request)) => request,
                Ok(Err(why)) => return Err(Lost::new(Failure::Impossible, why)),
                Err(_) => return Err(Lost::new(Failure::NotConnected, "its name was not resolved in time")),
            };
            let left = within.saturating_sub(started.elapsed());
            match request.timeout(left).send().await {
                Ok(response) => Ok(answer(response)),
                Err(error) => Err(Lost::new(kind_of(&error), told(error))),
            }
        }
        .boxed()
    }
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

fn answer(response: Response) -> Answer {
    let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    Answer {
        status: response.status().as_u16(),
        retry_after: retry_after.map(str::to_owned),
        body: response.bytes_stream().map_err(|error| chain(&error.without_url())).boxed(),
    }
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
