//! Each schedule is linearizable: what a read shows stood at some place of the log between question and answer, and so does
//! what a write answers, whose own entry lies between them (SEMANTICS §2.5).
//!
//! The log is the witness: it has one order, and each version of a schedule stands in true time from when the first node had
//! applied it to when the first node had applied the next. An answer must show one that stood at some time within its call.

use std::collections::{BTreeMap, BTreeSet};

use campanile_core::cron::instant_text;
use campanile_core::definition::ScheduleName;
use campanile_core::event::Event;
use campanile_core::schedule::{Schedule, State};
use serde_json::Value;

use super::{Bounds, Findings, Invariant};
use crate::sim::story::{Call, End, Moment, Outcome, Step};

/// The versions of each schedule, by its name.
#[derive(Debug)]
pub(super) struct Linear {
    bounds: Bounds,
    versions: BTreeMap<ScheduleName, Vec<Version>>,
}

/// How a schedule stood from an entry on; none when it did not exist.
#[derive(Debug)]
struct Version {
    index: u64,
    seen: Moment,
    shown: Option<Shown>,
}

/// What answers show of it, and ticks do not change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    uid: String,
    revision: u64,
    updated_at: String,
    state: String,
    note: Option<String>,
}

impl Linear {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds, versions: BTreeMap::new() }
    }

    fn note(&mut self, step: &Step<'_>, name: &ScheduleName) {
        let shown = step.after.named(name).map(|schedule| Shown::of(schedule));
        let versions = self.versions.entry(name.clone()).or_default();
        if versions.last().and_then(|version| version.shown.as_ref()) != shown.as_ref() {
            versions.push(Version { index: step.index, seen: step.seen, shown });
        }
    }

    /// Whether such a version stood at some time between two moments.
    fn stood(&self, name: &ScheduleName, shown: Option<&Shown>, from: Moment, to: Moment) -> bool {
        let versions = self.versions.get(name).map(Vec::as_slice).unwrap_or_default();
        let watch = self.bounds.watch.as_millis();
        let is_over_by = |next: Option<&Version>| next.is_some_and(|next| next.seen + watch < from);
        let stood_first = shown.is_none() && !is_over_by(versions.first());
        let mut each = versions.iter().enumerate();
        stood_first
            || each.any(|(place, version)| {
                version.shown.as_ref() == shown
                    && version.seen <= to + watch
                    && !is_over_by(versions.get(place + 1))
            })
    }

    fn told(&self, name: &ScheduleName, call: &Call) -> String {
        let known: Vec<(u64, Moment)> =
            self.versions.get(name).into_iter().flatten().map(|it| (it.index, it.seen)).collect();
        let Call { method, path, asked, ended, .. } = call;
        format!(
            "{method} {path} asked at {asked} shows what never stood meanwhile: {ended:?}; changed at (entry, moment) {known:?}"
        )
    }
}

impl Invariant for Linear {
    fn name(&self) -> &'static str {
        "each schedule is linearizable"
    }

    fn step(&mut self, step: &Step<'_>, _: &mut Findings) {
        for row in step.rows {
            let uid = match row.event {
                Event::Defined { uid, .. }
                | Event::Deleted { uid, .. }
                | Event::Paused { uid, .. }
                | Event::Resumed { uid, .. }
                | Event::Parked { uid, .. }
                | Event::Finished { uid }
                | Event::MarkSet { uid, .. } => uid,
                _ => continue,
            };
            let schedule = step.after.schedule(uid).or_else(|| step.before.schedule(uid));
            if let Some(name) = schedule.map(|schedule| schedule.name.clone()) {
                self.note(step, &name);
            }
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        let mut keys: BTreeSet<&str> = BTreeSet::new();
        for call in &end.story.calls {
            // Asked again, a request may get its first answer from a node that knows nothing newer.
            let is_first = call.key.as_deref().is_none_or(|key| keys.insert(key));
            let Some((ended, outcome)) = &call.ended else { continue };
            if let Some(name) = subject(call)
                && let Some(shown) = shown(call, outcome).filter(|_| is_first)
                && !self.stood(&name, shown.as_ref(), call.asked, *ended)
            {
                found.add(self.name(), || self.told(&name, call));
            }
        }
    }
}

impl Shown {
    fn of(schedule: &Schedule) -> Self {
        let (state, note) = match &schedule.state {
            State::Active => ("active", None),
            State::Paused { note, .. } => ("paused", Some(&**note)),
            State::Parked { reason } => ("parked", Some(&**reason)),
            State::Finished => ("finished", None),
        };
        Self {
            uid: schedule.uid.to_string(),
            revision: schedule.revision.0.into(),
            updated_at: instant_text(schedule.updated_at),
            state: state.to_owned(),
            note: note.filter(|note| !note.is_empty()).map(str::to_owned),
        }
    }

    fn read(body: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            uid: text(&body["uid"])?,
            revision: body["revision"].as_u64()?,
            updated_at: text(&body["updated_at"])?,
            state: text(&body["status"]["state"])?,
            note: text(&body["status"]["note"]).filter(|note| !note.is_empty()),
        })
    }
}

/// The schedule that a call is about, when its answer shows how that stands: now, and not only to this node's knowledge.
fn subject(call: &Call) -> Option<ScheduleName> {
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    if ["dry_run", "as_of", "stale"].iter().any(|word| query.contains(word)) {
        return None;
    }
    let rest = path.strip_prefix("/v1/schedules/")?;
    let name = match call.method {
        "GET" | "PUT" | "PATCH" => Some(rest),
        "POST" => rest.strip_suffix("/pause").or_else(|| rest.strip_suffix("/resume")),
        _ => None,
    }?;
    ScheduleName::parse(name).ok().filter(|name| name.as_str() == rest || call.method == "POST")
}

/// What the answer shows, `Some(None)` for "there is none"; none when it shows nothing.
fn shown(call: &Call, outcome: &Outcome) -> Option<Option<Shown>> {
    match outcome {
        Outcome::Ok(_, body) => Shown::read(body).map(Some),
        Outcome::Fail(404, code) if call.method == "GET" && code == "not_found" => Some(None),
        Outcome::Fail(..) | Outcome::Unknown => None,
    }
}
