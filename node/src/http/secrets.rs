//! `/v1/secrets`: what requests are signed with. Texts go in, and no answer holds one.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;

use super::App;
use super::answer::{self, Answered, json, ok, with_etag};
use super::conditions::condition;
use super::query::Params;
use crate::service::secrets::no_such_secret;
use crate::service::write::Caller;
use crate::wire::page::Page;
use crate::wire::payload::Body;
use crate::wire::secret::{Secret, SecretRequest, check_secret_name, read_secret};

/// List secrets, without their texts.
#[utoipa::path(
    get, path = "/v1/secrets", operation_id = "list_secrets", tag = "secrets",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "A page of secrets.", body = Page<Secret>)),
)]
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let (limit, page_token) = (params.limit()?, params.one("page_token")?);
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.secrets(&machine, limit, page_token.as_deref())?)
}

/// One secret, without its text.
#[utoipa::path(
    get, path = "/v1/secrets/{name}", operation_id = "get_secret", tag = "secrets",
    params(
        ("name" = String, Path),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "The secret; its `ETag` is the log index of its last change.", body = Secret)),
)]
pub(crate) async fn get(State(app): State<App>, Path(name): Path<String>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    let (secret, index) = app.service.secret(&machine, &name).ok_or_else(|| no_such_secret(&name))?;
    Ok(with_etag(json(StatusCode::OK, &secret), index))
}

/// Create a secret, or replace its text: the one before goes on to sign beside it for a while, so that receivers can learn
/// the new one.
#[utoipa::path(
    put, path = "/v1/secrets/{name}", operation_id = "put_secret", tag = "secrets",
    params(
        ("name" = String, Path),
        ("If-Match" = Option<String>, Header, description = "Only if this is its `ETag`."),
        ("If-None-Match" = Option<String>, Header, description = "`*`: create only."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body = SecretRequest,
    responses(
        (status = 200, description = "Its text is replaced, or was this already.", body = Secret),
        (status = 201, description = "Created.", body = Secret),
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
    check_secret_name(&name)?;
    let secret = read_secret(&Body::parse(&body)?)?;
    let written = app.service.put_secret(&caller, &name, condition(&headers)?, secret).await?;
    Ok(answer::put(written.change, &written.secret, written.updated_index))
}

/// Remove a secret that no schedule names. Idempotent: what is gone stays gone.
#[utoipa::path(
    delete, path = "/v1/secrets/{name}", operation_id = "delete_secret", tag = "secrets",
    params(
        ("name" = String, Path),
        ("If-Match" = Option<String>, Header, description = "Only if this is its `ETag`."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    responses((status = 204, description = "There is no such secret any more.")),
)]
pub(crate) async fn delete(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Answered {
    Params::of(uri.query()).close()?;
    app.service.delete_secret(&caller, &name, condition(&headers)?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
