//! When a schedule is due, as JSON: `{"cron": …}`, `{"every": …}`, `{"at": …}`, `{"rrule": …}`.
//!
//! Cron texts and zones are judged by `campanile_core::cron`; what it says is passed on with its column.

use campanile_core::cron::{Cron, CronErrorKind, DayMatch, DstGap, DstOverlap};
use campanile_core::rrule::Rule;
use campanile_core::spec::{CronSpec, RuleSpec, Spec as CoreSpec};
use campanile_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::read::{Fields, Flaws};
use super::time::{Instant, Length};
use crate::problem::Flaw;

/// One source of nominal instants; exactly one of `cron`, `every`, `at` and `rrule`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Spec {
    /// A cron pattern in a time zone.
    Cron(CronFields),
    /// Elapsed time, counted from an anchor.
    Every(EveryFields),
    /// One instant.
    At(AtFields),
    /// A recurrence rule in a time zone.
    Rule(RuleFields),
}

/// A cron pattern and how it meets days and daylight saving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CronFields {
    /// Five fields (minute hour day-of-month month day-of-week), six with seconds first, or a nickname such as `@daily`.
    #[schema(examples("30 2 * * *"))]
    pub cron: String,
    /// An IANA zone name.
    #[serde(default = "utc")]
    #[schema(default = "UTC", examples("Europe/Berlin"))]
    pub time_zone: String,
    /// Whether a day matches if `any` or `all` of two restricted day fields do.
    #[serde(default = "any")]
    #[schema(default = "any", pattern = "^(any|all)$")]
    pub day_match: String,
    /// What becomes of a fixed instant whose wall time does not exist: `run_after` or `skip`.
    #[serde(default = "run_after")]
    #[schema(default = "run_after", pattern = "^(run_after|skip)$")]
    pub dst_gap: String,
    /// Which pass of a doubled wall time a fixed instant takes: `first`, `second` or `both`.
    #[serde(default = "first")]
    #[schema(default = "first", pattern = "^(first|second|both)$")]
    pub dst_overlap: String,
}

/// Elapsed time, counted from an anchor, so that restarts, elections and edits never move the phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EveryFields {
    /// The period, at least `1s`.
    pub every: Length,
    /// An instant of the grid; the Unix epoch when left out.
    #[serde(default = "epoch")]
    #[schema(required = false)]
    pub anchor: Instant,
}

/// One instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AtFields {
    /// The instant. In the past it is refused, unless the catch-up window still reaches it.
    pub at: Instant,
}

/// A recurrence rule of RFC 5545, counted from a local date and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuleFields {
    /// The rule, with a `FREQ` of `DAILY` or coarser.
    #[schema(examples("FREQ=MONTHLY;BYDAY=-1FR"))]
    pub rrule: String,
    /// The local date and time from which it counts (`DTSTART`).
    #[schema(examples("2026-01-30T09:00:00"))]
    pub start: String,
    /// An IANA zone name.
    #[serde(default = "utc")]
    #[schema(default = "UTC", examples("Europe/Berlin"))]
    pub time_zone: String,
    /// What becomes of an instant whose wall time does not exist: `run_after` or `skip`.
    #[serde(default = "run_after")]
    #[schema(default = "run_after", pattern = "^(run_after|skip)$")]
    pub dst_gap: String,
    /// Which pass of a doubled wall time is taken: `first`, `second` or `both`.
    #[serde(default = "first")]
    #[schema(default = "first", pattern = "^(first|second|both)$")]
    pub dst_overlap: String,
}

fn utc() -> String {
    "UTC".into()
}
fn any() -> String {
    "any".into()
}
fn run_after() -> String {
    "run_after".into()
}
fn first() -> String {
    "first".into()
}
fn epoch() -> Instant {
    Instant(Timestamp::EPOCH)
}

pub(crate) const DAY_MATCHES: [(&str, DayMatch); 2] = [("any", DayMatch::Any), ("all", DayMatch::All)];
const DST_GAPS: [(&str, DstGap); 2] = [("run_after", DstGap::RunAfter), ("skip", DstGap::Skip)];
const DST_OVERLAPS: [(&str, DstOverlap); 3] =
    [("first", DstOverlap::First), ("second", DstOverlap::Second), ("both", DstOverlap::Both)];

/// The word for a meaning: the way back through the same table.
pub(crate) fn word_of<T: PartialEq>(words: &[(&'static str, T)], meaning: &T) -> &'static str {
    // Every table lists every variant, which the round-trip property holds.
    words.iter().find(|(_, known)| known == meaning).map_or("", |(word, _)| word)
}

impl From<&CoreSpec> for Spec {
    fn from(spec: &CoreSpec) -> Self {
        match spec {
            CoreSpec::Cron(cron) => Self::Cron(CronFields {
                cron: cron.text.to_string(),
                time_zone: cron.time_zone.to_string(),
                day_match: word_of(&DAY_MATCHES, &cron.day_match).into(),
                dst_gap: word_of(&DST_GAPS, &cron.dst_gap).into(),
                dst_overlap: word_of(&DST_OVERLAPS, &cron.dst_overlap).into(),
            }),
            CoreSpec::Every { every, anchor } => {
                Self::Every(EveryFields { every: Length(*every), anchor: Instant(*anchor) })
            }
            CoreSpec::At(at) => Self::At(AtFields { at: Instant(*at) }),
            CoreSpec::Rule(rule) => Self::Rule(RuleFields {
                rrule: rule.rule.to_string(),
                start: rule.start.to_string(),
                time_zone: rule.time_zone.to_string(),
                dst_gap: word_of(&DST_GAPS, &rule.dst_gap).into(),
                dst_overlap: word_of(&DST_OVERLAPS, &rule.dst_overlap).into(),
            }),
        }
    }
}

/// Reads the list `specs` of an object. `None` when one of them could not be read; the flaws say which.
pub fn read_specs(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<Vec<CoreSpec>> {
    let Some(items) = fields.list("specs", flaws) else {
        if fields.get("specs").is_none() {
            flaws.add(fields.at("specs"), "a schedule needs at least one spec", ONE_OF);
        }
        return None;
    };
    let pointer = fields.at("specs");
    let read: Vec<Option<CoreSpec>> = items
        .iter()
        .enumerate()
        .map(|(place, item)| read_spec(item, &format!("{pointer}/{place}"), flaws))
        .collect();
    read.into_iter().collect()
}

const ONE_OF: &str = "one of {\"cron\": \"30 2 * * *\"}, {\"every\": \"15m\"}, {\"at\": \"2026-12-01T01:30:00Z\"}, {\"rrule\": …}";

fn read_spec(value: &Value, pointer: &str, flaws: &mut Flaws) -> Option<CoreSpec> {
    let mut fields = Fields::of(value, pointer, flaws)?;
    let given: Vec<&str> =
        ["cron", "every", "at", "rrule"].into_iter().filter(|name| fields.get(name).is_some()).collect();
    let spec = match given.as_slice() {
        ["cron"] => read_cron(&mut fields, flaws),
        ["every"] => read_every(&mut fields, flaws),
        ["at"] => fields.instant("at", flaws).map(CoreSpec::At),
        ["rrule"] => read_rule(&mut fields, flaws),
        [] => {
            flaws.add(pointer, "a spec says when: it has none of cron, every, at and rrule", ONE_OF);
            None
        }
        several => {
            flaws.add(
                pointer,
                format!("a spec has one of cron, every, at and rrule, not {}", several.join(" and ")),
                "make each a spec of its own",
            );
            return None;
        }
    };
    fields.close(flaws);
    spec
}

fn read_cron(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<CoreSpec> {
    let text = fields.text("cron", flaws);
    let zone = match fields.get("time_zone") {
        None => Some("UTC"),
        Some(_) => fields.text("time_zone", flaws),
    };
    let spec = CronSpec {
        text: text.unwrap_or_default().into(),
        time_zone: zone.unwrap_or_default().into(),
        day_match: fields.word("day_match", &DAY_MATCHES, flaws).unwrap_or_default(),
        dst_gap: fields.word("dst_gap", &DST_GAPS, flaws).unwrap_or_default(),
        dst_overlap: fields.word("dst_overlap", &DST_OVERLAPS, flaws).unwrap_or_default(),
    };
    text?;
    zone?;
    match Cron::parse(&spec.as_text()) {
        Ok(_) => Some(CoreSpec::Cron(Box::new(spec))),
        Err(wrong) => {
            flaws.push(Flaw {
                pointer: fields.at(field_of(wrong.kind)),
                detail: wrong.detail,
                hint: wrong.hint,
                column: wrong.column,
            });
            None
        }
    }
}

fn read_rule(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<CoreSpec> {
    let rule = fields.text("rrule", flaws);
    let start = fields.text("start", flaws);
    if fields.get("start").is_none() {
        flaws.add(
            fields.at("start"),
            "a rule counts from a local date and time, and none is given",
            "such as \"2026-01-30T09:00:00\"",
        );
    }
    let spec = RuleSpec {
        rule: rule?.into(),
        start: start?.into(),
        time_zone: fields.text("time_zone", flaws).unwrap_or("UTC").into(),
        dst_gap: fields.word("dst_gap", &DST_GAPS, flaws).unwrap_or_default(),
        dst_overlap: fields.word("dst_overlap", &DST_OVERLAPS, flaws).unwrap_or_default(),
    };
    match Rule::parse(&spec.as_text()) {
        Ok(_) => Some(CoreSpec::Rule(Box::new(spec))),
        Err(wrong) => {
            let field = if wrong.kind == CronErrorKind::Cron { "rrule" } else { field_of(wrong.kind) };
            let pointer = fields.at(field);
            flaws.push(Flaw { pointer, detail: wrong.detail, hint: wrong.hint, column: wrong.column });
            None
        }
    }
}

/// The field of a spec that a part of it stands in.
fn field_of(kind: CronErrorKind) -> &'static str {
    match kind {
        CronErrorKind::Cron => "cron",
        CronErrorKind::Zone => "time_zone",
        CronErrorKind::Start => "start",
    }
}

fn read_every(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<CoreSpec> {
    let every = fields.span("every", flaws);
    let anchor = fields.instant("anchor", flaws).unwrap_or(Timestamp::EPOCH);
    Some(CoreSpec::Every { every: every?, anchor })
}
