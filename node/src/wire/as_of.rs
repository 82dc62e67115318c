//! A schedule as it stood at an earlier moment. What only the present knows (live firings, warnings) is not in it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::definition::Definition;
use super::time::Instant;

/// A schedule as it stood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleAsOf {
    /// The namespace.
    pub namespace: String,
    /// The name that it had then.
    pub name: String,
    /// When, what and how.
    #[serde(flatten)]
    pub definition: Definition,
    /// This incarnation.
    pub uid: String,
    /// Which definition it was.
    pub revision: u32,
    /// When its definition or state was last changed by then; `null` when retention has passed that.
    pub updated_at: Option<Instant>,
    /// Who did that; `null` for nobody.
    pub updated_by: Option<String>,
    /// As of when all of this is.
    pub as_of: Moment,
    /// Whether it exists now.
    pub stands: bool,
    /// How it stood.
    pub status: StatusAsOf,
}

/// A moment of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Moment {
    /// The last entry that counts.
    pub index: u64,
    /// When the last fact up to it was decided.
    pub at: Instant,
}

/// How a schedule stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusAsOf {
    /// `active`, `paused`, `parked` or `finished`.
    #[schema(pattern = "^(active|paused|parked|finished)$")]
    pub state: String,
    /// Why it was paused or parked.
    pub note: Option<String>,
    /// When the pause was to end by itself.
    pub until: Option<Instant>,
    /// The instants that were to come next, by the calendars of then and the zones of this program; a list tells only the
    /// first.
    pub next: Vec<Instant>,
    /// The newest instant that was decided, or up to where the search for the next one had come.
    pub mark: Instant,
    /// The specs in English.
    pub text: String,
}
