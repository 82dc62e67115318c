//! `/v1/ledger/stream`: the facts as they are decided, as server-sent events.
//!
//! ```text
//! id: 42.0            the position: `Last-Event-ID` goes on behind it, at any node
//! event: row          or `at` (nothing that is wanted, up to here), `behind`, `expired`
//! data: {…}           a row as in `/v1/ledger`
//! ```
//! The text of the protocol is made here and nowhere else; what is told, and when, is [`crate::service::stream`]'s.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::Response;
use bytes::Bytes;
use campanile_core::definition::ScheduleName;
use futures_util::stream::unfold;
use serde_json::{Value, json};

use super::App;
use super::answer::Answered;
use super::conditions::one_header;
use super::query::Params;
use crate::problem::Problem;
use crate::service::records::parse_position;
use crate::service::records::sieve::Sieve;
use crate::service::stream::{Start, Stream, Told};
use crate::wire::ledger::{Fact, Row};
use crate::wire::text::did_you_mean;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The first line: how long a browser waits before it comes back, in milliseconds.
const OPENING: &str = "retry: 1000\n\n";

/// The facts in the order of the log, each once, as they are decided: server-sent events, without an end.
#[utoipa::path(
    get, path = "/v1/ledger/stream", operation_id = "stream_ledger", tag = "ledger",
    params(
        ("after" = Option<String>, Query, description = "Behind this position, `index.n`; `now` for what is to come; from the oldest row by default."),
        ("Last-Event-ID" = Option<String>, Header, description = "The same, of a stream that goes on; it goes before `after`."),
        ("type" = Option<Vec<String>>, Query, description = "Facts of these types only; repeated, or with commas between."),
        ("schedule" = Option<String>, Query, description = "Facts of this schedule only, `namespace/name`."),
    ),
    responses(
        (status = 200, description = "Events `row` (its `data` is a row), `at` (where the stream is, when nothing that is wanted came), \
            `behind` (about how many rows wait for this reader) and `expired`; a comment every 15 s of silence.",
            body = Row, content_type = "text/event-stream"),
        (status = 410, description = "`watch_expired`: retention has dropped rows behind the position. The detail names the oldest that is kept."),
        (status = 429, description = "`rate_limited`: too many streams are open at this node."),
    ),
)]
pub(crate) async fn stream(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    let after = params.one("after")?;
    let sieve = sieve(&mut params)?;
    params.close()?;
    let start = start(one_header(&headers, &LAST_EVENT_ID)?.map(str::to_owned).or(after))?;
    let stream = app.service.stream(start, sieve).await?;
    let body = unfold((stream, Some(OPENING)), |(stream, opening)| next(stream, opening));
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // What stands between here and a reader must not gather rows.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

type Piece = Result<Bytes, Infallible>;
type Next = (Stream, Option<&'static str>);

async fn next(mut stream: Stream, opening: Option<&'static str>) -> Option<(Piece, Next)> {
    let text = match opening {
        Some(opening) => opening.to_owned(),
        None => text_of(&stream.next().await?),
    };
    Some((Ok(text.into()), (stream, None)))
}

fn text_of(told: &Told) -> String {
    match told {
        Told::Rows(rows) => rows.iter().map(|row| event(Some(&row.position), "row", &json_of(row))).collect(),
        Told::At(position) => {
            let position = position.to_string();
            event(Some(&position), "at", &json!({ "position": &position }).to_string())
        }
        Told::Behind(rows) => event(None, "behind", &json!({ "rows": rows }).to_string()),
        Told::Expired => event(None, "expired", &json!({ "code": "watch_expired" }).to_string()),
        Told::Quiet => ": nothing new\n\n".to_owned(),
    }
}

fn json_of(row: &Row) -> String {
    // As in every answer: what could fail is not in a row.
    serde_json::to_string(row).unwrap_or_else(|_| Value::Null.to_string())
}

/// JSON of one line has no line break in it, so one `data` line is enough.
fn event(id: Option<&str>, kind: &str, data: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {kind}\ndata: {data}\n\n")
}

fn start(after: Option<String>) -> Result<Start, Problem> {
    let Some(text) = after.filter(|text| !text.is_empty()) else { return Ok(Start::Oldest) };
    if text == "now" {
        return Ok(Start::Now);
    }
    parse_position(&text).map(Start::Behind).ok_or_else(|| {
        Problem::bad_request(format!("{text:?} is no position: index.n, such as 42.0, or \"now\""))
    })
}

/// Which facts are wanted: `type` and `schedule`.
pub(super) fn sieve(params: &mut Params) -> Result<Sieve, Problem> {
    let types = types(&params.all("type"))?;
    let schedule = params.one("schedule")?.map(|text| schedule(&text)).transpose()?;
    Ok(Sieve::new(types, schedule))
}

fn types(given: &[String]) -> Result<Vec<&'static str>, Problem> {
    let words = given.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|word| !word.is_empty());
    let known = |word: &str| Fact::WORDS.iter().find(|known| **known == word).copied();
    words
        .map(|word| {
            known(word).ok_or_else(|| {
                let hint = did_you_mean(word, Fact::WORDS);
                Problem::bad_request(format!("the query parameter \"type\" does not know {word:?}: {hint}"))
            })
        })
        .collect()
}

fn schedule(text: &str) -> Result<ScheduleName, Problem> {
    ScheduleName::parse(text).map_err(|bad| {
        Problem::bad_request(format!("the query parameter \"schedule\": the {} {}", bad.segment, bad.why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_position_now_or_the_oldest_row() {
        let of = |text: &str| start(Some(text.to_owned()));
        assert_eq!(start(None), Ok(Start::Oldest));
        assert_eq!(of(""), Ok(Start::Oldest));
        assert_eq!(of("now"), Ok(Start::Now));
        assert_eq!(of("7.3"), Ok(Start::Behind(campanile_storage::ledger::Position::new(7, 3))));
        assert!(of("later").is_err());
    }

    #[test]
    fn types_are_listed_either_way_and_a_misspelt_one_is_refused() {
        let given = ["fired, skipped".to_owned(), "settled".to_owned()];
        assert_eq!(types(&given), Ok(vec!["fired", "skipped", "settled"]));
        assert!(types(&["fird".to_owned()]).is_err_and(|problem| problem.detail.contains("fired")));
    }
}
