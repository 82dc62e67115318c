//! `/v1/queues`: limits, pauses, and how much waits.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;

use super::App;
use super::answer::{self, Answered, json, ok, with_etag};
use super::conditions::condition;
use super::query::Params;
use crate::problem::Problem;
use crate::service::write::Caller;
use crate::wire::orders::read_nothing;
use crate::wire::page::Page;
use crate::wire::payload::Body;
use crate::wire::queue::{Queue, QueuePause, QueueRequest, check_queue_name, read_queue, read_queue_pause};

/// List the queues that have limits of their own, or firings.
#[utoipa::path(
    get, path = "/v1/queues", operation_id = "list_queues", tag = "queues",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "A page of queues.", body = Page<Queue>)),
)]
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let (limit, page_token) = (params.limit()?, params.one("page_token")?);
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.queues(&machine, limit, page_token.as_deref())?)
}

/// One queue. One that nobody has put has the default limits.
#[utoipa::path(
    get, path = "/v1/queues/{name}", operation_id = "get_queue", tag = "queues",
    params(
        ("name" = String, Path),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "The queue; its `ETag`, once somebody has put it, is the log index of its last change.", body = Queue)),
)]
pub(crate) async fn get(State(app): State<App>, Path(name): Path<String>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let consistency = params.consistency()?;
    params.close()?;
    let name = named(name)?;
    let machine = app.service.read(consistency).await?;
    let now = app.service.now().max(machine.clock());
    let shown = json(StatusCode::OK, &Queue::of(&machine, &name, now));
    Ok(match machine.queue(&name) {
        Some(known) => with_etag(shown, known.updated_index),
        None => shown,
    })
}

/// Give a queue limits. What is leased stays leased.
#[utoipa::path(
    put, path = "/v1/queues/{name}", operation_id = "put_queue", tag = "queues",
    params(
        ("name" = String, Path),
        ("If-Match" = Option<String>, Header, description = "Only if this is its `ETag`."),
        ("If-None-Match" = Option<String>, Header, description = "`*`: create only."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = QueueRequest, description = "Fields that answers add are accepted and ignored."),
    responses(
        (status = 200, description = "Replaced, or equal to what it was.", body = Queue),
        (status = 201, description = "It had no limits of its own before.", body = Queue),
    ),
)]
pub(crate) async fn put(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let name = named(name)?;
    let settings = read_queue(&Body::parse(&body)?)?;
    let put = app.service.put_queue(&caller, &name, condition(&headers)?, settings).await?;
    Ok(answer::put(put.change, &put.queue, put.updated_index))
}

/// Forget the limits and the pause of a queue; its firings stay. Idempotent.
#[utoipa::path(
    delete, path = "/v1/queues/{name}", operation_id = "delete_queue", tag = "queues",
    params(
        ("name" = String, Path),
        ("If-Match" = Option<String>, Header, description = "Only if this is its `ETag`."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    responses((status = 204, description = "It has the default limits.")),
)]
pub(crate) async fn delete(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Answered {
    Params::of(uri.query()).close()?;
    app.service.delete_queue(&caller, &named(name)?, condition(&headers)?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Lease nothing more of a queue. What is leased goes on.
#[utoipa::path(
    post, path = "/v1/queues/{name}/pause", operation_id = "pause_queue", tag = "queues",
    params(
        ("name" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = QueuePause, description = "May be `{}`."),
    responses((status = 200, description = "The queue is paused.", body = Queue)),
)]
pub(crate) async fn pause(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let name = named(name)?;
    let note = read_queue_pause(&Body::parse(&body)?)?;
    let paused = app.service.pause_queue(&caller, &name, note).await?;
    Ok(with_etag(json(StatusCode::OK, &paused.queue), paused.updated_index))
}

/// Lease of a queue again.
#[utoipa::path(
    post, path = "/v1/queues/{name}/resume", operation_id = "resume_queue", tag = "queues",
    params(
        ("name" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = Object, description = "May be left out, or `{}`."),
    responses((status = 200, description = "The queue is not paused.", body = Queue)),
)]
pub(crate) async fn resume(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let name = named(name)?;
    read_nothing(&Body::parse(&body)?)?;
    ok(&app.service.resume_queue(&caller, &name).await?.queue)
}

fn named(name: String) -> Result<Arc<str>, Problem> {
    check_queue_name(&name)?;
    Ok(name.into())
}
