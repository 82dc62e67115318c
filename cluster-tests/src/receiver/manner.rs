//! How a receiver answers: well, badly, late, or in the ways that a sender must not fall for.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use campanile_core::time::Span;

/// How calls to a path are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// With this status, at once.
    Status(u16),
    /// With this status, after a while.
    After(Duration, u16),
    /// Attempts up to this number with 503, later ones with 200.
    FailFirst(u32),
    /// Attempts up to this number with this status and a `Retry-After`, later ones with 200.
    BusyFirst {
        /// Up to this number.
        failing: u32,
        /// 429 or 503.
        status: u16,
        /// In whole seconds, as the header has it.
        retry_after: u32,
    },
    /// Never.
    Hang,
    /// With 302, to this path of the same receiver.
    Redirect(&'static str),
    /// After a while: with 200 when the fencing token is greater than every one before of the schedule, else with 412.
    Fenced(Duration),
}

/// The answer to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) retry_after: Option<u32>,
    location: Option<&'static str>,
}

impl Manner {
    /// What the call is answered with, as far as it is answered at all; `accepted` says whether its token is the greatest.
    pub(super) async fn answer(self, attempt: u32, accepted: bool) -> Answer {
        match self {
            Self::Status(status) => Answer::status(status),
            Self::FailFirst(failing) => Answer::status(if attempt <= failing { 503 } else { 200 }),
            Self::BusyFirst { failing, status, retry_after } if attempt <= failing => {
                Answer { retry_after: Some(retry_after), ..Answer::status(status) }
            }
            Self::BusyFirst { .. } => Answer::status(200),
            Self::After(wait, status) => {
                tokio::time::sleep(wait).await;
                Answer::status(status)
            }
            Self::Hang => std::future::pending().await,
            Self::Redirect(path) => Answer { location: Some(path), ..Answer::status(302) },
            Self::Fenced(wait) => {
                tokio::time::sleep(wait).await;
                Answer::status(if accepted { 200 } else { 412 })
            }
        }
    }
}

impl Answer {
    fn status(status: u16) -> Self {
        Self { status, retry_after: None, location: None }
    }

    /// How long the sender is asked to wait.
    pub(super) fn asked_to_wait(&self) -> Option<Span> {
        self.retry_after.map(|seconds| Span::from_secs(seconds.into()))
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        let headers = [
            ("retry-after", self.retry_after.map(|seconds| seconds.to_string())),
            ("location", self.location.map(str::to_owned)),
        ];
        for (name, value) in headers {
            if let Some(value) = value.and_then(|value| value.parse().ok()) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
