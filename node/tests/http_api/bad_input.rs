//! What is wrong is refused, with code, place and remedy; nothing is ignored.

use campanile_core::cron::{Cron, CronText, DayMatch, DstGap, DstOverlap};
use serde_json::{Value, json};

use crate::fake::{Api, minutely, schedule};

const REJECT: &str = include_str!("../../../core/tests/data/reject.tsv");

/// Kind, text and reason of each row.
pub(crate) fn rejects() -> Vec<(&'static str, String, &'static str)> {
    let rows = REJECT.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let rows: Vec<_> = rows
        .map(|line| {
            let mut parts = line.splitn(3, '\t');
            let (kind, text, why) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
            (kind, text.replace("\\n", "\n").replace("\\t", "\t"), why)
        })
        .collect();
    assert!(rows.len() > 60, "{} rows", rows.len());
    rows
}

#[tokio::test]
async fn every_rejected_text_is_422_with_pointer_column_and_hint() {
    let api = Api::leader();
    let (mut columns, mut crons) = (0, 0);
    for (kind, text, why) in rejects() {
        let (spec, pointer) = match kind {
            "cron" => (json!({"cron": text}), "/specs/0/cron"),
            _ => (json!({"cron": "0 2 * * *", "time_zone": text}), "/specs/0/time_zone"),
        };
        let put = api.put("/v1/schedules/a/b", &schedule(&json!([spec]))).await;
        let preview = api.post("/v1/preview", &json!({"specs": [spec]})).await;
        for answer in [put, preview] {
            assert_eq!(answer.problem(), (422, "invalid_schedule"), "{text:?} ({why})");
            let flaw = &answer.body["errors"][0];
            assert_eq!(flaw["pointer"], pointer, "{text:?} ({why})");
            assert!(!flaw["detail"].as_str().unwrap().is_empty(), "{text:?}");
            assert!(!flaw["hint"].as_str().unwrap().is_empty(), "{text:?}");
            if kind == "cron" {
                assert_eq!(flaw["column"].as_u64(), column(&text), "{text:?} ({why})");
                columns += usize::from(column(&text).is_some());
                crons += 1;
            }
        }
    }
    assert!(columns * 10 >= crons * 8, "{columns} of {crons} refusals name their column");
    assert_eq!(api.log.committed(), 0);
}

pub(crate) fn column(text: &str) -> Option<u64> {
    let spec = CronText {
        text,
        time_zone: "UTC",
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    };
    Cron::parse(&spec).unwrap_err().column.map(u64::from)
}

/// The minutely schedule with one more field, or another value of one.
fn with(field: &str, value: Value) -> Value {
    let mut body = minutely();
    body[field] = value;
    body
}

/// The same inside the webhook.
fn hook(field: &str, value: Value) -> Value {
    let mut body = minutely();
    body["target"]["webhook"][field] = value;
    body
}

/// Two spellings of the catch-up rule that do not say the same.
fn contradicting() -> Value {
    let mut body = with("automatic_backfill", json!(true));
    body["catch_up"] = json!({"mode": "none"});
    body
}

#[tokio::test]
async fn each_wrong_field_is_named_with_what_to_do() {
    let api = Api::leader();
    let long = "x".repeat(300);
    for (body, code, pointer) in [
        (json!([]), "invalid_schedule", ""),
        (json!({}), "invalid_schedule", "/specs"),
        (json!({"specs": [], "target": {"webhook": {"url": "http://a"}}}), "invalid_schedule", "/specs"),
        (schedule(&json!("0 2 * * *")), "invalid_schedule", "/specs"),
        (schedule(&json!([5])), "invalid_schedule", "/specs/0"),
        (schedule(&json!([{}])), "invalid_schedule", "/specs/0"),
        (schedule(&json!([{"cron": "0 2 * * *", "every": "1m"}])), "invalid_schedule", "/specs/0"),
        (schedule(&json!([{"cron": 5}])), "invalid_schedule", "/specs/0/cron"),
        (schedule(&json!([{"every": "1m"}, {"every": "500ms"}])), "invalid_schedule", "/specs/1/every"),
        (schedule(&json!([{"every": 60}])), "invalid_schedule", "/specs/0/every"),
        (schedule(&json!([{"at": "tomorrow"}])), "invalid_schedule", "/specs/0/at"),
        (schedule(&json!([{"at": "2020-01-01T00:00:00Z"}])), "invalid_schedule", "/specs/0/at"),
        (
            schedule(&json!([{"cron": "0 2 * * *", "day_match": "both"}])),
            "invalid_schedule",
            "/specs/0/day_match",
        ),
        (schedule(&json!([{"cron": "0 2 * * *", "timezone": "UTC"}])), "unknown_field", "/specs/0/timezone"),
        (schedule(&json!([{"calendar": "holidays"}])), "unknown_field", "/specs/0/calendar"),
        (with("spec", json!([])), "unknown_field", "/spec"),
        (with("overlap", json!("skp")), "invalid_schedule", "/overlap"),
        (with("jitter", json!("soon")), "invalid_schedule", "/jitter"),
        (with("jitter", json!("2d")), "invalid_schedule", "/jitter"),
        (with("after_completion", json!("remove")), "invalid_schedule", "/after_completion"),
        (with("queue_limit", json!(0)), "invalid_schedule", "/queue_limit"),
        (with("concurrency_key", json!("")), "invalid_schedule", "/concurrency_key"),
        (with("exclude", json!([{}])), "invalid_schedule", "/exclude/0"),
        (with("exclude", json!([{"cron": "61 * * * *"}])), "invalid_schedule", "/exclude/0/cron"),
        (with("exclude", json!([{"dates": ["2026-02-29"]}])), "invalid_schedule", "/exclude/0/dates/0"),
        (with("exclude", json!([{"dates": []}])), "invalid_schedule", "/exclude/0/dates"),
        (with("exclude", json!([{"calendar": "a b"}])), "invalid_schedule", "/exclude/0/calendar"),
        (with("exclude", json!([{"calendar": "none"}])), "invalid_schedule", "/exclude/0/calendar"),
        (with("exclude", json!([{"cron": "* * * * *"}])), "invalid_schedule", "/exclude"),
        (with("labels", json!({"a b": "c"})), "invalid_schedule", "/labels"),
        (with("labels", json!({"team": 5})), "invalid_schedule", "/labels/team"),
        (with("display_name", json!(long)), "invalid_schedule", "/display_name"),
        (with("end_at", json!(5)), "invalid_schedule", "/end_at"),
        (with("max_firings", json!(0)), "invalid_schedule", "/max_firings"),
        (with("max_firings", json!(-1)), "invalid_schedule", "/max_firings"),
        (with("max_firings", json!(1.5)), "invalid_schedule", "/max_firings"),
        (with("catch_up", json!({"mode": "some"})), "invalid_schedule", "/catch_up/mode"),
        (with("catch_up", json!({"window": "unlimitd"})), "invalid_schedule", "/catch_up/window"),
        (with("retry", json!({"max_attempts": 0})), "invalid_schedule", "/retry/max_attempts"),
        (with("retry", json!({"attempts": 3})), "unknown_field", "/retry/attempts"),
        (with("retry", json!({"initial": "2m", "max": "1m"})), "invalid_schedule", "/retry/max"),
        (with("pause_after_failures", json!(0)), "invalid_schedule", "/pause_after_failures"),
        (with("name", json!("other")), "invalid_schedule", "/name"),
        (with("payload", json!("x".repeat(70_000))), "invalid_schedule", "/payload"),
        (hook("url", json!("ftp://a")), "invalid_schedule", "/target/webhook/url"),
        (hook("url", Value::Null), "invalid_schedule", "/target/webhook/url"),
        (hook("method", json!("FETCH")), "invalid_schedule", "/target/webhook/method"),
        (hook("headers", json!({"Host": "a"})), "invalid_schedule", "/target/webhook/headers/Host"),
        (hook("headers", json!({"X": "1", "x": "2"})), "invalid_schedule", "/target/webhook/headers/x"),
        (hook("timeout", json!("2h")), "invalid_schedule", "/target/webhook/timeout"),
        (json!({"specs": [{"every": "1m"}], "target": {}}), "invalid_schedule", "/target"),
    ] {
        let answer = api.put("/v1/schedules/a/b", &body).await;
        assert_eq!(answer.problem(), (422, code), "{body}");
        let pointers: Vec<&str> = answer.body["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flaw| flaw["pointer"].as_str().unwrap())
            .collect();
        assert!(pointers.contains(&pointer), "{body}: {pointers:?}");
        assert!(answer.body["errors"].as_array().unwrap().iter().all(|flaw| flaw["hint"] != ""), "{body}");
    }
    assert_eq!(api.log.committed(), 0);
}

#[tokio::test]
async fn what_cannot_be_so_is_refused_and_what_stands_beside_it_is_not() {
    let api = Api::leader();
    let batch = |priority: i32| with("target", json!({"queue": {"name": "batch", "priority": priority}}));
    for (refused, accepted) in [
        (with("deadline", json!("0s")), with("deadline", json!("15m"))),
        (with("on_failure", json!({"schedule": "a/b"})), with("on_failure", json!({"schedule": "a/c"}))),
        (with("on_success", json!({"schedule": "b"})), with("on_success", json!({"schedule": "c"}))),
        (hook("secret_ref", json!("key")), hook("secret_ref", Value::Null)),
        (batch(101), batch(-100)),
        (contradicting(), with("automatic_backfill", json!(true))),
    ] {
        let answer = api.put("/v1/schedules/a/b", &refused).await;
        assert_eq!(answer.problem(), (422, "invalid_schedule"), "{refused}");
        let kept = api.put("/v1/schedules/a/b", &accepted).await;
        assert!(kept.status.is_success(), "{accepted}: {}", kept.text);
    }
}

#[tokio::test]
async fn a_flaw_in_each_field_is_told_in_one_answer() {
    let api = Api::leader();
    let body = json!({"specs": [{"cron": "61 * * * *"}, {"every": "x"}], "target": {"webhook": {"url": "a"}}, "overlap": 1});
    let answer = api.put("/v1/schedules/a/b", &body).await;
    let pointers: Vec<&str> = answer.body["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flaw| flaw["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(pointers, ["/specs/0/cron", "/specs/1/every", "/target/webhook/url", "/overlap"]);
    assert!(answer.body["detail"].as_str().unwrap().contains("and 3 more"), "{}", answer.text);
}

#[tokio::test]
async fn an_unknown_field_is_answered_with_did_you_mean() {
    let api = Api::leader();
    let mut body = minutely();
    body["overlp"] = json!("skip");
    let answer = api.put("/v1/schedules/a/b", &body).await;
    assert_eq!(answer.problem(), (422, "unknown_field"));
    assert_eq!(answer.body["errors"][0]["hint"], "did you mean \"overlap\"?");
    let answer = api.post("/v1/schedules/a/b/pause", &json!({"nte": "x"})).await;
    assert_eq!(answer.body["errors"][0]["hint"], "did you mean \"note\"?");
}

#[tokio::test]
async fn requests_that_cannot_be_read_are_400_and_say_where() {
    let api = Api::leader();
    let answer = api.ask("PUT", "/v1/schedules/a/b", &[], "{\"specs\": [}").await;
    assert_eq!(answer.problem(), (400, "bad_request"));
    assert!(answer.body["detail"].as_str().unwrap().contains("line 1, column 12"), "{}", answer.text);
    for (path, hint) in [
        ("/v1/schedules?limit=0", "between 1 and 1000"),
        ("/v1/schedules?limt=5", "did you mean \"limit\"?"),
        ("/v1/schedules?sort=age", "known are: name, next"),
        ("/v1/schedules?page_token=xyz", "page_token"),
        ("/v1/schedules?consistency=strong", "linearizable"),
        ("/v1/ledger?after=x", "no position"),
        ("/v1/firings?after=yesterday", "RFC 3339"),
        ("/v1/firings?schedule=a/b/c", "slash too many"),
    ] {
        let answer = api.get(path).await;
        assert_eq!(answer.problem(), (400, "bad_request"), "{path}");
        assert!(answer.body["detail"].as_str().unwrap().contains(hint), "{path}: {}", answer.text);
    }
    // What is not understood must not be carried out for real.
    let answer = api.put("/v1/schedules/a/b?dry_rn=true", &minutely()).await;
    assert_eq!(answer.problem(), (400, "bad_request"));
    for (name, value) in [("if-match", "*"), ("if-none-match", "\"1\""), ("idempotency-key", "a b")] {
        let answer = api.ask("PUT", "/v1/schedules/a/b", &[(name, value)], &minutely().to_string()).await;
        assert_eq!(answer.problem(), (400, "bad_request"), "{name}");
    }
    assert_eq!(api.log.committed(), 0);
}

#[tokio::test]
async fn a_body_beyond_a_megabyte_is_413() {
    let api = Api::leader();
    let body = format!("{{\"description\": \"{}\"}}", "x".repeat(1024 * 1024));
    for (method, path) in
        [("PUT", "/v1/schedules/a/b"), ("POST", "/v1/preview"), ("POST", "/v1/schedules/a/b/pause")]
    {
        assert_eq!(api.ask(method, path, &[], &body).await.problem(), (413, "payload_too_large"), "{path}");
    }
}

#[tokio::test]
async fn unknown_paths_methods_and_names_say_what_is_right() {
    let api = Api::leader();
    for (method, path, status, code, hint) in [
        ("PUT", "/v1/schedules/a/b/c", 404, "not_found", "slash too many"),
        ("GET", "/v1/schedules/a", 404, "not_found", "/v1/schedules/default/a"),
        ("GET", "/v2/anything", 404, "not_found", "openapi"),
        ("GET", "/v1/schedules/a/none", 404, "not_found", "no schedule a/none"),
        ("GET", "/v1/firings/abc", 404, "not_found", "frg_"),
        ("POST", "/v1/schedules", 405, "method_not_allowed", "Allow"),
        ("DELETE", "/livez", 405, "method_not_allowed", "Allow"),
        ("PUT", "/v1/schedules/a/b%2Fc", 422, "invalid_schedule", "slash too many"),
        ("PUT", "/v1/schedules/a/%20", 422, "invalid_schedule", "letters"),
        ("PUT", "/v1/schedules/a/..", 422, "invalid_schedule", "dots"),
    ] {
        let answer = api.ask(method, path, &[], &minutely().to_string()).await;
        assert_eq!(answer.problem(), (status, code), "{method} {path}");
        assert!(answer.body["detail"].as_str().unwrap().contains(hint), "{path}: {}", answer.text);
        assert_eq!(status == 405, !answer.header("allow").is_empty(), "{path}");
    }
    assert_eq!(api.log.committed(), 0);
}
