//! The walls of a rule, year by year, without walking from its start.
//!
//! Two years of one shape that the interval reaches at the same place have the same matches. So what the engine finds for a
//! year is kept under shape and phase: a daily rule has 28 of them, and any year from then on costs a look-up. Counting
//! over all of years 1970 to 9999 adds up 8,000 lengths.
//!
//! Must not know zones: `cron::search` turns walls into instants.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::engine::{Engine, Shape};
use super::parts::{Frequency, Origin, Parts, Phase};
use crate::cron::wall::{DAY, LAST_YEAR, Month, Wall};

/// At most so many bytes of matches are kept for one rule; when they are passed, all are found anew.
pub(super) const KEPT_BYTES: usize = 256 * 1024;
/// What a kept year weighs beside its matches.
const YEAR_BYTES: usize = 64;

type Key = (Shape, Phase);
type Matches = Arc<[u32]>;

/// Every match of a rule from its start to its end.
pub(super) struct Years {
    engine: Engine,
    origin: Origin,
    parts: Parts,
    /// Added to each match that the engine finds; just 0 where it finds the times itself.
    times: Vec<u32>,
    first: Wall,
    last: Wall,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    years: BTreeMap<Key, Matches>,
    bytes: usize,
    /// How many were found in all, those forgotten again too.
    found: u64,
}

impl Years {
    /// The matches of a filled rule from `first` to `last`, both included; none when the engine does not take it.
    pub(super) fn build(parts: &Parts, first: Wall, last: Wall) -> Option<Self> {
        let times = if parts.positions.is_empty() { parts.times() } else { vec![0] };
        Some(Self {
            engine: Engine::build(parts)?,
            origin: Origin::of(parts, first),
            parts: parts.clone(),
            times,
            first,
            last: last.min(Wall(new_year(LAST_YEAR + 1).0 - 1)),
            kept: Mutex::default(),
        })
    }

    /// Ends the rule with its `count`-th match, or leaves it as it is if there are fewer.
    pub(super) fn end_after(&mut self, count: u32) {
        let mut left = u64::from(count);
        for year in self.years(self.first, self.last) {
            let here = self.count(self.first.max(new_year(year))..new_year(year + 1));
            if here >= left {
                let mut walls = std::iter::successors(self.next(self.first.max(new_year(year))), |wall| {
                    self.next(Wall(wall.0 + 1))
                });
                self.last = walls.nth(left as usize - 1).unwrap_or(self.last);
                return;
            }
            left -= here;
        }
    }

    /// The first match at or after `from`.
    pub(super) fn next(&self, from: Wall) -> Option<Wall> {
        let from = from.max(self.first);
        self.years(from, self.last)
            .find_map(|year| {
                let second = (from.0 - new_year(year).0).max(0);
                let found = self.first_from(&self.year(year)?, second)?;
                Some(Wall(new_year(year).0 + found))
            })
            .filter(|wall| *wall <= self.last)
    }

    /// The last match at or before `from`.
    pub(super) fn prev(&self, from: Wall) -> Option<Wall> {
        let from = from.min(self.last);
        self.years(self.first, from)
            .rev()
            .find_map(|year| {
                let found = self.last_to(&self.year(year)?, from.0 - new_year(year).0)?;
                Some(Wall(new_year(year).0 + found))
            })
            .filter(|wall| *wall >= self.first)
    }

    /// The number of matches in a range.
    pub(super) fn count(&self, walls: Range<Wall>) -> u64 {
        let (from, to) = (walls.start.max(self.first), walls.end.min(Wall(self.last.0 + 1)));
        self.years(from, Wall(to.0 - 1))
            .filter_map(|year| {
                let matches = self.year(year)?;
                let before = |wall: Wall| self.number_before(&matches, wall.0 - new_year(year).0);
                Some(before(to) - before(from))
            })
            .sum()
    }

    /// How often the engine was asked: what a reader of strange texts puts a bound to.
    pub(super) fn found(&self) -> u64 {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).found
    }

    /// The years that hold these walls, both included; none when they are the wrong way round.
    fn years(&self, from: Wall, to: Wall) -> impl DoubleEndedIterator<Item = i32> + use<> {
        let years = if from <= to { from.parts().0..to.parts().0 + 1 } else { 0..0 };
        let step = if self.parts.frequency == Frequency::Yearly { i32::from(self.parts.interval) } else { 1 };
        let origin = self.first.parts().0;
        // The years that an interval of years passes over are not even looked at.
        let first = years.start + (origin - years.start).rem_euclid(step);
        (first..years.end).step_by(step as usize)
    }

    fn year(&self, year: i32) -> Option<Matches> {
        let key = (Shape::of(year), self.origin.phase(&self.parts, year)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(matches) = kept.years.get(&key) {
            return Some(Arc::clone(matches));
        }
        let matches: Matches = self.engine.matches(key.0, key.1).into();
        kept.keep(key, &matches);
        Some(matches)
    }

    fn first_from(&self, matches: &[u32], second: i64) -> Option<i64> {
        let last_time = i64::from(*self.times.last()?);
        let place = matches.partition_point(|base| i64::from(*base) + last_time < second);
        let base = i64::from(*matches.get(place)?);
        let time = self.times.iter().map(|time| base + i64::from(*time)).find(|found| *found >= second)?;
        Some(time)
    }

    fn last_to(&self, matches: &[u32], second: i64) -> Option<i64> {
        let first_time = i64::from(*self.times.first()?);
        let place = matches.partition_point(|base| i64::from(*base) + first_time <= second);
        let base = i64::from(*matches.get(place.checked_sub(1)?)?);
        self.times.iter().rev().map(|time| base + i64::from(*time)).find(|found| *found <= second)
    }

    /// How many matches of a year come before one of its seconds.
    fn number_before(&self, matches: &[u32], second: i64) -> u64 {
        let last_time = self.times.last().map_or(0, |time| i64::from(*time));
        let whole = matches.partition_point(|base| i64::from(*base) + last_time < second);
        let part = matches.get(whole).map_or(0, |base| {
            self.times.partition_point(|time| i64::from(*base) + i64::from(*time) < second)
        });
        (whole * self.times.len() + part) as u64
    }
}

impl Kept {
    fn keep(&mut self, key: Key, matches: &Matches) {
        let bytes = YEAR_BYTES + 4 * matches.len();
        if self.bytes + bytes > KEPT_BYTES {
            *self = Self { found: self.found, ..Self::default() };
        }
        self.bytes += bytes;
        self.found += 1;
        self.years.insert(key, Arc::clone(matches));
    }
}

/// The first wall of a year.
fn new_year(year: i32) -> Wall {
    Wall(Month { year, month: 1 }.first_day() * DAY)
}
