//! What workers may say, and what is told to those who say something else.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use utoipa::PartialSchema;

use super::*;

fn flaws<T: std::fmt::Debug>(read: Result<T, Problem>) -> Vec<(String, String)> {
    read.unwrap_err().errors.into_iter().map(|flaw| (flaw.pointer, flaw.hint)).collect()
}

#[test]
fn what_is_left_out_of_a_request_for_leases_has_the_defaults_of_the_contract() {
    let order = read_lease(&Body::from_value(json!({"worker": "host-1/4711"}))).unwrap();
    let default =
        LeaseOrder { worker: "host-1/4711".into(), max: 1, ttl: DEFAULT_TTL, wait: Span::from_secs(0) };
    assert_eq!(order, default);
    let typed: LeaseRequest = serde_json::from_value(json!({"worker": "host-1/4711"})).unwrap();
    assert_eq!(read_lease(&Body::from_value(serde_json::to_value(typed).unwrap())).unwrap(), default);
}

#[test]
fn the_bounds_of_a_request_for_leases_hold_on_both_sides() {
    let ask = |field: &str, value: Value| {
        let mut body = json!({"worker": "w"});
        body[field] = value;
        read_lease(&Body::from_value(body))
    };
    for (field, value) in [
        ("max", json!(1)),
        ("max", json!(100)),
        ("ttl", json!("1s")),
        ("ttl", json!("1h")),
        ("wait", json!("0s")),
        ("wait", json!("60s")),
        ("worker", json!("w".repeat(200))),
    ] {
        assert!(ask(field, value.clone()).is_ok(), "{field} {value}");
    }
    for (field, value) in [
        ("max", json!(0)),
        ("max", json!(101)),
        ("ttl", json!("999ms")),
        ("ttl", json!("1h1ms")),
        ("wait", json!("61s")),
        ("worker", json!("w".repeat(201))),
        ("worker", json!("a\nb")),
        ("worker", json!(" ")),
        ("worker", json!(null)),
        ("worker", json!(7)),
    ] {
        let found = flaws(ask(field, value.clone()));
        assert_eq!(found.len(), 1, "{field} {value}: {found:?}");
        assert_eq!(found[0].0, format!("/{field}"), "{value}");
    }
}

#[test]
fn a_misspelt_field_is_told_the_one_that_was_meant() {
    let found = flaws(read_lease(&Body::from_value(json!({"worker": "w", "tll": "5s"}))));
    assert_eq!(found, [("/tll".to_owned(), "did you mean \"ttl\"?".to_owned())]);
    let found = flaws(read_settle(&Body::from_value(json!({"outcome": "succeded"}))));
    assert_eq!(found, [("/outcome".to_owned(), "did you mean \"succeeded\"?".to_owned())]);
    assert_eq!(flaws(read_settle(&Body::from_value(json!({})))).len(), 1);
}

#[test]
fn a_heartbeat_may_say_nothing() {
    assert_eq!(read_heartbeat(&Body::parse(b"").unwrap()), Ok(None));
    assert_eq!(read_heartbeat(&Body::from_value(json!({"ttl": "90s"}))), Ok(Some(Span::from_secs(90))));
    assert!(read_heartbeat(&Body::from_value(json!({"ttl": "0s"}))).is_err());
}

#[test]
fn a_wait_before_the_next_attempt_goes_with_retry_only() {
    let settle = |outcome: &str| {
        read_settle(&Body::from_value(json!({"outcome": outcome, "retry_after": "30s", "error": "busy"})))
    };
    let order = SettleOrder {
        outcome: SettleOutcome::Retry,
        output: "".into(),
        error: "busy".into(),
        retry_after: Some(Span::from_secs(30)),
    };
    assert_eq!(settle("retry").unwrap(), order);
    for outcome in ["succeeded", "failed", "cancelled"] {
        assert_eq!(flaws(settle(outcome))[0].0, "/retry_after", "{outcome}");
    }
    let long = Body::from_value(json!({"outcome": "retry", "retry_after": "2h"}));
    assert_eq!(flaws(read_settle(&long)), [("/retry_after".to_owned(), "at most 1h".to_owned())]);
}

#[test]
fn the_end_of_a_long_output_is_kept_and_stays_text() {
    let output = format!("{}end", "ä".repeat(MAX_OUTPUT));
    let order = read_settle(&Body::from_value(json!({"outcome": "failed", "output": output}))).unwrap();
    assert!(order.output.len() <= MAX_OUTPUT && order.output.len() > MAX_OUTPUT - 2);
    assert!(order.output.ends_with("äend") && order.output.starts_with('ä'));
    assert_eq!(tail("short"), "short");
}

#[test]
fn a_lease_keeps_the_digits_of_its_payload_and_ignores_what_a_later_version_adds() {
    let text = r#"[{"lease": "lse_1", "firing": "frg_1", "schedule": "a/b", "uid": "u", "revision": 3, "queue": "batch",
        "nominal": "2026-12-01T01:30:00Z", "run": 0, "kind": "scheduled", "cause": null, "attempt": 1,
        "fencing_token": 123456, "begun_at": "2026-12-01T01:30:01Z", "until": "2026-12-01T01:31:01Z",
        "deadline": "2026-12-01T02:30:01Z", "later": {"x": 1}, "payload": {"z": 12345678901234567890123, "a": 1.10}}]"#;
    let leased: Vec<Leased> = serde_json::from_str(text).unwrap();
    assert_eq!(&*leased[0].payload.0, r#"{"z": 12345678901234567890123, "a": 1.10}"#);
    assert_eq!((leased[0].labels.len(), leased[0].traceparent.as_str()), (0, ""));
    let text = serde_json::to_string(&leased).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Leased>>(&text).unwrap(), leased);
    let none: Vec<Leased> = serde_json::from_str(&text.replace(&*leased[0].payload.0, "null")).unwrap();
    assert_eq!(none[0].payload, Payload::default());
}

#[test]
fn the_schemas_list_what_is_read() {
    let properties = |schema: Value| {
        let names: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        names
    };
    let of = |schema| properties(serde_json::to_value(schema).unwrap());
    assert_eq!(of(LeaseRequest::schema()), ["max", "ttl", "wait", "worker"]);
    assert_eq!(of(HeartbeatRequest::schema()), ["ttl"]);
    assert_eq!(of(SettleRequest::schema()), ["error", "outcome", "output", "retry_after"]);
}
