//! `/v1/outages`: gaps between leaders, and what they did to the instants that fell into them.

use axum::extract::{Path, State};
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::query::Params;
use crate::service::outages::Filter;
use crate::wire::outage::Outage;
use crate::wire::page::Page;

/// Gaps between leaders of more than a second, the newest first, each with what it did to the instants that fell into it.
#[utoipa::path(
    get, path = "/v1/outages", operation_id = "list_outages", tag = "cluster",
    params(
        ("after" = Option<String>, Query, description = "That ended after this instant."),
        ("before" = Option<String>, Query, description = "That ended before this instant."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "A page of outages.", body = Page<Outage>)),
)]
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let filter = Filter {
        after: params.instant("after")?,
        before: params.instant("before")?,
        limit: params.limit()?,
        page_token: params.one("page_token")?,
    };
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.outages(machine, filter).await?)
}

/// One gap between leaders, with the schedules concerned.
#[utoipa::path(
    get, path = "/v1/outages/{id}", operation_id = "get_outage", tag = "cluster",
    params(
        ("id" = String, Path, description = "The position of its row in the ledger, `index.n`."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "The outage.", body = Outage)),
)]
pub(crate) async fn get(State(app): State<App>, Path(id): Path<String>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.outage(machine, id).await?)
}
