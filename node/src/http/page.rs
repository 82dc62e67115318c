//! `/`: a plain page for whoever opens the address in a browser. It says what this is and what comes next.
//!
//! Everything of a user is escaped. Behind a gate it shows no schedule to a browser that has no token.

use std::fmt::Write;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};

use super::App;
use crate::service::list::{Filter, Sort};
use crate::wire::schedule::Schedule;

/// How many schedules the page shows.
const SHOWN: usize = 50;
/// Nothing is loaded and nothing runs on this page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// The page.
pub(crate) async fn page(State(app): State<App>, headers: HeaderMap) -> Response {
    let allowed = app.gate.as_ref().is_none_or(|gate| gate(&headers).is_ok());
    let body = format!("{HEAD}{}{TAIL}", if allowed { schedules(&app) } else { LOCKED.to_owned() });
    let mut response = Html(body).into_response();
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Campanile</title>\
<style>body{font:1rem/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884}\
</style></head><body><h1>Campanile</h1>\
<p>A highly available cron: this node is one of a cluster that decides every instant exactly once. \
The API is described at <a href=\"/v1/openapi.json\">/v1/openapi.json</a>; the command line is <code>campanile</code>.</p>";
const LOCKED: &str = "<p>Schedules are shown to requests with a bearer token.</p>";
const TAIL: &str = "</body></html>\n";

/// The next schedules to fire, as this node knows them: the page needs no majority.
fn schedules(app: &App) -> String {
    let machine = app.service.quorum().view();
    let filter = Filter {
        namespace: None,
        labels: Vec::new(),
        state: None,
        q: None,
        sort: Sort::Next,
        limit: SHOWN,
        page_token: None,
    };
    let Ok(next) = app.service.list(&machine, &filter) else { return String::new() };
    let mut html = format!(
        "<p>{} schedules, {} firings not settled.</p>",
        machine.schedule_count(),
        machine.live_count()
    );
    html.push_str("<table><tr><th>schedule<th>when<th>next<th>last</tr>");
    next.items.iter().for_each(|schedule| row(&mut html, schedule));
    html.push_str("</table>");
    html
}

fn row(html: &mut String, schedule: &Schedule) {
    let status = &schedule.status;
    let next = status.next.first().map(ToString::to_string).unwrap_or_default();
    let last =
        status.last.as_ref().map(|last| format!("{} at {}", last.state, last.nominal)).unwrap_or_default();
    // Writing to a text cannot fail.
    let _ = write!(
        html,
        "<tr><td>{}/{}<td>{}<td>{next}<td>{}</tr>",
        escape(&schedule.namespace),
        escape(&schedule.name),
        escape(&status.text),
        escape(&last),
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
