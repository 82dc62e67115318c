//! Leases over HTTP: what workers ask and say. Any node answers; what is said goes to the log through the intake, never
//! through the relay.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::query::Params;
use crate::problem::{Code, Problem};
use crate::service::write::Caller;
use crate::wire::lease::{
    Heartbeat, HeartbeatRequest, LeaseRequest, Leased, SettleRequest, Settled, read_heartbeat, read_lease,
    read_settle,
};
use crate::wire::lease_ref::LeaseRef;
use crate::wire::payload::Body;
use crate::wire::queue::check_queue_name;

/// The largest body of a worker: an outcome with its texts, each of which is cut to its last 16 KiB.
const MOST: usize = 256 * 1024;

/// Lease firings of a queue, and wait for some. Any node answers.
#[utoipa::path(
    post, path = "/v1/queues/{name}/lease", operation_id = "lease", tag = "leases",
    params(
        ("name" = String, Path, description = "The queue."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same leases, should their answer have been lost."),
    ),
    request_body = LeaseRequest,
    responses((status = 200, description = "The leases; none when the wait is over.", body = Vec<Leased>)),
)]
pub(crate) async fn lease(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(queue): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    check_queue_name(&queue)?;
    let order = read_lease(&small(&body)?)?;
    ok(&app.service.lease(&caller, &Arc::from(queue), &order).await?)
}

/// Say that the work of a lease goes on, which extends it; hear whether it is to stop.
#[utoipa::path(
    post, path = "/v1/leases/{lease}/heartbeat", operation_id = "heartbeat", tag = "leases",
    params(
        ("lease" = String, Path, description = "As it was given."),
        ("Idempotency-Key" = Option<String>, Header, description = "Taken and not needed: a second heartbeat changes nothing."),
    ),
    request_body(content = HeartbeatRequest, description = "May be `{}`: for as long as the lease was taken."),
    responses((status = 200, description = "The lease goes on.", body = Heartbeat)),
)]
pub(crate) async fn heartbeat(
    State(app): State<App>,
    Path(lease): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let lease = read_lease_ref(&lease)?;
    let ttl = read_heartbeat(&small(&body)?)?;
    ok(&app.service.heartbeat(lease, ttl).await?)
}

/// Say what came of the work of a lease. The same outcome sent again is answered the same.
#[utoipa::path(
    post, path = "/v1/leases/{lease}/settle", operation_id = "settle", tag = "leases",
    params(
        ("lease" = String, Path, description = "As it was given."),
        ("Idempotency-Key" = Option<String>, Header, description = "Taken and not needed: an attempt is settled once."),
    ),
    request_body = SettleRequest,
    responses((status = 200, description = "The attempt is settled.", body = Settled)),
)]
pub(crate) async fn settle(
    State(app): State<App>,
    Path(lease): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let lease = read_lease_ref(&lease)?;
    let order = read_settle(&small(&body)?)?;
    ok(&app.service.settle(lease, order).await?)
}

fn read_lease_ref(text: &str) -> Result<LeaseRef, Problem> {
    text.parse().map_err(|_| {
        Problem::not_found(format!(
            "{text:?} names no lease: give back what a lease was answered with, lse_…"
        ))
    })
}

fn small(body: &Bytes) -> Result<Body, Problem> {
    if body.len() > MOST {
        let detail =
            format!("the body of a worker has at most {MOST} bytes; send the end of the output only");
        return Err(Problem::new(Code::PayloadTooLarge, detail));
    }
    Body::parse(body)
}
