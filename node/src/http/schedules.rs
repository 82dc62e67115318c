//! `/v1/schedules`: what users define and order.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;
use campanile_core::definition::ScheduleName;
use campanile_core::plan::PauseUntil;

use super::App;
use super::answer::{self, Answered, json, ok, with_etag};
use super::conditions::{Named, condition};
use super::firings::as_decided;
use super::query::Params;
use crate::problem::Problem;
use crate::service::as_of::AsOf;
use crate::service::list::{Filter, Sort};
use crate::service::schedules::{Answer, no_such};
use crate::service::write::Caller;
use crate::wire::as_of::ScheduleAsOf;
use crate::wire::definition::Definition;
use crate::wire::diff::DryRun;
use crate::wire::draft;
use crate::wire::firing::Firing;
use crate::wire::orders::{self, Pause, Resume, Trigger};
use crate::wire::page::Page;
use crate::wire::payload::Body;
use crate::wire::preview::{DEFAULT_COUNT, MAX_COUNT, NextInstants};
use crate::wire::schedule::{STATES, Schedule};

/// List schedules with their status.
#[utoipa::path(
    get, path = "/v1/schedules", operation_id = "list_schedules", tag = "schedules",
    params(
        ("namespace" = Option<String>, Query, description = "Of this namespace."),
        ("label" = Option<Vec<String>>, Query, description = "With this label, `key=value` or `key`; may be repeated."),
        ("state" = Option<String>, Query, description = "`active`, `paused`, `parked` or `finished`."),
        ("q" = Option<String>, Query, description = "With this text in name, display name or description."),
        ("sort" = Option<String>, Query, description = "`name` (default), or `next`: of those that have a next instant."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("as_of" = Option<String>, Query, description = "As they stood then: a log index, or an instant. In the order of creation, and without `sort`."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses(
        (status = 200, description = "A page of schedules.", body = ListAnswer),
        (status = 410, description = "`watch_expired`: retention has passed what stood then."),
    ),
)]
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let sort = params.word("sort", &["name", "next"])?;
    let sorted = sort.is_some();
    let filter = Filter {
        namespace: params.one("namespace")?,
        labels: params.all("label").into_iter().map(label).collect(),
        state: params.word("state", &STATES)?.map(str::to_owned),
        q: params.one("q")?,
        sort: if sort == Some("next") { Sort::Next } else { Sort::Name },
        limit: params.limit()?,
        page_token: params.one("page_token")?,
    };
    let (consistency, as_of) = (params.consistency()?, as_of(&mut params)?);
    params.close()?;
    let machine = app.service.read(consistency).await?;
    match as_of {
        None => ok(&app.service.list(&machine, &filter)?),
        Some(_) if sorted => Err(Problem::bad_request(
            "a list with as_of is in the order in which schedules were created: leave sort out",
        )
        .into()),
        Some(as_of) => ok(&app.service.list_as_of(machine, filter, as_of).await?),
    }
}

/// As of when, if that is not now.
fn as_of(params: &mut Params) -> Result<Option<AsOf>, Problem> {
    params.one("as_of")?.map(|text| AsOf::read(&text)).transpose()
}

fn label(text: String) -> (String, Option<String>) {
    match text.split_once('=') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (text, None),
    }
}

/// One schedule with its status.
#[utoipa::path(
    get, path = "/v1/schedules/{namespace}/{name}", operation_id = "get_schedule", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("as_of" = Option<String>, Query, description = "As it stood then, by the name of then: a log index, or an instant."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses(
        (status = 200, description = "The schedule; its `ETag` is the log index of its last change, and there is none with `as_of`.", body = GetAnswer),
        (status = 410, description = "`watch_expired`: retention has passed what stood then."),
    ),
)]
pub(crate) async fn get(State(app): State<App>, Named(name): Named, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let (consistency, as_of) = (params.consistency()?, as_of(&mut params)?);
    params.close()?;
    let machine = app.service.read(consistency).await?;
    if let Some(as_of) = as_of {
        return ok(&app.service.schedule_as_of(machine, name, as_of).await?);
    }
    let schedule = machine.named(&name).ok_or_else(|| no_such(&name))?;
    let (schedule, index) = (schedule.clone(), schedule.updated_index);
    let shown = app.service.show_whole(machine, schedule).await?;
    Ok(with_etag(json(StatusCode::OK, &shown), index))
}

/// Create a schedule, or replace its definition.
#[utoipa::path(
    put, path = "/v1/schedules/{namespace}/{name}", operation_id = "put_schedule", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("dry_run" = Option<bool>, Query, description = "`true`: checks everything, says what would change (`DryRun`), and stores nothing."),
        ("If-Match" = Option<String>, Header, description = "Only if this is its `ETag`."),
        ("If-None-Match" = Option<String>, Header, description = "`*`: create only."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = Definition, description = "Fields that answers add are accepted and ignored."),
    responses(
        (status = 200, description = "Replaced, or equal to what it was.", body = PutAnswer),
        (status = 201, description = "Created.", body = Schedule),
    ),
)]
pub(crate) async fn put(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(name): Named,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Answered {
    let mut params = Params::of(uri.query());
    let dry_run = params.flag("dry_run")?;
    params.close()?;
    let condition = condition(&headers)?;
    let of = name.clone();
    let definition = app.service.think_for_write(move |_| draft::read(&Body::parse(&body)?, &of)).await?;
    if dry_run {
        return ok(&app.service.put_dry(name, condition, definition).await?);
    }
    let written = app.service.put(&caller, name, condition, definition).await?;
    answer(&app, &written).await
}

/// Either answer of a get.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is the schema of two answers, each of which is written as itself")]
pub(crate) enum GetAnswer {
    /// As it stands.
    Schedule(Box<Schedule>),
    /// With `as_of`: as it stood.
    AsOf(Box<ScheduleAsOf>),
}

/// Either answer of a list.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is the schema of two answers, each of which is written as itself")]
pub(crate) enum ListAnswer {
    /// As they stand.
    Schedules(Page<Schedule>),
    /// With `as_of`: as they stood.
    AsOf(Page<ScheduleAsOf>),
}

/// Either answer of a put.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is the schema of two answers, each of which is written as itself")]
pub(crate) enum PutAnswer {
    /// How it stands now.
    Schedule(Box<Schedule>),
    /// With `dry_run=true`: what would change.
    DryRun(DryRun),
}

/// Change some fields of a definition (RFC 7396: what is named changes, `null` goes back to the default).
#[utoipa::path(
    patch, path = "/v1/schedules/{namespace}/{name}", operation_id = "patch_schedule", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("If-Match" = Option<String>, Header, description = "Only if this is its `ETag`."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = serde_json::Value, content_type = "application/merge-patch+json"),
    responses((status = 200, description = "The schedule as it is now.", body = Schedule)),
)]
pub(crate) async fn patch(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(name): Named,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let change = Body::parse(&body)?;
    let written = app.service.patch(&caller, name, condition(&headers)?, &change).await?;
    answer(&app, &written).await
}

/// Remove a schedule. Idempotent: what is gone stays gone.
#[utoipa::path(
    delete, path = "/v1/schedules/{namespace}/{name}", operation_id = "delete_schedule", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("If-Match" = Option<String>, Header, description = "Only if this is its `ETag`."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    responses((status = 204, description = "There is no such schedule any more.")),
)]
pub(crate) async fn delete(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(name): Named,
    uri: Uri,
    headers: HeaderMap,
) -> Answered {
    Params::of(uri.query()).close()?;
    app.service.delete(&caller, name, condition(&headers)?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Stop deciding the instants of a schedule.
#[utoipa::path(
    post, path = "/v1/schedules/{namespace}/{name}/pause", operation_id = "pause_schedule", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = Pause, description = "May be `{}`."),
    responses((status = 200, description = "The schedule as it is now.", body = Schedule)),
)]
pub(crate) async fn pause(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(name): Named,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let (note, until) = orders::read_pause(&Body::parse(&body)?)?;
    let written = app.service.pause(&caller, name, PauseUntil { note, until }).await?;
    answer(&app, &written).await
}

/// Decide the instants of a schedule again.
#[utoipa::path(
    post, path = "/v1/schedules/{namespace}/{name}/resume", operation_id = "resume_schedule", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = Resume, description = "May be `{}`."),
    responses((status = 200, description = "The schedule as it is now.", body = Schedule)),
)]
pub(crate) async fn resume(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(name): Named,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let from = orders::read_resume(&Body::parse(&body)?)?;
    let written = app.service.resume(&caller, name, from).await?;
    answer(&app, &written).await
}

/// Fire once, now: in its own name, or in that of an instant that is past.
#[utoipa::path(
    post, path = "/v1/schedules/{namespace}/{name}/trigger", operation_id = "trigger_schedule", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = Trigger, description = "May be `{}`."),
    responses((status = 202, description = "The firing that was decided.", body = Firing)),
)]
pub(crate) async fn trigger(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(name): Named,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let order = orders::read_trigger(&Body::parse(&body)?)?;
    let id = app.service.trigger(&caller, name, order).await?;
    let firing = as_decided(&app, id).await?;
    Ok(json(StatusCode::ACCEPTED, &firing))
}

/// The next instants of a schedule, whatever its state.
#[utoipa::path(
    get, path = "/v1/schedules/{namespace}/{name}/next", operation_id = "next_of_schedule", tag = "schedules",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("count" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "How many; 10 by default."),
        ("after" = Option<String>, Query, description = "Strictly after this instant; now by default."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "The instants, with how each stands to daylight saving.", body = NextInstants)),
)]
pub(crate) async fn next(State(app): State<App>, Named(name): Named, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let count = params.number("count", 1, MAX_COUNT)?.unwrap_or(DEFAULT_COUNT);
    let after = params.instant("after")?;
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    let schedule = machine.named(&name).ok_or_else(|| no_such(&name))?;
    let after = after.unwrap_or_else(|| app.service.now());
    let definition = schedule.definition.clone();
    ok(&app.service.think(move |service| service.next(&machine, &definition, after, count)).await?)
}

/// A schedule after a write, with its entity tag.
async fn answer(app: &App, written: &Answer) -> Answered {
    let machine = app.service.quorum().view();
    let shown = app.service.show_whole(machine, written.schedule.clone()).await?;
    Ok(answer::put(written.written.change, &shown, written.schedule.updated_index))
}

/// The schedule that a path names, as it is known to a reader.
pub(crate) fn find(
    machine: &campanile_core::machine::Machine,
    name: &ScheduleName,
) -> Result<campanile_core::id::Uid, Problem> {
    machine.named(name).map(|schedule| schedule.uid).ok_or_else(|| no_such(name))
}
