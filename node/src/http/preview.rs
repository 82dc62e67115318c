//! `/v1/preview`: specs without storing them. Any node answers, and nothing is proposed.

use axum::body::Body;
use axum::extract::State;
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::body::read_body;
use super::query::Params;
use crate::problem::{Code, Problem};
use crate::wire::payload::Body as JsonBody;
use crate::wire::preview::{Preview, PreviewRequest, read_question};

/// What specs would do.
#[utoipa::path(
    post, path = "/v1/preview", operation_id = "preview", tag = "schedules",
    request_body = PreviewRequest,
    responses((status = 200, description = "English, the next instants, and warnings.", body = Preview)),
)]
pub(crate) async fn preview(State(app): State<App>, uri: Uri, body: Body) -> Answered {
    Params::of(uri.query()).close()?;
    let question = read_question(&JsonBody::parse(&read_body(body).await?)?)?;
    // Rare patterns are searched far ahead: not on a thread that others wait for.
    let told = tokio::task::spawn_blocking(move || {
        let machine = app.service.quorum().view();
        app.service.preview(&machine, &question)
    })
    .await;
    ok(&told.unwrap_or_else(|_| Err(Problem::new(Code::Internal, "evaluating the specs panicked")))?)
}
