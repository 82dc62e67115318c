//! Counting unions and exclusions without visiting an instant: a day of seconds at a time, as a set.

use std::collections::BTreeSet;

use crate::cron::SecondSet;
use crate::time::Timestamp;

use super::Part;

/// How many distinct instants of all parts are in `(after, until]`.
pub(super) fn count(parts: &[Part], after: Timestamp, until: Timestamp) -> u64 {
    // Instants with other milliseconds are other instants, whatever their seconds.
    let all: BTreeSet<i64> = parts.iter().map(|part| part.source.millis()).collect();
    all.into_iter().map(|millis| count_with(parts, millis, after, until)).sum()
}

fn count_with(parts: &[Part], millis: i64, after: Timestamp, until: Timestamp) -> u64 {
    let second = |at: Timestamp| at.as_millis().saturating_sub(millis).div_euclid(1000);
    let (mut first, end) = (second(after) + 1, second(until) + 1);
    let mut sum = 0;
    while first < end {
        let len = u32::try_from(end - first).unwrap_or(u32::MAX).min(SecondSet::MAX_LEN);
        let mut block = SecondSet::new(first, len);
        for part in parts.iter().filter(|part| part.source.millis() == millis) {
            block.union(&part.left_in(first, len));
        }
        sum += block.count();
        first += i64::from(len);
    }
    sum
}

/// The last instant of a part in the day that ends with the second of `at`; without one, the instant at which that day
/// begins.
pub(super) fn last_of_day(part: &Part, at: Timestamp) -> Result<Timestamp, Timestamp> {
    let first = at.as_millis().div_euclid(1000) + 1 - i64::from(SecondSet::MAX_LEN);
    match part.left_in(first, SecondSet::MAX_LEN).last() {
        Some(second) => Ok(Timestamp::from_millis(second * 1000 + part.source.millis())),
        None => Err(Timestamp::from_millis(first * 1000)),
    }
}

/// The first instant of a part in the day that begins with the second of `at`; without one, the instant at which that day
/// ends.
pub(super) fn first_of_day(part: &Part, at: Timestamp) -> Result<Timestamp, Timestamp> {
    let first = at.as_millis().div_euclid(1000);
    let instant = |second: i64| Timestamp::from_millis(second * 1000 + part.source.millis());
    match part.left_in(first, SecondSet::MAX_LEN).first_set() {
        Some(second) => Ok(instant(second)),
        None => Err(Timestamp::from_millis((first + i64::from(SecondSet::MAX_LEN)) * 1000)),
    }
}

impl Part {
    /// The seconds of a block in which it has an instant that is not excluded.
    fn left_in(&self, first: i64, len: u32) -> SecondSet {
        let mut set = SecondSet::new(first, len);
        self.source.mark(&mut set);
        for mask in &self.masks {
            let mut covered = SecondSet::new(first, len);
            mask.cover(&mut covered, self.source.millis());
            set.subtract(&covered);
        }
        set
    }
}
