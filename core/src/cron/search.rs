//! From matching wall clocks to nominal instants: next and previous, across time changes.
//!
//! Time is walked segment by segment (stretches of constant offset). Inside one, a match of the wall clock *is* an
//! instant; between two stands a shift, and the class of the spec says what it does. The walls are never asked for inside
//! a gap or twice in an overlap anywhere but here, `cron::count` and the two lints.
//!
//! What matches is asked through [`Walls`], so that cron texts and recurrence rules keep one set of rules for time changes.

use std::ops::Range;

use super::parsed::Parsed;
use super::wall::{DAY, Wall};
use super::zone::{FIRST, LAST, Segment, Zone};
use super::{Class, DstGap, DstOverlap, Note, Occurrence};
use crate::time::Timestamp;

/// What matches on a wall clock, and what a time change does to it.
pub(crate) trait Walls {
    /// The zone whose wall clock is read.
    fn zone(&self) -> &Zone;
    /// Whether it names times of day or follows elapsed time.
    fn class(&self) -> Class;
    /// What becomes of a match that does not exist; of the fixed class only.
    fn dst_gap(&self) -> DstGap;
    /// Which pass of a match that exists twice counts; of the fixed class only.
    fn dst_overlap(&self) -> DstOverlap;
    /// The first match at or after `from`.
    fn next_wall(&self, from: Wall) -> Option<Wall>;
    /// The last match at or before `from`.
    fn prev_wall(&self, from: Wall) -> Option<Wall>;
    /// Whether a wall matches.
    fn contains(&self, wall: Wall) -> bool;
    /// The first match in a range, exact even where no clock shows it.
    fn first_within(&self, walls: Range<Wall>) -> Option<Wall>;
    /// The number of matches in a range.
    fn count_walls(&self, walls: Range<Wall>) -> u64;

    /// Whether it takes this pass only, and so drops the other.
    fn drops(&self, only: DstOverlap) -> bool {
        self.class() == Class::Fixed && self.dst_overlap() == only
    }

    /// What the instant of a matching wall is, or none when the class drops this pass of it.
    fn note(&self, segment: &Segment, second: i64) -> Option<Note> {
        if segment.second_pass().contains(&second) {
            return (!self.drops(DstOverlap::First)).then_some(Note::SecondPass);
        }
        if segment.first_pass().contains(&second) {
            return (!self.drops(DstOverlap::Second)).then_some(Note::FirstPass);
        }
        Some(Note::Normal)
    }

    /// What the first second of a segment is because of the gap before it: several missed matches, on whichever dates
    /// the wall would have shown, make one instant, and an instant that matches by itself stays normal.
    fn opening(&self, segment: &Segment) -> Option<Note> {
        if self.class() != Class::Fixed || self.dst_gap() != DstGap::RunAfter {
            return None;
        }
        let gap = segment.opened.and_then(|shift| shift.gap())?;
        self.first_within(gap.clone())?;
        Some(if self.contains(gap.end) { Note::Normal } else { Note::MovedFromGap })
    }
}

/// No offset of any zone moves a wall clock so far from UTC: a match at least so far away is in no segment before it.
const FAR: i64 = 2 * DAY;

/// A match of the wall clock, and the wall from which it is the nearest in the direction of the search. Kept from one
/// segment to the next, so that a text that is due in years is searched once and not at each time change.
#[derive(Clone, Copy)]
struct Found {
    from: Wall,
    wall: Wall,
}

/// The first instant strictly after `after`.
pub(crate) fn next<W: Walls>(cron: &W, after: Timestamp) -> Option<Occurrence> {
    let mut second = second_after(after).max(FIRST);
    if second > LAST {
        return None;
    }
    let mut segment = cron.zone().segment_at(second);
    let mut found: Option<Found> = None;
    loop {
        if let Some(note) = cron.opening(&segment).filter(|_| second == segment.start()) {
            return occurrence(second, note);
        }
        let from = segment.wall(second);
        // The match found from an earlier wall is still the first one from here, unless it has been passed.
        let known = found.filter(|found| (found.from..=found.wall).contains(&from)).map(|found| found.wall);
        let Some(wall) = known.or_else(|| cron.next_wall(from)) else {
            // What ends may end in an overlap, whose second pass is still to come.
            let again = segment.closed.filter(|shift| cron.first_within(shift.repeated()).is_some())?;
            second = again.at;
            segment = cron.zone().segment_at(second);
            continue;
        };
        found = Some(Found { from, wall });
        let at = segment.second(wall);
        if at < segment.end() {
            match cron.note(&segment, at) {
                Some(note) => return occurrence(at, note),
                None => second = after_dropped(&segment, at),
            }
        } else {
            second = behind(&segment, second, known.and(Some(wall.0.saturating_sub(FAR))));
        }
        if second > LAST {
            return None;
        }
        if second >= segment.end() {
            segment = cron.zone().segment_at(second);
        }
    }
}

/// The last instant strictly before `before`.
pub(crate) fn prev<W: Walls>(cron: &W, before: Timestamp) -> Option<Occurrence> {
    let mut second = second_before(before).min(LAST);
    let mut found: Option<Found> = None;
    loop {
        if second < FIRST {
            return None;
        }
        let segment = cron.zone().segment_at(second);
        let from = segment.wall(second);
        let known = found.filter(|found| (found.wall..=found.from).contains(&from)).map(|found| found.wall);
        let Some(wall) = known.or_else(|| cron.prev_wall(from)) else {
            // What begins may begin in an overlap, whose first pass lies before.
            let earlier = segment.opened.filter(|shift| cron.first_within(shift.repeated()).is_some())?;
            second = earlier.at - 1;
            continue;
        };
        found = Some(Found { from, wall });
        let at = segment.second(wall);
        if at >= segment.start() {
            if let Some(note) = cron.note(&segment, at) {
                return occurrence(at, note);
            }
            second = before_dropped(&segment, at);
            continue;
        }
        if let Some(note) = cron.opening(&segment) {
            return occurrence(segment.start(), note);
        }
        second = in_front(&segment, second, known.and(Some(wall.0.saturating_add(FAR))));
    }
}

/// Where to look on behind a segment without a match. A match known from an earlier segment is the first on any wall
/// clock between, of gaps and of second passes too, so that the changes of centuries are skipped. (One found just now says
/// nothing about the walls before it, which an overlap at the end of the segment repeats.)
fn behind(segment: &Segment, second: i64, near_known: Option<i64>) -> i64 {
    let near = near_known.filter(|_| segment.end().saturating_sub(second) >= DAY).unwrap_or(i64::MIN);
    segment.end().max(near)
}

/// The same backwards.
fn in_front(segment: &Segment, second: i64, near_known: Option<i64>) -> i64 {
    let near = near_known.filter(|_| second.saturating_sub(segment.start()) >= DAY).unwrap_or(i64::MAX);
    (segment.start() - 1).min(near)
}

/// The first whole second strictly after an instant, sub-seconds included.
pub(crate) fn second_after(instant: Timestamp) -> i64 {
    instant.as_millis().div_euclid(1000) + 1
}

/// The last whole second strictly before an instant.
fn second_before(instant: Timestamp) -> i64 {
    instant.as_millis().saturating_sub(1).div_euclid(1000)
}

fn occurrence(second: i64, note: Note) -> Option<Occurrence> {
    (FIRST..=LAST).contains(&second).then(|| Occurrence { at: Timestamp::from_millis(second * 1000), note })
}

/// The first second behind the dropped pass that holds `second`.
fn after_dropped(segment: &Segment, second: i64) -> i64 {
    let second_pass = segment.second_pass();
    if second_pass.contains(&second) { second_pass.end } else { segment.first_pass().end }
}

/// The last second before the dropped pass that holds `second`.
fn before_dropped(segment: &Segment, second: i64) -> i64 {
    let second_pass = segment.second_pass();
    if second_pass.contains(&second) { second_pass.start - 1 } else { segment.first_pass().start - 1 }
}

impl Walls for Parsed {
    fn zone(&self) -> &Zone {
        &self.zone
    }

    fn class(&self) -> Class {
        self.class
    }

    fn dst_gap(&self) -> DstGap {
        self.dst_gap
    }

    fn dst_overlap(&self) -> DstOverlap {
        self.dst_overlap
    }

    fn next_wall(&self, from: Wall) -> Option<Wall> {
        self.next_wall(from)
    }

    fn prev_wall(&self, from: Wall) -> Option<Wall> {
        self.prev_wall(from)
    }

    fn contains(&self, wall: Wall) -> bool {
        self.pattern.contains(wall)
    }

    fn first_within(&self, walls: Range<Wall>) -> Option<Wall> {
        self.pattern.next(walls.start).filter(|wall| *wall < walls.end)
    }

    fn count_walls(&self, walls: Range<Wall>) -> u64 {
        self.pattern.count(walls.start, walls.end)
    }
}
