//! One try: a [`Call`] to one endpoint, and what came of it, sorted by whether another try may help.

use std::error::Error as _;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderMap, IF_MATCH, IF_NONE_MATCH, LOCATION,
};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;

use super::call::Content;
use super::{Call, Condition, Endpoint, Error, Problem, Token};

/// The largest answer that is read: a page of 1,000 definitions of 90 KiB each. More is not an answer of ours.
const MAX_ANSWER: usize = 128 * 1024 * 1024;

/// What a node answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status, 200 to 299.
    pub status: u16,
    /// The body; a text that is no JSON is a string, nothing is null.
    pub body: Value,
    /// The entity tag.
    pub etag: Option<String>,
    /// The log index up to which the answering node had applied.
    pub applied_index: Option<u64>,
}

/// What came of one try that was not answered well.
pub(super) enum Outcome {
    /// No, and asking another node does not help.
    Final(Error),
    /// No, but another node, or this one a moment later, may say yes.
    Later(Box<Problem>),
    /// Nothing was sent.
    NotSent(String),
    /// It was sent, or may have been, and nothing came back.
    Lost(String),
}

pub(super) async fn ask(
    http: &reqwest::Client,
    endpoint: &Endpoint,
    token: Option<&Token>,
    call: &Call,
    limit: Duration,
) -> Result<Answer, Outcome> {
    match dressed(http, endpoint, token, call).timeout(limit).send().await {
        Ok(response) => read(endpoint, response, call.is_raw).await,
        Err(error) => Err(unsent(&error, limit)),
    }
}

/// Asks for an answer whose body is read as it comes: it has begun within `limit`, and may take as long as it likes.
pub(super) async fn open(
    http: &reqwest::Client,
    endpoint: &Endpoint,
    token: Option<&Token>,
    call: &Call,
    limit: Duration,
) -> Result<Response, Outcome> {
    match tokio::time::timeout(limit, dressed(http, endpoint, token, call).send()).await {
        Err(_) => Err(Outcome::Lost(format!("no answer within {:.1}s", limit.as_secs_f32()))),
        Ok(Err(error)) => Err(unsent(&error, limit)),
        Ok(Ok(response)) if response.status().is_success() => Ok(response),
        Ok(Ok(response)) => {
            let (status, headers) = (response.status(), response.headers().clone());
            let bytes = whole_body(endpoint, response).await?;
            Err(refused(endpoint, status, &headers, &json(&bytes)))
        }
    }
}

/// No answer: nothing was sent, or nobody knows.
fn unsent(error: &reqwest::Error, limit: Duration) -> Outcome {
    if error.is_builder() {
        Outcome::Final(Error::Unusable(chain(error)))
    } else if error.is_connect() {
        Outcome::NotSent(connect_trouble(error))
    } else {
        Outcome::Lost(lost(error, limit))
    }
}

/// The request as it is sent.
fn dressed(
    http: &reqwest::Client,
    endpoint: &Endpoint,
    token: Option<&Token>,
    call: &Call,
) -> RequestBuilder {
    let mut request = http.request(call.method.clone(), endpoint.join(&call.path, &call.query));
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, token.header());
    }
    if let Some(key) = &call.key {
        request = request.header("Idempotency-Key", key);
    }
    if let Some(accept) = call.accept {
        request = request.header(ACCEPT, accept);
    }
    if let Some(id) = &call.last_event {
        request = request.header("Last-Event-ID", id);
    }
    request = match &call.condition {
        Condition::None => request,
        Condition::Absent => request.header(IF_NONE_MATCH, "*"),
        Condition::Unchanged(etag) => request.header(IF_MATCH, etag),
    };
    match &call.body {
        None => request,
        Some(Content::Json(body)) => request.json(body),
        Some(Content::Text(text, media_type)) => request.header(CONTENT_TYPE, *media_type).body(text.clone()),
    }
}

async fn read(endpoint: &Endpoint, response: Response, is_raw: bool) -> Result<Answer, Outcome> {
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = whole_body(endpoint, response).await?;
    if !status.is_success() {
        return Err(refused(endpoint, status, &headers, &json(&bytes)));
    }
    let is_text = is_raw && !bytes.is_empty();
    Ok(answer(status, &headers, if is_text { text(&bytes) } else { json(&bytes) }))
}

/// What an answer means that is none of success.
fn refused(endpoint: &Endpoint, status: StatusCode, headers: &HeaderMap, body: &Value) -> Outcome {
    match Problem::read(status.as_u16(), body) {
        Some(problem) if problem.may_pass() => Outcome::Later(Box::new(problem)),
        Some(problem) => Outcome::Final(Error::Problem(Box::new(problem))),
        None if status.is_redirection() => Outcome::Final(Error::Unusable(redirected(endpoint, headers))),
        None => foreign(endpoint, status),
    }
}

/// A text that is no JSON is a string, nothing is null.
fn json(bytes: &[u8]) -> Value {
    if bytes.is_empty() { Value::Null } else { serde_json::from_slice(bytes).unwrap_or_else(|_| text(bytes)) }
}

fn text(bytes: &[u8]) -> Value {
    Value::String(String::from_utf8_lossy(bytes).into_owned())
}

fn answer(status: StatusCode, headers: &HeaderMap, body: Value) -> Answer {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Answer {
        status: status.as_u16(),
        body,
        etag: text(ETAG.as_str()),
        applied_index: text("campanile-applied-index").and_then(|index| index.parse().ok()),
    }
}

/// The body, unless it is larger than any answer of ours.
async fn whole_body(endpoint: &Endpoint, mut response: Response) -> Result<Vec<u8>, Outcome> {
    let (status, mut bytes) = (response.status(), Vec::new());
    while let Some(chunk) = response.chunk().await.map_err(|error| Outcome::Lost(chain(&error)))? {
        if bytes.len() + chunk.len() > MAX_ANSWER {
            return Err(foreign(endpoint, status));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn foreign(endpoint: &Endpoint, status: StatusCode) -> Outcome {
    Outcome::Final(Error::Foreign { endpoint: endpoint.to_string(), status: status.as_u16() })
}

fn redirected(endpoint: &Endpoint, headers: &HeaderMap) -> String {
    let to = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("elsewhere");
    format!("{endpoint} redirects to {to}; redirects are not followed, name that address if it is right")
}

/// "Connection refused", without the five layers around it.
fn connect_trouble(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no connection in time".to_owned();
    }
    innermost(error)
}

fn lost(error: &reqwest::Error, limit: Duration) -> String {
    if error.is_timeout() {
        return format!("no answer within {:.1}s", limit.as_secs_f32());
    }
    innermost(error)
}

pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut error: &dyn std::error::Error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// An error with all its causes.
pub(super) fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
