//! What a user is told when a request cannot be done: RFC 9457 `application/problem+json`, one type for every answer.
//!
//! A problem says what is wrong, where, and what to do about it. It knows nothing of HTTP beyond the number of a status:
//! `crate::http` turns it into an answer.

use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The stable name of a problem. Each has one status, so that a client may look at either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The request is no JSON, or a header or query parameter cannot be read.
    BadRequest,
    /// The body is JSON, but not what a schedule, or an order to one, may hold.
    InvalidSchedule,
    /// The body has a field that is not known.
    UnknownField,
    /// No valid bearer token came with the request.
    Unauthenticated,
    /// The token does not allow this.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// There is such a path, but not with this method.
    MethodNotAllowed,
    /// It exists already.
    AlreadyExists,
    /// Another firing of the schedule runs, and its overlap policy skips then.
    Overlap,
    /// Others name it, so it cannot go.
    InUse,
    /// It does not fit how things stand: a re-run of what has not fired, a mark of what is paused.
    Conflict,
    /// It was changed since the `If-Match` of the request was read.
    VersionConflict,
    /// The idempotency key was used for another request.
    IdempotencyMismatch,
    /// The attempt belongs to somebody else by now.
    LeaseLost,
    /// Retention has dropped rows behind the position that a watcher has reached.
    WatchExpired,
    /// The body is larger than a request may be.
    PayloadTooLarge,
    /// This node does not lead, and the request asked not to be forwarded.
    NotLeader,
    /// More requests are under way, or more of something exists, than the cluster allows.
    RateLimited,
    /// A defect: the request was stopped, the node lives on.
    Internal,
    /// No majority of nodes can be reached.
    NoQuorum,
    /// The node is starting or stopping.
    NotReady,
    /// No answer came in time; the request may have been done.
    UnknownOutcome,
}

impl Code {
    /// Every code, in the order of the statuses; the OpenAPI document and the tests go through it.
    pub const ALL: [Self; 22] = [
        Self::BadRequest,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::AlreadyExists,
        Self::Overlap,
        Self::InUse,
        Self::Conflict,
        Self::LeaseLost,
        Self::WatchExpired,
        Self::VersionConflict,
        Self::PayloadTooLarge,
        Self::NotLeader,
        Self::InvalidSchedule,
        Self::UnknownField,
        Self::IdempotencyMismatch,
        Self::RateLimited,
        Self::Internal,
        Self::NoQuorum,
        Self::NotReady,
        Self::UnknownOutcome,
    ];

    /// The HTTP status that goes with it.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::AlreadyExists | Self::Overlap | Self::InUse | Self::Conflict | Self::LeaseLost => 409,
            Self::WatchExpired => 410,
            Self::VersionConflict => 412,
            Self::PayloadTooLarge => 413,
            Self::NotLeader => 421,
            Self::InvalidSchedule | Self::UnknownField | Self::IdempotencyMismatch => 422,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::NoQuorum | Self::NotReady => 503,
            Self::UnknownOutcome => 504,
        }
    }

    /// Its name as it stands in `code`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::InvalidSchedule => "invalid_schedule",
            Self::UnknownField => "unknown_field",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::AlreadyExists => "already_exists",
            Self::InUse => "in_use",
            Self::Conflict => "conflict",
            Self::Overlap => "overlap",
            Self::VersionConflict => "version_conflict",
            Self::IdempotencyMismatch => "idempotency_mismatch",
            Self::LeaseLost => "lease_lost",
            Self::WatchExpired => "watch_expired",
            Self::PayloadTooLarge => "payload_too_large",
            Self::NotLeader => "not_leader",
            Self::RateLimited => "rate_limited",
            Self::Internal => "internal",
            Self::NoQuorum => "no_quorum",
            Self::NotReady => "not_ready",
            Self::UnknownOutcome => "unknown_outcome",
        }
    }

    /// The same for every problem of this code.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::BadRequest => "the request cannot be read",
            Self::InvalidSchedule => "the body is not valid",
            Self::UnknownField => "the body has an unknown field",
            Self::Unauthenticated => "a valid bearer token is needed",
            Self::Forbidden => "the token does not allow this",
            Self::NotFound => "not found",
            Self::MethodNotAllowed => "the path does not know this method",
            Self::AlreadyExists => "it exists already",
            Self::InUse => "others name it",
            Self::Conflict => "it does not fit how things stand",
            Self::Overlap => "another firing of the schedule runs",
            Self::VersionConflict => "it was changed by somebody else",
            Self::IdempotencyMismatch => "the idempotency key was used for another request",
            Self::LeaseLost => "the lease is lost",
            Self::WatchExpired => "retention has passed the position",
            Self::PayloadTooLarge => "the body is too large",
            Self::NotLeader => "this node is not the leader",
            Self::RateLimited => "too much at once",
            Self::Internal => "a defect of this node stopped the request",
            Self::NoQuorum => "no majority of nodes can be reached",
            Self::NotReady => "the node is not ready",
            Self::UnknownOutcome => "it is not known whether the request was done",
        }
    }
}

/// One thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Flaw {
    /// Where in the body, as a JSON pointer (RFC 6901); empty for the whole of it.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
    /// What to write instead.
    pub hint: String,
    /// The first wrong character of a cron text, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

/// Why a request was not done. Type, title and status follow from the code, so they are not carried around.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Shown", from = "Shown")]
pub struct Problem {
    /// The stable name of the kind.
    pub code: Code,
    /// This problem in words.
    pub detail: String,
    /// Each thing that is wrong with the body.
    pub errors: Vec<Flaw>,
    /// Where the leader answers, when that is the remedy.
    pub leader: Option<String>,
    /// The nodes that cannot be reached, when that is the reason.
    pub missing_nodes: Vec<String>,
}

/// A problem as it is written.
#[derive(Serialize, Deserialize, ToSchema)]
struct Shown {
    /// A name for the kind of problem: `urn:campanile:problem:` and the code.
    #[serde(rename = "type")]
    kind: String,
    /// The kind of problem in words.
    title: String,
    /// The status of the answer.
    status: u16,
    /// This problem in words.
    detail: String,
    /// The stable name of the kind.
    code: Code,
    /// Each thing that is wrong with the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Flaw>,
    /// Where the leader answers, when that is the remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leader: Option<String>,
    /// The nodes that cannot be reached, when that is the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing_nodes: Vec<String>,
}

impl From<Problem> for Shown {
    fn from(problem: Problem) -> Self {
        let Problem { code, detail, errors, leader, missing_nodes } = problem;
        Self {
            kind: format!("urn:campanile:problem:{}", code.as_str()),
            title: code.title().to_owned(),
            status: code.status(),
            detail,
            code,
            errors,
            leader,
            missing_nodes,
        }
    }
}

impl From<Shown> for Problem {
    fn from(shown: Shown) -> Self {
        let Shown { detail, code, errors, leader, missing_nodes, .. } = shown;
        Self { code, detail, errors, leader, missing_nodes }
    }
}

impl PartialSchema for Problem {
    fn schema() -> RefOr<Schema> {
        Shown::schema()
    }
}

impl ToSchema for Problem {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Shown::schemas(schemas);
    }
}

impl Problem {
    /// A problem of this kind.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), errors: Vec::new(), leader: None, missing_nodes: Vec::new() }
    }

    /// With what is wrong with the body. The detail repeats the first of it, since many people see nothing else.
    #[must_use]
    pub fn with_errors(code: Code, errors: Vec<Flaw>) -> Self {
        let detail = match errors.as_slice() {
            [] => code.title().to_owned(),
            [only] => only.line(),
            [first, rest @ ..] => format!("{} (and {} more)", first.line(), rest.len()),
        };
        Self { errors, ..Self::new(code, detail) }
    }

    /// The request cannot be read.
    #[must_use]
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, detail)
    }

    /// There is no such thing.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(Code::NotFound, detail)
    }
}

impl Flaw {
    fn line(&self) -> String {
        if self.pointer.is_empty() {
            self.detail.clone()
        } else {
            format!("{}: {}", self.pointer, self.detail)
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {}", self.code.as_str(), self.detail)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_written_as_it_is_named() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).ok(), Some(code.as_str().into()));
        }
    }

    #[test]
    fn a_problem_tells_its_first_flaw_to_those_who_read_only_the_detail() {
        let flaw = |pointer: &str| Flaw {
            pointer: pointer.into(),
            detail: "is empty".into(),
            hint: String::new(),
            column: None,
        };
        let problem = Problem::with_errors(Code::InvalidSchedule, vec![flaw("/specs"), flaw("")]);
        assert_eq!(problem.detail, "/specs: is empty (and 1 more)");
        assert_eq!(Problem::with_errors(Code::InvalidSchedule, vec![flaw("")]).detail, "is empty");
    }
}
