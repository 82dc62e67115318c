//! Which instants a calendar covers, once a zone says when its dates begin and end.
//!
//! Must run in the proposer only: it asks the tz data. What it finds travels in the log as numbers.

use std::ops::Range;

use super::Calendar;
use crate::cron::wall::{DAY, Wall};
use crate::cron::zone::{FIRST, LAST, Zone};
use crate::time::Timestamp;

/// The zone is not in the tz data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownZone;

/// A calendar in a zone. It borrows the calendar and finds the bounds of a date when it is asked.
pub struct Cover<'a> {
    calendar: &'a Calendar,
    zone: Zone,
}

impl<'a> Cover<'a> {
    pub(super) fn of(calendar: &'a Calendar, time_zone: &str) -> Result<Self, UnknownZone> {
        let name = calendar.time_zone.as_deref().unwrap_or(time_zone);
        Ok(Self { calendar, zone: Zone::named(name).map_err(|_| UnknownZone)? })
    }

    /// Whether an instant is excluded.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.in_date(at) || self.span_at(at).is_some()
    }

    /// The first instant at or after `at` that is not excluded. The work grows with the dates and spans that follow each
    /// other without a gap.
    #[must_use]
    pub fn uncovered_from(&self, at: Timestamp) -> Timestamp {
        let mut free = at;
        loop {
            let date_end = self.in_date(free).then(|| self.end_of_dates(free));
            let span_end = self.span_at(free).map(|(_, end)| end);
            match date_end.max(span_end).filter(|end| *end > free) {
                Some(end) => free = end,
                None => return free,
            }
        }
    }

    /// The UTC seconds of `from..to` at whose beginning it covers, as ranges that are ascending and apart.
    pub fn ranges(&self, from: i64, to: i64) -> impl Iterator<Item = Range<i64>> + '_ {
        let mut next = from;
        std::iter::from_fn(move || {
            while next < to {
                let start = self.covered_from(next, to)?;
                let end = second_at_or_after(self.uncovered_from(instant(start))).min(to);
                next = end.max(start + 1);
                if start < end {
                    return Some(start..end);
                }
            }
            None
        })
    }

    /// The first covered second of `from..to`.
    fn covered_from(&self, from: i64, to: i64) -> Option<i64> {
        if self.covers(instant(from)) {
            return Some(from);
        }
        let spans = &self.calendar.spans;
        let place = spans.partition_point(|(_, end)| *end <= instant(from));
        // A span may begin and end within one second, at whose beginning it covers nothing.
        let span = spans[place..]
            .iter()
            .map(|span| (second_at_or_after(span.0), span.1))
            .take_while(|(second, _)| *second < to)
            .find(|(second, end)| *second >= from && instant(*second) < *end)
            .map(|(second, _)| second);
        let date = self.next_date(from, span.unwrap_or(to));
        date.into_iter().chain(span).min()
    }

    /// The first second of `from..to` that lies in one of the dates, where `from` does not.
    fn next_date(&self, from: i64, to: i64) -> Option<i64> {
        let today = self.date_at(from);
        // A clock that is turned back over midnight shows yesterday again, so it may be among the next.
        let place = self.calendar.dates.partition_point(|date| i64::from(*date) < today - 1);
        self.calendar.dates[place..]
            .iter()
            .take_while(|date| i64::from(**date) <= self.date_at(to) + 1)
            .find_map(|date| {
                self.seconds_of(i64::from(*date))
                    .into_iter()
                    .map(|range| range.start)
                    .find(|start| *start >= from)
            })
            .filter(|start| *start < to)
    }

    /// The seconds at which the wall clock shows a date: none for a date that was left out, two ranges where the clock was
    /// turned back over midnight.
    fn seconds_of(&self, date: i64) -> Vec<Range<i64>> {
        let (first, last) = (Wall::at(date, 0).0, Wall::at(date + 1, 0).0);
        // No offset is as large as a day, and none changes by more.
        let (mut second, end) = ((first - DAY).max(FIRST), (last + DAY).min(LAST));
        let mut ranges: Vec<Range<i64>> = Vec::new();
        while second < end {
            let segment = self.zone.segment_at(second);
            let range = segment.second(Wall(first)).max(segment.start())
                ..segment.second(Wall(last)).min(segment.end());
            match ranges.last_mut().filter(|before| before.end == range.start) {
                Some(before) if range.start < range.end => before.end = range.end,
                _ if range.start < range.end => ranges.push(range),
                _ => {}
            }
            second = segment.end().max(second + 1);
        }
        ranges
    }

    /// The local date of a second.
    fn date_at(&self, second: i64) -> i64 {
        let second = second.clamp(FIRST, LAST);
        Wall(second + self.zone.offset_at(second)).day()
    }

    fn in_date(&self, at: Timestamp) -> bool {
        let date = self.date_at(at.as_millis().div_euclid(1000));
        i32::try_from(date).is_ok_and(|date| self.calendar.dates.binary_search(&date).is_ok())
    }

    /// The end of the date that holds an instant, and of those that follow it day after day, or the next change of the
    /// offset if that comes first: it may turn the clock back over midnight, and the caller asks again behind it.
    fn end_of_dates(&self, at: Timestamp) -> Timestamp {
        let second = at.as_millis().div_euclid(1000);
        let date = self.date_at(second);
        let dates = &self.calendar.dates;
        let place = dates.partition_point(|known| i64::from(*known) <= date);
        let row = dates[place..]
            .iter()
            .zip(date + 1..)
            .take_while(|(known, next)| i64::from(**known) == *next)
            .count();
        let segment = self.zone.segment_at(second);
        let midnight = Wall::at(date + row as i64 + 1, 0);
        instant(segment.second(midnight).min(segment.end()))
    }

    /// The span that holds an instant.
    fn span_at(&self, at: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let spans = &self.calendar.spans;
        let place = spans.partition_point(|(_, end)| *end <= at);
        spans.get(place).copied().filter(|(start, _)| *start <= at)
    }
}

fn instant(second: i64) -> Timestamp {
    Timestamp::from_millis(second.saturating_mul(1000))
}

fn second_at_or_after(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(1000) + i64::from(at.as_millis().rem_euclid(1000) > 0)
}
