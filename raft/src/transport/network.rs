//! The way to peers and from them, as this room needs it: a request goes to an address, requests come in at a listener.
//!
//! Two of each: HTTP over sockets ([`super::lanes`], [`super::server`]), and the network of a simulation, which loses, delays
//! and repeats. Must not know what is asked.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
pub use hyper::{Request, Response};
use tokio_util::sync::CancellationToken;

use super::Purpose;

/// The body of a request or of an answer, as it comes.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;
/// A whole answer.
pub type Answer = Response<Full<Bytes>>;
/// What answers requests.
pub type Handler = Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Answer> + Send + Sync>;

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Whether it may have reached the peer.
    pub sent: bool,
    /// What happened.
    pub why: String,
}

/// Brings requests to peers. Each purpose has a way of its own, so that nothing large stands before a heartbeat.
pub trait Network: Send + Sync + 'static {
    /// Sends, and waits for the head of the answer for as long as the caller does.
    fn send(
        &self,
        address: &str,
        purpose: Purpose,
        request: Request<Body>,
    ) -> BoxFuture<'static, Result<Response<Body>, Cut>>;
}

/// Where the requests of peers come in.
pub trait Listener: Send + 'static {
    /// Has them answered until `stop`; then drops what is under way.
    fn serve(self: Box<Self>, answer: Handler, stop: CancellationToken) -> BoxFuture<'static, ()>;
}

/// A body that is here already.
#[must_use]
pub fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// The bytes of an answer, and its head with a body that brings them.
pub async fn opened(answer: Answer) -> (Bytes, Response<Body>) {
    let (head, body) = answer.into_parts();
    let bytes = body.collect().await.unwrap_or_else(|never| match never {}).to_bytes();
    (bytes.clone(), Response::from_parts(head, whole(bytes)))
}

/// All of a body.
///
/// # Errors
/// When it breaks off.
pub async fn gather(body: Body) -> io::Result<Bytes> {
    Ok(body.collect().await?.to_bytes())
}
