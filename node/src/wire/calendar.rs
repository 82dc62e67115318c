//! Named calendars of exclusions as JSON, and what iCalendar texts become.

use campanile_core::calendar::{BadCalendar, Calendar as CoreCalendar, date_text, parse_date};
use campanile_core::definition::ScheduleName;
use campanile_core::ical::{self, BadIcal, Remark as CoreRemark};
use campanile_core::state::NamedCalendar;
use campanile_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::diff::Ticks;
use super::exclusion::read_zone;
use super::payload::Body;
use super::read::{Fields, Flaws, INSTANT_HINT};
use super::schedule::Warning;
use super::time::Instant;
use crate::problem::{Code, Flaw, Problem};

/// Fields that answers add.
const READ_ONLY: [&str; 5] = ["name", "users", "updated_at", "updated_by", "remarks"];

/// What a calendar holds: dates and spans, or an iCalendar text that is read into them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CalendarRequest {
    /// For people.
    #[serde(default)]
    pub description: String,
    /// The zone of the dates; that of the schedule which names the calendar when left out.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// Whole local dates, such as `2026-12-25`.
    #[serde(default)]
    pub dates: Vec<String>,
    /// Spans of time.
    #[serde(default)]
    pub spans: Vec<SpanOfTime>,
    /// Instead of dates and spans: an iCalendar text, at most 1 MiB. Rules are expanded to the end of the tenth year ahead.
    #[serde(default)]
    pub ical: Option<String>,
}

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SpanOfTime {
    /// Its first instant.
    pub from: Instant,
    /// The first instant after it.
    pub to: Instant,
}

/// A calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Calendar {
    /// Its name.
    pub name: String,
    /// For people.
    pub description: String,
    /// The zone of the dates; `null`: that of the schedule.
    pub time_zone: Option<String>,
    /// Whole local dates.
    pub dates: Vec<String>,
    /// Spans of time.
    pub spans: Vec<SpanOfTime>,
    /// How many schedules name it.
    pub users: u32,
    /// When it was last changed.
    pub updated_at: Instant,
    /// Who did that.
    pub updated_by: String,
    /// What was left out or changed of an iCalendar text; only where one was just read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
}

/// A calendar of a list: how much it holds, not what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CalendarRow {
    /// Its name.
    pub name: String,
    /// For people.
    pub description: String,
    /// The zone of the dates; `null`: that of the schedule.
    pub time_zone: Option<String>,
    /// How many dates it has.
    pub date_count: usize,
    /// How many spans it has.
    pub span_count: usize,
    /// How many schedules name it.
    pub users: u32,
    /// When it was last changed.
    pub updated_at: Instant,
    /// Who did that.
    pub updated_by: String,
}

/// Something in an iCalendar text that was not taken as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Remark {
    /// The line, from 1; 0 where it speaks of the whole.
    pub line: u32,
    /// What was left out or changed.
    pub message: String,
}

/// What putting a calendar would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CalendarDryRun {
    /// `created`, `changed` or `unchanged`.
    #[schema(pattern = "^(created|changed|unchanged)$")]
    pub change: String,
    /// How many dates it would have.
    pub date_count: usize,
    /// How many spans it would have.
    pub span_count: usize,
    /// How many schedules name it.
    pub users: u32,
    /// How many of them were looked at: the first hundred by name, and fewer when it takes too long.
    pub looked_at: u32,
    /// Those of which instants would come or go.
    pub moved: Vec<MovedSchedule>,
    /// What is allowed and often not meant.
    pub warnings: Vec<Warning>,
    /// What was left out or changed of an iCalendar text.
    pub remarks: Vec<Remark>,
}

/// A schedule of which instants would come or go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MovedSchedule {
    /// Its name, `namespace/name`.
    pub schedule: String,
    /// Which.
    pub ticks: Ticks,
}

impl Calendar {
    /// A calendar as an answer.
    #[must_use]
    pub fn of(name: &str, named: &NamedCalendar, users: u32, remarks: Vec<Remark>) -> Self {
        let CoreCalendar { description, time_zone, dates, spans } = &*named.calendar;
        let span =
            |(from, to): &(Timestamp, Timestamp)| SpanOfTime { from: Instant(*from), to: Instant(*to) };
        Self {
            name: name.to_owned(),
            description: description.to_string(),
            time_zone: time_zone.as_ref().map(|zone| zone.to_string()),
            dates: dates.iter().map(|date| date_text(*date)).collect(),
            spans: spans.iter().map(span).collect(),
            users,
            updated_at: Instant(named.updated_at),
            updated_by: named.updated_by.to_string(),
            remarks,
        }
    }
}

impl CalendarRow {
    /// A calendar in a list.
    #[must_use]
    pub fn of(name: &str, named: &NamedCalendar, users: u32) -> Self {
        Self {
            name: name.to_owned(),
            description: named.calendar.description.to_string(),
            time_zone: named.calendar.time_zone.as_ref().map(|zone| zone.to_string()),
            date_count: named.calendar.dates.len(),
            span_count: named.calendar.spans.len(),
            users,
            updated_at: Instant(named.updated_at),
            updated_by: named.updated_by.to_string(),
        }
    }
}

impl From<CoreRemark> for Remark {
    fn from(remark: CoreRemark) -> Self {
        Self { line: remark.line, message: remark.message }
    }
}

/// Why a text is no name of a calendar.
///
/// # Errors
/// `invalid_schedule` with what a name has.
pub fn check_name(name: &str) -> Result<(), Problem> {
    ScheduleName::new("calendar", name).map(|_| ()).map_err(|bad| {
        flawed(
            "/name",
            format!("the name of a calendar {}", bad.why),
            "1-200 letters, digits, '.', '_' and '-'",
        )
    })
}

/// Reads a calendar: JSON, or an iCalendar text as it is.
///
/// # Errors
/// `unknown_field` or `invalid_schedule` with every flaw; `bad_request` for what is neither.
pub fn read_calendar(
    bytes: &[u8],
    is_ical: bool,
    now: Timestamp,
) -> Result<(CoreCalendar, Vec<Remark>), Problem> {
    let read = if is_ical || looks_like_ical(bytes) {
        let text = std::str::from_utf8(bytes).map_err(|wrong| {
            Problem::bad_request(format!("the text is not UTF-8 at byte {}", wrong.valid_up_to()))
        })?;
        read_ical(text, "", now)
    } else {
        read_json(&Body::parse(bytes)?, now)
    };
    let (calendar, remarks) = read?;
    calendar.check().map_err(|bad| flawed(pointer_of(&bad), bad.to_string(), hint_of(bad)))?;
    Ok((calendar, remarks))
}

/// No JSON begins like this.
fn looks_like_ical(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    text.get(..15).is_some_and(|head| head.eq_ignore_ascii_case(b"BEGIN:VCALENDAR"))
}

fn read_ical(text: &str, pointer: &str, now: Timestamp) -> Result<(CoreCalendar, Vec<Remark>), Problem> {
    let (calendar, remarks) = ical::read(text, now).map_err(|bad| no_ical(&bad, pointer))?;
    Ok((calendar, remarks.into_iter().map(Remark::from).collect()))
}

fn no_ical(bad: &BadIcal, pointer: &str) -> Problem {
    let detail = match bad.line {
        Some(line) => format!("line {line}: {}", bad.detail),
        None => bad.detail.clone(),
    };
    flawed(pointer, detail, &bad.hint)
}

fn read_json(body: &Body, now: Timestamp) -> Result<(CoreCalendar, Vec<Remark>), Problem> {
    let mut flaws = Flaws::default();
    let read = Fields::of(&body.value, "", &mut flaws).map(|mut fields| {
        let read = read_fields(&mut fields, now, &mut flaws);
        fields.close(&mut flaws);
        read
    });
    flaws.settle(read)
}

fn read_fields(fields: &mut Fields<'_>, now: Timestamp, flaws: &mut Flaws) -> (CoreCalendar, Vec<Remark>) {
    for name in READ_ONLY {
        fields.get(name);
    }
    let description = fields.text("description", flaws).map(Box::from);
    let time_zone = read_zone(fields, flaws);
    let (dates, spans) = (read_dates(fields, flaws), read_spans(fields, flaws));
    let Some(text) = fields.text("ical", flaws) else {
        let description = description.unwrap_or_default();
        return (CoreCalendar { description, time_zone, dates, spans }.normalised(), Vec::new());
    };
    if !dates.is_empty() || !spans.is_empty() {
        flaws.add(fields.at("ical"), "a text, and dates or spans beside it", "keep one of the two");
    }
    match read_ical(text, "", now) {
        Ok((calendar, remarks)) => {
            let description = description.unwrap_or(calendar.description);
            (CoreCalendar { description, time_zone, ..calendar }, remarks)
        }
        Err(problem) => {
            flaws.take_over(&fields.at("ical"), problem);
            (CoreCalendar::default(), Vec::new())
        }
    }
}

fn read_dates(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Vec<i32> {
    let pointer = fields.at("dates");
    let mut dates = Vec::new();
    for (place, item) in fields.list("dates", flaws).unwrap_or_default().iter().enumerate() {
        match item.as_str().and_then(parse_date) {
            Some(date) => dates.push(date),
            None => flaws.add(
                format!("{pointer}/{place}"),
                format!("{item} is no date"),
                "such as \"2026-12-25\", of the years 1970 to 9999",
            ),
        }
    }
    dates
}

fn read_spans(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Vec<(Timestamp, Timestamp)> {
    let pointer = fields.at("spans");
    let mut spans = Vec::new();
    for (place, item) in fields.list("spans", flaws).unwrap_or_default().iter().enumerate() {
        let Some(mut span) = Fields::of(item, format!("{pointer}/{place}"), flaws) else { continue };
        for side in ["from", "to"] {
            if span.get(side).is_none() {
                flaws.add(span.at(side), "a span has a beginning and an end", INSTANT_HINT);
            }
        }
        if let (Some(from), Some(to)) = (span.instant("from", flaws), span.instant("to", flaws)) {
            if to <= from {
                flaws.add(span.at("to"), "the span ends before it begins", "an instant after from");
            }
            spans.push((from, to));
        }
        span.close(flaws);
    }
    spans
}

/// The field that a rule of core speaks of.
const fn pointer_of(bad: &BadCalendar) -> &'static str {
    match bad {
        BadCalendar::TooMany | BadCalendar::TooLarge => "",
        BadCalendar::LongDescription => "/description",
        BadCalendar::UnknownZone => "/time_zone",
        BadCalendar::DateOrder(_) | BadCalendar::DateRange(_) => "/dates",
        BadCalendar::SpanOrder(_) | BadCalendar::SpanRange(_) | BadCalendar::SpanParts(_) => "/spans",
    }
}

const fn hint_of(bad: BadCalendar) -> &'static str {
    match bad {
        BadCalendar::TooMany | BadCalendar::TooLarge => {
            "leave out what is long past, or split it: a schedule may name several calendars"
        }
        BadCalendar::LongDescription => "shorten it",
        BadCalendar::UnknownZone => "an IANA name such as Europe/Berlin",
        BadCalendar::DateOrder(_) | BadCalendar::DateRange(_) => "dates of the years 1970 to 9999",
        BadCalendar::SpanOrder(_) | BadCalendar::SpanRange(_) => "instants of the years 1970 to 9999",
        BadCalendar::SpanParts(_) => "whole seconds",
    }
}

fn flawed(pointer: &str, detail: String, hint: &str) -> Problem {
    let flaw = Flaw { pointer: pointer.to_owned(), detail, hint: hint.to_owned(), column: None };
    Problem::with_errors(Code::InvalidSchedule, vec![flaw])
}
