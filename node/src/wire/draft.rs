//! A definition read from JSON: everything that a user may say of a schedule, judged field by field.
//!
//! What answers add (`uid`, `status`, …) is accepted and means nothing, so that
//! an answer can be edited and put back.

use std::collections::BTreeMap;
use std::sync::Arc;

use campanile_core::definition::{About, Definition, Flaw, ScheduleName, Target};
use campanile_core::spec::{Spec, Window};
use campanile_core::time::Timestamp;

use super::action::read_action;
use super::exclusion::read_exclusions;
use super::payload::Body;
use super::policy::read_policy;
use super::read::{Fields, Flaws};
use super::spec::read_specs;
use super::target::read_target;
use super::text::check_free;
use super::time::Instant;
use crate::problem::Problem;

/// The longest display name, in characters.
const MAX_DISPLAY_NAME: usize = 200;
/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 4 * 1024;
/// The longest key and value of a label, in characters.
const MAX_LABEL: (usize, usize) = (63, 255);

/// Fields that answers add.
const READ_ONLY: [&str; 6] = ["uid", "revision", "created_at", "updated_at", "updated_by", "status"];

/// Reads the definition of the schedule `name`.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read(body: &Body, name: &ScheduleName) -> Result<Definition, Problem> {
    let mut flaws = Flaws::default();
    let definition = Fields::of(&body.value, "", &mut flaws).and_then(|mut fields| {
        check_name(&mut fields, name, &mut flaws);
        let definition = read_fields(&mut fields, name, &body.payload, &mut flaws);
        fields.close(&mut flaws);
        definition
    });
    if let Some(definition) = &definition
        && let Err(found) = definition.check()
    {
        for flaw in found {
            flaws.add(place_of(&flaw, definition, body), flaw.detail, flaw.hint);
        }
    }
    flaws.settle(definition)
}

fn read_fields(
    fields: &mut Fields<'_>,
    of: &ScheduleName,
    payload: &str,
    flaws: &mut Flaws,
) -> Option<Definition> {
    for name in READ_ONLY {
        fields.get(name);
    }
    fields.get("payload");
    let about = read_about(fields, flaws);
    let specs = read_specs(fields, flaws);
    let exclude = read_exclusions(fields, flaws);
    let window =
        Window { start_at: fields.instant("start_at", flaws), end_at: fields.instant("end_at", flaws) };
    let max_firings = fields.number("max_firings", i64::MAX as u64, flaws);
    let target = read_target(fields, flaws);
    let concurrency_key = read_key(fields, target.as_ref().and_then(|(_, key)| *key), flaws);
    let policy = Arc::new(read_policy(fields, flaws));
    let on_failure = read_action(fields, "on_failure", of, flaws).map(Box::new);
    let on_success = read_action(fields, "on_success", of, flaws).map(Box::new);
    Some(Definition {
        specs: specs?,
        exclude,
        target: target?.0,
        payload: payload.into(),
        about,
        window,
        max_firings,
        concurrency_key,
        policy,
        on_failure,
        on_success,
    })
}

/// The concurrency key of a schedule. Of a queue target it may stand in the target, and answers show it there.
fn read_key(fields: &mut Fields<'_>, in_target: Option<&str>, flaws: &mut Flaws) -> Option<Arc<str>> {
    let beside = fields.text("concurrency_key", flaws);
    if let (Some(beside), Some(inside)) = (beside, in_target)
        && beside != inside
    {
        flaws.add(
            fields.at("concurrency_key"),
            format!("{beside:?} here, and {inside:?} stands in target.queue.concurrency_key"),
            "say it once",
        );
    }
    in_target.or(beside).map(Arc::from)
}

/// Where a flaw that core has found stands in the body.
fn place_of(flaw: &Flaw, definition: &Definition, body: &Body) -> String {
    let beside = body.value.get("concurrency_key").is_some_and(|key| !key.is_null());
    let is_key = flaw.pointer == "/concurrency_key" && matches!(definition.target, Target::Queue(_));
    if is_key && !beside { "/target/queue/concurrency_key".into() } else { flaw.pointer.clone() }
}

/// The path names the schedule; a body that names another one was sent to the wrong place.
fn check_name(fields: &mut Fields<'_>, name: &ScheduleName, flaws: &mut Flaws) {
    for (field, wanted) in [("namespace", name.namespace()), ("name", name.name())] {
        if let Some(given) = fields.text(field, flaws)
            && given != wanted
        {
            flaws.add(
                fields.at(field),
                format!("{given:?} is not the {field} in the path, {wanted:?}"),
                "leave it out",
            );
        }
    }
}

fn read_about(fields: &mut Fields<'_>, flaws: &mut Flaws) -> About {
    let display_name = fields.text("display_name", flaws).unwrap_or_default();
    let description = fields.text("description", flaws).unwrap_or_default();
    for (field, text, max, lines) in [
        ("display_name", display_name, MAX_DISPLAY_NAME, false),
        ("description", description, MAX_DESCRIPTION, true),
    ] {
        if let Err(why) = check_free(text, max, lines) {
            flaws.add(fields.at(field), why, "shorten it, without control characters");
        }
    }
    About {
        display_name: display_name.into(),
        description: description.into(),
        labels: read_labels(fields, flaws),
    }
}

fn read_labels(fields: &mut Fields<'_>, flaws: &mut Flaws) -> BTreeMap<Box<str>, Box<str>> {
    const HINT: &str = "a key has 1-63 letters, digits, '.', '_', '-' or '/', a value at most 255 characters";
    let mut labels = BTreeMap::new();
    for (key, value) in fields.texts("labels", flaws) {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
        let key_is_good = !key.is_empty() && key.len() <= MAX_LABEL.0 && key.bytes().all(plain);
        if !key_is_good {
            flaws.add(fields.at("labels"), format!("{key:?} is no label"), HINT);
        } else if let Err(why) = check_free(value, MAX_LABEL.1, false) {
            flaws.add(format!("{}/{}", fields.at("labels"), key.replace('/', "~1")), why, HINT);
        }
        labels.insert(key.into(), value.into());
    }
    labels
}

/// An instant that is past can only fire while the catch-up rule reaches it; another `at` would silently never fire.
/// Asked by whoever knows the time, and only for a definition that is new: a schedule that has fired stays valid.
///
/// # Errors
/// `invalid_schedule` that names each instant that `reaches` denies.
pub fn refuse_past(definition: &Definition, reaches: impl Fn(Timestamp) -> bool) -> Result<(), Problem> {
    let mut flaws = Flaws::default();
    for (place, spec) in definition.specs.iter().enumerate() {
        if let Spec::At(at) = spec
            && !reaches(*at)
        {
            flaws.add(
                format!("/specs/{place}/at"),
                format!("{} is past, and further back than the catch-up window", Instant(*at)),
                "name an instant to come, or widen catch_up.window",
            );
        }
    }
    flaws.settle(Some(()))
}

#[cfg(test)]
mod tests;
