//! The occurrences of one event, and how long each lasts.
//!
//! Must not know rules or windows; `ical::expand` fills it.

use std::collections::BTreeSet;

use super::lines::Line;
use super::value::{Length, When};
use crate::cron::wall::{DAY, Wall};
use crate::cron::zone::Zone;

/// When the occurrences of an event begin: on dates, or at seconds in a zone.
pub(super) struct Series {
    pub(super) all_day: bool,
    /// Days, or seconds since the epoch.
    pub(super) starts: BTreeSet<i64>,
    /// In which dates among the exceptions are read.
    pub(super) zone: String,
}

impl Series {
    /// The local dates of the starts.
    fn by_date(&self, zone: Option<&Zone>) -> impl Iterator<Item = (i64, i64)> + '_ {
        let zone = zone.cloned().filter(|_| !self.all_day);
        self.starts.iter().map(move |start| match &zone {
            Some(zone) => (Wall(start + zone.offset_at(*start)).day(), *start),
            None => (*start, *start),
        })
    }

    /// Leaves out what is named; a name that fits nothing is common (the rule was changed later) and changes nothing.
    pub(super) fn leave_out(&mut self, named: &[When]) {
        let zone = Zone::named(&self.zone).ok();
        let dates: BTreeSet<i64> = named.iter().filter_map(|when| self.named_date(when)).collect();
        if !dates.is_empty() {
            let left_out: Vec<i64> = self
                .by_date(zone.as_ref())
                .filter(|(date, _)| dates.contains(date))
                .map(|(_, start)| start)
                .collect();
            left_out.iter().for_each(|start| _ = self.starts.remove(start));
        }
        if !self.all_day {
            named.iter().filter_map(When::second).for_each(|second| _ = self.starts.remove(&second));
        }
    }

    /// The date that a name means; some programs write the midnight of an all-day event.
    fn named_date(&self, when: &When) -> Option<i64> {
        match when {
            When::Date(date) => Some(*date),
            When::Local(wall, _) if self.all_day => Some(wall.day()),
            When::Utc(second) if self.all_day => Some(second.div_euclid(DAY)),
            _ => None,
        }
    }
}

/// The distance from a start to an end; the error has the line and says what is wrong.
pub(super) fn between(first: &When, end: Result<When, String>, line: &Line) -> Result<Length, (u32, String)> {
    let end = end.map_err(|wrong| (line.number, wrong))?;
    let length = match (first, &end) {
        (When::Date(first), When::Date(end)) => Some(Length { days: end - first, seconds: 0 }),
        (first, end) => {
            first.second().zip(end.second()).map(|(first, end)| Length { days: 0, seconds: end - first })
        }
    };
    match length {
        Some(length) if length.days >= 0 && length.seconds >= 0 => Ok(length),
        Some(_) => Err((line.number, "DTEND is before DTSTART".to_owned())),
        None => Err((line.number, "DTSTART and DTEND are not of one kind".to_owned())),
    }
}
