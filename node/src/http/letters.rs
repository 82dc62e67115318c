//! `/v1/dead_letters`: firings that came to nothing and wait for somebody to look at them.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use campanile_core::definition::ScheduleName;

use super::App;
use super::answer::{Answered, ok};
use super::firings::id_of;
use super::query::Params;
use crate::problem::Problem;
use crate::service::write::Caller;
use crate::wire::letter::{
    DeadLetter, DiscardedLetters, LETTER_STATES, LetterFilter, LetterRerun, Rerun, Which, read_discard,
    read_letter_rerun,
};
use crate::wire::page::Page;
use crate::wire::payload::Body;

/// List dead letters, the newest end first.
#[utoipa::path(
    get, path = "/v1/dead_letters", operation_id = "list_dead_letters", tag = "dead letters",
    params(
        ("schedule" = Option<String>, Query, description = "Of this schedule, `namespace/name`."),
        ("namespace" = Option<String>, Query, description = "Of schedules in this namespace."),
        ("queue" = Option<String>, Query, description = "That stood in this queue."),
        ("state" = Option<String>, Query, description = "`failed`, `timed_out` or `unknown`."),
        ("after" = Option<String>, Query, description = "That ended after this instant."),
        ("before" = Option<String>, Query, description = "That ended before this instant."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "A page of dead letters.", body = Page<DeadLetter>)),
)]
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let which = which(&mut params)?;
    let (limit, page_token) = (params.limit()?, params.one("page_token")?);
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.letters(&machine, &which, limit, page_token.as_deref())?)
}

/// Put the dead letter of one firing aside. Idempotent; the ledger keeps the story.
#[utoipa::path(
    delete, path = "/v1/dead_letters/{firing}", operation_id = "discard_dead_letter", tag = "dead letters",
    params(
        ("firing" = String, Path, description = "`frg_` and 32 characters."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    responses((status = 204, description = "It has no dead letter any more.")),
)]
pub(crate) async fn delete(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(firing): Path<String>,
    uri: Uri,
) -> Answered {
    Params::of(uri.query()).close()?;
    app.service.discard_letter(&caller, id_of(&firing)?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Put many dead letters aside.
#[utoipa::path(
    post, path = "/v1/dead_letters/discard", operation_id = "discard_dead_letters", tag = "dead letters",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body = LetterFilter,
    responses((status = 200, description = "How many they were.", body = DiscardedLetters)),
)]
pub(crate) async fn discard(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let which = read_discard(&Body::parse(&body)?)?;
    ok(&app.service.discard_letters(&caller, which).await?)
}

/// Run many dead letters again, those that ended first, under the definitions in force. Asking again for what is left goes
/// on; asking again under the same key does not do it twice.
#[utoipa::path(
    post, path = "/v1/dead_letters/rerun", operation_id = "rerun_dead_letters", tag = "dead letters",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "The same key runs none twice for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body = LetterRerun,
    responses((status = 200, description = "Those that run again, those that cannot, and how many are left.", body = Rerun)),
)]
pub(crate) async fn rerun(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let order = read_letter_rerun(&Body::parse(&body)?)?;
    ok(&app.service.rerun_letters(&caller, &order).await?)
}

fn which(params: &mut Params) -> Result<Which, Problem> {
    let words = LETTER_STATES.map(|(word, _)| word);
    let state = params.word("state", &words)?;
    let state = LETTER_STATES.iter().find(|(word, _)| Some(*word) == state).map(|(_, state)| *state);
    let schedule = params.one("schedule")?.map(|text| {
        ScheduleName::parse(&text).map_err(|bad| {
            Problem::bad_request(format!("the query parameter \"schedule\": the {} {}", bad.segment, bad.why))
        })
    });
    Ok(Which {
        schedule: schedule.transpose()?,
        namespace: params.one("namespace")?.map(Into::into),
        queue: params.one("queue")?.map(Into::into),
        state,
        after: params.instant("after")?,
        before: params.instant("before")?,
    })
}
