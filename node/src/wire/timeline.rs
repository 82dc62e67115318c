//! What came of the instants of a stretch of time, counted: in buckets for a drawing, and in sums.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Instant;

/// How many buckets there are when nothing is said.
pub const DEFAULT_BUCKETS: usize = 60;
/// The most buckets of one answer.
pub const MAX_BUCKETS: usize = 500;

/// What came of the instants of a stretch of time, bucket by bucket. An instant belongs to the bucket of its nominal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Timeline {
    /// The first instant of the first bucket.
    pub after: Instant,
    /// The first instant behind the last bucket.
    pub before: Instant,
    /// How long a bucket is, in milliseconds; the last may be shorter.
    pub bucket_ms: u64,
    /// The buckets, without gaps, oldest first.
    pub buckets: Vec<Bucket>,
    /// Whether everything was looked at.
    pub complete: bool,
    /// Ask again with this as `next` and the same window, and add the counts of the answers. `null` when there is nothing to
    /// go on with.
    pub next: Option<String>,
    /// Whether `planned` has the instants of every schedule.
    pub planned_complete: bool,
}

/// What came of the instants of one bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Bucket {
    /// Its first instant.
    pub from: Instant,
    /// What came of them.
    #[serde(flatten)]
    pub counts: Counts,
    /// Nominal instants that are still to come.
    pub planned: u64,
}

/// What came of instants. `fired` is the sum of the ends and of what is still open, as far as one answer reaches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    /// Decided to fire: of every kind, re-runs and triggers too.
    pub fired: u64,
    /// Its receiver accepted it.
    pub succeeded: u64,
    /// Its attempts are used up, or the receiver refused it.
    pub failed: u64,
    /// Its last attempt took too long.
    pub timed_out: u64,
    /// Somebody stopped it.
    pub cancelled: u64,
    /// Sent once, at most once, and no answer came.
    pub unknown: u64,
    /// Somebody works on it now.
    pub running: u64,
    /// It waits for an instant or for the firings before it.
    pub waiting: u64,
    /// It waits for somebody to begin it.
    pub queued: u64,
    /// Decided not to fire, by reason. A run of skipped instants counts where its last instant is.
    pub skipped: BTreeMap<String, u64>,
    /// From nominal to the decision, of scheduled and caught-up firings; `null` without one.
    pub lateness: Option<Lateness>,
}

/// How late firings were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Lateness {
    /// Half of them were no later.
    pub p50_ms: u64,
    /// All but one of a hundred were no later.
    pub p99_ms: u64,
    /// None was later.
    pub max_ms: u64,
}

impl Lateness {
    /// Of these, in any order; `None` of none.
    #[must_use]
    pub fn of(mut all: Vec<u64>) -> Option<Self> {
        all.sort_unstable();
        // The nearest rank: the smallest that so many of a hundred do not exceed.
        let rank = |percent: usize| all.get((all.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Self { p50_ms: rank(50)?, p99_ms: rank(99)?, max_ms: *all.last()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let of = |all: &[u64]| Lateness::of(all.to_vec()).map(|it| (it.p50_ms, it.p99_ms, it.max_ms));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some((7, 7, 7)));
        assert_eq!(of(&[9, 1]), Some((1, 9, 9)));
        assert_eq!(of(&(1..=100).rev().collect::<Vec<_>>()), Some((50, 99, 100)));
        assert_eq!(of(&(1..=1000).collect::<Vec<_>>()), Some((500, 990, 1000)));
    }
}
