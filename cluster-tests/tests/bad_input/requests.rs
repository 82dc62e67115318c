//! Requests that a node refuses: what it says, and that it did nothing.

use campanile_cluster_tests::api::{Api, Reply};
use campanile_cluster_tests::binary::{Answer, says};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{acknowledged, assert_kept, one_node};

const PATH: &str = "/v1/schedules/bad/input";
/// The rows of the table of refused texts; a table that was cut proves less than it says.
const REJECT_ROWS: usize = 67;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_request_has_wrong_is_said_with_its_place_and_nothing_is_done() {
    let mut cluster = one_node().await;
    let api = cluster.api(1);
    let kept = acknowledged(&api).await;

    for (what, body, status, code, pointer, words) in bodies() {
        let reply = api.put(PATH, &body).await.unwrap();
        assert_problem(what, &reply, status, code);
        let error = reply.body["errors"]
            .as_array()
            .and_then(|errors| errors.iter().find(|error| error["pointer"] == pointer));
        let error = error.unwrap_or_else(|| panic!("{what}: nothing at {pointer:?}: {}", reply.body));
        let text = error.to_string();
        assert!(text.contains(words), "{what}: does not say {words:?}: {}", reply.body);
        assert!(!error["hint"].as_str().unwrap().is_empty(), "{what}: no hint: {}", reply.body);
    }
    for (what, reply, status, code, words) in other_requests(&api).await {
        assert_problem(what, &reply, status, code);
        assert!(reply.body["detail"].as_str().unwrap().contains(words), "{what}: {}", reply.body);
    }
    every_refused_text(&api).await;
    assert_command_line(&says(cluster.command(&[
        "schedule",
        "create",
        "x",
        "--cron",
        "61 * * * *",
        "--url",
        "http://a/",
    ])));

    assert_kept(&api, &kept).await;
    cluster.kill(1);
    cluster.spawn(1);
    cluster.wait_ready().await;
    assert_kept(&api, &kept).await;
}

type Case = (&'static str, Value, u16, &'static str, &'static str, &'static str);

/// What, body, status, code, pointer, and words that must be there.
fn bodies() -> Vec<Case> {
    let target = json!({ "webhook": { "url": "http://127.0.0.1:9/" } });
    let specs = json!([{ "cron": "0 4 * * *" }]);
    let with = |field: &str, value: Value| {
        let mut body = json!({ "specs": specs, "target": target });
        body[field] = value;
        body
    };
    vec![
        (
            "a field that is misspelt",
            with("dispaly_name", json!("x")),
            422,
            "unknown_field",
            "/dispaly_name",
            "display_name",
        ),
        (
            "a field of a spec that is misspelt",
            with("specs", json!([{ "cron": "0 4 * * *", "timezone": "UTC" }])),
            422,
            "unknown_field",
            "/specs/0/timezone",
            "time_zone",
        ),
        (
            "a number for a text",
            with("description", json!(7)),
            422,
            "invalid_schedule",
            "/description",
            "text",
        ),
        ("a text for a list", with("specs", json!("0 4 * * *")), 422, "invalid_schedule", "/specs", "list"),
        ("a list for an object", with("target", json!([])), 422, "invalid_schedule", "/target", "object"),
        (
            "a text for a number",
            with("max_firings", json!("7")),
            422,
            "invalid_schedule",
            "/max_firings",
            "number",
        ),
        (
            "a text for a flag",
            with("automatic_backfill", json!("yes")),
            422,
            "invalid_schedule",
            "/automatic_backfill",
            "true",
        ),
        ("no specs", json!({ "target": target }), 422, "invalid_schedule", "/specs", "at least one spec"),
        ("no target", json!({ "specs": specs }), 422, "invalid_schedule", "/target", "target"),
        (
            "a url without a host",
            with("target", json!({ "webhook": { "url": "mailto:me" } })),
            422,
            "invalid_schedule",
            "/target/webhook/url",
            "scheme",
        ),
        (
            "a period of nothing",
            with("specs", json!([{ "every": "0s" }])),
            422,
            "invalid_schedule",
            "/specs/0/every",
            "1s",
        ),
        (
            "a secret that nobody has put",
            with("on_failure", json!({ "webhook": { "url": "http://127.0.0.1:9/", "secret_ref": "none" } })),
            422,
            "invalid_schedule",
            "/on_failure/webhook/secret_ref",
            "there is no secret",
        ),
        (
            "a payload beyond its bound",
            with("payload", json!("x".repeat(70_000))),
            422,
            "invalid_schedule",
            "/payload",
            "bytes",
        ),
    ]
}

type Asked = (&'static str, Reply, u16, &'static str, &'static str);

/// What, the answer, status, code, and words of the detail.
async fn other_requests(api: &Api) -> Vec<Asked> {
    let put = |path: &str| api.request(Method::PUT, path).header("content-type", "application/json");
    let good = json!({ "specs": [{ "cron": "0 4 * * *" }], "target": { "webhook": { "url": "http://127.0.0.1:9/" } } });
    let send = async |request| Api::send(request).await.unwrap();
    let stranger =
        Api::new(campanile_cluster_tests::api::client(), api.base(), "not-the-token-of-this-cluster");
    vec![
        (
            "a body that is too large",
            send(put(PATH).body(vec![b' '; 1_100_000])).await,
            413,
            "payload_too_large",
            "",
        ),
        (
            "a body that is no JSON",
            send(put(PATH).body("{\"specs\": [}")).await,
            400,
            "bad_request",
            "column",
        ),
        (
            "a name with a slash too many",
            send(put("/v1/schedules/a/b/c").json(&good)).await,
            404,
            "not_found",
            "namespace/name",
        ),
        (
            "a name that is none",
            send(put("/v1/schedules/a/b%20c").json(&good)).await,
            422,
            "invalid_schedule",
            "name",
        ),
        ("a path that is none", api.get("/v1/scheduls").await.unwrap(), 404, "not_found", ""),
        ("a method that is none", api.post(PATH, &good).await.unwrap(), 405, "method_not_allowed", ""),
        (
            "a parameter that is misspelt",
            api.get("/v1/schedules?limt=5").await.unwrap(),
            400,
            "bad_request",
            "limit",
        ),
        (
            "a parameter that this path does not have",
            send(put("/v1/schedules/bad/input?force=true").json(&good)).await,
            400,
            "bad_request",
            "force",
        ),
        ("no token that is known", stranger.put(PATH, &good).await.unwrap(), 401, "unauthenticated", ""),
        ("what does not exist", api.get(PATH).await.unwrap(), 404, "not_found", ""),
    ]
}

/// Each row of the table that core's own tests read, over the wire.
async fn every_refused_text(api: &Api) {
    let table = include_str!("../../../core/tests/data/reject.tsv");
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows.len(), REJECT_ROWS, "the table was cut");
    for row in rows {
        let cells: Vec<&str> = row.split('\t').collect();
        let [kind, text, _why] = cells[..] else { panic!("three cells in {row:?}") };
        let text = text.replace("\\n", "\n").replace("\\t", "\t");
        let (spec, pointer) = match kind {
            "zone" => (json!({ "cron": "0 0 * * *", "time_zone": text }), "/specs/0/time_zone"),
            _ => (json!({ "cron": text }), "/specs/0/cron"),
        };
        let body = json!({ "specs": [spec], "target": { "webhook": { "url": "http://127.0.0.1:9/" } } });
        let reply = api.put(PATH, &body).await.unwrap();
        assert_problem(row, &reply, 422, "invalid_schedule");
        let error = &reply.body["errors"][0];
        assert_eq!(error["pointer"], pointer, "{row}: {}", reply.body);
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{row}: {}", reply.body);
        assert_eq!(error["column"].is_u64(), kind != "zone", "{row}: {}", reply.body);
    }
}

#[track_caller]
fn assert_problem(what: &str, reply: &Reply, status: u16, code: &str) {
    assert_eq!((reply.status, reply.code()), (status, code), "{what}: {}", reply.body);
    assert_eq!(reply.body["status"], status, "{what}: {}", reply.body);
    for field in ["type", "title", "detail"] {
        assert!(
            reply.body[field].as_str().is_some_and(|text| !text.is_empty()),
            "{what}: no {field}: {}",
            reply.body
        );
    }
}

/// On the command line the same refusal is exit code 2 or 1, with the place and the hint on standard error.
#[track_caller]
fn assert_command_line(answer: &Answer) {
    assert!(matches!(answer.code, Some(1 | 2)), "{answer}");
    assert!(answer.stderr.starts_with("error: "), "{answer}");
    assert!(answer.stderr.contains("column") && answer.stderr.contains("hint"), "{answer}");
    assert!(answer.stdout.is_empty(), "{answer}");
}
