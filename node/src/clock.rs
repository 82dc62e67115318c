//! The only reader of the wall clock in the product. Everybody else is given an instant.
//!
//! For tests of whole nodes a clock can be moved while it runs, by a file; see [`Clock::of_node`]. Whether a clock is too
//! far ahead of its peers' is judged in [`guard`].

pub mod guard;
mod moved;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use campanile_core::time::Timestamp;
use moved::Moved;

/// A wall clock: the system's, moved by an offset.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    offset_ms: i64,
    moved: Option<&'static Moved>,
}

impl Clock {
    /// The clock of the system.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that is ahead of the system's by so many milliseconds, or behind it.
    #[must_use]
    pub fn shifted(offset_ms: i64) -> Self {
        Self { offset_ms, moved: None }
    }

    /// The clock of a node: the system's, unless `CAMPANILE_TEST_CLOCK_FILE` names a file that moves it, which is told at once.
    #[must_use]
    pub fn of_node() -> Self {
        Self { offset_ms: 0, moved: Moved::from_environment() }
    }

    /// What it shows now. May be earlier than what it showed before: the log's time is what never runs back.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.micros().div_euclid(1_000)).unwrap_or(i64::MAX))
    }

    /// How long until it shows `at`; zero when it is past. Finer than milliseconds, so that a sleep does not lose the
    /// fraction that [`Clock::now`] cuts off.
    #[must_use]
    pub fn until(&self, at: Timestamp) -> Duration {
        let distance = i128::from(at.as_millis()) * 1_000 - self.micros();
        Duration::from_micros(u64::try_from(distance.max(0)).unwrap_or(u64::MAX))
    }

    /// Microseconds since the Unix epoch.
    fn micros(&self) -> i128 {
        let since = |distance: Duration| i128::try_from(distance.as_micros()).unwrap_or(i128::MAX / 2);
        let system = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => since(after),
            Err(before) => -since(before.duration()),
        };
        let moved = self.moved.map_or(0, Moved::offset_ms);
        system + (i128::from(self.offset_ms) + i128::from(moved)) * 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_clock_is_ahead_by_its_offset() {
        let system = Clock::system().now();
        let ahead = Clock::shifted(3_600_000).now();
        let distance = ahead.since(system).as_millis();
        assert!((3_600_000..3_660_000).contains(&distance), "{distance}");
    }
}
