//! Who may ask, and what anybody may see.

use std::sync::Arc;

use campanile::http::{Gate, Principal};
use campanile::problem::{Code, Problem};
use serde_json::json;

use crate::fake::{Api, minutely};

fn gate() -> Gate {
    Arc::new(|headers| match headers.get("authorization").map(|value| value.as_bytes()) {
        Some(b"Bearer right") => Ok(Principal { name: "admin".into() }),
        _ => Err(Problem::new(Code::Unauthenticated, "a bearer token is needed")),
    })
}

#[tokio::test]
async fn without_the_token_every_resource_is_401() {
    let api = Api::behind(gate());
    for (method, path) in [
        ("GET", "/v1/schedules"),
        ("PUT", "/v1/schedules/a/b"),
        ("POST", "/v1/preview"),
        ("GET", "/v1/ledger"),
        ("GET", "/v1/cluster"),
        ("GET", "/metrics"),
        ("GET", "/v1/nothing"),
    ] {
        let answer =
            api.ask(method, path, &[("authorization", "Bearer wrong")], &minutely().to_string()).await;
        assert_eq!(answer.problem(), (401, "unauthenticated"), "{path}");
        assert!(answer.header("www-authenticate").starts_with("Bearer"), "{path}");
    }
    assert_eq!(api.log.committed(), 0);
}

#[tokio::test]
async fn with_the_token_the_principal_is_known_and_written_down() {
    let api = Api::behind(gate());
    let token = [("authorization", "Bearer right")];
    let answer = api.ask("GET", "/v1/whoami", &token, "").await;
    assert_eq!(answer.body, serde_json::json!({"principal": "admin", "node": 1}));
    let answer = api.ask("PUT", "/v1/schedules/a/b", &token, &minutely().to_string()).await;
    assert_eq!(answer.body["updated_by"], "admin");
}

#[tokio::test]
async fn health_and_the_page_need_no_token_and_the_page_keeps_schedules_to_itself() {
    let api = Api::behind(gate());
    let token = [("authorization", "Bearer right")];
    api.ask("PUT", "/v1/schedules/a/secret-name", &token, &minutely().to_string()).await;
    assert_eq!(api.get("/livez").await.text, "ok\n");
    assert_eq!(api.get("/readyz").await.text, "ok\n");
    let page = api.get("/").await;
    assert!(page.text.contains("/v1/openapi.json") && !page.text.contains("secret-name"), "{}", page.text);
    let page = api.ask("GET", "/", &token, "").await;
    assert!(page.text.contains("a/secret-name") && page.text.contains("Every minute"), "{}", page.text);
}

#[tokio::test]
async fn the_metrics_are_open_metrics() {
    let answer = Api::leader().get("/metrics").await;
    assert_eq!(answer.text, "# EOF\n");
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
}

#[tokio::test]
async fn hosts_are_told_by_the_node_that_is_asked_without_a_majority() {
    let api = Api::leader();
    let follower = Api::follower_of(&api);
    follower.cut_off();
    let told = follower.get("/v1/hosts").await;
    let expected = json!({"node": 2, "items": [
        {"host": "down.example:443", "in_flight": 0, "state": "open", "failures": 12, "open_until": "2026-12-01T00:00:08Z"}
    ]});
    assert_eq!((told.status.as_u16(), told.body), (200, expected));
    assert_eq!(follower.get("/v1/hosts?all=true").await.status, 400);
}
