//! What came of the instants of a stretch of time in sums, and the schedules that somebody should look at.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Instant;
use super::timeline::{Counts, Lateness};

/// What came of the instants of a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stats {
    /// Nominals from here on.
    pub after: Instant,
    /// Nominals before this.
    pub before: Instant,
    /// All of them.
    pub totals: Counts,
    /// Of how many schedules something was decided.
    pub schedules: u64,
    /// The schedules whose firings were decided latest, the latest first; at most 10.
    pub late: Vec<LateSchedule>,
    /// The schedules with the most firings that came to nothing; at most 10.
    pub failing: Vec<FailingSchedule>,
    /// Whether everything was looked at.
    pub complete: bool,
    /// Ask again with this as `next` and the same window for the rest. `null` when there is nothing to go on with.
    pub next: Option<String>,
}

/// A schedule whose firings were late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LateSchedule {
    /// `namespace/name`; `null` when retention has passed its definition.
    pub schedule: Option<String>,
    /// Which incarnation.
    pub uid: String,
    /// How many of its instants fired.
    pub fired: u64,
    /// How late they were decided.
    pub lateness: Lateness,
    /// The latest of them.
    pub worst: String,
}

/// A schedule with firings that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailingSchedule {
    /// `namespace/name`; `null` when retention has passed its definition.
    pub schedule: Option<String>,
    /// Which incarnation.
    pub uid: String,
    /// How many ended as `failed`, `timed_out` or `unknown`.
    pub failed: u64,
    /// Of how many that ended.
    pub of: u64,
    /// The last of them.
    pub last: String,
}
