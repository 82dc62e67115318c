//! `/v1/explain`: why a schedule ran, or did not, at an instant.

use axum::extract::State;
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::conditions::Named;
use super::query::Params;
use crate::wire::explain::Explanation;

/// Why a schedule ran, or did not, at an instant: a paragraph, and the facts that it is made of. Schedules that are gone are
/// found by their old name.
#[utoipa::path(
    get, path = "/v1/explain/{namespace}/{name}", operation_id = "explain", tag = "firings",
    params(
        ("namespace" = String, Path), ("name" = String, Path),
        ("at" = Option<String>, Query, description = "The instant; now when it is left out."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses((status = 200, description = "Why it ran or did not.", body = Explanation)),
)]
pub(crate) async fn explain(State(app): State<App>, Named(name): Named, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let at = params.instant("at")?;
    let consistency = params.consistency()?;
    params.close()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.explain(machine, name, at).await?)
}
