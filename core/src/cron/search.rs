//! From matching wall clocks to nominal instants: next and previous, across time changes.
//!
//! Time is walked segment by segment (stretches of constant offset). Inside one, a match of the wall clock *is* an
//! instant; between two stands a shift, and the class of the spec says what it does. The walls are never asked for inside
//! a gap or twice in an overlap anywhere but here, `cron::count` and `cron::lint`.

use super::parsed::Parsed;
use super::wall::Wall;
use super::zone::{FIRST, LAST, Segment};
use super::{Class, DstGap, DstOverlap, Note, Occurrence};
use crate::time::Timestamp;

/// A match of the wall clock, and the wall from which it is the nearest in the direction of the search. Kept from one
/// segment to the next, so that a text that is due in years is searched once and not at each time change.
#[derive(Clone, Copy)]
struct Found {
    from: Wall,
    wall: Wall,
}

/// The first instant strictly after `after`.
pub(super) fn next(cron: &Parsed, after: Timestamp) -> Option<Occurrence> {
    let mut second = second_after(after).max(FIRST);
    if second > LAST {
        return None;
    }
    let mut segment = cron.zone.segment_at(second);
    let mut found: Option<Found> = None;
    loop {
        if let Some(note) = cron.opening(&segment).filter(|_| second == segment.start()) {
            return occurrence(second, note);
        }
        let from = segment.wall(second);
        // The match found from an earlier wall is still the first one from here, unless it has been passed.
        let known = found.filter(|found| (found.from..=found.wall).contains(&from)).map(|found| found.wall);
        let wall = known.or_else(|| cron.next_wall(from))?;
        found = Some(Found { from, wall });
        let at = segment.second(wall);
        if at < segment.end() {
            match cron.note(&segment, at) {
                Some(note) => return occurrence(at, note),
                None => second = cron.after_dropped(&segment, at),
            }
        } else {
            second = segment.end();
        }
        if second > LAST {
            return None;
        }
        if second >= segment.end() {
            segment = cron.zone.segment_at(second);
        }
    }
}

/// The last instant strictly before `before`.
pub(super) fn prev(cron: &Parsed, before: Timestamp) -> Option<Occurrence> {
    let mut second = second_before(before).min(LAST);
    let mut found: Option<Found> = None;
    loop {
        if second < FIRST {
            return None;
        }
        let segment = cron.zone.segment_at(second);
        let from = segment.wall(second);
        let known = found.filter(|found| (found.wall..=found.from).contains(&from)).map(|found| found.wall);
        let wall = known.or_else(|| cron.prev_wall(from))?;
        found = Some(Found { from, wall });
        let at = segment.second(wall);
        if at >= segment.start() {
            if let Some(note) = cron.note(&segment, at) {
                return occurrence(at, note);
            }
            second = cron.before_dropped(&segment, at);
            continue;
        }
        if let Some(note) = cron.opening(&segment) {
            return occurrence(segment.start(), note);
        }
        second = segment.start() - 1;
    }
}

/// The first whole second strictly after an instant, sub-seconds included.
pub(super) fn second_after(instant: Timestamp) -> i64 {
    instant.as_millis().div_euclid(1000) + 1
}

/// The last whole second strictly before an instant.
fn second_before(instant: Timestamp) -> i64 {
    instant.as_millis().saturating_sub(1).div_euclid(1000)
}

fn occurrence(second: i64, note: Note) -> Option<Occurrence> {
    (FIRST..=LAST).contains(&second).then(|| Occurrence { at: Timestamp::from_millis(second * 1000), note })
}

impl Parsed {
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

    /// Whether it takes this pass only, and so drops the other.
    pub(super) fn drops(&self, only: DstOverlap) -> bool {
        self.class == Class::Fixed && self.dst_overlap == only
    }

    /// The first second behind the dropped pass that holds `second`.
    fn after_dropped(&self, segment: &Segment, second: i64) -> i64 {
        let second_pass = segment.second_pass();
        if second_pass.contains(&second) { second_pass.end } else { segment.first_pass().end }
    }

    /// The last second before the dropped pass that holds `second`.
    fn before_dropped(&self, segment: &Segment, second: i64) -> i64 {
        let second_pass = segment.second_pass();
        if second_pass.contains(&second) { second_pass.start - 1 } else { segment.first_pass().start - 1 }
    }

    /// What the first second of a segment is because of the gap before it: several missed matches, on whichever dates
    /// the wall would have shown, make one instant, and an instant that matches by itself stays normal.
    pub(super) fn opening(&self, segment: &Segment) -> Option<Note> {
        if self.class != Class::Fixed || self.dst_gap != DstGap::RunAfter {
            return None;
        }
        let gap = segment.opened.and_then(|shift| shift.gap())?;
        let missed = self.pattern.next(gap.start).is_some_and(|wall| wall < gap.end);
        missed.then(|| if self.pattern.contains(gap.end) { Note::Normal } else { Note::MovedFromGap })
    }
}
