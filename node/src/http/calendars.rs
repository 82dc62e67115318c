//! `/v1/calendars`: named exclusions, shared by schedules.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::IntoResponse;

use super::App;
use super::answer::{self, Answered, json, ok, with_etag};
use super::conditions::{condition, one_header};
use super::query::Params;
use crate::problem::Problem;
use crate::service::calendars::no_such_calendar;
use crate::service::write::Caller;
use crate::wire::calendar::{
    Calendar, CalendarDryRun, CalendarRequest, CalendarRow, check_name, read_calendar,
};
use crate::wire::page::Page;

/// List calendars.
#[utoipa::path(
    get, path = "/v1/calendars", operation_id = "list_calendars", tag = "calendars",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "A page of calendars, without what they hold.", body = Page<CalendarRow>)),
)]
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let (limit, page_token) = (params.limit()?, params.one("page_token")?);
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.calendars(&machine, limit, page_token.as_deref())?)
}

/// One calendar.
#[utoipa::path(
    get, path = "/v1/calendars/{name}", operation_id = "get_calendar", tag = "calendars",
    params(
        ("name" = String, Path),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "The calendar; its `ETag` is the log index of its last change.", body = Calendar)),
)]
pub(crate) async fn get(State(app): State<App>, Path(name): Path<String>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    let named = machine.calendar(&name).ok_or_else(|| no_such_calendar(&name))?;
    let shown = Calendar::of(&name, named, machine.calendar_users(&name), Vec::new());
    Ok(with_etag(json(StatusCode::OK, &shown), named.updated_index))
}

/// Create a calendar, or replace what it holds. Instants that are decided stay decided.
#[utoipa::path(
    put, path = "/v1/calendars/{name}", operation_id = "put_calendar", tag = "calendars",
    params(
        ("name" = String, Path),
        ("dry_run" = Option<bool>, Query, description = "`true`: says which instants would move (`CalendarDryRun`), and changes nothing."),
        ("If-Match" = Option<String>, Header, description = "Only if this is its `ETag`."),
        ("If-None-Match" = Option<String>, Header, description = "`*`: create only."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(
        content((CalendarRequest = "application/json"), (String = "text/calendar")),
        description = "Fields that answers add are accepted and ignored.",
    ),
    responses(
        (status = 200, description = "Replaced, or equal to what it was.", body = CalendarAnswer),
        (status = 201, description = "Created.", body = Calendar),
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
    let mut params = Params::of(uri.query());
    let dry_run = params.flag("dry_run")?;
    params.close()?;
    check_name(&name)?;
    let condition = condition(&headers)?;
    let is_ical = is_ical(&headers)?;
    let (calendar, remarks) =
        app.service.think_for_write(move |service| read_calendar(&body, is_ical, service.now())).await?;
    if dry_run {
        return ok(&app.service.put_calendar_dry(name, condition, calendar, remarks).await?);
    }
    let written = app.service.put_calendar(&caller, &name, condition, calendar).await?;
    let shown = Calendar::of(&name, &written.named, written.users, remarks);
    Ok(answer::put(written.change, &shown, written.named.updated_index))
}

/// Either answer of a put.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is the schema of two answers, each of which is written as itself")]
pub(crate) enum CalendarAnswer {
    /// What it holds now.
    Calendar(Calendar),
    /// With `dry_run=true`: what would move.
    DryRun(CalendarDryRun),
}

/// Remove a calendar that no schedule names. Idempotent: what is gone stays gone.
#[utoipa::path(
    delete, path = "/v1/calendars/{name}", operation_id = "delete_calendar", tag = "calendars",
    params(
        ("name" = String, Path),
        ("If-Match" = Option<String>, Header, description = "Only if this is its `ETag`."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    responses((status = 204, description = "There is no such calendar any more.")),
)]
pub(crate) async fn delete(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Answered {
    Params::of(uri.query()).close()?;
    app.service.delete_calendar(&caller, &name, condition(&headers)?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn is_ical(headers: &HeaderMap) -> Result<bool, Problem> {
    let media = one_header(headers, &header::CONTENT_TYPE)?.unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    Ok(media.eq_ignore_ascii_case("text/calendar"))
}
