//! `GET /v1/backup` and `POST /v1/restore`: one file, out and in, in pieces of its own size and not of a request's.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::answer::{Answered, json};
use super::query::Params;
use crate::backup::{Backups, Restores};
use crate::problem::{Code, Problem};

/// The media type of a backup.
const MEDIA_TYPE: &str = "application/vnd.campanile.backup";

/// What a node keeps for its users: the ways out and in.
#[derive(Clone)]
pub struct Keeping {
    /// Takes backups.
    pub backups: Backups,
    /// Takes one in.
    pub restores: Restores,
}

/// A backup that was taken in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Staged {
    /// The last log entry in it.
    index: u64,
    /// Schedules in it.
    schedules: usize,
    /// Rows of the ledger in it.
    rows: u64,
    /// What to do now.
    next: &'static str,
}

/// Everything that this node had applied when it was asked, as one file: state and ledger. Secrets are in it in plain text.
/// A body that breaks off is no backup.
#[utoipa::path(
    get, path = "/v1/backup", operation_id = "take_backup", tag = "cluster",
    responses(
        (status = 200, description = "The file.", content_type = "application/vnd.campanile.backup", body = Vec<u8>),
        (status = 429, description = "Another one is being taken of this node."),
    ),
)]
pub(crate) async fn take(State(app): State<App>, uri: Uri) -> Answered {
    Params::of(uri.query()).close()?;
    let (note, pieces) = keeping(&app)?.backups.begin().await?;
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    // A name of ASCII without quotes: the cluster's is checked where it is configured.
    let name = format!("attachment; filename=\"{}-{}.campanile\"", note.cluster, note.index);
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// Give a backup to this node, which must be the whole of an empty cluster: it begins with it when it is restarted.
#[utoipa::path(
    post, path = "/v1/restore", operation_id = "restore_backup", tag = "cluster",
    request_body(content = Vec<u8>, content_type = "application/vnd.campanile.backup", description = "The file."),
    responses(
        (status = 202, description = "It is whole, and staged: restart the node.", body = Staged),
        (status = 409, description = "The cluster is not empty, or has more nodes."),
    ),
)]
pub(crate) async fn restore(State(app): State<App>, uri: Uri, request: Request) -> Answered {
    Params::of(uri.query()).close()?;
    let body = request.into_body().into_data_stream();
    let contents = keeping(&app)?.restores.take(&app.service, body).await?;
    let next = "restart this node: it begins with this backup, and takes no writes until then";
    let staged = Staged { index: contents.index, schedules: contents.schedules, rows: contents.rows, next };
    Ok(json(StatusCode::ACCEPTED, &staged))
}

fn keeping(app: &App) -> Result<&Keeping, Problem> {
    app.keeping.as_ref().ok_or_else(|| Problem::new(Code::NotReady, "this node keeps nothing on a disk"))
}
