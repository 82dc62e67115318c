//! Asking a peer, with a deadline on every question.
//!
//! Must not retry: openraft and the callers know better what a second question would mean. What was certainly never sent
//! is told apart from what may have been acted upon.

use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use bytes::Bytes;
use campanile_core::format::FormatLevel;
use campanile_core::id::NodeId;
use campanile_core::time::Timestamp;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, Response, StatusCode};

use super::clocks::Clocks;
use super::formats::Formats;
use super::guard::{self, Guard};
use super::network::{Body, Network};
use super::zones::Zones;
use super::{BODY_LIMIT, Purpose};

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

/// Asks peers. Cheap to share.
pub struct Dialer {
    network: Arc<dyn Network>,
    guard: Arc<Guard>,
    clocks: Arc<Clocks>,
    zones: Arc<Zones>,
    formats: Arc<Formats>,
}

impl Dialer {
    /// For a node that speaks as `guard` says. What answers say of their nodes is noted in the other three.
    #[must_use]
    pub fn new(
        network: Arc<dyn Network>,
        guard: Arc<Guard>,
        clocks: Arc<Clocks>,
        zones: Arc<Zones>,
        formats: Arc<Formats>,
    ) -> Self {
        Self { network, guard, clocks, zones, formats }
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
        let response = self.network.send(address, purpose, request).await.map_err(|cut| match cut.sent {
            true => broken(cut.why),
            false => CallError::Unreachable { address: address.clone(), why: cut.why },
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

    fn note(&self, response: &Response<Body>, started: Instant) {
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
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Dialer").field("guard", &self.guard).finish_non_exhaustive()
    }
}
