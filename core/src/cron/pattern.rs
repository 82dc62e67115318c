//! What a cron text means, as bit sets: which seconds of a day and which days of a month match.
//!
//! Must not know zones, daylight saving or text. croner answers the ordinary wall-clock search (`cron::engine`); these
//! sets answer what croner cannot: counting without walking, the inside of a gap, and the ends of its range.

use super::bits::{at_or_above, below, has, highest, lower, lowest, size};
use super::wall::{LAST_YEAR, Month, Wall, weekday};

/// The sets of one cron text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) times: Times,
    pub(super) days: Days,
}

/// Which seconds of a matching day match: the product of three sets, bit `n` for value `n`, none of them empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) hours: u64,
    pub(super) minutes: u64,
    pub(super) seconds: u64,
}

/// Which days match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Days {
    /// Bits 1 to 12.
    pub(super) months: u64,
    pub(super) month_days: MonthDays,
    pub(super) weekdays: Weekdays,
    /// Whether a day must be in both sets, or in either (`SEMANTICS` §3, the vixie rule).
    pub(super) join: Join,
}

/// How the two day fields combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// Both fields must match. A field that is `*` matches every day, so this is also the rule for a free field.
    Both,
    /// Either field is enough: both are restricted (POSIX).
    Either,
}

/// The day-of-month field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MonthDays {
    /// Bits 1 to 31: plain days.
    pub(super) plain: u64,
    /// Bits 1 to 31: `nW`, the weekday (Monday to Friday) nearest to day n, within the month.
    pub(super) nearest: u64,
    /// `L`.
    pub(super) last: bool,
    /// `LW`.
    pub(super) last_weekday: bool,
}

/// The day-of-week field; bit 0 is Sunday.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Weekdays {
    /// Bits 0 to 6: every such weekday.
    pub(super) plain: u64,
    /// `n#m`: at index m - 1, the weekdays of which the m-th in the month matches.
    pub(super) nth: [u64; 5],
    /// `nL`: the weekdays of which the last in the month matches.
    pub(super) last: u64,
}

impl Pattern {
    /// The first match at or after `from`, up to the end of year 9999.
    pub(super) fn next(&self, from: Wall) -> Option<Wall> {
        let day = from.day();
        if let Some(second) = self.times.next(from.second_of_day())
            && self.days.contains(day)
        {
            return Some(Wall::at(day, second));
        }
        Some(Wall::at(self.days.next(day + 1)?, self.times.first()))
    }

    /// The last match at or before `from`, down to year 1.
    pub(super) fn prev(&self, from: Wall) -> Option<Wall> {
        let day = from.day();
        if let Some(second) = self.times.prev(from.second_of_day())
            && self.days.contains(day)
        {
            return Some(Wall::at(day, second));
        }
        Some(Wall::at(self.days.prev(day - 1)?, self.times.last()))
    }

    /// Whether this reading matches.
    pub(super) fn contains(&self, wall: Wall) -> bool {
        self.times.has(wall.second_of_day()) && self.days.contains(wall.day())
    }

    /// The number of matches in `from..to`.
    pub(super) fn count(&self, from: Wall, to: Wall) -> u64 {
        if from >= to {
            return 0;
        }
        let (first, last) = (from.day(), to.day());
        let before_from = self.part_of_day(first, from.second_of_day());
        let before_to = self.part_of_day(last, to.second_of_day());
        // Whole days from the first up to, not including, the last; then the part of the last, less what precedes `from`.
        self.days.count(first, last) * self.times.per_day() + before_to - before_from
    }

    /// The number of matches on `day` before its `second`.
    fn part_of_day(&self, day: i64, second: u32) -> u64 {
        if self.days.contains(day) { self.times.before(second) } else { 0 }
    }
}

impl Times {
    /// The first matching second of the day.
    pub(super) fn first(&self) -> u32 {
        lowest(self.hours) * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)
    }

    /// The last matching second of the day.
    pub(super) fn last(&self) -> u32 {
        highest(self.hours) * 3600 + highest(self.minutes) * 60 + highest(self.seconds)
    }

    /// Whether this second of the day matches.
    pub(super) fn has(self, second: u32) -> bool {
        has(self.hours, second / 3600)
            && has(self.minutes, second / 60 % 60)
            && has(self.seconds, second % 60)
    }

    /// How many seconds of a matching day match.
    pub(super) fn per_day(&self) -> u64 {
        size(self.hours) * self.per_hour()
    }

    /// How many seconds of a matching hour match.
    pub(super) fn per_hour(&self) -> u64 {
        size(self.minutes) * size(self.seconds)
    }

    /// The first match at or after second `from` of the day.
    fn next(&self, from: u32) -> Option<u32> {
        let (hour, minute, second) = (from / 3600, from / 60 % 60, from % 60);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(found) = at_or_above(self.seconds, second)
            {
                return Some(hour * 3600 + minute * 60 + found);
            }
            if let Some(found) = at_or_above(self.minutes, minute + 1) {
                return Some(hour * 3600 + found * 60 + lowest(self.seconds));
            }
        }
        let found = at_or_above(self.hours, hour + 1)?;
        Some(found * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds))
    }

    /// The last match at or before second `from` of the day.
    fn prev(&self, from: u32) -> Option<u32> {
        let (hour, minute, second) = (from / 3600, from / 60 % 60, from % 60);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(found) = below(self.seconds, second + 1)
            {
                return Some(hour * 3600 + minute * 60 + found);
            }
            if let Some(found) = below(self.minutes, minute) {
                return Some(hour * 3600 + found * 60 + highest(self.seconds));
            }
        }
        let found = below(self.hours, hour)?;
        Some(found * 3600 + highest(self.minutes) * 60 + highest(self.seconds))
    }

    /// The number of matches before second `end` of the day.
    fn before(&self, end: u32) -> u64 {
        let (hour, minute, second) = (end / 3600, end / 60 % 60, end % 60);
        let mut count = size(self.hours & lower(hour)) * self.per_hour();
        if has(self.hours, hour) {
            count += size(self.minutes & lower(minute)) * size(self.seconds);
            if has(self.minutes, minute) {
                count += size(self.seconds & lower(second));
            }
        }
        count
    }
}

impl Days {
    /// Whether any day of the calendar matches. The calendar repeats, weekdays included, after 400 years.
    pub(super) fn any(&self) -> bool {
        let mut month = Month { year: 2000, month: 1 };
        while month.year < 2400 {
            if self.of_month(month) != 0 {
                return true;
            }
            month = month.next();
        }
        false
    }

    /// Whether `day` (since 1970-01-01) matches.
    pub(super) fn contains(&self, day: i64) -> bool {
        let (month, day_of_month) = Month::of(day);
        has(self.of_month(month), day_of_month)
    }

    /// The first matching day at or after `from`.
    fn next(&self, from: i64) -> Option<i64> {
        let (mut month, mut day) = Month::of(from);
        while month.year <= LAST_YEAR {
            if let Some(found) = at_or_above(self.of_month(month), day) {
                return Some(month.first_day() + i64::from(found) - 1);
            }
            (month, day) = (month.next(), 1);
        }
        None
    }

    /// The last matching day at or before `from`.
    fn prev(&self, from: i64) -> Option<i64> {
        let (mut month, mut day) = Month::of(from);
        while month.year >= 1 {
            if let Some(found) = below(self.of_month(month), day + 1) {
                return Some(month.first_day() + i64::from(found) - 1);
            }
            (month, day) = (month.prev(), 31);
        }
        None
    }

    /// The number of matching days in `from..to`.
    fn count(&self, from: i64, to: i64) -> u64 {
        let (mut month, first) = Month::of(from);
        let (end, rest) = Month::of(to);
        if month == end {
            return size(self.of_month(month) & lower(rest) & !lower(first));
        }
        let mut count = size(self.of_month(month) & !lower(first));
        loop {
            month = month.next();
            if month == end {
                return count + size(self.of_month(month) & lower(rest));
            }
            count += size(self.of_month(month));
        }
    }

    /// The matching days of one month, bit n for day n.
    pub(super) fn of_month(&self, month: Month) -> u64 {
        if !has(self.months, month.month) {
            return 0;
        }
        let by_date = self.month_days.of_month(month);
        let by_weekday = self.weekdays.of_month(month);
        match self.join {
            Join::Both => by_date & by_weekday,
            Join::Either => by_date | by_weekday,
        }
    }
}

impl MonthDays {
    fn of_month(&self, month: Month) -> u64 {
        let last = month.len();
        let mut days = self.plain & lower(last + 1);
        if self.last {
            days |= 1 << last;
        }
        if self.last_weekday {
            days |= 1 << nearest_weekday(month, last);
        }
        let mut nearest = self.nearest & lower(last + 1);
        while nearest != 0 {
            days |= 1 << nearest_weekday(month, lowest(nearest));
            nearest &= nearest - 1;
        }
        days
    }
}

/// The day from Monday to Friday that is nearest to `day`, never in another month.
fn nearest_weekday(month: Month, day: u32) -> u32 {
    match weekday(month.first_day() + i64::from(day) - 1) {
        6 if day == 1 => 3,
        6 => day - 1,
        0 if day == month.len() => day - 2,
        0 => day + 1,
        _ => day,
    }
}

impl Weekdays {
    fn of_month(&self, month: Month) -> u64 {
        if self.plain == 0b111_1111 {
            return lower(month.len() + 1) & !1;
        }
        let on_the_first = weekday(month.first_day());
        (0..7).fold(0, |days, weekday| {
            days | self.of_weekday(weekday, 1 + (weekday + 7 - on_the_first) % 7, month)
        })
    }

    /// The matching days among those of one weekday, of which `first` is the first in the month.
    fn of_weekday(&self, weekday: u32, first: u32, month: Month) -> u64 {
        const WEEKLY: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;
        let all = (WEEKLY << first) & lower(month.len() + 1);
        let mut days = if has(self.plain, weekday) { all } else { 0 };
        for (nth, weekdays) in (0..).zip(self.nth) {
            if has(weekdays, weekday) {
                days |= all & (1 << (first + 7 * nth));
            }
        }
        if has(self.last, weekday) {
            days |= 1 << highest(all);
        }
        days
    }
}
