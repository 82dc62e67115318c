//! Counting unions and exclusions without visiting an instant: a day of seconds at a time, as a set.

use std::collections::BTreeSet;

use crate::cron::SecondSet;
use crate::time::{Span, Timestamp};

use super::part::Part;

/// How many distinct instants of all parts are in `(after, until]`.
pub(super) fn count(parts: &[Part], after: Timestamp, until: Timestamp) -> u64 {
    // Instants with other milliseconds are other instants, whatever their seconds.
    let all: BTreeSet<i64> = parts.iter().map(|part| part.source.millis()).collect();
    all.into_iter().map(|millis| count_with(parts, millis, after, until)).sum()
}

fn count_with(parts: &[Part], millis: i64, after: Timestamp, until: Timestamp) -> u64 {
    let (mut first, end) = (second_of(after, millis) + 1, second_of(until, millis) + 1);
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

/// The last instant of a part in the `len` seconds that end with the second of its instant `at`; without one, the instant
/// at which they begin.
pub(super) fn last_of_block(part: &Part, at: Timestamp, len: u32) -> Result<Timestamp, Timestamp> {
    let millis = part.source.millis();
    let first = second_of(at, millis).saturating_add(1 - i64::from(len));
    part.left_in(first, len)
        .last()
        .map(|second| instant(second, millis))
        .ok_or_else(|| instant(first, millis))
}

/// The first instant of a part in the `len` seconds from `from` on; without one, the instant at which they end.
pub(super) fn first_of_block(part: &Part, from: Timestamp, len: u32) -> Result<Timestamp, Timestamp> {
    let millis = part.source.millis();
    let first = second_of(from - Span::from_millis(1), millis).saturating_add(1);
    let end = first.saturating_add(i64::from(len));
    part.left_in(first, len)
        .first_set()
        .map(|second| instant(second, millis))
        .ok_or_else(|| instant(end, millis))
}

/// The last second at or before `at` for instants at so many milliseconds behind it.
const fn second_of(at: Timestamp, millis: i64) -> i64 {
    at.as_millis().saturating_sub(millis).div_euclid(1000)
}

const fn instant(second: i64, millis: i64) -> Timestamp {
    Timestamp::from_millis(second.saturating_mul(1000).saturating_add(millis))
}

impl Part {
    /// The seconds of a block in which it has an instant that is not excluded.
    fn left_in(&self, first: i64, len: u32) -> SecondSet {
        let (mut set, mut covered) = (SecondSet::new(first, len), SecondSet::new(first, len));
        self.masks.iter().for_each(|mask| mask.cover(&mut covered, self.source.millis()));
        // Of a holiday nothing is left, whatever it would have held.
        if covered.count() < u64::from(len) {
            self.source.mark(&mut set);
            set.subtract(&covered);
        }
        set
    }
}
