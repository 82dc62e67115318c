//! Who may ask: the headers of every request, and their judge.
//!
//! A node whose disk was wiped comes back under another id at the same address. Whoever still means the old one must be
//! refused before openraft sees the request, since openraft believes that an id keeps its log.

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use hyper::{StatusCode, http};
use subtle::ConstantTimeEq;

/// The version of the wire. A peer of another one is refused; within one, messages carry their own schema.
pub const WIRE_VERSION: &str = "1";

/// The wire version of a request.
pub const WIRE: HeaderName = HeaderName::from_static("campanile-wire");
/// The cluster that the request is meant for.
pub const CLUSTER: HeaderName = HeaderName::from_static("campanile-cluster");
/// Who asks; 0 for a node without an id.
pub const FROM: HeaderName = HeaderName::from_static("campanile-from");
/// Who is asked; 0 for whoever is at this address.
pub const TO: HeaderName = HeaderName::from_static("campanile-to");
/// The wall clock of the one who answers, in milliseconds.
pub const CLOCK: HeaderName = HeaderName::from_static("campanile-clock");
/// The version of the tz data of the one who answers. Left out by a node that cannot say it, and by one of an older
/// version; whoever does not know it passes over it.
pub const TZ: HeaderName = HeaderName::from_static("campanile-tz");
/// The newest format level that the one who answers reads, and the one that its machine has; that one only once its disk is
/// read. As [`TZ`], they may be left out and passed over.
pub const SPEAKS: HeaderName = HeaderName::from_static("campanile-speaks");
/// See [`SPEAKS`].
pub const LEVEL: HeaderName = HeaderName::from_static("campanile-level");
/// The id of the one who answers; 0 when it has none.
pub const NODE: HeaderName = HeaderName::from_static("campanile-node");

/// The id of nobody in particular.
pub const ANYBODY: u64 = 0;

/// The secret that all nodes of a cluster share. Never shown, not even by `Debug`.
#[derive(Clone)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// From its text; white space around it is not part of it, since it is usually the content of a file.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().as_bytes().into())
    }

    /// In time that does not depend on where they differ.
    fn equals(&self, other: &[u8]) -> bool {
        self.0.ct_eq(other).into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret(…)")
    }
}

/// Why a request was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The secret is missing or wrong.
    #[error("the cluster secret is missing or wrong")]
    Unauthenticated,
    /// Another version of the wire.
    #[error("the peer speaks another wire version")]
    WireVersion,
    /// Another cluster.
    #[error("the peer belongs to another cluster")]
    OtherCluster,
    /// Another node: the id that was meant is not here, or not any more.
    #[error("another node is at this address")]
    OtherNode,
    /// A header is missing or malformed.
    #[error("the request does not say who asks whom")]
    Malformed,
}

impl Refusal {
    /// The status that says so. 421 is "misdirected": a cluster or a node that is not here.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::WireVersion => StatusCode::UPGRADE_REQUIRED,
            Self::OtherCluster | Self::OtherNode => StatusCode::MISDIRECTED_REQUEST,
            Self::Malformed => StatusCode::BAD_REQUEST,
        }
    }
}

/// What a node says of itself and asks of others.
#[derive(Debug)]
pub struct Guard {
    cluster: String,
    secret: Option<Secret>,
    node: AtomicU64,
}

impl Guard {
    /// For a node of this cluster that has no id yet.
    #[must_use]
    pub const fn new(cluster: String, secret: Option<Secret>) -> Self {
        Self { cluster, secret, node: AtomicU64::new(ANYBODY) }
    }

    /// From now on this node has an id, for good.
    pub fn become_node(&self, node: u64) {
        self.node.store(node, Ordering::Release);
    }

    /// This node's id; [`ANYBODY`] when it has none yet.
    #[must_use]
    pub fn node(&self) -> u64 {
        self.node.load(Ordering::Acquire)
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Puts the headers on a request to `to`.
    #[must_use]
    pub fn sign(&self, request: http::request::Builder, to: u64) -> http::request::Builder {
        let request = request
            .header(WIRE, WIRE_VERSION)
            .header(CLUSTER, &self.cluster)
            .header(FROM, self.node())
            .header(TO, to);
        match &self.secret {
            Some(secret) => request.header(AUTHORIZATION, bearer(secret)),
            None => request,
        }
    }

    /// Lets a request in, and says who asks. The secret first: who does not know it learns nothing else.
    ///
    /// # Errors
    /// The reason why not.
    pub fn admit(&self, headers: &HeaderMap) -> Result<u64, Refusal> {
        if !self.knows_secret(headers) {
            return Err(Refusal::Unauthenticated);
        }
        if text(headers, &WIRE) != Some(WIRE_VERSION) {
            return Err(Refusal::WireVersion);
        }
        if text(headers, &CLUSTER) != Some(&self.cluster) {
            return Err(Refusal::OtherCluster);
        }
        let from = number::<u64>(headers, &FROM).ok_or(Refusal::Malformed)?;
        let to = number::<u64>(headers, &TO).ok_or(Refusal::Malformed)?;
        if to != ANYBODY && to != self.node() {
            return Err(Refusal::OtherNode);
        }
        Ok(from)
    }

    fn knows_secret(&self, headers: &HeaderMap) -> bool {
        let Some(secret) = &self.secret else { return true };
        let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
        given.strip_prefix(b"Bearer ").is_some_and(|given| secret.equals(given))
    }
}

fn bearer(secret: &Secret) -> HeaderValue {
    let text = [b"Bearer ", &*secret.0].concat();
    // A secret with bytes that no header can carry matches nothing, which is what such a secret deserves.
    let mut value = HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("Bearer"));
    value.set_sensitive(true);
    value
}

/// A header that is a text.
#[must_use]
pub fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// A header that is a number.
#[must_use]
pub fn number<N: std::str::FromStr>(headers: &HeaderMap, name: &HeaderName) -> Option<N> {
    text(headers, name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn guard(secret: Option<&str>) -> Guard {
        let guard = Guard::new("alpha".into(), secret.map(Secret::new));
        guard.become_node(7);
        guard
    }

    fn signed(by: &Guard, to: u64) -> HeaderMap {
        by.sign(http::Request::builder(), to).body(()).unwrap().headers().clone()
    }

    #[test]
    fn only_a_peer_with_the_secret_the_cluster_and_the_right_target_comes_in() {
        let here = guard(Some("s3cret\n"));
        assert_eq!(here.admit(&signed(&guard(Some("s3cret")), 7)), Ok(7));
        assert_eq!(here.admit(&signed(&guard(Some("s3cret")), ANYBODY)), Ok(7));
        assert_eq!(here.admit(&signed(&guard(Some("s3cret")), 8)), Err(Refusal::OtherNode));
        assert_eq!(here.admit(&signed(&guard(Some("wrong")), 7)), Err(Refusal::Unauthenticated));
        assert_eq!(here.admit(&signed(&guard(None), 7)), Err(Refusal::Unauthenticated));
        let other = Guard::new("beta".into(), Some(Secret::new("s3cret")));
        assert_eq!(here.admit(&signed(&other, 7)), Err(Refusal::OtherCluster));
        let mut older = signed(&here, 7);
        older.insert(WIRE, HeaderValue::from_static("0"));
        assert_eq!(here.admit(&older), Err(Refusal::WireVersion));
        older.remove(AUTHORIZATION);
        assert_eq!(here.admit(&older), Err(Refusal::Unauthenticated));
    }

    #[test]
    fn a_secret_is_never_shown() {
        assert_eq!(format!("{:?}", Secret::new("hush")), "Secret(…)");
        let headers = signed(&guard(Some("hush")), 7);
        assert!(!format!("{headers:?}").contains("hush"));
    }
}
