//! When the instants of each schedule counted, told by the rows alone: the model that the ledger is held against.
//!
//! A chapter is a stretch of time under one definition. It begins where a definition or a resume says, and ends with an
//! edit, a pause or a removal. The instants are found by core's reading of specs, which has tables of its own to answer to.

use std::collections::{BTreeMap, BTreeSet};

use campanile_core::calendar::parse_date;
use campanile_core::cron::{DstGap, DstOverlap, parse_instant};
use campanile_core::series::{NoCalendars, Series, Texts};
use campanile_core::spec::{CronSpec, Exclusion, Spec, Window};
use campanile_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::ledger::{Fact, Row};

/// Every schedule that was ever defined, by uid.
#[derive(Debug)]
pub(super) struct Lives(BTreeMap<String, Life>);

#[derive(Debug, Default)]
pub(super) struct Life {
    pub(super) name: String,
    chapters: Vec<Chapter>,
    series: Option<Series>,
    is_paused: bool,
}

#[derive(Debug)]
struct Chapter {
    /// Not in it.
    after: Timestamp,
    /// In it; [`Timestamp::NEVER`] while it is open.
    until: Timestamp,
    series: Series,
}

impl Lives {
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut lives: BTreeMap<String, Life> = BTreeMap::new();
        let mut texts = Texts::default();
        for row in rows {
            match &row.fact {
                Fact::Defined { uid, schedule, definition } => {
                    let life = lives.entry(uid.clone()).or_default();
                    life.name.clone_from(schedule);
                    life.define(row.at, series(definition, &mut texts));
                }
                Fact::Paused { uid } => lives.entry(uid.clone()).or_default().pause(row.at),
                Fact::Resumed { uid, mark } => lives.entry(uid.clone()).or_default().resume(*mark),
                Fact::Deleted { uid } => lives.entry(uid.clone()).or_default().end(row.at),
                _ => {}
            }
        }
        Self(lives)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Life)> {
        self.0.iter()
    }

    /// `namespace/name`, or the uid of what was never defined.
    pub(super) fn name<'a>(&'a self, uid: &'a str) -> &'a str {
        self.0.get(uid).map_or(uid, |life| &life.name)
    }
}

impl Life {
    /// Every instant up to `until`.
    pub(super) fn instants(&self, until: Timestamp) -> BTreeSet<Timestamp> {
        self.chapters.iter().flat_map(|chapter| chapter.instants(until)).collect()
    }

    fn define(&mut self, at: Timestamp, series: Series) {
        self.end(at);
        if !self.is_paused {
            self.open(at, series.clone());
        }
        self.series = Some(series);
    }

    fn pause(&mut self, at: Timestamp) {
        self.end(at);
        self.is_paused = true;
    }

    fn resume(&mut self, mark: Timestamp) {
        self.is_paused = false;
        if let Some(series) = self.series.clone() {
            self.open(mark, series);
        }
    }

    fn open(&mut self, after: Timestamp, series: Series) {
        self.chapters.push(Chapter { after, until: Timestamp::NEVER, series });
    }

    fn end(&mut self, at: Timestamp) {
        if let Some(open) = self.chapters.last_mut().filter(|chapter| chapter.until == Timestamp::NEVER) {
            open.until = at;
        }
    }
}

impl Chapter {
    fn instants(&self, until: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        let last = self.until.min(until);
        let next = |at: &Timestamp| self.series.next(*at).map(|occurrence| occurrence.at);
        std::iter::successors(next(&self.after), next).take_while(move |at| *at <= last)
    }
}

/// The parts of a definition that say when.
#[derive(Deserialize)]
struct When {
    specs: Vec<Value>,
    #[serde(default)]
    exclude: Vec<Value>,
    start_at: Option<String>,
    end_at: Option<String>,
}

/// A definition that cannot be read cannot be judged: that is a defect of the test or of the contract.
fn series(definition: &Value, texts: &mut Texts) -> Series {
    let wrong = |why: &str| -> ! { panic!("a definition in the ledger cannot be read, {why}: {definition}") };
    let when = When::deserialize(definition).unwrap_or_else(|error| wrong(&error.to_string()));
    let specs: Option<Vec<Spec>> = when.specs.iter().map(spec).collect();
    let specs = specs.unwrap_or_else(|| wrong("a spec is none of cron, every and at"));
    let exclude: Option<Vec<Exclusion>> = when.exclude.iter().map(exclusion).collect();
    let exclude = exclude.unwrap_or_else(|| wrong("an exclusion is neither a cron pattern nor dates"));
    let edge = |text: &Option<String>| {
        text.as_deref().map(|text| instant(text).unwrap_or_else(|| wrong("its window")))
    };
    let window = Window { start_at: edge(&when.start_at), end_at: edge(&when.end_at) };
    Series::of_specs(&specs, &exclude, window, &NoCalendars, texts)
        .unwrap_or_else(|bad| wrong(&bad.to_string()))
}

fn exclusion(json: &Value) -> Option<Exclusion> {
    if let Some(dates) = json["dates"].as_array() {
        let dates: Option<Vec<i32>> = dates.iter().map(|date| parse_date(date.as_str()?)).collect();
        return Some(Exclusion::Dates {
            dates: dates?.into(),
            time_zone: json["time_zone"].as_str().map(Into::into),
        });
    }
    Some(Exclusion::Cron(Box::new(CronSpec {
        text: json["cron"].as_str()?.into(),
        time_zone: json["time_zone"].as_str()?.into(),
        day_match: Deserialize::deserialize(&json["day_match"]).ok()?,
        dst_gap: DstGap::default(),
        dst_overlap: DstOverlap::default(),
    })))
}

fn spec(json: &Value) -> Option<Spec> {
    if let Some(every) = json["every"].as_str() {
        return Some(Spec::Every { every: every.parse().ok()?, anchor: instant(json["anchor"].as_str()?)? });
    }
    if let Some(at) = json["at"].as_str() {
        return Some(Spec::At(instant(at)?));
    }
    Some(Spec::Cron(Box::new(CronSpec {
        text: json["cron"].as_str()?.into(),
        time_zone: json["time_zone"].as_str()?.into(),
        day_match: Deserialize::deserialize(&json["day_match"]).ok()?,
        dst_gap: Deserialize::deserialize(&json["dst_gap"]).ok()?,
        dst_overlap: Deserialize::deserialize(&json["dst_overlap"]).ok()?,
    })))
}

fn instant(text: &str) -> Option<Timestamp> {
    parse_instant(text)
}
