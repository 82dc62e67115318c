//! One rule after it was read: what every question is asked of.
//!
//! Must not know how a rule is spelled, nor what a time change does: that is `cron::search`.

use std::ops::Range;

use super::RuleText;
use super::parts::{End, Parts};
use super::text::{self, refuse};
use super::years::Years;
use crate::cron::count::count;
use crate::cron::search::{self, Walls};
use crate::cron::wall::{DAY, LAST_YEAR, Month, Wall};
use crate::cron::zone::Zone;
use crate::cron::{Class, CronError, DstGap, DstOverlap, Occurrence};
use crate::time::Timestamp;

/// The meaning of a [`RuleText`].
pub(super) struct RuleWalls {
    /// As written; what the start adds is in `filled`.
    pub(super) written: Parts,
    pub(super) filled: Parts,
    pub(super) start: Wall,
    pub(super) zone: Zone,
    pub(super) dst_gap: DstGap,
    pub(super) dst_overlap: DstOverlap,
    pub(super) years: Years,
}

impl RuleWalls {
    pub(super) fn read(spec: &RuleText<'_>) -> Result<Self, CronError> {
        let written = text::read(spec.rule)?;
        let start = text::start(spec.start)?;
        let zone = Zone::named(spec.time_zone)?;
        let filled = written.clone().filled_from(start);
        let last = match written.end {
            End::Never | End::Count(_) => Wall(Month { year: LAST_YEAR + 1, month: 1 }.first_day() * DAY - 1),
            End::Local(wall) => wall,
            // No offset is so large; the instant itself is judged where walls have become instants.
            End::Instant(second) => Wall(second + DAY),
        };
        let mut years = Years::build(&filled, start, last).ok_or_else(not_taken)?;
        if let End::Count(count) = written.end {
            years.end_after(count);
        }
        let (dst_gap, dst_overlap) = (spec.dst_gap, spec.dst_overlap);
        let rule = Self { written, filled, start, zone, dst_gap, dst_overlap, years };
        rule.next(Timestamp::from_millis(i64::MIN)).map(|_| ()).ok_or_else(never)?;
        Ok(rule)
    }

    pub(super) fn next(&self, after: Timestamp) -> Option<Occurrence> {
        search::next(self, after).filter(|found| found.at <= self.last_instant())
    }

    pub(super) fn prev(&self, before: Timestamp) -> Option<Occurrence> {
        search::prev(self, before.min(self.last_instant().successor()))
    }

    pub(super) fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        count(self, after, until.min(self.last_instant()))
    }

    /// After which no instant is nominal.
    fn last_instant(&self) -> Timestamp {
        match self.written.end {
            End::Instant(second) => Timestamp::from_millis(second * 1000),
            End::Never | End::Count(_) | End::Local(_) => Timestamp::NEVER,
        }
    }
}

impl Walls for RuleWalls {
    fn zone(&self) -> &Zone {
        &self.zone
    }

    fn class(&self) -> Class {
        Class::Fixed
    }

    fn dst_gap(&self) -> DstGap {
        self.dst_gap
    }

    fn dst_overlap(&self) -> DstOverlap {
        self.dst_overlap
    }

    fn next_wall(&self, from: Wall) -> Option<Wall> {
        self.years.next(from)
    }

    fn prev_wall(&self, from: Wall) -> Option<Wall> {
        self.years.prev(from)
    }

    fn contains(&self, wall: Wall) -> bool {
        self.years.next(wall) == Some(wall)
    }

    fn first_within(&self, walls: Range<Wall>) -> Option<Wall> {
        self.years.next(walls.start).filter(|wall| *wall < walls.end)
    }

    fn count_walls(&self, walls: Range<Wall>) -> u64 {
        self.years.count(walls)
    }
}

fn never() -> CronError {
    refuse(
        None,
        "the rule never matches between its start and its end",
        "check the day against the month, and UNTIL against the start",
    )
}

/// The tests hold that what `text` accepts the engine takes; if they missed something, it is refused like anything else.
fn not_taken() -> CronError {
    refuse(None, "the rule is not supported in this combination of parts", "write it as two simpler rules")
}
