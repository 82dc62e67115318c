//! A definition read from JSON: everything that a user may say of a schedule, judged field by field.
//!
//! What the contract knows and this version does not carry is refused unless it has its default: a schedule that ran
//! without it would not be what was asked for. What answers add (`uid`, `status`, …) is accepted and means nothing, so that
//! an answer can be edited and put back.

use std::collections::BTreeMap;
use std::sync::Arc;

use campanile_core::definition::{About, Definition, ScheduleName};
use campanile_core::spec::{Spec, Window};
use campanile_core::time::Timestamp;

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
        let definition = read_fields(&mut fields, &body.payload, &mut flaws);
        fields.close(&mut flaws);
        definition
    });
    if let Some(Err(found)) = definition.as_ref().map(Definition::check) {
        found.into_iter().for_each(|flaw| flaws.add(flaw.pointer, flaw.detail, flaw.hint));
    }
    flaws.settle(definition)
}

fn read_fields(fields: &mut Fields<'_>, payload: &str, flaws: &mut Flaws) -> Option<Definition> {
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
    let concurrency_key = fields.text("concurrency_key", flaws).map(Arc::from);
    let policy = Arc::new(read_policy(fields, flaws));
    refuse_unsupported(fields, flaws);
    Some(Definition {
        specs: specs?,
        exclude,
        target: target?,
        payload: payload.into(),
        about,
        window,
        max_firings,
        concurrency_key,
        policy,
    })
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

fn refuse_unsupported(fields: &mut Fields<'_>, flaws: &mut Flaws) {
    for (field, what) in [
        ("deadline", "a deadline"),
        ("on_failure", "an action on failure"),
        ("on_success", "an action on success"),
    ] {
        if fields.get(field).is_some() {
            flaws.unsupported(fields.at(field), what);
        }
    }
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
    use campanile_core::definition::{
        CatchUp, CatchUpMode, Delivery, Overlap, Policy, RetryPolicy, Target, Webhook,
    };
    use campanile_core::spec::CronSpec;
    use campanile_core::time::Span;
    use proptest::option::of;
    use proptest::prelude::*;
    use proptest::sample::select;
    use utoipa::PartialSchema;

    use super::*;
    use crate::wire::definition::Definition as Shown;

    fn name() -> ScheduleName {
        ScheduleName::new("a", "b").unwrap()
    }

    /// Instants that a text can name: years 1970 to 2100, in milliseconds.
    fn instant() -> impl Strategy<Value = Timestamp> {
        (0..4_102_444_800_000_i64).prop_map(Timestamp::from_millis)
    }

    fn span(millis: std::ops::Range<u64>) -> impl Strategy<Value = Span> {
        millis.prop_map(Span::from_millis)
    }

    fn spec() -> impl Strategy<Value = Spec> {
        let cron = (
            select(vec!["30 2 * * *", "@daily", "*/5 * * * * *", "0 0 13 * +5", "0 0 L * *"]),
            select(vec!["UTC", "Europe/Berlin", "America/New_York"]),
            select(vec![DayMatch::Any, DayMatch::All]),
            select(vec![DstGap::RunAfter, DstGap::Skip]),
            select(vec![DstOverlap::First, DstOverlap::Second, DstOverlap::Both]),
        );
        prop_oneof![
            cron.prop_map(|(text, time_zone, day_match, dst_gap, dst_overlap)| {
                let (text, time_zone) = (text.into(), time_zone.into());
                Spec::Cron(Box::new(CronSpec { text, time_zone, day_match, dst_gap, dst_overlap }))
            }),
            (span(1_000..10_000_000_000), instant())
                .prop_map(|(every, anchor)| Spec::Every { every, anchor }),
            instant().prop_map(Spec::At),
        ]
    }

    fn policy() -> impl Strategy<Value = Policy> {
        let catch_up =
            (select(vec![CatchUpMode::All, CatchUpMode::Latest, CatchUpMode::None]), of(span(0..10_000_000)));
        let retry = (1..=1000_u32, span(0..100_000), span(100_000..10_000_000), 1..=100_u32, any::<bool>());
        (
            select(vec![Overlap::Allow, Overlap::Skip]),
            catch_up.prop_map(|(mode, window)| CatchUp { mode, window }),
            select(vec![Delivery::AtLeastOnce, Delivery::AtMostOnce]),
            retry.prop_map(|(max_attempts, initial, max, factor, until_next)| RetryPolicy {
                max_attempts,
                initial,
                max,
                factor,
                until_next,
            }),
            of(1..u32::MAX),
        )
            .prop_map(|(overlap, catch_up, delivery, retry, pause_after_failures)| Policy {
                overlap,
                catch_up,
                delivery,
                retry,
                pause_after_failures,
            })
    }

    fn target() -> impl Strategy<Value = Target> {
        let headers = prop::collection::btree_map("x-[a-z0-9]{1,12}", "[!-~]{0,20}", 0..4);
        let method = select(vec!["POST", "PUT", "PATCH", "GET", "DELETE"]);
        (method, headers, span(100..3_600_001)).prop_map(|(method, headers, timeout)| {
            let boxed = |(key, value): (String, String)| (key.into(), value.into());
            Target::Webhook(Box::new(Webhook {
                url: "https://jobs.internal/run?a=b#c".into(),
                method: method.into(),
                headers: headers.into_iter().map(boxed).collect(),
                timeout,
            }))
        })
    }

    prop_compose! {
        fn definition()(
            specs in prop::collection::vec(spec(), 1..5),
            target in target(),
            payload in select(vec!["", "1", "{\"z\":1.50,\"a\":[null,\" \"]}", "12345678901234567890123"]),
            texts in ("[ -~]{0,40}", "[ -~\n]{0,80}"),
            labels in prop::collection::btree_map("[a-z._/-]{1,20}", "\\PC{0,20}", 0..4),
            window in (of(instant()), 0..1_000_000_000_i64, any::<bool>()),
            max_firings in of(1..i64::MAX as u64),
            policy in policy(),
        ) -> Definition {
            let end_at = window.2.then(|| {
                Timestamp::from_millis(window.0.map_or(0, Timestamp::as_millis) + window.1)
            });
            Definition {
                specs,
                target,
                payload: payload.into(),
                about: About {
                    display_name: texts.0.into(),
                    description: texts.1.into(),
                    labels: labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect(),
                },
                window: Window { start_at: window.0, end_at },
                max_firings,
                policy: Arc::new(policy),
            }
        }
    }

    proptest! {
        #[test]
        fn a_definition_is_read_back_from_its_own_json(definition in definition()) {
            prop_assume!(definition.check().is_ok());
            let text = serde_json::to_string_pretty(&Shown::from(&definition)).unwrap();
            prop_assert_eq!(read(&Body::parse(text.as_bytes()).unwrap(), &name()), Ok(definition));
        }

        #[test]
        fn the_types_of_an_answer_read_what_they_write(definition in definition()) {
            let shown = Shown::from(&definition);
            let mut read: Shown = serde_json::from_str(&serde_json::to_string(&shown).unwrap()).unwrap();
            // A reader that is typed takes a payload as a tree, which keeps its values and not its digits.
            let tree = |payload: &str| serde_json::from_str::<serde_json::Value>(payload).ok();
            prop_assert_eq!(tree(&read.payload.0), tree(&shown.payload.0));
            read.payload = shown.payload.clone();
            prop_assert_eq!(read, shown);
        }
    }

    #[test]
    fn the_schema_lists_what_is_read() {
        let schema = serde_json::to_value(Shown::schema()).unwrap();
        let listed: BTreeSet<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();

        let nothing = serde_json::Value::Object(serde_json::Map::new());
        let mut flaws = Flaws::default();
        let mut fields = Fields::of(&nothing, "", &mut flaws).unwrap();
        read_fields(&mut fields, "", &mut flaws);
        let beside = ["automatic_backfill"].into_iter().chain(READ_ONLY).collect();
        let known: BTreeSet<&str> = fields.known().iter().copied().collect();
        assert_eq!(known.difference(&beside).copied().collect::<BTreeSet<_>>(), listed);
        assert_eq!(schema["required"], serde_json::json!(["specs", "target"]));
    }

    #[test]
    fn automatic_backfill_is_another_spelling_of_all_and_unlimited() {
        let text = br#"{"specs": [{"every": "1m"}], "target": {"webhook": {"url": "http://a"}}, "automatic_backfill": true}"#;
        let definition = read(&Body::parse(text).unwrap(), &name()).unwrap();
        assert_eq!(definition.policy.catch_up, CatchUp { mode: CatchUpMode::All, window: None });
    }
}
