//! `/v1/timeline`: what came of the instants of a stretch of time, bucketed here rather than in a browser.

use axum::extract::State;
use axum::http::Uri;
use campanile_core::definition::ScheduleName;

use super::App;
use super::answer::{Answered, ok};
use super::query::Params;
use crate::problem::Problem;
use crate::service::timeline::Question;
use crate::wire::timeline::{DEFAULT_BUCKETS, MAX_BUCKETS, Timeline};

/// What came of the instants of a stretch of time, bucket by bucket, and how many are still to come. An instant that was
/// decided more than ten minutes behind the end of the stretch is not counted when all schedules are asked for.
#[utoipa::path(
    get, path = "/v1/timeline", operation_id = "timeline", tag = "firings",
    params(
        ("after" = Option<String>, Query, description = "Nominals from this instant on; a day before the end by default."),
        ("before" = Option<String>, Query, description = "Nominals before this instant; now by default. May be to come."),
        ("buckets" = Option<u32>, Query, minimum = 1, maximum = 500, description = "At most so many; 60 by default."),
        ("namespace" = Option<String>, Query, description = "Of schedules in this namespace."),
        ("schedule" = Option<String>, Query, description = "Of this schedule, `namespace/name`."),
        ("next" = Option<String>, Query, description = "The `next` of the answer before, to go on with the same stretch."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "The buckets.", body = Timeline)),
)]
pub(crate) async fn timeline(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let buckets = params.number("buckets", 1, MAX_BUCKETS)?.unwrap_or(DEFAULT_BUCKETS);
    let schedule = params.one("schedule")?.map(|text| named(&text)).transpose()?;
    let question = question(&mut params, schedule)?;
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.timeline(machine, question, buckets).await?)
}

/// What timelines and statistics are asked about.
pub(crate) fn question(params: &mut Params, schedule: Option<ScheduleName>) -> Result<Question, Problem> {
    Ok(Question {
        after: params.instant("after")?,
        before: params.instant("before")?,
        namespace: params.one("namespace")?,
        schedule,
        next: params.one("next")?,
    })
}

fn named(text: &str) -> Result<ScheduleName, Problem> {
    ScheduleName::parse(text).map_err(|bad| {
        Problem::bad_request(format!("the query parameter \"schedule\": the {} {}", bad.segment, bad.why))
    })
}
