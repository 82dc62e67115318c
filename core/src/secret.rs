//! Secrets by name: what requests are signed with. They go in and never out: no answer, no ledger row and no log line
//! holds one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::LogIndex;
use crate::time::{Span, Timestamp};

/// The most secrets of a cluster.
pub const MAX_SECRETS: usize = 10_000;
/// The longest time for which a replaced secret goes on to sign beside the new one.
pub const MAX_KEEP_PREVIOUS: Span = Span::from_secs(30 * 86_400);
/// The longest text of a secret, in bytes.
pub const MAX_SECRET: usize = 256;

/// The text of a secret. Shows itself to nobody: its debug form is blank.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretText(Box<str>);

impl SecretText {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text, for whoever signs.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("…")
    }
}

/// A secret as the machine keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// What signs.
    pub current: SecretText,
    /// What was replaced, and how long it still signs beside the current one.
    pub previous: Option<(SecretText, Timestamp)>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its text was last changed.
    pub rotated_at: Timestamp,
    /// Where in the log that was; the entity tag.
    pub updated_index: LogIndex,
    /// Who did it.
    pub updated_by: Box<str>,
}

impl Secret {
    /// What signs at that instant, the current one first.
    pub fn signing(&self, now: Timestamp) -> impl Iterator<Item = &SecretText> {
        let previous = self.previous.as_ref().filter(|(_, until)| now < *until).map(|(text, _)| text);
        std::iter::once(&self.current).chain(previous)
    }
}
