//! Every definition that can be said is read back from its own JSON.
#![allow(clippy::unwrap_used)]
use std::collections::BTreeSet;

use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use campanile_core::definition::{
    Action, AfterCompletion, CatchUp, CatchUpMode, Delivery, Jitter, Overlap, Policy, QueueTarget,
    RetryPolicy, Target, Webhook,
};
use campanile_core::spec::{CronSpec, Exclusion, RuleSpec};
use campanile_core::time::Span;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
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
        (span(1_000..10_000_000_000), instant()).prop_map(|(every, anchor)| Spec::Every { every, anchor }),
        instant().prop_map(Spec::At),
        select(vec!["FREQ=MONTHLY;BYDAY=-1FR", "RRULE:FREQ=DAILY;COUNT=3"]).prop_map(|rule| {
            Spec::Rule(Box::new(RuleSpec {
                rule: rule.into(),
                start: "2026-01-30T09:00:00".into(),
                time_zone: "Europe/Berlin".into(),
                dst_gap: DstGap::Skip,
                dst_overlap: DstOverlap::First,
            }))
        }),
    ]
}

fn exclusion() -> impl Strategy<Value = Exclusion> {
    let zone = || of(select(vec!["UTC", "Europe/Berlin"])).prop_map(|zone| zone.map(Box::from));
    prop_oneof![
        select(vec![DayMatch::Any, DayMatch::All]).prop_map(|day_match| {
            Exclusion::Cron(Box::new(CronSpec {
                text: "* * 25 12 *".into(),
                time_zone: "Europe/Berlin".into(),
                day_match,
                dst_gap: DstGap::default(),
                dst_overlap: DstOverlap::default(),
            }))
        }),
        (prop::collection::btree_set(0..2_932_896_i32, 1..9), zone()).prop_map(|(dates, time_zone)| {
            Exclusion::Dates { dates: dates.into_iter().collect(), time_zone }
        }),
        zone().prop_map(|time_zone| Exclusion::Calendar { name: "holidays-de".into(), time_zone }),
    ]
}

fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![Just(Jitter::Auto), span(0..86_400_001).prop_map(Jitter::Fixed)]
}

const OVERLAPS: [Overlap; 6] = [
    Overlap::Allow,
    Overlap::Skip,
    Overlap::QueueOne,
    Overlap::QueueAll,
    Overlap::Replace,
    Overlap::Terminate,
];

fn policy() -> impl Strategy<Value = Policy> {
    let catch_up =
        (select(vec![CatchUpMode::All, CatchUpMode::Latest, CatchUpMode::None]), of(span(0..10_000_000)));
    let retry = (1..=1000_u32, span(0..100_000), span(100_000..10_000_000), 1..=100_u32, any::<bool>());
    (
        (select(OVERLAPS.to_vec()), 1..=10_000_u32, jitter()),
        select(vec![AfterCompletion::Keep, AfterCompletion::Delete]),
        catch_up.prop_map(|(mode, window)| CatchUp { mode, window }),
        select(vec![Delivery::AtLeastOnce, Delivery::AtMostOnce]),
        retry.prop_map(|(max_attempts, initial, max, factor, until_next)| RetryPolicy {
            max_attempts,
            initial,
            max,
            factor,
            until_next,
        }),
        (of(1..u32::MAX), of(span(1_000..2_592_000_001))),
    )
        .prop_map(|(overlap, after_completion, catch_up, delivery, retry, limits)| Policy {
            overlap: overlap.0,
            queue_limit: overlap.1,
            jitter: overlap.2,
            after_completion,
            catch_up,
            delivery,
            retry,
            pause_after_failures: limits.0,
            deadline: limits.1,
        })
}

fn webhook() -> impl Strategy<Value = Target> {
    let headers = prop::collection::btree_map("x-[a-z0-9]{1,12}", "[!-~]{0,20}", 0..4);
    let method = select(vec!["POST", "PUT", "PATCH", "GET", "DELETE"]);
    let secret = (of("[a-z0-9-]{1,20}"), any::<bool>());
    (method, headers, span(100..3_600_001), secret).prop_map(|(method, headers, timeout, signed)| {
        let boxed = |(key, value): (String, String)| (key.into(), value.into());
        Target::Webhook(Box::new(Webhook {
            url: "https://jobs.internal/run?a=b#c".into(),
            method: method.into(),
            headers: headers.into_iter().map(boxed).collect(),
            timeout,
            secret: signed.0.map(Arc::from),
            cloud_events: signed.1,
        }))
    })
}

fn target() -> impl Strategy<Value = Target> {
    let queue = ("[a-z0-9.-]{1,20}", -100..=100_i8);
    let queue =
        queue.prop_map(|(queue, priority)| Target::Queue(QueueTarget { queue: queue.into(), priority }));
    prop_oneof![webhook(), queue]
}

fn action() -> impl Strategy<Value = Option<Box<Action>>> {
    let schedule = select(vec!["a/c", "other/b"]).prop_map(|name| ScheduleName::parse(name).unwrap());
    of(prop_oneof![target().prop_map(Action::Notify), schedule.prop_map(Action::Trigger)].prop_map(Box::new))
}

prop_compose! {
    fn definition()(
        specs in prop::collection::vec(spec(), 1..5),
        exclude in prop::collection::vec(exclusion(), 0..4),
        concurrency_key in of("[ -~]{1,40}"),
        target in target(),
        payload in select(vec!["", "1", "{\"z\":1.50,\"a\":[null,\" \"]}", "12345678901234567890123"]),
        texts in ("[ -~]{0,40}", "[ -~\n]{0,80}"),
        labels in prop::collection::btree_map("[a-z._/-]{1,20}", "\\PC{0,20}", 0..4),
        window in (of(instant()), 0..1_000_000_000_i64, any::<bool>()),
        max_firings in of(1..i64::MAX as u64),
        policy in policy(),
        actions in (action(), action()),
    ) -> Definition {
        let end_at = window.2.then(|| {
            Timestamp::from_millis(window.0.map_or(0, Timestamp::as_millis) + window.1)
        });
        Definition {
            specs,
            exclude: exclude.into(),
            concurrency_key: concurrency_key.map(Arc::from),
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
            on_failure: actions.0,
            on_success: actions.1,
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
        let tree = |payload: &str| serde_json::from_str::<Value>(payload).ok();
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

    let nothing = Value::Object(serde_json::Map::new());
    let mut flaws = Flaws::default();
    let mut fields = Fields::of(&nothing, "", &mut flaws).unwrap();
    read_fields(&mut fields, &name(), "", &mut flaws);
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

/// A schedule every minute with these fields beside.
fn given(more: &Value) -> Result<Definition, Problem> {
    let mut body = json!({"specs": [{"every": "1m"}], "target": {"webhook": {"url": "http://a"}}});
    more.as_object().unwrap().iter().for_each(|(field, value)| body[field] = value.clone());
    read(&Body::from_value(body), &name())
}

#[test]
fn the_key_of_a_queue_target_may_stand_in_it_or_beside_it() {
    let queue = |key: Value| json!({"queue": {"name": "batch", "concurrency_key": key}});
    for more in [
        json!({"target": queue(json!("k"))}),
        json!({"target": queue(Value::Null), "concurrency_key": "k"}),
        json!({"target": queue(json!("k")), "concurrency_key": "k"}),
    ] {
        let definition = given(&more).unwrap();
        assert_eq!(definition.concurrency_key.as_deref(), Some("k"));
        let shown = serde_json::to_value(Shown::from(&definition)).unwrap();
        assert_eq!(
            shown["target"],
            json!({"queue": {"name": "batch", "priority": 0, "concurrency_key": "k"}})
        );
        assert_eq!(shown["concurrency_key"], Value::Null);
    }
}

#[test]
fn a_schedule_that_follows_is_named_whole_or_in_the_same_namespace() {
    for (given_name, meant) in [("c", "a/c"), ("other/c", "other/c")] {
        let definition = given(&json!({"on_success": {"schedule": given_name}})).unwrap();
        let meant = Action::Trigger(ScheduleName::parse(meant).unwrap());
        assert_eq!(definition.on_success.as_deref(), Some(&meant));
        assert_eq!(definition.on_failure, None);
    }
}

#[test]
fn what_is_wrong_with_targets_and_actions_is_told_where_it_stands() {
    let long = "k".repeat(201);
    for (more, pointer) in [
        (json!({"target": {"webhook": {"url": "http://a"}, "queue": {"name": "b"}}}), "/target"),
        (json!({"target": {"webhook": null}}), "/target"),
        (json!({"target": {"queue": {}}}), "/target/queue/name"),
        (json!({"target": {"queue": {"name": "a b"}}}), "/target/queue/name"),
        (json!({"target": {"queue": {"name": "b", "priority": 101}}}), "/target/queue/priority"),
        (json!({"target": {"queue": {"name": "b", "priority": 1.5}}}), "/target/queue/priority"),
        (json!({"target": {"queue": {"name": "b", "prio": 1}}}), "/target/queue/prio"),
        (
            json!({"target": {"queue": {"name": "b", "concurrency_key": "x"}}, "concurrency_key": "y"}),
            "/concurrency_key",
        ),
        (
            json!({"target": {"queue": {"name": "b", "concurrency_key": long}}}),
            "/target/queue/concurrency_key",
        ),
        (json!({"target": {"queue": {"name": "b"}}, "concurrency_key": long}), "/concurrency_key"),
        (
            json!({"target": {"webhook": {"url": "http://a", "secret_ref": "a/b"}}}),
            "/target/webhook/secret_ref",
        ),
        (
            json!({"target": {"webhook": {"url": "http://a", "cloud_events": "yes"}}}),
            "/target/webhook/cloud_events",
        ),
        (json!({"deadline": "31d"}), "/deadline"),
        (json!({"deadline": "10ms"}), "/deadline"),
        (json!({"deadline": 15}), "/deadline"),
        (json!({"on_failure": "a/b"}), "/on_failure"),
        (json!({"on_failure": {}}), "/on_failure"),
        (json!({"on_failure": {"shedule": "a/b"}}), "/on_failure/shedule"),
        (json!({"on_failure": {"schedule": "a/b/c"}}), "/on_failure/schedule"),
        (json!({"on_failure": {"schedule": "a/b", "queue": {"name": "b"}}}), "/on_failure"),
        (json!({"on_success": {"webhook": {"url": "ftp://a"}}}), "/on_success/webhook/url"),
        (
            json!({"on_success": {"webhook": {"url": "http://a", "timeout": "2h"}}}),
            "/on_success/webhook/timeout",
        ),
        (json!({"on_success": {"queue": {"name": ".."}}}), "/on_success/queue/name"),
        (
            json!({"on_success": {"queue": {"name": "b", "concurrency_key": "x"}}}),
            "/on_success/queue/concurrency_key",
        ),
    ] {
        let problem = given(&more).unwrap_err();
        let pointers: Vec<&str> = problem.errors.iter().map(|flaw| flaw.pointer.as_str()).collect();
        assert!(pointers.contains(&pointer), "{more}: {pointers:?}");
        assert!(problem.errors.iter().all(|flaw| !flaw.hint.is_empty()), "{more}");
    }
}
