//! Requests over sockets: one pooled HTTP/2 connection per address and purpose, made when it is first needed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::network::{Body, Cut, Network};
use super::{KEEP_ALIVE, Purpose};

type Lane = Client<HttpConnector, Body>;

/// The connections of a node.
#[derive(Default)]
pub struct Lanes(Mutex<HashMap<(String, Purpose), Lane>>);

impl Lanes {
    fn to(&self, address: &str, purpose: Purpose) -> Lane {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.entry((address.to_owned(), purpose)).or_insert_with(lane).clone()
    }
}

impl Network for Lanes {
    fn send(
        &self,
        address: &str,
        purpose: Purpose,
        request: Request<Body>,
    ) -> BoxFuture<'static, Result<Response<Body>, Cut>> {
        let asked = self.to(address, purpose).request(request);
        Box::pin(async move {
            match asked.await {
                Ok(response) => Ok(response.map(|body| body.map_err(std::io::Error::other).boxed_unsync())),
                Err(error) => Err(Cut { sent: !error.is_connect(), why: chain(&error) }),
            }
        })
    }
}

impl std::fmt::Debug for Lanes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Lanes").finish_non_exhaustive()
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
