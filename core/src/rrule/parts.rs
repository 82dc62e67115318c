//! The parts of a rule as sets of numbers, with what the start adds to them.
//!
//! Must not know how a part is spelled; that ended in `rrule::text`.

use std::collections::BTreeSet;

use crate::cron::wall::{Month, Wall, weekday};

/// Which period the rule steps by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

impl Frequency {
    /// As RFC 5545 spells it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Daily => "DAILY",
            Self::Weekly => "WEEKLY",
            Self::Monthly => "MONTHLY",
            Self::Yearly => "YEARLY",
        }
    }
}

/// Where the rule ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Never,
    /// After so many matches.
    Count(u32),
    /// With this local date and time.
    Local(Wall),
    /// With this instant, in seconds since the epoch.
    Instant(i64),
}

/// A weekday, plain or the n-th of its month or year, from the end if negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day {
    /// 0 for every one.
    pub(super) nth: i32,
    /// 0 is Sunday.
    pub(super) weekday: u32,
}

/// A rule, part by part; an empty set is a part that was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) frequency: Frequency,
    pub(super) interval: u16,
    pub(super) end: End,
    /// On which weekday weeks begin; 0 is Sunday.
    pub(super) week_start: u32,
    pub(super) months: BTreeSet<i32>,
    pub(super) weeks: BTreeSet<i32>,
    pub(super) year_days: BTreeSet<i32>,
    pub(super) month_days: BTreeSet<i32>,
    pub(super) days: BTreeSet<Day>,
    pub(super) hours: BTreeSet<i32>,
    pub(super) minutes: BTreeSet<i32>,
    pub(super) seconds: BTreeSet<i32>,
    pub(super) positions: BTreeSet<i32>,
}

impl Parts {
    /// Every day, with nothing else said.
    pub(super) const fn every(frequency: Frequency) -> Self {
        Self {
            frequency,
            interval: 1,
            end: End::Never,
            week_start: 1,
            months: BTreeSet::new(),
            weeks: BTreeSet::new(),
            year_days: BTreeSet::new(),
            month_days: BTreeSet::new(),
            days: BTreeSet::new(),
            hours: BTreeSet::new(),
            minutes: BTreeSet::new(),
            seconds: BTreeSet::new(),
            positions: BTreeSet::new(),
        }
    }

    /// Writes out what the start says where the rule is silent, so that nothing else is taken from it but where to begin
    /// and from where to count the interval (RFC 5545, 3.3.10, the last but one paragraph).
    pub(super) fn filled_from(mut self, start: Wall) -> Self {
        let (_, month, day, hour, minute, second) = start.parts();
        let no_day = self.month_days.is_empty() && self.days.is_empty() && self.year_days.is_empty();
        match self.frequency {
            Frequency::Yearly if no_day && self.weeks.is_empty() => {
                self.month_days.insert(day as i32);
                if self.months.is_empty() {
                    self.months.insert(month as i32);
                }
            }
            Frequency::Monthly if no_day => {
                self.month_days.insert(day as i32);
            }
            Frequency::Yearly | Frequency::Weekly if no_day => {
                self.days.insert(Day { nth: 0, weekday: weekday(start.day()) });
            }
            _ => {}
        }
        for (set, value) in
            [(&mut self.hours, hour), (&mut self.minutes, minute), (&mut self.seconds, second)]
        {
            if set.is_empty() {
                set.insert(value as i32);
            }
        }
        self
    }

    /// The times of a matching day, in seconds from midnight, ascending.
    pub(super) fn times(&self) -> Vec<u32> {
        let mut times = Vec::new();
        for hour in &self.hours {
            for minute in &self.minutes {
                times.extend(self.seconds.iter().map(|second| (hour * 3600 + minute * 60 + second) as u32));
            }
        }
        times
    }

    /// How many times of day there are, without listing them.
    pub(super) fn times_a_day(&self) -> usize {
        [&self.hours, &self.minutes, &self.seconds].into_iter().map(|set| set.len().max(1)).product()
    }

    /// Whether a weekday is counted in its month rather than in its year.
    pub(super) fn counts_in_month(&self) -> bool {
        self.frequency == Frequency::Monthly || !self.months.is_empty()
    }

    /// Whether the day on which weeks begin changes what the rule means.
    pub(super) fn depends_on_weeks(&self) -> bool {
        !self.weeks.is_empty()
            || self.frequency == Frequency::Weekly && (self.interval > 1 || !self.positions.is_empty())
    }
}

/// The first period of a rule, from which its interval is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    /// The day of the start, or of the beginning of its week.
    day: i64,
    /// Months since year 0.
    month: i64,
    year: i64,
}

/// Where in a year the first period begins that the interval reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// So many days after New Year; a week may begin before it.
    Day(i64),
    /// In this month, 1 to 12.
    Month(u32),
    Year,
}

impl Origin {
    pub(super) fn of(parts: &Parts, start: Wall) -> Self {
        let (month, _) = Month::of(start.day());
        let day = match parts.frequency {
            Frequency::Weekly => week_of(start.day(), parts.week_start),
            _ => start.day(),
        };
        Self {
            day,
            month: i64::from(month.year) * 12 + i64::from(month.month) - 1,
            year: i64::from(month.year),
        }
    }

    /// The first period of a year; none when the interval passes over the whole year.
    pub(super) fn phase(&self, parts: &Parts, year: i32) -> Option<Phase> {
        let interval = i64::from(parts.interval);
        let first_day = Month { year, month: 1 }.first_day();
        match parts.frequency {
            Frequency::Daily => day_of_year((self.day - first_day).rem_euclid(interval)),
            Frequency::Weekly => {
                let first_week = week_of(first_day, parts.week_start);
                let ahead = (self.day - first_week).rem_euclid(7 * interval);
                day_of_year(first_week + ahead - first_day)
            }
            Frequency::Monthly => {
                let ahead = (self.month - i64::from(year) * 12).rem_euclid(interval);
                (ahead < 12).then_some(Phase::Month(ahead as u32 + 1))
            }
            Frequency::Yearly => {
                (i64::from(year) - self.year).rem_euclid(interval).eq(&0).then_some(Phase::Year)
            }
        }
    }
}

/// None when it is not in the year.
fn day_of_year(offset: i64) -> Option<Phase> {
    (offset < 366).then_some(Phase::Day(offset))
}

/// The first day of the week that holds `day`.
pub(super) fn week_of(day: i64, week_start: u32) -> i64 {
    day - i64::from((weekday(day) + 7 - week_start) % 7)
}
