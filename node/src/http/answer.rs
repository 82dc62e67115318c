//! Answers: JSON, problems, entity tags.
//!
//! The one place where a [`Problem`] becomes an HTTP answer.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use campanile_core::id::LogIndex;
use campanile_core::reply::Change;
use serde::Serialize;

use crate::problem::{Code, Problem};
use crate::service::frame::{UndoneKind, Unfinished};
use crate::service::quorum::Undone;
use crate::service::write::Failure;

/// What a handler gives back.
pub(crate) type Answered = Result<Response, Refused>;

/// How far this node's view was when it answered.
pub(crate) const APPLIED_INDEX: HeaderName = HeaderName::from_static("campanile-applied-index");

/// A request that was not done.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Failure);

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(problem.into())
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self.0 {
            Failure::Problem(problem) => problem_answer(&problem),
            Failure::Undone(undone) => undone_answer(&undone),
        }
    }
}

/// An answer that only the relay sees: its mark says whether it may ask again without knowing more.
fn undone_answer(undone: &Undone) -> Response {
    let mark = Unfinished::from(undone);
    let code = match (undone, mark.kind) {
        (Undone::Stopped(_), _) => Code::NotReady,
        (_, UndoneKind::NotSent) => Code::NoQuorum,
        (_, UndoneKind::Unknown) => Code::UnknownOutcome,
    };
    let mut response = problem_answer(&Problem::new(code, mark.why.clone()));
    response.extensions_mut().insert(mark);
    response
}

/// A problem as RFC 9457 has it.
pub(crate) fn problem_answer(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_of(status, problem, "application/problem+json");
    let headers = response.headers_mut();
    match problem.code {
        Code::Unauthenticated => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"campanile\""));
        }
        Code::RateLimited | Code::NoQuorum | Code::NotReady => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}

/// JSON with a status.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    json_of(status, value, "application/json")
}

/// JSON with 200.
pub(crate) fn ok(value: &impl Serialize) -> Answered {
    Ok(json(StatusCode::OK, value))
}

fn json_of(status: StatusCode, value: &impl Serialize, content_type: &'static str) -> Response {
    // Answers are structs of texts, numbers and lists: what could fail (a map with a key that is no text) is not in them.
    let body = serde_json::to_vec(value).unwrap_or_else(|_| b"{}".to_vec());
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// What was put, as it stands now: 201 when it was not there before.
pub(crate) fn put(change: Change, value: &impl Serialize, index: LogIndex) -> Response {
    let status = if change == Change::Created { StatusCode::CREATED } else { StatusCode::OK };
    with_etag(json(status, value), index)
}

/// The same with the entity tag of a schedule: the log index of its last change.
pub(crate) fn with_etag(mut response: Response, index: LogIndex) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{index}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
