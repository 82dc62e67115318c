//! The only reader of the wall clock in the product. Everybody else is given an instant.
//!
//! For tests of whole nodes a clock can be moved while it runs, by a file; see [`Clock::of_node`]. A simulation gives its
//! own ([`Clock::given`]). Whether a clock is too far ahead of its peers' is judged in [`guard`].

pub mod guard;
mod moved;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use campanile_core::time::Timestamp;
use moved::Moved;

/// A wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock(Source);

/// What a wall clock shows that is not the system's. It may be set, run fast, and jump, as a real one may.
pub trait WallSource: Sync {
    /// Microseconds since the Unix epoch.
    fn micros(&self) -> i128;
}

#[derive(Clone, Copy, Default)]
enum Source {
    #[default]
    System,
    /// Ahead of the system's by so many milliseconds.
    Shifted(i64),
    /// Moved by a file.
    Moved(&'static Moved),
    Given(&'static dyn WallSource),
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
        Self(Source::Shifted(offset_ms))
    }

    /// The clock of a node: the system's, unless `CAMPANILE_TEST_CLOCK_FILE` names a file that moves it, which is told at once.
    #[must_use]
    pub fn of_node() -> Self {
        Self(Moved::from_environment().map_or(Source::System, Source::Moved))
    }

    /// A clock that shows what it is given: that of a simulated machine.
    #[must_use]
    pub fn given(source: &'static dyn WallSource) -> Self {
        Self(Source::Given(source))
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
        match self.0 {
            Source::System => system_micros(),
            Source::Shifted(offset_ms) => system_micros() + i128::from(offset_ms) * 1_000,
            Source::Moved(moved) => system_micros() + i128::from(moved.offset_ms()) * 1_000,
            Source::Given(source) => source.micros(),
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::System => out.write_str("System"),
            Self::Shifted(offset_ms) => write!(out, "Shifted({offset_ms})"),
            Self::Moved(moved) => write!(out, "Moved({moved:?})"),
            Self::Given(source) => write!(out, "Given({})", source.micros()),
        }
    }
}

fn system_micros() -> i128 {
    let since = |distance: Duration| i128::try_from(distance.as_micros()).unwrap_or(i128::MAX / 2);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => since(after),
        Err(before) => -since(before.duration()),
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

    #[test]
    fn a_given_clock_shows_what_it_is_given() {
        struct Stopped;
        impl WallSource for Stopped {
            fn micros(&self) -> i128 {
                7_500
            }
        }
        let clock = Clock::given(&Stopped);
        assert_eq!(clock.now(), Timestamp::from_millis(7));
        assert_eq!(clock.until(Timestamp::from_millis(9)), Duration::from_micros(1_500));
        assert_eq!(clock.until(Timestamp::from_millis(7)), Duration::ZERO);
    }
}
