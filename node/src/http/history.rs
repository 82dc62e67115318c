//! The past of one schedule, and orders about it: its definitions, and where its mark is.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::conditions::Named;
use super::query::Params;
use super::schedules::find;
use crate::service::Consistency;
use crate::service::write::Caller;
use crate::wire::mark::{MarkRequest, Marked, read_mark};
use crate::wire::page::Page;
use crate::wire::payload::Body;
use crate::wire::revision::Revision;

/// The definitions that a schedule has had, the newest first: of this incarnation, and as far as the ledger reaches back.
#[utoipa::path(
    get, path = "/v1/schedules/{namespace}/{name}/revisions", operation_id = "revisions_of_schedule", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "A page of definitions.", body = Page<Revision>)),
)]
pub(crate) async fn revisions(State(app): State<App>, Named(name): Named, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let (limit, page_token) = (params.limit()?, params.one("page_token")?);
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    let uid = find(&machine, &name)?;
    ok(&app.service.records().revisions(uid, limit, page_token).await?)
}

/// Rewind or skip ahead: fire what lies between an instant and the mark again, or skip what is to come up to an instant.
#[utoipa::path(
    post, path = "/v1/schedules/{namespace}/{name}/mark", operation_id = "set_mark", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body = MarkRequest,
    responses((status = 200, description = "What it did, or with `dry_run` would do.", body = Marked)),
)]
pub(crate) async fn mark(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(name): Named,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let (to, dry_run) = read_mark(&Body::parse(&body)?)?;
    if dry_run {
        app.service.read(Consistency::Linearizable).await?;
        return ok(&app.service.count_mark(name, to).await?);
    }
    ok(&app.service.set_mark(&caller, name, to).await?)
}
