//! When not, as JSON: `{"cron": …}`, `{"dates": […]}`, `{"calendar": …}`.

use campanile_core::calendar;
use campanile_core::cron::{Cron, CronErrorKind, DayMatch, DstGap, DstOverlap, known_zone};
use campanile_core::definition::ScheduleName;
use campanile_core::spec::{CronSpec, Exclusion as CoreExclusion};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::read::{Fields, Flaws};
use super::spec::{DAY_MATCHES, word_of};
use crate::problem::Flaw;

/// Instants that are not nominal; exactly one of `cron`, `dates` and `calendar`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Exclusion {
    /// Where the local clock matches.
    Cron(ExcludedCron),
    /// Whole local dates.
    Dates(ExcludedDates),
    /// What a calendar of that name holds when an instant is decided.
    Calendar(ExcludedCalendar),
}

/// Where the local clock matches a pattern: five fields cover whole minutes, six fields seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExcludedCron {
    /// Five fields, six with seconds first, or a nickname.
    #[schema(examples("* * 25 12 *"))]
    pub cron: String,
    /// An IANA zone name.
    #[serde(default = "utc")]
    #[schema(default = "UTC")]
    pub time_zone: String,
    /// Whether a day matches if `any` or `all` of two restricted day fields do.
    #[serde(default = "any")]
    #[schema(default = "any", pattern = "^(any|all)$")]
    pub day_match: String,
}

/// Whole local dates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExcludedDates {
    /// Such as `2026-12-25`.
    pub dates: Vec<String>,
    /// An IANA zone name; that of the spec which makes the instant when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// What a calendar holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExcludedCalendar {
    /// Its name.
    pub calendar: String,
    /// The zone of its dates; the calendar's own when left out, and without one that of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

fn utc() -> String {
    "UTC".into()
}
fn any() -> String {
    "any".into()
}

impl From<&CoreExclusion> for Exclusion {
    fn from(exclusion: &CoreExclusion) -> Self {
        let zone = |zone: &Option<Box<str>>| zone.as_ref().map(|zone| zone.to_string());
        match exclusion {
            CoreExclusion::Cron(cron) => Self::Cron(ExcludedCron {
                cron: cron.text.to_string(),
                time_zone: cron.time_zone.to_string(),
                day_match: word_of(&DAY_MATCHES, &cron.day_match).into(),
            }),
            CoreExclusion::Dates { dates, time_zone } => Self::Dates(ExcludedDates {
                dates: dates.iter().map(|date| calendar::date_text(*date)).collect(),
                time_zone: zone(time_zone),
            }),
            CoreExclusion::Calendar { name, time_zone } => {
                Self::Calendar(ExcludedCalendar { calendar: name.to_string(), time_zone: zone(time_zone) })
            }
        }
    }
}

const ONE_OF: &str =
    "one of {\"cron\": \"* * 25 12 *\"}, {\"dates\": [\"2026-12-25\"]}, {\"calendar\": \"holidays-de\"}";

/// Reads the list `exclude` of an object; empty when it is left out. What cannot be read is left out, and a flaw.
pub fn read_exclusions(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Box<[CoreExclusion]> {
    let Some(items) = fields.list("exclude", flaws) else { return Box::default() };
    let pointer = fields.at("exclude");
    let mut read = |(place, item): (usize, &Value)| read_one(item, &format!("{pointer}/{place}"), flaws);
    items.iter().enumerate().filter_map(&mut read).collect()
}

fn read_one(value: &Value, pointer: &str, flaws: &mut Flaws) -> Option<CoreExclusion> {
    let mut fields = Fields::of(value, pointer, flaws)?;
    let given: Vec<&str> =
        ["cron", "dates", "calendar"].into_iter().filter(|name| fields.get(name).is_some()).collect();
    let exclusion = match given.as_slice() {
        ["cron"] => read_cron(&mut fields, flaws),
        ["dates"] => read_dates(&mut fields, flaws),
        ["calendar"] => read_calendar(&mut fields, flaws),
        [] => {
            flaws.add(pointer, "an exclusion says when not: it has none of cron, dates and calendar", ONE_OF);
            None
        }
        several => {
            flaws.add(
                pointer,
                format!("an exclusion has one of {}", several.join(" and ")),
                "make each its own",
            );
            return None;
        }
    };
    fields.close(flaws);
    exclusion
}

fn read_cron(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<CoreExclusion> {
    let spec = CronSpec {
        text: fields.text("cron", flaws).unwrap_or_default().into(),
        time_zone: fields.text("time_zone", flaws).unwrap_or("UTC").into(),
        day_match: fields.word("day_match", &DAY_MATCHES, flaws).unwrap_or(DayMatch::Any),
        dst_gap: DstGap::default(),
        dst_overlap: DstOverlap::default(),
    };
    match Cron::parse(&spec.as_text()) {
        Ok(_) => Some(CoreExclusion::Cron(Box::new(spec))),
        Err(wrong) => {
            let field = if wrong.kind == CronErrorKind::Zone { "time_zone" } else { "cron" };
            let pointer = fields.at(field);
            flaws.push(Flaw { pointer, detail: wrong.detail, hint: wrong.hint, column: wrong.column });
            None
        }
    }
}

fn read_dates(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<CoreExclusion> {
    let pointer = fields.at("dates");
    let mut dates = Vec::new();
    for (place, item) in fields.list("dates", flaws)?.iter().enumerate() {
        match item.as_str().and_then(calendar::parse_date) {
            Some(date) => dates.push(date),
            None => flaws.add(
                format!("{pointer}/{place}"),
                format!("{item} is no date"),
                "such as \"2026-12-25\"",
            ),
        }
    }
    dates.sort_unstable();
    dates.dedup();
    Some(CoreExclusion::Dates { dates: dates.into(), time_zone: read_zone(fields, flaws) })
}

fn read_calendar(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<CoreExclusion> {
    let name = fields.text("calendar", flaws)?;
    if let Err(bad) = ScheduleName::new("calendar", name) {
        flaws.add(
            fields.at("calendar"),
            format!("the name of a calendar {}", bad.why),
            "such as \"holidays-de\"",
        );
        return None;
    }
    Some(CoreExclusion::Calendar { name: name.into(), time_zone: read_zone(fields, flaws) })
}

/// The optional field `time_zone`.
pub(crate) fn read_zone(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<Box<str>> {
    let zone = fields.text("time_zone", flaws)?;
    if !known_zone(zone) {
        flaws.add(
            fields.at("time_zone"),
            format!("{zone:?} is no time zone"),
            "an IANA name such as Europe/Berlin",
        );
    }
    Some(zone.into())
}
