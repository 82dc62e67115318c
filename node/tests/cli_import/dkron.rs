//! Dkron jobs, field by field.

use campanile::import::dkron;
use campanile::import::{Import, Settings};
use serde_json::{Value, json};

use crate::{came_of, holds, settings};

/// A shell job with `piece` beside its name, on the third line.
fn with(piece: &str) -> Import {
    let text = format!(
        "{{\"name\": \"a\", \"timezone\": \"UTC\",\n\"schedule\": \"0 0 5 * * *\",\n{piece}\"executor\": \"shell\", \"executor_config\": {{\"command\": \"x\"}}}}"
    );
    dkron::read(text.as_bytes(), &settings()).unwrap()
}

/// A shell job with these fields for its times.
fn at(piece: &str) -> Import {
    let text = format!(
        "{{\"name\": \"a\", {piece}, \"executor\": \"shell\", \"executor_config\": {{\"command\": \"x\"}}}}"
    );
    dkron::read(text.as_bytes(), &settings()).unwrap()
}

/// A job with this executor and its settings.
fn runs(piece: &str) -> Import {
    let text = format!("{{\"name\": \"a\", \"timezone\": \"UTC\", \"schedule\": \"0 0 5 * * *\", {piece}}}");
    dkron::read(text.as_bytes(), &settings()).unwrap()
}

#[test]
fn each_field_of_a_job_is_carried_over_or_told() {
    holds(
        &[
            ("\"displayname\": \"A job\",", "/display_name", json!("A job"), ""),
            ("\"displayname\": \"\",", "/display_name", Value::Null, ""),
            (
                "\"owner\": \"Ops\", \"owner_email\": \"o@x\",",
                "/labels",
                json!({"owner": "Ops", "owner_email": "o@x"}),
                "",
            ),
            ("\"owner\": \"\",", "/labels", Value::Null, ""),
            (
                "\"metadata\": {\"team\": \"a\", \"a b\": \"c\"},",
                "/labels",
                json!({"team": "a"}),
                "3 Dropped the metadata \"a b\"",
            ),
            ("\"retries\": 2,", "/retry", json!({"max_attempts": 3}), ""),
            ("", "/retry", json!({"max_attempts": 1}), ""),
            (
                "\"retries\": 1000000000000,",
                "/retry",
                json!({"max_attempts": 1000}),
                "3 Dropped 1000000000000 retries",
            ),
            (
                "\"retries\": -1,",
                "/retry",
                json!({"max_attempts": 1}),
                "3 Dropped retries is no whole number",
            ),
            ("\"concurrency\": \"forbid\",", "/overlap", json!("skip"), ""),
            ("\"concurrency\": \"allow\",", "/overlap", json!("allow"), ""),
            ("\"concurrency\": \"both\",", "/overlap", json!("allow"), "3 Dropped the concurrency \"both\""),
            ("\"disabled\": true,", "/name", json!("a"), "3 Dropped it is disabled"),
            ("\"tags\": {\"a\": \"b:1\"},", "/name", json!("a"), "3 Dropped tags is not carried over"),
            ("\"processors\": {\"log\": {}},", "/name", json!("a"), "3 Dropped processors"),
            ("\"ephemeral\": true,", "/name", json!("a"), "3 Dropped it is ephemeral"),
            ("\"expires_at\": \"2027-01-01T00:00:00+01:00\",", "/end_at", json!("2026-12-31T23:00:00Z"), ""),
            ("\"expires_at\": \"0001-01-01T00:00:00Z\",", "/end_at", Value::Null, ""),
            ("\"expires_at\": \"soon\",", "/end_at", Value::Null, "3 Dropped expires_at \"soon\""),
            ("\"parent_job\": \"b\",", "/name", Value::Null, "3 Lost \"a\" runs after \"b\""),
            ("\"novelty\": 1,", "/name", json!("a"), "3 Dropped novelty is not carried over"),
        ],
        with,
    );
    assert!(with("\"disabled\": true,").schedules[0].paused);
    let server = "\"success_count\": 1, \"last_error\": \"2026-01-01T00:00:00Z\", \"status\": \"success\", \"next\": \"x\",";
    assert_eq!(came_of(&with(server), "").1, [""; 0]);
}

#[test]
fn when_it_runs_is_carried_over_with_its_zone() {
    let cron = |text: &str, zone: &str| json!([{"cron": text, "time_zone": zone}]);
    holds(
        &[
            (
                "\"schedule\": \"*/10 0 5 * * ?\", \"timezone\": \"Asia/Tokyo\"",
                "/specs",
                cron("*/10 0 5 * * *", "Asia/Tokyo"),
                "written as",
            ),
            (
                "\"schedule\": \"CRON_TZ=Asia/Tokyo 0 0 5 * * *\"",
                "/specs",
                cron("0 0 5 * * *", "Asia/Tokyo"),
                "",
            ),
            (
                "\"schedule\": \"0 0 5 * * *\"",
                "/specs",
                cron("0 0 5 * * *", "UTC"),
                "Advice \"a\" has no timezone",
            ),
            (
                "\"schedule\": \"@weekly\", \"timezone\": \"Asia/Tokyo\"",
                "/specs",
                cron("@weekly", "UTC"),
                "Dropped Dkron does not apply",
            ),
            ("\"schedule\": \"@every 1m30s\"", "/specs", json!([{"every": "1m30s"}]), "Unix epoch"),
            (
                "\"schedule\": \"@at 2027-01-01T00:00:00+01:00\"",
                "/specs",
                json!([{"at": "2026-12-31T23:00:00Z"}]),
                "",
            ),
            (
                "\"schedule\": \"@at 2026-01-01T00:00:00Z\"",
                "/specs",
                Value::Null,
                "Dropped \"a\" was to run once",
            ),
            ("\"schedule\": \"@at noon\"", "/specs", Value::Null, "Lost \"noon\" is no instant"),
            ("\"schedule\": \"@manually\"", "/specs", Value::Null, "Lost \"a\" runs by hand only"),
            ("\"schedule\": \"0 0 * * *\"", "/specs", Value::Null, "Lost its schedule: 5 fields"),
            ("\"schedule\": \"\"", "/specs", Value::Null, "Lost \"a\" has no schedule"),
            (
                "\"schedule\": \"~ 0 0 * * *\", \"timezone\": \"UTC\"",
                "/specs",
                cron("40 0 0 * * *", "UTC"),
                "Advice `~` stands for",
            ),
        ],
        at,
    );
}

#[test]
fn an_http_job_is_a_webhook_as_it_is_and_others_travel_to_the_one_that_runs_them() {
    let webhook = |more: Value| {
        let mut webhook = json!({"url": "http://a/b", "method": "GET", "timeout": "30s"});
        webhook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        webhook
    };
    let http = |more: &str| {
        format!("\"executor\": \"http\", \"executor_config\": {{\"url\": \"http://a/b\"{more}}}")
    };
    let table = [
        (http(""), "/target/webhook", webhook(json!({})), ""),
        (http(", \"method\": \"put\""), "/target/webhook", webhook(json!({"method": "PUT"})), ""),
        (http(", \"method\": \"HEAD\""), "/target", Value::Null, "1 Lost \"a\" makes a HEAD request"),
        (http(", \"timeout\": \"90\""), "/target/webhook/timeout", json!("1m30s"), ""),
        (http(", \"timeout\": 90"), "/target/webhook/timeout", json!("1m30s"), ""),
        (http(", \"timeout\": \"long\""), "/target/webhook/timeout", json!("30s"), "Dropped the timeout \"long\""),
        (http(", \"timeout\": \"86400\""), "/target/webhook/timeout", json!("1h"), "Dropped the timeout is 1d"),
        (http(", \"headers\": \"[\\\"A: b:c\\\"]\""), "/target/webhook/headers", json!({"A": "b:c"}), ""),
        (http(", \"headers\": \"[\\\"A\\\"]\""), "/target/webhook/headers", Value::Null, "Dropped the header \"A\""),
        (http(", \"headers\": \"A: b\""), "/target/webhook/headers", Value::Null, "Dropped the headers are no JSON"),
        (http(", \"body\": \"[1, 2]\""), "/payload", json!([1, 2]), ""),
        (http(", \"body\": \"hi\""), "/payload", json!("hi"), "Advice the body is no JSON"),
        (http(", \"expectCode\": \"200\""), "/payload", Value::Null, "Dropped executor_config.expectCode"),
        (http(", \"tlsNoVerifyPeer\": \"true\""), "/payload", Value::Null, "Dropped executor_config.tlsNoVerifyPeer"),
        ("\"executor\": \"http\", \"executor_config\": {}".into(), "/target", Value::Null, "Lost the request of \"a\" has no url"),
        (
            "\"executor\": \"shell\", \"executor_config\": {\"command\": \"c\", \"shell\": true, \"env\": \"A=b\", \"cwd\": \"/\", \"timeout\": \"90s\"}".into(),
            "/payload",
            json!({"command": "c", "shell": "true", "env": "A=b", "cwd": "/", "timeout": "90s"}),
            "",
        ),
        (
            "\"executor\": \"shell\", \"executor_config\": {\"command\": \"c\", \"timeout\": \"90s\", \"x\": \"y\"}".into(),
            "/target/webhook",
            json!({"url": "http://run", "timeout": "1m30s"}),
            "Dropped executor_config.x",
        ),
        (
            "\"executor\": \"nats\", \"executor_config\": {\"subject\": \"s\"}".into(),
            "/payload",
            json!({"executor": "nats", "config": {"subject": "s"}}),
            "",
        ),
        ("\"owner\": \"o\"".into(), "/target", Value::Null, "Lost \"a\" has no executor"),
    ];
    let table: Vec<_> =
        table.iter().map(|(piece, at, value, word)| (piece.as_str(), *at, value.clone(), *word)).collect();
    holds(&table, runs);
}

#[test]
fn a_command_without_a_webhook_that_runs_it_is_lost_and_a_request_needs_none() {
    let settings = Settings { url: None, namespace: Some("ops".into()), ..settings() };
    let text = r#"{"jobs": [
        {"name": "a", "schedule": "@daily", "executor": "shell", "executor_config": {"command": "x"}},
        {"name": "b c", "schedule": "@every 5s", "executor": "http", "executor_config": {"url": "http://a"}},
        7]}"#;
    let import = dkron::read(text.as_bytes(), &settings).unwrap();
    let (draft, remarks) = came_of(&import, "");
    assert_eq!((&draft["namespace"], &draft["name"]), (&json!("ops"), &json!("b-c")));
    for wanted in [
        "2 Lost \"a\" runs a command, and there is nothing that runs it",
        "4 Lost is no job: it has no fields",
    ] {
        assert!(remarks.iter().any(|remark| remark == wanted), "{remarks:#?}");
    }
}
