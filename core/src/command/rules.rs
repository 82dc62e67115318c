//! What planning depends on beside definitions: calendars and zones, and the look at all schedules when they change.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Condition, Request};
use crate::calendar::Calendar;
use crate::id::{LogIndex, Revision, Uid};
use crate::time::Timestamp;

/// Create or replace a calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutCalendar {
    /// Its name: one segment like those of schedules.
    pub name: Box<str>,
    /// What it holds.
    pub calendar: Arc<Calendar>,
    /// What must be so.
    pub condition: Condition,
    /// Who asks.
    pub request: Request,
}

/// Remove a calendar; refused while a schedule names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteCalendar {
    /// Its name.
    pub name: Box<str>,
    /// What must be so.
    pub condition: Condition,
    /// Who asks.
    pub request: Request,
}

/// The leader plans with this version of the time-zone data; from here on schedules are looked at again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseZones {
    /// Such as `2026b`.
    pub version: Box<str>,
}

/// Schedules whose next instant is another one now. It corrects when they are looked at; what is decided, is decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refresh {
    /// Where the look began; another place makes this stale.
    pub after: Option<Uid>,
    /// The last change of calendars and zones that was planned with.
    pub rules_at: LogIndex,
    /// Those that moved.
    pub moved: Vec<Moved>,
    /// Everything up to here has been looked at; `None` when all have.
    pub to: Option<Uid>,
}

/// A schedule whose next instant is another one now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Which.
    pub uid: Uid,
    /// The revision that was planned with.
    pub revision: Revision,
    /// The mark that was planned from.
    pub after: Timestamp,
    /// The next instant.
    pub next_at: Option<Timestamp>,
}
