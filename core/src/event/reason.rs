//! The reasons that facts name: why an instant did not fire, why nothing follows a firing, and what follows from the end of an
//! attempt.

use serde::{Deserialize, Serialize};

use crate::firing::EndState;
use crate::time::{Span, Timestamp};

/// Why what was to follow the end of a firing does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DropReason {
    /// There is no such schedule (any more).
    NoSchedule,
    /// It is paused.
    Paused,
    /// It is parked.
    Parked,
    /// Another firing of it ran, and it skips then.
    Overlap,
}

impl DropReason {
    /// Its name in API, CLI and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "no_schedule",
            Self::Paused => "paused",
            Self::Parked => "parked",
            Self::Overlap => "overlap",
        }
    }
}

/// What follows from the end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The next attempt, from this instant on.
    Retry {
        /// Not before.
        at: Timestamp,
    },
    /// Nothing: the firing is settled.
    End {
        /// How.
        state: EndState,
        /// From nominal to the decision, repeated here for those who read ends only.
        lateness: Span,
    },
}

/// Why a nominal instant did not fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SkipReason {
    /// It fell into a pause.
    PausedGap,
    /// Another firing of the schedule ran.
    Overlap,
    /// It was missed for longer than the catch-up window, or the mode fires none.
    TooLate,
    /// A newer missed instant fires in its stead.
    Coalesced,
    /// Its revision was replaced.
    Superseded,
    /// More instants than may catch up.
    Limit,
}

impl SkipReason {
    /// Its name in API, CLI and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PausedGap => "paused_gap",
            Self::Overlap => "overlap",
            Self::TooLate => "too_late",
            Self::Coalesced => "coalesced",
            Self::Superseded => "superseded",
            Self::Limit => "limit",
        }
    }
}
