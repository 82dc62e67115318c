//! What can come of a request instead of an answer: named by what the caller can do about it.

use serde::Deserialize;
use serde_json::Value;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A node understood the request and said no, or said that the cluster cannot now.
    #[error("{0}")]
    Problem(Box<Problem>),
    /// No endpoint could be connected to: nothing has happened.
    #[error("no node could be reached")]
    Unreachable {
        /// What became of each try.
        tried: Vec<Tried>,
    },
    /// A request left, and no answer came in time.
    #[error("no answer came")]
    TimedOut {
        /// Whether the request may have acted all the same.
        may_have_acted: bool,
        /// What became of each try.
        tried: Vec<Tried>,
    },
    /// Something answers at the endpoint, but not as this product does.
    #[error("{endpoint} does not answer as a campanile node (HTTP {status})")]
    Foreign {
        /// Where.
        endpoint: String,
        /// Its HTTP status.
        status: u16,
    },
    /// An answer that is taken piece by piece broke off: what was taken of it is worthless.
    #[error("the answer broke off after {bytes} bytes: {why}")]
    Broken {
        /// Bytes that came.
        bytes: u64,
        /// What went wrong.
        why: String,
    },
    /// The client cannot be set up like this: an address, a file, a certificate store.
    #[error("{0}")]
    Unusable(String),
}

impl Error {
    /// Whether the same request, sent a moment later or to another node, may be answered: the cluster elects, a node
    /// starts, something between here and there is out of order. What is left is a request that is wrong, or a right that
    /// is missing.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Problem(problem) => problem.may_pass() || problem.status >= 500,
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Broken { .. } => true,
            Self::Foreign { status, .. } => *status >= 500 || *status == 429,
            Self::Unusable(_) => false,
        }
    }

    /// Whether a lease is not its holder's any more, whoever has it now.
    #[must_use]
    pub fn is_lease_lost(&self) -> bool {
        matches!(self, Self::Problem(problem) if matches!(problem.code.as_str(), "lease_lost" | "not_found"))
    }
}

/// What became of one try on one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// Where.
    pub endpoint: String,
    /// What went wrong, in a few words.
    pub why: String,
}

/// An RFC 9457 answer. Fields that a later version adds are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The stable code of `API.md`, such as `not_found`.
    pub code: String,
    /// A short text, the same for every problem of this code.
    pub title: String,
    /// What went wrong this time.
    pub detail: String,
    /// What is wrong with which field.
    pub errors: Vec<FieldError>,
}

/// What is wrong with one field of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct FieldError {
    /// Which, as a JSON pointer.
    pub pointer: String,
    /// Where in a cron pattern, counted from 1.
    pub column: Option<u32>,
    /// What is wrong.
    pub detail: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl Problem {
    /// Reads the body of a failed answer; `None` when it is no problem document with a code.
    pub(super) fn read(status: u16, body: &Value) -> Option<Self> {
        let mut problem: Self = serde_json::from_value(body.clone()).ok()?;
        problem.status = status;
        (!problem.code.is_empty()).then_some(problem)
    }

    /// Whether another node, or the same one a moment later, may say yes to the same request.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self.code.as_str(), "no_quorum" | "not_ready" | "unknown_outcome" | "rate_limited")
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.detail.as_str(), self.title.as_str()) {
            ("", "") => write!(out, "{} (HTTP {})", self.code, self.status),
            ("", title) => out.write_str(title),
            (detail, _) => out.write_str(detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_moment_may_mend_is_told_from_what_it_does_not() {
        let problem = |status, code: &str| {
            Error::Problem(Box::new(Problem { status, code: code.into(), ..Problem::default() }))
        };
        let foreign = |status| Error::Foreign { endpoint: String::new(), status };
        for error in
            [problem(503, "no_quorum"), problem(429, "rate_limited"), problem(500, "internal"), foreign(502)]
        {
            assert!(error.may_pass() && !error.is_lease_lost(), "{error:?}");
        }
        for error in [problem(401, "unauthenticated"), problem(409, "lease_lost"), foreign(200)] {
            assert!(!error.may_pass(), "{error:?}");
        }
        assert!(problem(409, "lease_lost").is_lease_lost() && !problem(409, "conflict").is_lease_lost());
    }

    #[test]
    fn a_problem_is_read_leniently_and_only_with_a_code() {
        let body = json!({"type": "about:blank", "code": "not_found", "detail": "no schedule a/b", "new": 1});
        let problem = Problem::read(404, &body).expect("a problem");
        assert_eq!((problem.status, problem.to_string()), (404, "no schedule a/b".to_owned()));
        for body in [json!(null), json!("gateway"), json!({"error": "x"}), json!({"code": 5})] {
            assert_eq!(Problem::read(502, &body), None, "{body}");
        }
    }
}
