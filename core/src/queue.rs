//! A queue: what workers lease firings from, and the limits of it.
//!
//! It holds settings and nothing of its firings; those stand in the index ([`crate::due`]) in the order in which they are
//! leased. A queue that nobody has put exists with the default settings as soon as a schedule names it.

use serde::{Deserialize, Serialize};

use crate::id::LogIndex;
use crate::time::{Span, Timestamp};

/// The most queues with settings of their own.
pub const MAX_QUEUES: usize = 10_000;
/// The most leases that one rate may give in its period.
pub const MAX_RATE: u32 = 1_000_000;
/// The longest period of a rate.
pub const MAX_RATE_PERIOD: Span = Span::from_secs(86_400);
/// The most leases that one call takes.
pub const MAX_LEASES: u32 = 100;
/// The shortest and the longest `ttl` of a lease.
pub const LEASE_TTL: (Span, Span) = (Span::from_secs(1), Span::from_secs(3_600));

/// What a user says of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSettings {
    /// At most so many firings of it are leased at once; `None` for no limit.
    pub max_in_flight: Option<u32>,
    /// At most so many of those with the same concurrency key.
    pub max_in_flight_per_key: u32,
    /// How fast leases are given; `None` for no limit.
    pub rate: Option<Rate>,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self { max_in_flight: None, max_in_flight_per_key: 1, rate: None }
    }
}

/// So many leases in each period. Up to a whole period's may be given at once after a quiet time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// How many; between 1 and [`MAX_RATE`].
    pub count: u32,
    /// In how long; between 1 s and [`MAX_RATE_PERIOD`].
    pub per: Span,
}

/// A queue as the machine keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Its limits.
    pub settings: QueueSettings,
    /// Nothing of it is leased, for this reason, until it is resumed.
    pub paused: Option<QueuePause>,
    /// What is left of the rate.
    pub(crate) bucket: Option<Bucket>,
    /// When it was last changed by a user.
    pub updated_at: Timestamp,
    /// Where in the log that was; the entity tag.
    pub updated_index: LogIndex,
    /// Who did it.
    pub updated_by: Box<str>,
}

/// Why and since when a queue is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePause {
    /// Why, for people; empty for nothing.
    pub note: Box<str>,
    /// Since when.
    pub at: Timestamp,
    /// Who did it.
    pub by: Box<str>,
}

/// A token bucket in whole numbers: a lease costs as many units as its period has milliseconds, and each millisecond gives
/// `count` units back, so nothing is ever rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bucket {
    units: u64,
    at: Timestamp,
}

impl Bucket {
    /// A full one.
    pub(crate) fn full(rate: Rate, now: Timestamp) -> Self {
        Self { units: Self::most(rate), at: now }
    }

    fn most(rate: Rate) -> u64 {
        u64::from(rate.count) * rate.per.as_millis()
    }

    /// What has come back by `now`.
    fn filled(self, rate: Rate, now: Timestamp) -> Self {
        let back = now.since(self.at).as_millis().saturating_mul(u64::from(rate.count));
        Self { units: self.units.saturating_add(back).min(Self::most(rate)), at: now.max(self.at) }
    }

    /// With one lease less; `None` while there is none.
    pub(crate) fn taken(self, rate: Rate, now: Timestamp) -> Option<Self> {
        let filled = self.filled(rate, now);
        let units = filled.units.checked_sub(rate.per.as_millis())?;
        Some(Self { units, ..filled })
    }

    /// When there is a lease again, if there is none at `now`.
    pub(crate) fn next_at(self, rate: Rate, now: Timestamp) -> Option<Timestamp> {
        let filled = self.filled(rate, now);
        let lacking = rate.per.as_millis().saturating_sub(filled.units);
        (lacking > 0).then(|| now + Span::from_millis(lacking.div_ceil(u64::from(rate.count))))
    }
}

impl Queue {
    /// When its rate gives a lease again, if it gives none now.
    #[must_use]
    pub fn rate_opens_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.bucket?.next_at(self.settings.rate?, now)
    }
}

impl QueueSettings {
    /// The bounds of the settings.
    ///
    /// # Errors
    /// The field that breaks one, what is wrong, and what to write instead.
    pub fn check(&self) -> Result<(), (&'static str, String, &'static str)> {
        if self.max_in_flight == Some(0) {
            return Err(("/max_in_flight", "0 would never lease".into(), "at least 1, or pause the queue"));
        }
        if self.max_in_flight_per_key == 0 {
            return Err(("/max_in_flight_per_key", "0 would never lease".into(), "at least 1"));
        }
        let Some(rate) = self.rate else { return Ok(()) };
        if !(1..=MAX_RATE).contains(&rate.count) {
            return Err(("/rate/count", format!("{} leases", rate.count), "between 1 and 1000000, or null"));
        }
        if rate.per < Span::from_secs(1) || rate.per > MAX_RATE_PERIOD {
            return Err(("/rate/per", format!("a period of {}", rate.per), "between 1s and 1d"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_gives_a_periods_worth_at_once_and_then_one_by_one() {
        let rate = Rate { count: 3, per: Span::from_secs(1) };
        let at = |millis| Timestamp::from_millis(millis);
        let mut bucket = Bucket::full(rate, at(0));
        for _ in 0..3 {
            bucket = bucket.taken(rate, at(0)).expect("a whole period's is there");
        }
        assert_eq!(bucket.taken(rate, at(0)), None);
        assert_eq!(bucket.next_at(rate, at(0)), Some(at(334)));
        assert_eq!(bucket.taken(rate, at(333)), None);
        bucket = bucket.taken(rate, at(334)).expect("a third of a second gives one back");
        // Nothing is rounded away: three a second is three a second for ever.
        let mut given = 0;
        for now in 335..=30_334 {
            if let Some(less) = bucket.taken(rate, at(now)) {
                (bucket, given) = (less, given + 1);
            }
        }
        assert_eq!(given, 90);
    }

    #[test]
    fn a_clock_that_stands_still_gives_nothing_and_a_long_quiet_time_no_more_than_a_period() {
        let rate = Rate { count: 2, per: Span::from_secs(60) };
        let mut bucket = Bucket::full(rate, Timestamp::EPOCH);
        let late = Timestamp::from_millis(i64::MAX / 4);
        for _ in 0..2 {
            bucket = bucket.taken(rate, late).expect("it is full");
        }
        assert_eq!(bucket.taken(rate, late), None);
        assert_eq!(bucket.next_at(rate, late), Some(late + Span::from_secs(30)));
    }
}
