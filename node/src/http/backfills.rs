//! `/v1/backfills`: ranges of instants that are gone through again.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use campanile_core::definition::ScheduleName;
use campanile_core::id::BackfillId;

use super::App;
use super::answer::{Answered, json, ok};
use super::query::Params;
use crate::problem::Problem;
use crate::service::Consistency;
use crate::service::backfills::Filter;
use crate::service::past::no_such_backfill;
use crate::service::write::Caller;
use crate::wire::backfill::{
    Backfill, BackfillCounts, BackfillRequest, STATES, parse_backfill_id, read_backfill,
};
use crate::wire::page::Page;
use crate::wire::payload::Body;

/// Go through a range of instants again: fire those that have not fired, or with `again` all of them.
#[utoipa::path(
    post, path = "/v1/backfills", operation_id = "create_backfill", tag = "backfills",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body = BackfillRequest,
    responses(
        (status = 200, description = "`dry_run`: what it would do.", body = BackfillCounts),
        (status = 201, description = "Created; it runs.", body = Backfill),
    ),
)]
pub(crate) async fn create(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let order = read_backfill(&Body::parse(&body)?)?;
    if order.dry_run {
        app.service.read(Consistency::Linearizable).await?;
        return ok(&app.service.count_backfill(order).await?);
    }
    Ok(json(StatusCode::CREATED, &app.service.create_backfill(&caller, order).await?))
}

/// List backfills, the newest first. Of those that have ended the last 1,000 are known.
#[utoipa::path(
    get, path = "/v1/backfills", operation_id = "list_backfills", tag = "backfills",
    params(
        ("schedule" = Option<String>, Query, description = "Of this schedule, `namespace/name`."),
        ("state" = Option<String>, Query, description = "`running`, `completed`, `cancelled` or `failed`."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "A page of backfills.", body = Page<Backfill>)),
)]
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let name = params.one("schedule")?.map(|text| name_of(&text)).transpose()?;
    let filter = Filter {
        name,
        state: params.word("state", &STATES)?,
        limit: params.limit()?,
        page_token: params.one("page_token")?,
    };
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.backfills(&machine, &filter)?)
}

/// One backfill with its progress.
#[utoipa::path(
    get, path = "/v1/backfills/{id}", operation_id = "get_backfill", tag = "backfills",
    params(
        ("id" = String, Path, description = "`bkf_` and a number."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "The backfill.", body = Backfill)),
)]
pub(crate) async fn get(State(app): State<App>, Path(id): Path<String>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let consistency = params.consistency()?;
    params.close()?;
    let id = id_of(&id)?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.backfill(&machine, id)?)
}

/// Cancel a backfill: it fires nothing more; what it has fired goes on. Idempotent: what has ended stays as it ended.
#[utoipa::path(
    delete, path = "/v1/backfills/{id}", operation_id = "cancel_backfill", tag = "backfills",
    params(
        ("id" = String, Path, description = "`bkf_` and a number."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    responses((status = 200, description = "The backfill as it ended.", body = Backfill)),
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
) -> Answered {
    Params::of(uri.query()).close()?;
    ok(&app.service.cancel_backfill(&caller, id_of(&id)?).await?)
}

fn id_of(text: &str) -> Result<BackfillId, Problem> {
    parse_backfill_id(text).ok_or_else(|| no_such_backfill(text))
}

fn name_of(text: &str) -> Result<ScheduleName, Problem> {
    ScheduleName::parse(text).map_err(|bad| {
        Problem::bad_request(format!("the query parameter \"schedule\": the {} {}", bad.segment, bad.why))
    })
}
