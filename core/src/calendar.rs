//! What a named calendar of exclusions is in the log.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Dates and spans that are no time for firings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Calendar {
    /// For people.
    pub description: Box<str>,
    /// The zone of its dates.
    pub time_zone: Option<Box<str>>,
    /// Days since 1970-01-01, local dates, in order, each once.
    pub dates: Vec<i32>,
    /// Instants from the first up to, not including, the second; in order, disjoint.
    pub spans: Vec<(Timestamp, Timestamp)>,
}
