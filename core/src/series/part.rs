//! One spec and its exclusions: the search for its instants, in blocks where they are excluded.

use crate::cron::{Occurrence, SecondSet};
use crate::time::{Span, Timestamp};

use super::count;
use super::mask::Mask;
use super::source::Source;

/// How often a search passes over instants of one spec since they are excluded: the first time those of a minute at once,
/// soon those of a whole day, so that almost three years are looked at. What has none in them is taken to be excluded for
/// ever, at create as well as at a tick.
const MAX_JUMPS: u32 = 1_000;

/// How often exclusions may take turns in covering what follows before seconds are looked at as a set.
const MAX_TURNS: usize = 16;

/// The instants of one spec, and what is taken out of them.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) source: Source,
    pub(super) masks: Vec<Mask>,
}

impl Part {
    /// The first instant in `(after, until]`.
    pub(super) fn next(&self, after: Timestamp, until: Timestamp) -> Option<Occurrence> {
        let mut after = after;
        for jump in 0..MAX_JUMPS {
            let found = self.source.next(after).filter(|found| found.at <= until)?;
            if !self.covers(found.at) {
                return Some(found);
            }
            let free = self.uncovered_from(found.at)?;
            let next = count::first_of_block(self, free, block_len(jump)).unwrap_or_else(|end| end);
            after = next - Span::from_millis(1);
        }
        None
    }

    /// The last instant in `(after, before)`.
    pub(super) fn prev(&self, before: Timestamp, after: Timestamp) -> Option<Occurrence> {
        let mut before = before;
        for jump in 0..MAX_JUMPS {
            let found = self.source.prev(before).filter(|found| found.at > after)?;
            if !self.covers(found.at) {
                return Some(found);
            }
            let last = count::last_of_block(self, found.at, block_len(jump));
            before = last.map_or_else(|start| start, |last| last.successor());
        }
        None
    }

    fn covers(&self, at: Timestamp) -> bool {
        self.masks.iter().any(|mask| mask.covers(at))
    }

    /// The first instant at or after `at` that no exclusion covers, or one before it when they take turns for so long that
    /// it is not worth while to go on; none when one of them covers all.
    fn uncovered_from(&self, at: Timestamp) -> Option<Timestamp> {
        let mut free = at;
        for _ in 0..MAX_TURNS {
            let before = free;
            for mask in &self.masks {
                free = mask.uncovered_from(free)?;
            }
            if free == before {
                break;
            }
        }
        Some(free)
    }
}

/// How many seconds are looked at when so many blocks had nothing: what is excluded is mostly a few seconds or a few days.
fn block_len(jump: u32) -> u32 {
    (60 << (3 * jump.min(4))).min(SecondSet::MAX_LEN)
}
