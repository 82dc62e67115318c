//! `/v1/ledger`: the facts in the order of the log.

use axum::extract::State;
use axum::http::Uri;

use super::App;
use super::answer::{Answered, ok};
use super::query::Params;
use super::stream::sieve;
use crate::problem::Problem;
use crate::service::records::parse_position;
use crate::wire::ledger::Row;
use crate::wire::page::Page;

/// Rows of the ledger of the node that answers, in the order of the log.
#[utoipa::path(
    get, path = "/v1/ledger", operation_id = "list_ledger", tag = "ledger",
    params(
        ("after" = Option<String>, Query, description = "Behind this position, `index.n`; from the oldest row by default."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 by default."),
        ("page_token" = Option<String>, Query, description = "The `next_page_token` of the page before; the same as `after`."),
        ("type" = Option<Vec<String>>, Query, description = "Facts of these types only; repeated, or with commas between."),
        ("schedule" = Option<String>, Query, description = "Facts of this schedule only, `namespace/name`, in every incarnation of that name."),
        ("consistency" = Option<String>, Query, description = "`linearizable` (default) or `stale`."),
    ),
    responses(
        (status = 200, description = "A page of rows. With a filter it may be short, or empty, and still have a next one.", body = Page<Row>),
        (status = 410, description = "`watch_expired`: retention has dropped rows behind the position. The detail names the oldest that is kept: \
            begin again without a position."),
    ),
)]
pub(crate) async fn rows(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let after = params.one("after")?;
    let token = params.one("page_token")?;
    let limit = params.limit()?;
    let sieve = sieve(&mut params)?;
    let consistency = params.consistency()?;
    params.close()?;
    let after = token.or(after).map(|text| {
        parse_position(&text)
            .ok_or_else(|| Problem::bad_request(format!("{text:?} is no position: index.n, such as 42.0")))
    });
    let after = after.transpose()?;
    let machine = app.service.read(consistency).await?;
    ok(&app.service.records().ledger_page(machine, after, limit, sieve).await?)
}
