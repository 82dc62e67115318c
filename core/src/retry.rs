//! When a failed attempt is tried again. Pure arithmetic, the same on every replica: the jitter comes from the firing's
//! id, not from dice.

use crate::definition::RetryPolicy;
use crate::firing::FiringId;
use crate::id::AttemptNumber;
use crate::time::Span;

/// The wait after the failure of `attempt`: `initial × factor^(attempt-1)`, at most `max`, then full jitter (a number
/// between 1 ms and that, uniformly), so that receivers that fell together are not called together.
#[must_use]
pub fn wait_after(policy: &RetryPolicy, firing: FiringId, attempt: AttemptNumber) -> Span {
    let growth = u64::from(policy.factor).saturating_pow(attempt.0.saturating_sub(1));
    let ceiling = policy.initial.as_millis().saturating_mul(growth).min(policy.max.as_millis());
    if ceiling == 0 {
        return Span::ZERO;
    }
    let seed = firing.uid.0 ^ (firing.nominal.as_millis() as u64).rotate_left(32) ^ u64::from(firing.run.0);
    Span::from_millis(1 + mix(seed.wrapping_add(u64::from(attempt.0))) % ceiling)
}

/// SplitMix64's finalizer (Steele, Lea, Flood 2014): every input bit reaches every output bit.
#[must_use]
pub const fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Run, Uid};
    use crate::time::Timestamp;

    fn firing(nominal: i64) -> FiringId {
        FiringId { uid: Uid(7), nominal: Timestamp::from_millis(nominal), run: Run(0) }
    }

    #[test]
    fn waits_stay_under_a_doubling_ceiling_and_spread_over_it() {
        let policy = RetryPolicy::default();
        for (attempt, ceiling) in [(1, 1_000), (2, 2_000), (5, 16_000), (7, 60_000), (1_000, 60_000)] {
            let waits: Vec<u64> = (0..1_000)
                .map(|n| wait_after(&policy, firing(n), AttemptNumber(attempt)).as_millis())
                .collect();
            assert!(waits.iter().all(|wait| (1..=ceiling).contains(wait)), "attempt {attempt}");
            let mean = waits.iter().sum::<u64>() / 1_000;
            assert!(
                (ceiling * 2 / 5..ceiling * 3 / 5).contains(&mean),
                "attempt {attempt}: mean {mean} of {ceiling}"
            );
        }
    }

    #[test]
    fn the_same_firing_waits_the_same_on_every_replica() {
        let policy = RetryPolicy::default();
        assert_eq!(
            wait_after(&policy, firing(5), AttemptNumber(3)),
            wait_after(&policy, firing(5), AttemptNumber(3))
        );
    }
}
