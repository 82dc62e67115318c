//! `/v1/hosts`: which hosts the node that answers sends to, and which of them it asks less often.

use axum::extract::State;
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::query::Params;
use crate::wire::host::Hosts;

/// The hosts that the node that answers sends to, or that do not answer it. Needs no majority.
#[utoipa::path(
    get, path = "/v1/hosts", operation_id = "list_hosts", tag = "cluster",
    responses((status = 200, description = "Requests under way and circuits.", body = Hosts)),
)]
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Answered {
    Params::of(uri.query()).close()?;
    ok(&Hosts { node: app.service.quorum().node().0, items: (app.hosts)() })
}
