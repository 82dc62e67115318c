//! Clocks on walls, by hand: what a zone shows in the season of the quiet run, and when that changes. Written down from
//! the rules of those countries and not asked of a library, since the product asks one.

use campanile_core::time::Timestamp;

/// Milliseconds of a minute.
pub(super) const MINUTE: i64 = 60_000;

/// A zone, for a season in which its offset changes once at most.
#[derive(Debug)]
pub(super) struct Zone {
    /// Its IANA name.
    pub(super) name: &'static str,
    /// Minutes east of Greenwich before the change,
    before: i64,
    /// when it changes, in milliseconds of UTC,
    changes: i64,
    /// and minutes east behind it.
    after: i64,
}

/// What a wall time comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    /// One instant.
    Once(i64),
    /// None: the hands jump over it at this instant.
    Jumped(i64),
    /// Two.
    Twice(i64, i64),
}

/// The first instant that the table speaks of: 2031-03-01T00:00:00Z.
pub(super) const FROM: i64 = 1_930_089_600_000;
/// And the first that it does not: 2031-09-01T00:00:00Z, before anybody puts the clocks back.
pub(super) const TO: i64 = FROM + 184 * 24 * 60 * MINUTE;

/// Days and hours behind [`FROM`].
const fn at(days: i64, hours: i64) -> i64 {
    FROM + (days * 24 + hours) * 60 * MINUTE
}

/// A zone without daylight saving.
const fn fixed(name: &'static str, minutes: i64) -> Zone {
    Zone { name, before: minutes, changes: TO, after: minutes }
}

/// The zones of the team.
pub(super) const ZONES: [Zone; 6] = [
    fixed("UTC", 0),
    // The last Sunday of March, 30, at 01:00 UTC.
    Zone { name: "Europe/Berlin", before: 60, changes: at(29, 1), after: 120 },
    // The second Sunday of March, 9, at 02:00 on the wall.
    Zone { name: "America/New_York", before: -300, changes: at(8, 7), after: -240 },
    // The first Sunday of April, 6, at 02:00 on the wall: back by half an hour.
    Zone { name: "Australia/Lord_Howe", before: 660, changes: at(35, 15), after: 630 },
    // The first Sunday of April from the second on, 6, at 03:00 UTC: the last hour of Saturday comes twice.
    Zone { name: "America/Santiago", before: -180, changes: at(36, 3), after: -240 },
    fixed("Asia/Kathmandu", 345),
];

impl Zone {
    /// What its walls show at an instant, as milliseconds of a day that begins at 1970 there.
    pub(super) fn wall(&self, at: i64) -> i64 {
        at + MINUTE * if at < self.changes { self.before } else { self.after }
    }

    /// Which instants its walls show this at.
    pub(super) fn meant(&self, wall: i64) -> Meant {
        let (first, second) = (wall - self.before * MINUTE, wall - self.after * MINUTE);
        match (first < self.changes, second >= self.changes) {
            (true, true) if first != second => Meant::Twice(first, second),
            (true, _) => Meant::Once(first),
            (false, true) => Meant::Once(second),
            (false, false) => Meant::Jumped(self.changes),
        }
    }

    /// Whether its hands are put within that time.
    pub(super) fn changes_between(&self, from: Timestamp, to: Timestamp) -> bool {
        self.before != self.after && (from.as_millis()..to.as_millis()).contains(&self.changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hours and minutes of a day in the season, on a wall.
    fn wall(day: i64, hour: i64, minute: i64) -> i64 {
        at(day, hour) + minute * MINUTE
    }

    #[test]
    fn a_wall_time_is_jumped_over_or_comes_twice_where_the_hands_are_put() {
        let [_, berlin, york, howe, santiago, _] = &ZONES;
        assert_eq!(berlin.meant(wall(29, 2, 30)), Meant::Jumped(at(29, 1)));
        assert_eq!(berlin.meant(wall(29, 3, 0)), Meant::Once(at(29, 1)));
        assert_eq!(york.meant(wall(8, 2, 30)), Meant::Jumped(at(8, 7)));
        assert_eq!(york.meant(wall(7, 2, 30)), Meant::Once(at(7, 7) + 30 * MINUTE));
        let half = 30 * MINUTE;
        assert_eq!(howe.meant(wall(36, 1, 45)), Meant::Twice(at(35, 15) - half / 2, at(35, 15) + half / 2));
        assert_eq!(santiago.meant(wall(35, 23, 30)), Meant::Twice(at(36, 2) + half, at(36, 3) + half));
        assert_eq!(ZONES[0].meant(wall(3, 4, 5)), Meant::Once(wall(3, 4, 5)));
    }

    #[test]
    fn the_season_begins_on_a_saturday() {
        // 1970-01-01 was a Thursday.
        assert_eq!(FROM.rem_euclid(24 * 60 * MINUTE), 0);
        assert_eq!((FROM / (24 * 60 * MINUTE) + 4) % 7, 6);
    }
}
