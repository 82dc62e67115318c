//! One try to deliver a firing: who holds it, until when, and what came of it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{AttemptNumber, FencingToken, NodeId};
use crate::time::Timestamp;

/// The longest error or output that is kept with an attempt, in bytes.
pub const MAX_OUTPUT: usize = 16 * 1024;

/// The end of a text, at most so many bytes of it, from the beginning of a character on.
#[must_use]
pub fn tail(text: &str, most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Who may work on an attempt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Holder {
    /// A node of the cluster, which sends a request.
    Node(NodeId),
    /// A worker that leased it from a queue, by the name that it gave itself.
    Worker(Arc<str>),
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(out, "{node}"),
            Self::Worker(name) => out.write_str(name),
        }
    }
}

/// The right of one holder to work on one attempt until an instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Which attempt.
    pub attempt: AttemptNumber,
    /// Who.
    pub holder: Holder,
    /// When the log gave it.
    pub begun_at: Timestamp,
    /// When it ends, unless its holder extends it.
    pub until: Timestamp,
    /// What the receiver compares.
    pub fencing_token: FencingToken,
}

/// What a holder says of its attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What came of it.
    pub verdict: Verdict,
    /// When the request left, by the holder's clock.
    pub sent_at: Timestamp,
    /// The receiver's status, if it answered.
    pub status: Option<u16>,
    /// What went wrong, for people; empty for nothing.
    pub error: Box<str>,
    /// The end of what the receiver answered, at most [`MAX_OUTPUT`] bytes; empty for nothing.
    pub output: Box<str>,
}

/// What came of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Accepted.
    Succeeded,
    /// Failed, and may be tried again, not before the instant that the receiver named.
    Retry {
        /// `Retry-After`, as an instant.
        not_before: Option<Timestamp>,
    },
    /// No answer in time; may be tried again.
    TimedOut,
    /// Refused for good.
    Refused,
    /// The receiver is gone for good (410): refused, and the schedule is paused.
    Gone,
    /// The request never left (no connection): certain not to have had an effect.
    NotSent,
    /// Its holder stopped it, as it was asked to.
    Stopped,
    /// The connection broke before an answer: it may have had its effect; may be tried again.
    Broken,
}

/// How an attempt ended, as the log knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptEnd {
    /// Its holder reported.
    Reported(Verdict),
    /// Its lease ended and nobody had reported.
    LeaseEnded,
}
