//! How many nominal instants lie between two instants, without visiting them.
//!
//! Must agree with `cron::search` to the instant: the ledger's promise that each is decided once is checked by this sum.

use std::ops::Range;

use super::search::{Walls, second_after};
use super::zone::{FIRST, LAST, Segment};
use super::{DstOverlap, Note};
use crate::time::Timestamp;

/// The number of instants in (`after`, `until`].
pub(crate) fn count<W: Walls>(cron: &W, after: Timestamp, until: Timestamp) -> u64 {
    let mut from = second_after(after).max(FIRST);
    // Whole seconds only are nominal, so the last that counts is the one at or before `until`.
    let end = second_after(until).min(LAST + 1);
    let mut count = 0;
    while from < end {
        let segment = cron.zone().segment_at(from);
        let to = segment.end().min(end);
        count += in_segment(cron, &segment, from, to);
        from = to;
    }
    count
}

/// The number of instants in the seconds `from..to` of one segment.
fn in_segment<W: Walls>(cron: &W, segment: &Segment, from: i64, to: i64) -> u64 {
    let matches = |from: i64, to: i64| cron.count_walls(segment.wall(from)..segment.wall(to));
    let dropped = dropped(cron, segment);
    let moved = from == segment.start() && cron.opening(segment) == Some(Note::MovedFromGap);
    matches(from, to) - matches(from.max(dropped.start), to.min(dropped.end)) + u64::from(moved)
}

/// The seconds of a segment whose matches do not count, since the other pass of their walls does.
pub(super) fn dropped<W: Walls>(cron: &W, segment: &Segment) -> Range<i64> {
    if cron.drops(DstOverlap::First) {
        segment.second_pass()
    } else if cron.drops(DstOverlap::Second) {
        segment.first_pass()
    } else {
        0..0
    }
}
