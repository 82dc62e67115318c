//! `/v1/stats`: what came of the instants of a stretch of time, in sums.

use axum::extract::State;
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::query::Params;
use super::timeline::question;
use crate::wire::stats::Stats;

/// What came of the instants of a stretch of time, with the schedules that were latest and those that failed most.
#[utoipa::path(
    get, path = "/v1/stats", operation_id = "stats", tag = "firings",
    params(
        ("after" = Option<String>, Query, description = "Nominals from this instant on; a day before the end by default."),
        ("before" = Option<String>, Query, description = "Nominals before this instant; now by default."),
        ("namespace" = Option<String>, Query, description = "Of schedules in this namespace."),
        ("next" = Option<String>, Query, description = "The `next` of the answer before, to go on with the same stretch."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "The sums.", body = Stats)),
)]
pub(crate) async fn stats(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let question = question(&mut params, None)?;
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.stats(machine, question).await?)
}
