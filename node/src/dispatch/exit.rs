//! The way out: one request, and what came back. What is sent, and what its answer means, is decided above it
//! ([`super::webhook`]); here is only the network, which a simulation has its own of.
//!
//! ```text
//!   a node                 webhook ─> Clients ─> egress, names, connections
//!   a simulated node       webhook ─> whatever receivers the world has
//! ```

mod clients;

use std::fmt::Debug;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use super::classify::Failure;
pub use clients::{Clients, Unusable};

/// Takes requests out of this node. It follows no redirect and tries nothing again.
pub trait Exit: Debug + Send + Sync {
    /// Sends, and returns with the head of the answer.
    ///
    /// # Errors
    /// [`Lost`] when there is none within [`Parcel::within`].
    fn send(&self, parcel: Parcel) -> BoxFuture<'_, Result<Answer, Lost>>;
}

/// A request as it leaves.
#[derive(Debug, Clone)]
pub struct Parcel {
    /// The method.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// All headers but those of the connection.
    pub headers: HeaderMap,
    /// The body; none when it is empty.
    pub body: Bytes,
    /// How long it may take to the last byte of its answer.
    pub within: Duration,
}

/// The head of an answer, and its body as it comes.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// What `Retry-After` says, where it is text.
    pub retry_after: Option<String>,
    /// The body. An error says how it broke off, and is its end.
    pub body: BoxStream<'static, Result<Bytes, String>>,
}

/// Nothing was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Whether the request may have had its effect.
    pub failure: Failure,
    /// What went wrong.
    pub why: String,
}

impl Answer {
    /// An answer that has come as a whole.
    #[must_use]
    pub fn whole(status: u16, retry_after: Option<String>, body: Bytes) -> Self {
        Self { status, retry_after, body: stream::iter([Ok(body)]).boxed() }
    }
}

impl Debug for Answer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, retry_after, body: _ } = self;
        out.debug_struct("Answer")
            .field("status", status)
            .field("retry_after", retry_after)
            .finish_non_exhaustive()
    }
}

impl Lost {
    /// A failure, and what is told of it.
    pub fn new(failure: Failure, why: impl Into<String>) -> Self {
        Self { failure, why: why.into() }
    }
}
