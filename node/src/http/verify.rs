//! `/v1/verify`: whether the ledger of the node that answers accounts for every instant.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::Response;
use bytes::Bytes;
use campanile_core::verify::Scope;
use futures_util::stream::unfold;
use serde::Serialize;

use super::App;
use super::answer::{Answered, ok};
use super::query::Params;
use crate::problem::Problem;
use crate::service::verify::{News, Verification};
use crate::verify::{Asked, KnownHead, NoHead};
use crate::wire::verify::{Progress, Verdict};

const EVENTS: &str = "text/event-stream";

/// Re-derive every nominal instant from the definitions in the ledger of the node that answers, and compare with what was
/// decided; check the hash chain of its rows.
#[utoipa::path(
    get, path = "/v1/verify", operation_id = "verify", tag = "ledger",
    params(
        ("namespace" = Option<String>, Query, description = "Only schedules of this namespace."),
        ("after" = Option<String>, Query, description = "Only instants after this one."),
        ("until" = Option<String>, Query, description = "Only instants up to this one. Later than the last row it says that the ledger is whole up to here."),
        ("head" = Option<Vec<String>>, Query, description = "A head of the ledger that you have kept, `index.n:hash` as in `ledger` of `/v1/cluster`: the chain breaks where the rows do not reach it with this hash; repeated, or with commas between."),
        ("Accept" = Option<String>, Header, description = "`text/event-stream`: events `progress` (`{rows, of}`), then `verdict` or `problem`."),
    ),
    responses(
        (status = 200, description = "What it came to, clean or not.", body = Verdict),
        (status = 429, description = "`rate_limited`: this node verifies for somebody else."),
    ),
)]
pub(crate) async fn verify(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let scope = Scope {
        namespace: params.one("namespace")?.map(Into::into),
        after: params.instant("after")?,
        until: params.instant("until")?,
        ..Scope::default()
    };
    let heads = heads(&params.all("head"))?;
    params.close()?;
    let verification = app.service.verify(Asked { scope, heads })?;
    if wants_events(&headers) {
        return Ok(events(verification));
    }
    ok(&verification.verdict().await?)
}

fn heads(given: &[String]) -> Result<Vec<KnownHead>, Problem> {
    let refused = |text: &str, why: NoHead| Problem::bad_request(format!("{text:?} is no head: {why}"));
    let texts = given.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|text| !text.is_empty());
    texts.map(|text| text.parse().map_err(|why| refused(text, why))).collect()
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == EVENTS))
}

/// The client takes an event before the next one is made, so that what it misses is only how far it was.
fn events(verification: Verification) -> Response {
    let body = unfold(Some(verification), |running| async {
        let mut running = running?;
        let (text, last) = match running.next().await {
            News::Progress(progress) => {
                let told = Progress { rows: progress.done, of: progress.of };
                (event("progress", &told), false)
            }
            News::Verdict(verdict) => (event("verdict", &*verdict), true),
            News::Problem(problem) => (event("problem", &*problem), true),
        };
        Some((Ok::<_, Infallible>(text), (!last).then_some(running)))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn event(name: &str, data: &impl Serialize) -> Bytes {
    // Structs of texts, numbers and lists: nothing in them can fail, and JSON has no line breaks of its own.
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into()
}
