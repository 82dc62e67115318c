//! A set of schedules, put and pruned in one command.

use std::collections::BTreeSet;
use std::sync::Arc;

use campanile_core::definition::{Definition as CoreDefinition, ScheduleName};
use campanile_core::id::CREATES_PER_ENTRY;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::definition::Definition;
use super::diff::{FieldChange, Ticks};
use super::draft;
use super::payload::{self, Body};
use super::preview::NextInstant;
use super::read::{Fields, Flaws};
use super::schedule::Warning;
use crate::problem::Problem;

/// The namespace of a name without one.
const DEFAULT_NAMESPACE: &str = "default";

/// A set of schedules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApplyRequest {
    /// What is to be there, each name once; fields that answers add are accepted and ignored.
    pub schedules: Vec<NamedDefinition>,
    /// Removes the schedules that carry this label and are not in the set: `{"key": "value"}` or `"key=value"`. Those of
    /// the set must carry it, too.
    #[serde(default)]
    pub prune_label: Option<Value>,
    /// Says what would change, and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// A definition with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NamedDefinition {
    /// The namespace.
    #[serde(default = "default_namespace")]
    #[schema(default = "default")]
    pub namespace: String,
    /// The name in it.
    pub name: String,
    /// When, what and how.
    #[serde(flatten)]
    pub definition: Definition,
}

fn default_namespace() -> String {
    DEFAULT_NAMESPACE.into()
}

/// What became of a set, by names `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Applied {
    /// New ones.
    pub created: Vec<String>,
    /// Those with another definition than before.
    pub changed: Vec<String>,
    /// Those that were like that already.
    pub unchanged: Vec<String>,
    /// Those that carried the label, were not in the set, and are gone.
    pub pruned: Vec<String>,
    /// What is allowed and often not meant; a pointer begins with the place in the set.
    pub warnings: Vec<Warning>,
    /// What would change, schedule by schedule; for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diffs: Option<Vec<ScheduleDiff>>,
}

/// What would change of one schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleDiff {
    /// Its name, `namespace/name`.
    pub schedule: String,
    /// `created`, `changed` or `pruned`.
    #[schema(pattern = "^(created|changed|pruned)$")]
    pub change: String,
    /// Each field that would be different.
    pub fields: Vec<FieldChange>,
    /// Which instants would come and go; `null` when the set is too large to look at each in time.
    pub ticks: Option<Ticks>,
    /// The specs in English.
    pub text: String,
    /// The next instants.
    pub next: Vec<NextInstant>,
}

/// A set that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyOrder {
    /// What is put.
    pub schedules: Vec<(ScheduleName, Arc<CoreDefinition>)>,
    /// Whose carriers are removed unless they are in the set.
    pub prune: Option<(Box<str>, Box<str>)>,
    /// Changes nothing.
    pub dry_run: bool,
}

/// Reads the body of an apply.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with the flaws of every schedule.
pub fn read_apply(bytes: &[u8]) -> Result<ApplyOrder, Problem> {
    let body = Body::parse(bytes)?;
    let mut flaws = Flaws::default();
    let order = Fields::of(&body.value, "", &mut flaws).map(|mut fields| {
        let order = read_fields(&mut fields, bytes, &mut flaws);
        fields.close(&mut flaws);
        order
    });
    flaws.settle(order)
}

fn read_fields(fields: &mut Fields<'_>, bytes: &[u8], flaws: &mut Flaws) -> ApplyOrder {
    let dry_run = fields.flag("dry_run", flaws).unwrap_or(false);
    let prune = read_label(fields, flaws);
    let items = match fields.list("schedules", flaws) {
        Some(items) => items,
        None if fields.get("schedules").is_none() => {
            flaws.add(fields.at("schedules"), "a set says which schedules it has", "a list of schedules");
            &[]
        }
        None => &[],
    };
    if items.len() > CREATES_PER_ENTRY {
        let detail = format!("{} schedules; at most {CREATES_PER_ENTRY}", items.len());
        flaws.add(fields.at("schedules"), detail, "apply them in parts");
        return ApplyOrder { schedules: Vec::new(), prune, dry_run };
    }
    let bodies = payload::each_schedule(bytes);
    let mut names = BTreeSet::new();
    let mut schedules = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let pointer = format!("{}/{place}", fields.at("schedules"));
        let body = bodies.get(place).cloned().unwrap_or_else(|| Body::from_value(item.clone()));
        let Some(name) = read_name(item, &pointer, flaws) else { continue };
        if !names.insert(name.clone()) {
            flaws.add(
                format!("{pointer}/name"),
                format!("{name} stands in the set twice"),
                "keep one of them",
            );
        }
        match draft::read(&body, &name) {
            Err(problem) => flaws.take_over(&pointer, problem),
            Ok(definition) => {
                check_label(&definition, prune.as_ref(), &pointer, flaws);
                schedules.push((name, Arc::new(definition)));
            }
        }
    }
    ApplyOrder { schedules, prune, dry_run }
}

fn read_name(item: &Value, pointer: &str, flaws: &mut Flaws) -> Option<ScheduleName> {
    let mut fields = Fields::of(item, pointer, flaws)?;
    if fields.get("name").is_none() {
        flaws.add(fields.at("name"), "a schedule of a set says its name", "such as \"invoice-run\"");
        return None;
    }
    let name = fields.text("name", flaws)?;
    let namespace = match fields.get("namespace") {
        None => DEFAULT_NAMESPACE,
        Some(_) => fields.text("namespace", flaws)?,
    };
    match ScheduleName::new(namespace, name) {
        Ok(name) => Some(name),
        Err(bad) => {
            flaws.add(
                fields.at(bad.segment),
                format!("the {} {}", bad.segment, bad.why),
                "1-200 letters, digits, '.', '_' and '-'",
            );
            None
        }
    }
}

const LABEL_HINT: &str = "one label, {\"key\": \"value\"} or \"key=value\"";

fn read_label(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<(Box<str>, Box<str>)> {
    let pair = match fields.get("prune_label")? {
        Value::String(text) => text.split_once('='),
        Value::Object(map) if map.len() == 1 => {
            map.iter().next().and_then(|(key, value)| Some((key.as_str(), value.as_str()?)))
        }
        _ => None,
    };
    let pair = pair.filter(|(key, _)| !key.is_empty());
    if pair.is_none() {
        flaws.add(fields.at("prune_label"), "is no label", LABEL_HINT);
    }
    pair.map(|(key, value)| (key.into(), value.into()))
}

/// A schedule of the set without the label would be pruned by nobody, and the next set that leaves it out forgets it.
fn check_label(
    definition: &CoreDefinition,
    prune: Option<&(Box<str>, Box<str>)>,
    pointer: &str,
    flaws: &mut Flaws,
) {
    let Some((key, value)) = prune else { return };
    if definition.about.labels.get(key) != Some(value) {
        flaws.add(
            format!("{pointer}/labels"),
            format!("does not carry the label {key}={value} that is pruned by"),
            format!("add {key:?}: {value:?} to its labels"),
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn one(more: &str) -> String {
        format!(r#"{{"specs": [{{"every": "1m"}}], "target": {{"webhook": {{"url": "http://a"}}}}, {more}}}"#)
    }

    #[test]
    fn a_set_keeps_its_payloads_digit_by_digit_and_names_default_to_default() {
        let text = format!(
            r#"{{"schedules": [{}, {}], "prune_label": {{"app": "x=y"}}}}"#,
            one(r#""name": "a", "labels": {"app": "x=y"}, "payload": {"n": 12345678901234567890123}"#),
            one(r#""namespace": "b", "name": "c", "labels": {"app": "x=y"}, "payload": null"#),
        );
        let order = read_apply(text.as_bytes()).unwrap();
        let names: Vec<String> = order.schedules.iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(names, ["default/a", "b/c"]);
        assert_eq!(&*order.schedules[0].1.payload, r#"{"n":12345678901234567890123}"#);
        assert_eq!(order.prune, Some(("app".into(), "x=y".into())));
    }

    #[test]
    fn every_flaw_of_every_schedule_is_told_with_its_place() {
        let text = format!(
            r#"{{"schedules": [{}, {}, {}, 5, {}], "prune_label": "app=x", "dry": true}}"#,
            one(r#""name": "a", "overlap": "skp", "labels": {"app": "x"}"#),
            r#"{"name": "b", "specs": [{"cron": "61 * * * *"}]}"#,
            one(r#""name": "a b""#),
            one(r#""name": "a", "labels": {}"#),
        );
        let problem = read_apply(text.as_bytes()).unwrap_err();
        let pointers: Vec<&str> = problem.errors.iter().map(|flaw| flaw.pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/schedules/0/overlap",
                "/schedules/1/specs/0/cron",
                "/schedules/1/target",
                "/schedules/2/name",
                "/schedules/3",
                "/schedules/4/name",
                "/schedules/4/labels",
                "/dry",
            ]
        );
        for label in ["5", "\"app\"", "\"=x\"", "{}", r#"{"a": 1}"#, r#"{"a": "1", "b": "2"}"#] {
            let text = format!(r#"{{"schedules": [], "prune_label": {label}}}"#);
            assert_eq!(read_apply(text.as_bytes()).unwrap_err().errors[0].pointer, "/prune_label", "{label}");
        }
    }
}
