//! Asking a peer: one pooled connection per address and purpose, a deadline on every question.
//!
//! Must not retry: openraft and the callers know better what a second question would mean. What was certainly never sent
//! is told apart from what may have been acted upon.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

use bytes::Bytes;
use campanile_core::format::FormatLevel;
use campanile_core::id::NodeId;
use campanile_core::time::Timestamp;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::clocks::Clocks;
use super::formats::Formats;
use super::guard::{self, Guard};
use super::zones::Zones;
use super::{BODY_LIMIT, KEEP_ALIVE, Purpose};

/// The body of a request.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;
type Lane = Client<HttpConnector, Body>;

/// Whom to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// `host:port`.
    pub address: String,
    /// The id that must be there; [`guard::ANYBODY`] for whoever is.
    pub node: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No connection: the question was never sent.
    #[error("cannot connect to {address}: {why}")]
    Unreachable {
        /// Where.
        address: String,
        /// What the connector said.
        why: String,
    },
    /// The peer did not let it in, or is not ready: it was not acted upon.
    #[error("{address} refused with {status}: {why}")]
    Refused {
        /// Where.
        address: String,
        /// The status.
        status: StatusCode,
        /// What the peer said.
        why: String,
    },
    /// No answer in time: it may have been acted upon.
    #[error("no answer from {address} within {ttl:?}")]
    Timeout {
        /// Where.
        address: String,
        /// How long was waited.
        ttl: Duration,
    },
    /// The connection broke or the answer made no sense: it may have been acted upon.
    #[error("the talk with {address} broke off: {why}")]
    Broken {
        /// Where.
        address: String,
        /// What happened.
        why: String,
    },
}

impl CallError {
    /// Whether the peer certainly did nothing, so that the same may be asked again or elsewhere.
    #[must_use]
    pub const fn is_certain(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Refused { .. })
    }
}

/// Asks peers. Cheap to share; connections are made when they are first needed.
pub struct Dialer {
    guard: Arc<Guard>,
    clocks: Arc<Clocks>,
    zones: Arc<Zones>,
    formats: Arc<Formats>,
    lanes: Mutex<HashMap<(String, Purpose), Lane>>,
}

impl Dialer {
    /// For a node that speaks as `guard` says. What answers say of their nodes is noted in the other three.
    #[must_use]
    pub fn new(guard: Arc<Guard>, clocks: Arc<Clocks>, zones: Arc<Zones>, formats: Arc<Formats>) -> Self {
        Self { guard, clocks, zones, formats, lanes: Mutex::default() }
    }

    /// Asks and waits for the whole answer, for at most `ttl`.
    ///
    /// # Errors
    /// As [`CallError`] tells apart.
    pub async fn ask(
        &self,
        target: &Target,
        purpose: Purpose,
        path: &str,
        body: Bytes,
        ttl: Duration,
    ) -> Result<Bytes, CallError> {
        let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
        let asked = self.send(target, purpose, path, body);
        tokio::time::timeout(ttl, asked)
            .await
            .unwrap_or_else(|_| Err(CallError::Timeout { address: target.address.clone(), ttl }))
    }

    /// Sends a body of any length and waits for the answer, without a deadline of its own.
    ///
    /// # Errors
    /// As [`CallError`] tells apart.
    pub async fn send(
        &self,
        target: &Target,
        purpose: Purpose,
        path: &str,
        body: Body,
    ) -> Result<Bytes, CallError> {
        let address = &target.address;
        let broken = |why: String| CallError::Broken { address: address.clone(), why };
        let request = self
            .guard
            .sign(Request::builder().method(Method::POST).uri(format!("http://{address}{path}")), target.node)
            .body(body)
            .map_err(|error| CallError::Unreachable { address: address.clone(), why: error.to_string() })?;
        let started = Instant::now();
        let response = self.lane(address, purpose).request(request).await.map_err(|error| {
            let why = chain(&error);
            match error.is_connect() {
                true => CallError::Unreachable { address: address.clone(), why },
                false => broken(why),
            }
        })?;
        self.note(&response, started);
        let status = response.status();
        let bytes = Limited::new(response.into_body(), BODY_LIMIT)
            .collect()
            .await
            .map_err(|error| broken(error.to_string()))?
            .to_bytes();
        let why = || String::from_utf8_lossy(&bytes).into_owned();
        match status {
            StatusCode::OK => Ok(bytes),
            StatusCode::INTERNAL_SERVER_ERROR => Err(broken(why())),
            _ => Err(CallError::Refused { address: address.clone(), status, why: why() }),
        }
    }

    fn note(&self, response: &Response<Incoming>, started: Instant) {
        let received = Instant::now();
        let headers = response.headers();
        let node = guard::number(headers, &guard::NODE).filter(|node| *node != guard::ANYBODY);
        let Some(node) = node.map(NodeId) else { return };
        if let Some(showed) = guard::number(headers, &guard::CLOCK).map(Timestamp::from_millis) {
            self.clocks.note(node, showed, received, received - started);
        }
        if let Some(version) = guard::text(headers, &guard::TZ) {
            self.zones.note(node, version);
        }
        if let Some(speaks) = guard::number(headers, &guard::SPEAKS) {
            self.formats.note(node, FormatLevel(speaks), received);
        }
        if let Some(level) = guard::number(headers, &guard::LEVEL) {
            self.formats.note_written(FormatLevel(level));
        }
    }

    fn lane(&self, address: &str, purpose: Purpose) -> Lane {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.entry((address.to_owned(), purpose)).or_insert_with(lane).clone()
    }
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Dialer").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// One connection, made on demand.
fn lane() -> Lane {
    let mut connector = HttpConnector::new();
    // Appends and heartbeats are small and each one is waited for.
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(KEEP_ALIVE));
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_only(true)
        // A window of one append: the default of 64 KiB would cost a round trip every 64 KiB.
        .http2_initial_stream_window_size(1 << 20)
        .http2_initial_connection_window_size(2 << 20)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_keep_alive_timeout(KEEP_ALIVE)
        .http2_keep_alive_while_idle(true)
        .build(connector)
}

/// An error with what caused it, since hyper's outermost message says little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
