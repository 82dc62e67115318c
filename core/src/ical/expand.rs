//! From an event to the dates or the spans that it excludes.
//!
//! Must be bounded whatever is written: rules are walked in a window of some years, and all together make at most
//! [`MAX_STARTS`] occurrences of [`MAX_RULES`] rules.

use std::collections::{BTreeMap, BTreeSet};

use super::component::{Components, Event};
use super::lines::Line;
use super::series::{Series, between};
use super::value::{Length, When, shown};
use super::zones::Zones;
use super::{BadIcal, Remarks, YEARS_AHEAD, bad};
use crate::calendar::{date_text, parse_date};
use crate::cron::wall::{DAY, Month, Wall};
use crate::cron::zone::Zone;
use crate::cron::{DstGap, DstOverlap, instant_text};
use crate::rrule::{Rule, RuleText};
use crate::time::Timestamp;

/// The most occurrences of all events together, before equal ones are merged: four times what a calendar holds.
const MAX_STARTS: usize = 20_000;
/// The most rules of a text; each takes a fraction of a millisecond.
const MAX_RULES: usize = 2_000;
/// The most rules that may be wrong: finding that one never matches takes up to some ten milliseconds.
const MAX_WRONG_RULES: usize = 50;
/// The most years that all rules together may make the engine look at, ten microseconds each.
const MAX_YEARS_FOUND: u64 = 100_000;
/// The most days of one all-day event.
const MAX_DAYS: i64 = 3_660;

/// What the events exclude so far.
pub(super) struct Expansion<'a> {
    zones: &'a Zones,
    /// Rules are walked from here to there, in seconds.
    window: (i64, i64),
    /// Occurrences that another event stands for, by uid: the lines that name them.
    replaced: BTreeMap<&'a str, Vec<&'a Line>>,
    dates: Vec<i32>,
    spans: Vec<(Timestamp, Timestamp)>,
    starts: usize,
    rules: usize,
    wrong_rules: usize,
    years_found: u64,
    /// The first line of a rule that goes on beyond the window, and of one that began before it.
    cut: (Option<u32>, Option<u32>),
}

impl<'a> Expansion<'a> {
    pub(super) fn new(components: &'a Components, now: Timestamp) -> Self {
        let mut replaced: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
        for event in &components.events {
            if let Some(line) = &event.instead_of {
                replaced.entry(&event.uid).or_default().push(line);
            }
        }
        let zones = &components.zones;
        Self {
            zones,
            window: window(now),
            replaced,
            dates: Vec::new(),
            spans: Vec::new(),
            starts: 0,
            rules: 0,
            wrong_rules: 0,
            years_found: 0,
            cut: (None, None),
        }
    }

    /// Adds what one event excludes.
    pub(super) fn add(&mut self, event: &'a Event, remarks: &mut Remarks) -> Result<(), BadIcal> {
        if event.cancelled {
            remarks.add(event.line, format!("{} is cancelled and was left out", event.told()));
            return Ok(());
        }
        let Some(start) = &event.start else {
            remarks.add(event.line, format!("{} has no DTSTART and was left out", event.told()));
            return Ok(());
        };
        let first = match When::read(start, self.zones) {
            Ok(first) => first,
            Err(wrong) => {
                remarks.add(start.number, format!("{wrong}: {} was left out", event.told()));
                return Ok(());
            }
        };
        if event.free && !matches!(first, When::Date(_)) {
            remarks.add(event.line, format!("{} is marked as free and was left out", event.told()));
            return Ok(());
        }
        let Some(length) = self.length(event, &first, remarks) else { return Ok(()) };
        let mut series = self.series(event, &first, remarks)?;
        self.added(event, &mut series, remarks);
        self.left_out(event, &mut series, remarks);
        self.exclude(event, &series, length, remarks)
    }

    /// Everything that is excluded, with what there is to say about all rules.
    pub(super) fn finish(self, remarks: &mut Remarks) -> (Vec<i32>, Vec<(Timestamp, Timestamp)>) {
        let text = |second: i64| instant_text(Timestamp::from_millis(second * 1000));
        if let Some(line) = self.cut.0 {
            remarks.add(
                line,
                format!("rules are expanded until {}: import again before then", text(self.window.1)),
            );
        }
        if let Some(line) = self.cut.1 {
            remarks.add(line, format!("occurrences of rules before {} were left out", text(self.window.0)));
        }
        (self.dates, self.spans)
    }

    /// How long each occurrence lasts; none when it excludes nothing.
    fn length(&self, event: &Event, first: &When, remarks: &mut Remarks) -> Option<Length> {
        let all_day = matches!(first, When::Date(_));
        let length = match (&event.end, &event.duration) {
            (Some(end), _) => between(first, When::read(end, self.zones), end),
            (None, Some(line)) => Length::read(&line.value)
                .ok_or_else(|| (line.number, format!("`{}` is no DURATION", shown(&line.value)))),
            (None, None) => Ok(Length { days: i64::from(all_day), seconds: 0 }),
        };
        match length {
            // A part of a day makes an all-day event of it.
            Ok(length) if all_day => {
                let days = length.days + (length.seconds + DAY - 1) / DAY;
                // Some programs write the same date as the end.
                Some(Length { days: days.max(1), seconds: 0 })
            }
            Ok(Length { days: 0, seconds: 0 }) => {
                remarks.add(event.line, format!("{} has no duration and excludes nothing", event.told()));
                None
            }
            Ok(length) => Some(length),
            Err((line, wrong)) if all_day => {
                remarks.add(line, format!("{wrong}: one day of {} is taken", event.told()));
                Some(Length { days: 1, seconds: 0 })
            }
            Err((line, wrong)) => {
                remarks.add(line, format!("{wrong}: {} was left out", event.told()));
                None
            }
        }
    }

    /// The first occurrence and those of the rules.
    fn series(&mut self, event: &Event, first: &When, remarks: &mut Remarks) -> Result<Series, BadIcal> {
        let (wall, zone, start) = match first {
            When::Date(date) => (Wall::at(*date, 0), "UTC".to_owned(), *date),
            When::Local(wall, zone) => (*wall, zone.clone(), first.second().unwrap_or(wall.0)),
            When::Utc(second) => (Wall(*second), "UTC".to_owned(), *second),
        };
        let all_day = matches!(first, When::Date(_));
        let mut series = Series { all_day, starts: BTreeSet::from([start]), zone };
        for line in &event.rules {
            if event.instead_of.is_some() {
                remarks.add(line.number, "a rule on a single changed occurrence was left out");
                continue;
            }
            self.walk(line, wall, &mut series, event, remarks);
            if self.rules > MAX_RULES
                || self.wrong_rules > MAX_WRONG_RULES
                || self.years_found > MAX_YEARS_FOUND
            {
                let detail = "the rules are too many, or too many of them are wrong";
                return Err(bad(Some(line.number), detail, "split it, or write plain dates"));
            }
        }
        Ok(series)
    }

    /// Adds the occurrences of one rule that lie in the window.
    fn walk(&mut self, line: &Line, start: Wall, series: &mut Series, event: &Event, remarks: &mut Remarks) {
        self.rules += 1;
        let (year, month, day, hour, minute, second) = start.parts();
        let start = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        let text = RuleText {
            rule: line.value.trim(),
            start: &start,
            time_zone: &series.zone,
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::First,
        };
        let rule = match Rule::parse(&text) {
            Ok(rule) => rule,
            Err(wrong) => {
                self.wrong_rules += 1;
                let told = event.told();
                return remarks.add(
                    line.number,
                    format!("the rule of {told} was left out, its first occurrence is kept: {wrong}"),
                );
            }
        };
        let (from, to) = self.window;
        let before = Timestamp::from_millis(from * 1000 - 1);
        if rule.prev(before.successor()).is_some() {
            self.cut.1.get_or_insert(line.number);
        }
        let mut last = before;
        while let Some(found) = rule.next(last) {
            let second = found.at.as_millis().div_euclid(1000);
            if second >= to {
                self.cut.0.get_or_insert(line.number);
                break;
            }
            if series.starts.len() > MAX_STARTS {
                break;
            }
            series.starts.insert(if series.all_day { second.div_euclid(DAY) } else { second });
            last = found.at;
        }
        self.years_found += rule.years_found();
    }

    /// `RDATE`.
    fn added(&mut self, event: &Event, series: &mut Series, remarks: &mut Remarks) {
        for (line, text) in
            event.added.iter().flat_map(|line| line.value.split(',').map(move |text| (line, text)))
        {
            let (text, period) = text.split_once('/').map_or((text, None), |(start, end)| (start, Some(end)));
            let when = When::one_of(line, text, self.zones);
            if let (Ok(when), Some(end)) = (&when, period) {
                match self.period(line, when, end) {
                    Some(span) => self.spans.push(span),
                    None => remarks.add(
                        line.number,
                        format!("`{}` is no period of RDATE and was left out", shown(text)),
                    ),
                }
                continue;
            }
            let start = match &when {
                Ok(When::Date(date)) if series.all_day => Ok(*date),
                Ok(timed) if !series.all_day => {
                    timed.second().ok_or_else(|| format!("`{}` is a date among times", shown(text)))
                }
                Ok(_) => Err(format!("`{}` is a time among dates", shown(text))),
                Err(wrong) => Err(wrong.clone()),
            };
            match start {
                Ok(start) if series.starts.len() <= MAX_STARTS => {
                    series.starts.insert(start);
                }
                Ok(_) => {}
                Err(wrong) => remarks.add(line.number, format!("{wrong}: left out of {}", event.told())),
            }
        }
    }

    fn period(&self, line: &Line, start: &When, end: &str) -> Option<(Timestamp, Timestamp)> {
        let second = start.second()?;
        let end = match Length::read(end) {
            Some(length) => second + length.days * DAY + length.seconds,
            None => When::one_of(line, end, self.zones).ok()?.second()?,
        };
        (second < end).then(|| (instant(second), instant(end)))
    }

    /// `EXDATE`, and the occurrences that another event stands for.
    fn left_out(&mut self, event: &'a Event, series: &mut Series, remarks: &mut Remarks) {
        let mut named = Vec::new();
        for (line, text) in
            event.left_out.iter().flat_map(|line| line.value.split(',').map(move |text| (line, text)))
        {
            match When::one_of(line, text, self.zones) {
                Ok(when) => named.push(when),
                Err(wrong) => remarks.add(line.number, format!("{wrong}: not left out of {}", event.told())),
            }
        }
        // One event takes them: two with one uid that both recur are two programs' work, and not to be multiplied.
        let replaced =
            if event.instead_of.is_none() { self.replaced.remove(event.uid.as_str()) } else { None };
        for line in replaced.into_iter().flatten() {
            if line.parameter("RANGE").is_some() {
                remarks.add(line.number, "RANGE is not understood: only the one occurrence is changed");
            }
            match When::read(line, self.zones) {
                Ok(when) => named.push(when),
                Err(wrong) => {
                    remarks.add(line.number, format!("{wrong}: the occurrence that it changes is kept"))
                }
            }
        }
        series.leave_out(&named);
    }

    /// Turns starts into dates or spans.
    fn exclude(
        &mut self,
        event: &Event,
        series: &Series,
        length: Length,
        remarks: &mut Remarks,
    ) -> Result<(), BadIcal> {
        let each = if series.all_day { length.days.clamp(1, MAX_DAYS) as usize } else { 1 };
        self.starts += series.starts.len() * each;
        if self.starts > MAX_STARTS {
            let detail = format!("the events make more than {MAX_STARTS} dates and spans");
            return Err(bad(Some(event.line), detail, "leave out events that are long past, or split it"));
        }
        if series.all_day && length.days > MAX_DAYS {
            remarks.add(
                event.line,
                format!("{} is longer than {MAX_DAYS} days: the first of them are taken", event.told()),
            );
        }
        let zone = Zone::named(&series.zone).ok();
        let mut outside = false;
        for start in &series.starts {
            if series.all_day {
                let days = (*start..*start + each as i64).filter_map(|day| i32::try_from(day).ok());
                let (kept, rest): (Vec<i32>, Vec<i32>) =
                    days.partition(|day| parse_date(&date_text(*day)).is_some());
                self.dates.extend(kept);
                outside |= !rest.is_empty();
                continue;
            }
            let moved = match &zone {
                Some(zone) if length.days > 0 => {
                    zone.first_second(Wall(*start + zone.offset_at(*start) + length.days * DAY))
                }
                _ => *start,
            };
            self.spans.push((instant(*start), instant(moved + length.seconds)));
        }
        if outside {
            remarks.add(event.line, format!("days of {} beyond the year 9999 were left out", event.told()));
        }
        Ok(())
    }
}

fn instant(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

/// From New Year's day a year before to the last day of the year that many years ahead, so that two imports of one day agree.
fn window(now: Timestamp) -> (i64, i64) {
    let (year, ..) = Wall(now.as_millis().div_euclid(1000)).parts();
    let new_year = |year: i32| Month { year: year.clamp(1970, 9998), month: 1 }.first_day() * DAY;
    (new_year(year.saturating_sub(1)), new_year(year.saturating_add(YEARS_AHEAD + 1)))
}
