//! `/v1/ledger/export`: the whole ledger of one node as one file.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Uri, header};
use axum::response::Response;
use futures_util::stream::unfold;

use super::App;
use super::answer::Answered;
use super::query::Params;

/// Every row that this node holds, as one file that carries its checksums and the running hash of each row. It is whole
/// only with its end: a download that breaks off has none.
#[utoipa::path(
    get, path = "/v1/ledger/export", operation_id = "export_ledger", tag = "ledger",
    responses(
        (status = 200, description = "An archive, as `campanile verify` reads it.", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 429, description = "`rate_limited`: others export at this node."),
    ),
)]
pub(crate) async fn export(State(app): State<App>, uri: Uri) -> Answered {
    Params::of(uri.query()).close()?;
    let export = app.service.export()?;
    let pieces = unfold(export, |mut export| async move { Some((export.next().await?, export)) });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
