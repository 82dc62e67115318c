//! What planning depends on beside definitions, as the log knows it: calendars, zones, and the look at all schedules.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::calendar::Calendar;
use crate::id::{LogIndex, Uid};
use crate::time::Timestamp;

/// What planning depends on beside definitions, as the log knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rules {
    /// Where calendars or zones were last changed. A plan names the place that it was made with.
    pub changed_at: LogIndex,
    /// The version of the time-zone data that leaders plan with; empty before the first.
    pub zones: Box<str>,
    /// Schedules are being looked at again, and everything up to here has been.
    pub refreshing: Option<Refreshing>,
}

/// How far the look at all schedules has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Refreshing {
    /// The last that was looked at; `None` for none yet.
    pub after: Option<Uid>,
}

/// How many earlier versions of a calendar are kept, for instants that were undecided when it was changed.
pub const KEPT_VERSIONS: usize = 4;

/// A calendar and its last change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCalendar {
    /// What it holds.
    pub calendar: Arc<Calendar>,
    /// What it held before, and the last instant for which that counts; the newest last, at most [`KEPT_VERSIONS`].
    pub before: Vec<(Arc<Calendar>, Timestamp)>,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Where in the log that was; the entity tag.
    pub updated_index: LogIndex,
    /// Who did it.
    pub updated_by: Box<str>,
}

impl NamedCalendar {
    /// The last instant of which it is not known any more what this held: when there are as many earlier versions as are
    /// kept, the oldest may stand in for others.
    #[must_use]
    pub fn forgotten(&self) -> Option<Timestamp> {
        self.before.first().filter(|_| self.before.len() >= KEPT_VERSIONS).map(|(_, last)| *last)
    }
}
