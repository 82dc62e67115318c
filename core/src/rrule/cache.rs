//! Rules by what was written, so that many schedules with one rule hold it once.
//!
//! Must not change an answer: a cache of any size, or none, gives the same occurrences.

use std::fmt::Write;

use super::{Rule, RuleText};
use crate::cron::CronError;
use crate::recent::Recent;

/// How many rules a cache holds by default: 45 MB when all of them are daily and every shape of a year has been
/// asked for, at 43 KB each; a weekly rule takes 9 KB, a monthly 4.
pub const DEFAULT_CAPACITY: usize = 1024;

/// A bounded cache of rules; the one that was asked for longest ago goes first.
#[derive(Debug)]
pub struct RuleCache(Recent<Rule>);

impl Default for RuleCache {
    /// A cache of [`DEFAULT_CAPACITY`] rules.
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl RuleCache {
    /// A cache that holds at most `capacity` rules, and at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self(Recent::new(capacity))
    }

    /// The parsed form of a rule, from the cache or read now.
    ///
    /// # Errors
    /// As [`Rule::parse`]; a refused rule is not kept.
    pub fn get(&mut self, spec: &RuleText<'_>) -> Result<Rule, CronError> {
        self.0.get(|key| write_key(key, spec), || Rule::parse(spec))
    }

    /// How many rules it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }
}

/// One text for all that decides the parsed form. Rules that parse hold no NUL, so no two share a key.
fn write_key(key: &mut String, spec: &RuleText<'_>) {
    let (gap, overlap) = (spec.dst_gap as u8, spec.dst_overlap as u8);
    // Writing to a string cannot fail.
    let _ = write!(key, "{}\0{}\0{}\0{gap}{overlap}", spec.rule, spec.start, spec.time_zone);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cron::{DstGap, DstOverlap};

    fn spec(rule: &str) -> RuleText<'_> {
        RuleText {
            rule,
            start: "2026-01-30T09:00:00",
            time_zone: "Europe/Berlin",
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::First,
        }
    }

    #[test]
    fn the_same_rule_and_options_share_one_parsed_form() {
        let mut cache = RuleCache::new(8);
        let first = cache.get(&spec("FREQ=DAILY")).expect("parses");
        let again = cache.get(&spec("FREQ=DAILY")).expect("parses");
        let other = RuleText { dst_overlap: DstOverlap::Both, ..spec("FREQ=DAILY") };
        let other = cache.get(&other).expect("parses");
        assert!(Arc::ptr_eq(&first.walls, &again.walls));
        assert!(!Arc::ptr_eq(&first.walls, &other.walls));
        assert_eq!(cache.len(), 2);
    }

    #[test]
    fn the_rule_asked_for_longest_ago_makes_room_and_a_refused_one_does_not() {
        let mut cache = RuleCache::new(2);
        let kept = cache.get(&spec("FREQ=DAILY")).expect("parses");
        cache.get(&spec("FREQ=WEEKLY")).expect("parses");
        cache.get(&spec("FREQ=HOURLY")).expect_err("refused");
        cache.get(&spec("FREQ=DAILY")).expect("parses");
        cache.get(&spec("FREQ=YEARLY")).expect("parses");
        assert_eq!(cache.len(), 2);
        let still = cache.get(&spec("FREQ=DAILY")).expect("parses");
        assert!(Arc::ptr_eq(&kept.walls, &still.walls), "the one in use was dropped");
    }
}
