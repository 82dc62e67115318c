//! Parsed texts by what was written, so that a million schedules with a few thousand texts hold a few thousand patterns.
//!
//! Must not change an answer: a cache of any size, or none, gives the same occurrences.

use std::fmt::Write;

use super::{Cron, CronError, CronText};
use crate::recent::Recent;

/// How many texts a cache holds by default: 25 MB when all of them have been searched, at 6 KB each.
pub const DEFAULT_CAPACITY: usize = 4096;

/// A bounded cache of parsed texts; the one that was asked for longest ago goes first.
#[derive(Debug)]
pub struct CronCache(Recent<Cron>);

impl Default for CronCache {
    /// A cache of [`DEFAULT_CAPACITY`] texts.
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl CronCache {
    /// A cache that holds at most `capacity` texts, and at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self(Recent::new(capacity))
    }

    /// The parsed form of a text, from the cache or read now.
    ///
    /// # Errors
    /// As [`Cron::parse`]; a refused text is not kept.
    pub fn get(&mut self, spec: &CronText<'_>) -> Result<Cron, CronError> {
        self.0.get(|key| write_key(key, spec), || Cron::parse(spec))
    }

    /// How many texts it holds.
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

/// One text for all that decides the parsed form. Texts that parse hold no NUL, so no two specs share a key.
fn write_key(key: &mut String, spec: &CronText<'_>) {
    let (day, gap, overlap) = (spec.day_match as u8, spec.dst_gap as u8, spec.dst_overlap as u8);
    // Writing to a string cannot fail.
    let _ = write!(key, "{}\0{}\0{day}{gap}{overlap}", spec.text, spec.time_zone);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cron::{DayMatch, DstGap, DstOverlap};

    fn spec(text: &str, dst_overlap: DstOverlap) -> CronText<'_> {
        CronText {
            text,
            time_zone: "Europe/Berlin",
            day_match: DayMatch::Any,
            dst_gap: DstGap::RunAfter,
            dst_overlap,
        }
    }

    #[test]
    fn the_same_text_and_options_share_one_parsed_form() {
        let mut cache = CronCache::new(8);
        let first = cache.get(&spec("30 2 * * *", DstOverlap::First)).expect("parses");
        let again = cache.get(&spec("30 2 * * *", DstOverlap::First)).expect("parses");
        let other = cache.get(&spec("30 2 * * *", DstOverlap::Both)).expect("parses");
        assert!(Arc::ptr_eq(&first.parsed, &again.parsed));
        assert!(!Arc::ptr_eq(&first.parsed, &other.parsed));
        assert_eq!(cache.len(), 2);
    }

    #[test]
    fn the_text_asked_for_longest_ago_makes_room() {
        let mut cache = CronCache::new(2);
        let kept = cache.get(&spec("0 1 * * *", DstOverlap::First)).expect("parses");
        cache.get(&spec("0 2 * * *", DstOverlap::First)).expect("parses");
        cache.get(&spec("0 1 * * *", DstOverlap::First)).expect("parses");
        cache.get(&spec("0 3 * * *", DstOverlap::First)).expect("parses");
        assert_eq!(cache.len(), 2);
        let still = cache.get(&spec("0 1 * * *", DstOverlap::First)).expect("parses");
        assert!(Arc::ptr_eq(&kept.parsed, &still.parsed), "the one in use was dropped");
    }

    #[test]
    fn a_refused_text_is_not_kept_and_makes_no_room() {
        let mut cache = CronCache::new(1);
        cache.get(&spec("0 1 * * *", DstOverlap::First)).expect("parses");
        cache.get(&spec("0 25 * * *", DstOverlap::First)).expect_err("refused");
        assert_eq!(cache.len(), 1);
    }
}
