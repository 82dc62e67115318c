//! `/v1/apply`: a set of schedules in one command.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::query::Params;
use crate::service::write::Caller;
use crate::wire::apply::{Applied, ApplyRequest, read_apply};

/// Put a set of schedules, and remove those that carry a label and are not in it: all or nothing.
#[utoipa::path(
    post, path = "/v1/apply", operation_id = "apply", tag = "schedules",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gets the same answer for 24 hours."),
        ("forward" = Option<bool>, Query, description = "`false`: 421 with the leader's address instead of forwarding."),
    ),
    request_body = ApplyRequest,
    responses((
        status = 200,
        description = "What became of each, by name. A set that is larger than an entry of the log is 413: apply it in parts.",
        body = Applied,
    )),
)]
pub(crate) async fn apply(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    body: Bytes,
) -> Answered {
    Params::of(uri.query()).close()?;
    let order = app.service.think_for_write(move |_| read_apply(&body)).await?;
    let applied = match order.dry_run {
        true => app.service.apply_dry(order).await?,
        false => app.service.apply(&caller, order).await?,
    };
    ok(&applied)
}
