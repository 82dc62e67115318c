//! The years over which a text is judged as a whole, where no instant is asked about.
//!
//! Must not read a clock: they begin with the year of the tz data. What clocks did before is history.

use super::wall::{DAY, Month};
use super::zone::{LAST, tzdb_version};

/// As long as the tz data list single time changes (until 2087), and then the 400 years after which the calendar, and
/// with it every rule and every pattern, begins again.
const LENGTH: i64 = 500 * 366 * DAY;

/// Its first second.
pub(super) fn begin() -> i64 {
    let version = tzdb_version().unwrap_or_default();
    let year = version.get(..4).and_then(|year| year.parse().ok()).unwrap_or(2026);
    Month { year, month: 1 }.first_day() * DAY
}

/// Its last second.
pub(super) fn end() -> i64 {
    (begin() + LENGTH).min(LAST)
}
