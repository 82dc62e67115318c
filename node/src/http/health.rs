//! `/livez`, `/readyz`, `/metrics`: for machines that watch machines.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::App;
use super::answer::problem_answer;
use crate::problem::{Code, Problem};

/// What prometheus-client writes.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The process answers.
pub(crate) async fn livez() -> &'static str {
    "ok\n"
}

/// The node can serve: 503 with each reason when it cannot.
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    let reasons = (app.not_ready)();
    if reasons.is_empty() {
        return "ok\n".into_response();
    }
    problem_answer(&Problem::new(Code::NotReady, reasons.join("; ")))
}

/// The metrics of this node.
pub(crate) async fn metrics(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, OPEN_METRICS)], (app.metrics)()).into_response()
}
