//! `/v1/preview`: specs without storing them. Any node answers, and nothing is proposed.

use axum::body::Body;
use axum::extract::State;
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::body::read_body;
use super::query::Params;
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
    let body = read_body(body).await?;
    let told = app.service.think(move |service| {
        let question = read_question(&JsonBody::parse(&body)?)?;
        service.preview(&service.quorum().view(), &question)
    });
    ok(&told.await?)
}
