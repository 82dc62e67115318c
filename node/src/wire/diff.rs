//! What a write would change, before it is made: in fields, and in ticks.

use campanile_core::definition::Definition as CoreDefinition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::definition::Definition;
use super::payload::Payload;
use super::preview::NextInstant;
use super::read::escape;
use super::schedule::Warning;
use super::time::Instant;

/// A field of a schedule with more changes inside than this is told as a whole.
const MAX_INSIDE: usize = 50;

/// What a put would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryRun {
    /// `created`, `changed` or `unchanged`.
    #[schema(pattern = "^(created|changed|unchanged)$")]
    pub change: String,
    /// Each field that would be different; of a new schedule, each that is not its default.
    pub fields: Vec<FieldChange>,
    /// Which instants would come and go.
    pub ticks: Ticks,
    /// The specs in English.
    pub text: String,
    /// The next instants.
    pub next: Vec<NextInstant>,
    /// What is allowed and often not meant.
    pub warnings: Vec<Warning>,
}

/// A field that would be different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    /// Which, as a JSON pointer into the schedule.
    pub pointer: String,
    /// What it is; `null` for nothing.
    pub from: Payload,
    /// What it would be; `null` for nothing.
    pub to: Payload,
}

/// The instants that would fire under the one definition and not under the other, from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ticks {
    /// How far the two were compared, inclusive: a year, or up to the 50th instant of either.
    pub until: Instant,
    /// Instants that only the new one has.
    pub added: Vec<NextInstant>,
    /// Instants that only the old one has.
    pub removed: Vec<NextInstant>,
    /// How many both have.
    pub kept: u64,
}

/// The fields in which two definitions differ; all that are not their default when there is no old one.
#[must_use]
pub fn fields(old: Option<&CoreDefinition>, new: &CoreDefinition) -> Vec<FieldChange> {
    let Some(old) = old else { return given(new) };
    let (from, to) = (shown(old), shown(new));
    let mut changes = Vec::new();
    for (name, to) in &to {
        let pointer = format!("/{}", escape(name));
        let from = from.get(name).unwrap_or(&Value::Null);
        let mut inside = Vec::new();
        compare(&pointer, from, to, &mut inside);
        let whole = || FieldChange { pointer: pointer.clone(), from: raw(from), to: raw(to) };
        match inside.len() {
            0 => {}
            few if few <= MAX_INSIDE => changes.append(&mut inside),
            _ => changes.push(whole()),
        }
    }
    // Digits beyond a number and the order of keys are part of a payload, and no tree shows them.
    if old.payload != new.payload && !changes.iter().any(|change| change.pointer.starts_with("/payload")) {
        changes.push(FieldChange {
            pointer: "/payload".into(),
            from: Payload(old.payload.clone()),
            to: Payload(new.payload.clone()),
        });
    }
    changes
}

/// The fields that are not left at their default.
fn given(new: &CoreDefinition) -> Vec<FieldChange> {
    let usual = shown(&CoreDefinition::new(Vec::new(), new.target.clone()));
    let changed = |name: &str, value: &Value| name == "target" || usual.get(name) != Some(value);
    let fields = shown(new);
    let kept = fields.iter().filter(|(name, value)| changed(name, value));
    kept.map(|(name, value)| FieldChange {
        pointer: format!("/{}", escape(name)),
        from: Payload::default(),
        to: if name == "payload" { Payload(new.payload.clone()) } else { raw(value) },
    })
    .collect()
}

fn shown(definition: &CoreDefinition) -> Map<String, Value> {
    // A struct of texts, numbers and lists always has a JSON value, and it is an object.
    match serde_json::to_value(Definition::from(definition)) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn raw(value: &Value) -> Payload {
    Payload(if value.is_null() { "".into() } else { value.to_string().into() })
}

fn compare(pointer: &str, from: &Value, to: &Value, changes: &mut Vec<FieldChange>) {
    match (from, to) {
        (Value::Object(old), Value::Object(new)) => {
            let gone = old.keys().filter(|name| !new.contains_key(*name));
            for name in new.keys().chain(gone) {
                let side = |map: &Map<String, Value>| map.get(name).cloned().unwrap_or_default();
                compare(&format!("{pointer}/{}", escape(name)), &side(old), &side(new), changes);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for place in 0..old.len().max(new.len()) {
                let side = |items: &[Value]| items.get(place).cloned().unwrap_or_default();
                compare(&format!("{pointer}/{place}"), &side(old), &side(new), changes);
            }
        }
        _ if from == to => {}
        _ => changes.push(FieldChange { pointer: pointer.to_owned(), from: raw(from), to: raw(to) }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use campanile_core::definition::ScheduleName;
    use serde_json::json;

    use crate::wire::draft;
    use crate::wire::payload::Body;

    fn definition(more: &str) -> CoreDefinition {
        let text = format!(
            r#"{{"specs": [{{"every": "1m"}}], "target": {{"webhook": {{"url": "http://a"}}}} {more}}}"#
        );
        draft::read(&Body::parse(text.as_bytes()).unwrap(), &ScheduleName::new("a", "b").unwrap()).unwrap()
    }

    fn told(old: &CoreDefinition, new: &CoreDefinition) -> Value {
        let changes = fields(Some(old), new);
        changes.into_iter().map(|change| json!([change.pointer, change.from, change.to])).collect()
    }

    #[test]
    fn what_differs_is_told_where_it_differs() {
        let old = definition(r#", "labels": {"a": "1", "b": "2"}, "payload": {"x": [1, 2], "y": 1}"#);
        let new = definition(
            r#", "labels": {"b": "3", "c/d": "4"}, "payload": {"x": [1, 3, 4], "y": 1}, "overlap": "skip""#,
        );
        assert_eq!(
            told(&old, &new),
            json!([
                ["/labels/b", "2", "3"],
                ["/labels/c~1d", null, "4"],
                ["/labels/a", "1", null],
                ["/payload/x/1", 2, 3],
                ["/payload/x/2", null, 4],
                ["/overlap", "allow", "skip"],
            ])
        );
        assert_eq!(told(&new, &new), json!([]));
    }

    #[test]
    fn digits_and_order_of_a_payload_count_and_a_large_change_is_one() {
        let (old, new) =
            (definition(r#", "payload": {"a": 1, "b": 2}"#), definition(r#", "payload": {"b": 2, "a": 1}"#));
        assert_eq!(fields(Some(&old), &new)[0].pointer, "/payload");
        let long = |n: usize| definition(&format!(r#", "payload": {:?}"#, vec![n; 500]));
        assert_eq!(fields(Some(&long(1)), &long(2)).len(), 1);
    }

    #[test]
    fn of_a_new_schedule_what_is_not_its_default_is_told() {
        let pointers: Vec<String> =
            fields(None, &definition(r#", "overlap": "skip", "catch_up": {"window": "1m"}"#))
                .into_iter()
                .map(|change| change.pointer)
                .collect();
        assert_eq!(pointers, ["/specs", "/target", "/overlap"]);
    }
}
