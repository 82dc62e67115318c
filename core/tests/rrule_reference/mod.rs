//! An independent reading of recurrence rules: every day of a stretch of years is judged by itself, and each wall clock
//! becomes an instant by jiff's own disambiguation. Slow and plain on purpose; it shares nothing with the room it judges.

use std::collections::BTreeMap;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};

pub(crate) const WEEKDAYS: [(&str, Weekday); 7] = [
    ("MO", Weekday::Monday),
    ("TU", Weekday::Tuesday),
    ("WE", Weekday::Wednesday),
    ("TH", Weekday::Thursday),
    ("FR", Weekday::Friday),
    ("SA", Weekday::Saturday),
    ("SU", Weekday::Sunday),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Every {
    Day,
    Week,
    Month,
    Year,
}

/// A rule as the RFC names its parts; an empty list is a part that is not there.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    pub(crate) every: Every,
    pub(crate) interval: i64,
    pub(crate) week_start: usize,
    pub(crate) months: Vec<i64>,
    pub(crate) weeks: Vec<i64>,
    pub(crate) year_days: Vec<i64>,
    pub(crate) month_days: Vec<i64>,
    /// Number (0 for each) and place in [`WEEKDAYS`].
    pub(crate) days: Vec<(i64, usize)>,
    pub(crate) hours: Vec<i64>,
    pub(crate) positions: Vec<i64>,
    pub(crate) count: Option<usize>,
    pub(crate) start: DateTime,
}

impl Plain {
    pub(crate) fn text(&self) -> String {
        let frequency = match self.every {
            Every::Day => "DAILY",
            Every::Week => "WEEKLY",
            Every::Month => "MONTHLY",
            Every::Year => "YEARLY",
        };
        let mut text =
            format!("FREQ={frequency};INTERVAL={};WKST={}", self.interval, WEEKDAYS[self.week_start].0);
        for (name, list) in [
            ("BYMONTH", &self.months),
            ("BYWEEKNO", &self.weeks),
            ("BYYEARDAY", &self.year_days),
            ("BYMONTHDAY", &self.month_days),
            ("BYHOUR", &self.hours),
            ("BYSETPOS", &self.positions),
        ] {
            let values: Vec<String> = list.iter().map(ToString::to_string).collect();
            if !values.is_empty() {
                text.push_str(&format!(";{name}={}", values.join(",")));
            }
        }
        let days: Vec<String> =
            self.days
                .iter()
                .map(|(nth, day)| {
                    if *nth == 0 { WEEKDAYS[*day].0.to_owned() } else { format!("{nth}{}", WEEKDAYS[*day].0) }
                })
                .collect();
        if !days.is_empty() {
            text.push_str(&format!(";BYDAY={}", days.join(",")));
        }
        if let Some(count) = self.count {
            text.push_str(&format!(";COUNT={count}"));
        }
        text
    }

    /// Every local date and time of the rule in the years from its start on.
    pub(crate) fn walls(&self, years: i16) -> Vec<DateTime> {
        let mut periods: BTreeMap<i64, Vec<DateTime>> = BTreeMap::new();
        let mut day = Date::constant(self.start.year(), 1, 1).saturating_sub(1.week());
        let last = Date::constant(self.start.year() + years, 1, 1);
        // A week that reaches over the end counts its positions to its own end.
        while day < last.saturating_add(1.week()) {
            let period = self.period(day) - self.period(self.start.date());
            if period >= 0 && period % self.interval == 0 && self.takes(day) {
                let hours = if self.hours.is_empty() {
                    vec![i64::from(self.start.hour())]
                } else {
                    self.hours.clone()
                };
                let clock = |hour: i64| day.at(hour as i8, self.start.minute(), self.start.second(), 0);
                periods.entry(period).or_default().extend(hours.into_iter().map(clock));
            }
            day = day.saturating_add(1.day());
        }
        let mut walls: Vec<DateTime> = periods.into_values().flat_map(|walls| self.picked(walls)).collect();
        walls.sort();
        walls.retain(|wall| *wall >= self.start && wall.date() < last);
        walls.truncate(self.count.unwrap_or(usize::MAX));
        walls
    }

    fn picked(&self, mut walls: Vec<DateTime>) -> Vec<DateTime> {
        walls.sort();
        walls.dedup();
        if self.positions.is_empty() {
            return walls;
        }
        let length = walls.len() as i64;
        let place = |position: &i64| if *position > 0 { position - 1 } else { length + position };
        let mut places: Vec<i64> =
            self.positions.iter().map(place).filter(|place| (0..length).contains(place)).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| walls[place as usize]).collect()
    }

    /// The number of the period that holds a day.
    fn period(&self, day: Date) -> i64 {
        match self.every {
            Every::Day => number(day),
            Every::Week => number(self.week_of(day)).div_euclid(7),
            Every::Month => i64::from(day.year()) * 12 + i64::from(day.month()),
            Every::Year => i64::from(day.year()),
        }
    }

    /// The first day of the week of a day.
    fn week_of(&self, mut day: Date) -> Date {
        while day.weekday() != WEEKDAYS[self.week_start].1 {
            day = day.saturating_sub(1.day());
        }
        day
    }

    /// The year of the week that holds a day, and the first day of that year's first week.
    fn week_year(&self, day: Date) -> (i16, Date) {
        (day.year() - 1..=day.year() + 1)
            .rev()
            .map(|year| (year, self.week_of(Date::constant(year, 1, 4))))
            .find(|(_, first)| *first <= day)
            .expect("a year of weeks")
    }

    fn takes(&self, day: Date) -> bool {
        let silent = self.month_days.is_empty() && self.days.is_empty() && self.year_days.is_empty();
        let start = self.start.date();
        let by_start = match self.every {
            Every::Day => true,
            _ if !silent => true,
            Every::Week => day.weekday() == start.weekday(),
            Every::Month => day.day() == start.day(),
            Every::Year if !self.weeks.is_empty() => day.weekday() == start.weekday(),
            Every::Year => {
                day.day() == start.day() && (!self.months.is_empty() || day.month() == start.month())
            }
        };
        let one_of = |list: &[i64], from_front: i64, length: i64| {
            list.is_empty() || list.iter().any(|n| *n == from_front || *n == from_front - length - 1)
        };
        by_start
            && (self.months.is_empty() || self.months.contains(&i64::from(day.month())))
            && one_of(&self.year_days, i64::from(day.day_of_year()), i64::from(day.days_in_year()))
            && one_of(&self.month_days, i64::from(day.day()), i64::from(day.days_in_month()))
            && self.takes_week(day)
            && (self.days.is_empty()
                || self.days.iter().any(|(nth, place)| self.takes_weekday(day, *nth, *place)))
    }

    fn takes_week(&self, day: Date) -> bool {
        if self.weeks.is_empty() {
            return true;
        }
        let (year, first) = self.week_year(day);
        let next = self.week_of(Date::constant(year + 1, 1, 4));
        let week = (number(day) - number(first)) / 7 + 1;
        let weeks = (number(next) - number(first)) / 7;
        self.weeks.iter().any(|n| *n == week || *n == week - weeks - 1)
    }

    fn takes_weekday(&self, day: Date, nth: i64, place: usize) -> bool {
        if day.weekday() != WEEKDAYS[place].1 {
            return false;
        }
        let (from_front, length) = match self.every {
            Every::Year if self.months.is_empty() => {
                (i64::from(day.day_of_year()), i64::from(day.days_in_year()))
            }
            _ => (i64::from(day.day()), i64::from(day.days_in_month())),
        };
        nth == 0 || nth == (from_front - 1) / 7 + 1 || nth == -((length - from_front) / 7 + 1)
    }
}

fn number(day: Date) -> i64 {
    i64::from((day - Date::constant(1970, 1, 1)).get_days())
}

/// The first pass where a wall comes twice, the first instant after the gap where it does not come; each instant once.
pub(crate) fn instants(walls: &[DateTime], zone: &str) -> Vec<i64> {
    let zone: TimeZone = TimeZoneDatabase::bundled().get(zone).expect("a zone");
    let mut instants: Vec<i64> = walls
        .iter()
        .map(|wall| match zone.to_ambiguous_timestamp(*wall).offset() {
            AmbiguousOffset::Gap { before, .. } => {
                let behind = before.to_timestamp(*wall).expect("in range").as_second();
                let change =
                    zone.preceding(Timestamp::constant(behind + 1, 0)).next().expect("a gap has a change");
                change.timestamp().as_millisecond()
            }
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                offset.to_timestamp(*wall).expect("in range").as_millisecond()
            }
        })
        .collect();
    instants.sort_unstable();
    instants.dedup();
    instants
}
