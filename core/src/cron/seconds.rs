//! The nominal instants of one block of time as a set of seconds, so that unions and exclusions of many specs are counted
//! without walking any of them.
//!
//! Must agree with `cron::search` to the instant, as `cron::count` must: the classes, gaps and passes are theirs.

#[cfg(test)]
mod tests;

use super::Note;
use super::bits::{has, highest, lower, lowest, size};
use super::parsed::Parsed;
use super::pattern::{Days, Times};
use super::search::Walls;
use super::wall::{DAY, Wall};
use super::zone::{FIRST, LAST, Segment};

#[cfg(test)]
thread_local! {
    static MADE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Some of the seconds of one block of time, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecondSet {
    first: i64,
    len: u32,
    /// Bit n of word w stands for the second `first + 64 w + n`; those beyond `len` stay 0.
    words: Vec<u64>,
}

impl SecondSet {
    /// The longest block, in seconds: a day, 10 KB.
    pub(crate) const MAX_LEN: u32 = DAY as u32;

    /// No second of the block `first .. first + len` (seconds since the Unix epoch), which is at most
    /// [`SecondSet::MAX_LEN`] long.
    pub(crate) fn new(first: i64, len: u32) -> Self {
        assert!(len <= Self::MAX_LEN, "a block of {len} seconds");
        #[cfg(test)]
        MADE.with(|made| made.set(made.get() + u64::from(len)));
        Self { first, len, words: vec![0; len.div_ceil(64) as usize] }
    }

    /// The first second of the block.
    pub(crate) const fn first(&self) -> i64 {
        self.first
    }

    /// The second behind the block.
    pub(crate) const fn end(&self) -> i64 {
        self.first.saturating_add(self.len as i64)
    }

    /// Adds a second; one outside the block is left out.
    pub(crate) fn insert(&mut self, second: i64) {
        if let Some((word, bit)) = self.place(second) {
            self.words[word] |= 1 << bit;
        }
    }

    /// Adds the seconds of a range; those outside the block are left out.
    pub(crate) fn insert_range(&mut self, seconds: std::ops::Range<i64>) {
        let (mut second, end) = (seconds.start.max(self.first), seconds.end.min(self.end()));
        while second < end {
            let place = usize::try_from(second - self.first).unwrap_or(0);
            let (word, bit) = (place / 64, place % 64);
            let len = (64 - bit as i64).min(end - second);
            self.words[word] |= (u64::MAX >> (64 - len)) << bit;
            second += len;
        }
    }

    /// Adds the seconds of the block that are a whole number of steps away from `anchor`. No search: a day of seconds is
    /// looked at for each spec and each tick that has to catch up.
    pub(crate) fn insert_steps(&mut self, anchor: i64, step: i64) {
        // Both differences fit: they are within one step, and steps are positive.
        let ahead = (anchor.rem_euclid(step) - self.first.rem_euclid(step)).rem_euclid(step);
        let len = i64::from(self.len);
        let mut offset = ahead;
        while offset < len {
            self.words[offset as usize / 64] |= 1 << (offset % 64);
            offset = offset.saturating_add(step);
        }
    }

    /// The first second that it holds.
    pub(crate) fn first_set(&self) -> Option<i64> {
        let (word, bits) = self.words.iter().enumerate().find(|(_, bits)| **bits != 0)?;
        Some(self.first + word as i64 * 64 + i64::from(lowest(*bits)))
    }

    /// The last second that it holds.
    pub(crate) fn last(&self) -> Option<i64> {
        let (word, bits) = self.words.iter().enumerate().rev().find(|(_, bits)| **bits != 0)?;
        Some(self.first + word as i64 * 64 + i64::from(highest(*bits)))
    }

    /// How many seconds this thread has made sets of: what a search has cost.
    #[cfg(test)]
    pub(crate) fn made() -> u64 {
        MADE.with(std::cell::Cell::get)
    }

    /// Whether it holds a second.
    #[cfg(test)]
    pub(crate) fn contains(&self, second: i64) -> bool {
        self.place(second).is_some_and(|(word, bit)| self.words[word] >> bit & 1 == 1)
    }

    /// Adds what another set of the same block holds.
    pub(crate) fn union(&mut self, other: &Self) {
        self.each_word(other, |word, other| word | other);
    }

    /// Removes what another set of the same block holds.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.each_word(other, |word, other| word & !other);
    }

    /// How many seconds it holds.
    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| size(*word)).sum()
    }

    fn each_word(&mut self, other: &Self, join: impl Fn(u64, u64) -> u64) {
        assert_eq!((self.first, self.len), (other.first, other.len), "sets of two blocks");
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = join(*word, *other);
        }
    }

    fn place(&self, second: i64) -> Option<(usize, u32)> {
        let place = u32::try_from(second.checked_sub(self.first)?).ok().filter(|place| *place < self.len)?;
        Some((place as usize / 64, place % 64))
    }

    /// Adds `second + n` for each bit n of `seconds`, all of which must be in the block.
    fn insert_bits(&mut self, second: i64, seconds: &[u64]) {
        let Some((word, bit)) = self.place(second) else { return };
        let mut carried = 0;
        for (word, bits) in self.words[word..].iter_mut().zip(seconds.iter().chain([&0])) {
            *word |= bits << bit | carried;
            // In two steps, since a shift by 64 is none.
            carried = bits >> 1 >> (63 - bit);
        }
    }

    /// Adds the seconds `from..to` of one segment, inside the block, whose wall clock is one of these.
    pub(super) fn insert_walls(&mut self, days: &Days, times: Times, segment: &Segment, from: i64, to: i64) {
        if from >= to {
            return;
        }
        let hour = hour_of(times);
        let (first, last) = (segment.wall(from), segment.wall(to - 1));
        for day in (first.day()..=last.day()).filter(|day| days.contains(*day)) {
            let midnight = Wall::at(day, 0);
            let low = (first.0 - midnight.0).max(0) as u32;
            let high = (last.0 - midnight.0).min(DAY - 1) as u32;
            self.insert_times(times, &hour, segment.second(midnight), low, high);
        }
    }

    /// Adds the seconds `low..=high` of a day whose midnight is at `midnight`: whole hours at once, the rest by minutes.
    fn insert_times(&mut self, times: Times, hour: &Hour, midnight: i64, low: u32, high: u32) {
        for start in (low / 3600..=high / 3600).filter(|hour| has(times.hours, *hour)).map(|hour| hour * 3600)
        {
            if low <= start && start + 3599 <= high {
                self.insert_bits(midnight + i64::from(start), hour);
            } else {
                self.insert_part_of_hour(times, midnight, low.max(start), high.min(start + 3599));
            }
        }
    }

    /// Adds the seconds `low..=high` of a matching hour.
    fn insert_part_of_hour(&mut self, times: Times, midnight: i64, low: u32, high: u32) {
        for minute in (low / 60..=high / 60).filter(|minute| has(times.minutes, minute % 60)) {
            let start = minute * 60;
            let skipped = low.saturating_sub(start);
            let seconds = times.seconds & lower((high - start + 1).min(60)) & !lower(skipped);
            self.insert_bits(midnight + i64::from(start + skipped), &[seconds >> skipped]);
        }
    }
}

/// The matching seconds of a matching hour, laid out as a [`SecondSet`] is.
type Hour = [u64; 57];

fn hour_of(times: Times) -> Hour {
    let mut hour = [0; 57];
    for minute in (0..60).filter(|minute| has(times.minutes, *minute)) {
        let (word, bit) = (minute as usize * 60 / 64, minute * 60 % 64);
        hour[word] |= times.seconds << bit;
        if bit > 4 {
            hour[word + 1] |= times.seconds >> (64 - bit);
        }
    }
    hour
}

/// Adds every nominal instant of the block.
pub(super) fn mark(cron: &Parsed, into: &mut SecondSet) {
    each_segment(cron, into, |into, segment, from, to| {
        let dropped = super::count::dropped(cron, segment);
        let (pass, rest) = (dropped.start.clamp(from, to), dropped.end.clamp(from, to));
        into.insert_walls(&cron.pattern.days, cron.pattern.times, segment, from, pass);
        into.insert_walls(&cron.pattern.days, cron.pattern.times, segment, rest, to);
        if from == segment.start() && cron.opening(segment) == Some(Note::MovedFromGap) {
            into.insert(from);
        }
    });
}

/// Asks for each part of the block that lies in one segment, `from..to`.
pub(super) fn each_segment(
    cron: &Parsed,
    into: &mut SecondSet,
    part: impl Fn(&mut SecondSet, &Segment, i64, i64),
) {
    let (mut from, end) = (into.first().max(FIRST), into.end().min(LAST + 1));
    while from < end {
        let segment = cron.zone.segment_at(from);
        let to = segment.end().min(end);
        part(into, &segment, from, to);
        from = to;
    }
}
