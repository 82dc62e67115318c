//! `/v1/firings`: what came of the instants, and orders about one of them.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use campanile_core::definition::ScheduleName;
use campanile_core::firing::FiringId;

use super::App;
use super::answer::{Answered, json, ok};
use super::conditions::Named;
use super::query::Params;
use super::schedules::find;
use crate::problem::Problem;
use crate::service::Consistency;
use crate::service::records::Filter;
use crate::service::reruns::no_such_firing;
use crate::service::write::Caller;
use crate::wire::firing::{Firing, STATES};
use crate::wire::orders::{Rerun, read_nothing, read_rerun};
use crate::wire::page::Page;
use crate::wire::payload::Body;

/// The firings of one schedule, skipped instants included, the newest nominal first.
#[utoipa::path(
    get, path = "/v1/schedules/{namespace}/{name}/firings", operation_id = "firings_of_schedule", tag = "firings",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("state" = Option<String>, Query, description = "Only in this state."),
        ("after" = Option<String>, Query, description = "With a nominal after this instant."),
        ("before" = Option<String>, Query, description = "With a nominal before this instant."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "A page of firings.", body = Page<Firing>)),
)]
pub(crate) async fn of_schedule(State(app): State<App>, Named(name): Named, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let (filter, consistency) = filter(&mut params)?;
    params.close()?;
    page_of(&app, &name, filter, consistency).await
}

/// Firings of all schedules, skipped instants included, the newest decision first; of one schedule by nominal.
#[utoipa::path(
    get, path = "/v1/firings", operation_id = "list_firings", tag = "firings",
    params(
        ("schedule" = Option<String>, Query, description = "Of this schedule, `namespace/name`."),
        ("namespace" = Option<String>, Query, description = "Of schedules in this namespace."),
        ("state" = Option<String>, Query, description = "Only in this state."),
        ("after" = Option<String>, Query, description = "With a nominal after this instant."),
        ("before" = Option<String>, Query, description = "With a nominal before this instant."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "A page of firings.", body = Page<Firing>)),
)]
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let schedule = params.one("schedule")?;
    let namespace = params.one("namespace")?;
    let (filter, consistency) = filter(&mut params)?;
    params.close()?;
    if let Some(schedule) = schedule {
        let name = ScheduleName::parse(&schedule).map_err(|bad| {
            Problem::bad_request(format!("the query parameter \"schedule\": the {} {}", bad.segment, bad.why))
        })?;
        return page_of(&app, &name, filter, consistency).await;
    }
    let machine = app.service.read(consistency).await?;
    ok(&app.service.records().recent(machine, Filter { namespace, ..filter }).await?)
}

/// The story of one firing: decided, attempts, outcome.
#[utoipa::path(
    get, path = "/v1/firings/{id}", operation_id = "get_firing", tag = "firings",
    params(
        ("id" = String, Path, description = "`frg_` and 32 characters."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "The firing.", body = Firing)),
)]
pub(crate) async fn get(State(app): State<App>, Path(id): Path<String>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let consistency = params.consistency()?;
    params.close()?;
    let id = id_of(&id)?;
    let machine = app.service.read(consistency).await?;
    let told = app.service.firing(machine, id).await?;
    ok(&told.ok_or_else(|| no_such_firing(id))?)
}

/// Fire the instant of a firing once more, under the definition in force.
#[utoipa::path(
    post, path = "/v1/firings/{id}/rerun", operation_id = "rerun_firing", tag = "firings",
    params(
        ("id" = String, Path, description = "`frg_` and 32 characters."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = Rerun, description = "May be `{}`."),
    responses((status = 202, description = "The new firing: the same nominal, another run.", body = Firing)),
)]
pub(crate) async fn rerun(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let id = id_of(&id)?;
    let instead = read_rerun(&Body::parse(&body)?)?;
    let fired = app.service.rerun(&caller, id, instead).await?;
    Ok(json(StatusCode::ACCEPTED, &as_decided(&app, fired).await?))
}

/// Cancel a firing that is not settled: it ends at once, and what its holder says of it later is refused.
#[utoipa::path(
    post, path = "/v1/firings/{id}/cancel", operation_id = "cancel_firing", tag = "firings",
    params(
        ("id" = String, Path, description = "`frg_` and 32 characters."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body(content = Object, description = "May be left out, or `{}`."),
    responses((status = 200, description = "The firing as it ended.", body = Firing)),
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let id = id_of(&id)?;
    read_nothing(&Body::parse(&body)?)?;
    app.service.cancel_firing(&caller, id).await?;
    ok(&as_decided(&app, id).await?)
}

/// A firing as it stands after an order about it.
pub(crate) async fn as_decided(app: &App, id: FiringId) -> Result<Firing, Problem> {
    let told = app.service.firing(app.service.quorum().view(), id).await?;
    told.ok_or_else(|| Problem::not_found(format!("firing {id} was decided, and retention has passed it")))
}

pub(crate) fn id_of(text: &str) -> Result<FiringId, Problem> {
    text.parse().map_err(|_| Problem::not_found(format!("{text:?} is no firing id: those begin with frg_")))
}

async fn page_of(app: &App, name: &ScheduleName, filter: Filter, consistency: Consistency) -> Answered {
    let machine = app.service.read(consistency).await?;
    let uid = find(&machine, name)?;
    ok(&app.service.records().of_schedule(machine, uid, filter).await?)
}

fn filter(params: &mut Params) -> Result<(Filter, Consistency), Problem> {
    let filter = Filter {
        state: params.word("state", &STATES)?,
        namespace: None,
        after: params.instant("after")?,
        before: params.instant("before")?,
        limit: params.limit()?,
        page_token: params.one("page_token")?,
    };
    Ok((filter, params.consistency()?))
}
