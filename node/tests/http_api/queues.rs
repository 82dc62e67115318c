//! Queues over HTTP: limits, pauses, how much waits; conditions of writes.

use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, schedule};

const PATH: &str = "/v1/queues/batch";

async fn cluster() -> Api {
    let api = Api::leader();
    let mut body = schedule(&json!([{"every": "1m"}]));
    body["target"] = json!({"queue": {"name": "batch"}});
    assert_eq!(api.put("/v1/schedules/a/b", &body).await.status, 201);
    api
}

fn fire(api: &Api, times: u64) {
    for _ in 0..times {
        api.log.pass(Span::from_secs(60));
        api.log.tick();
    }
}

#[tokio::test]
async fn a_queue_stands_with_default_limits_before_anybody_puts_it() {
    let api = cluster().await;
    let listed = api.get("/v1/queues").await.body;
    assert_eq!((&listed["items"][0]["name"], &listed["items"][0]["depth"]), (&json!("batch"), &json!(0)));
    fire(&api, 3);
    let shown = api.get(PATH).await;
    let wanted = json!({"name": "batch", "max_in_flight": null, "max_in_flight_per_key": 1, "rate": null, "paused": null, "depth": 3,
        "leased": 0, "oldest_at": "2026-12-01T00:01:00Z", "opens_at": "2026-12-01T00:03:00Z", "updated_at": null, "updated_by": null});
    assert_eq!((shown.body.clone(), shown.header("etag")), (wanted, ""));
    api.post("/v1/queues/batch/lease", &json!({"worker": "w", "max": 2})).await;
    let list = api.get("/v1/queues").await.body;
    assert_eq!((&list["items"][0]["depth"], &list["items"][0]["leased"]), (&json!(1), &json!(2)));
}

#[tokio::test]
async fn limits_are_put_read_listed_and_forgotten() {
    let leader = cluster().await;
    let follower = Api::follower_of(&leader);
    let body = json!({"max_in_flight": 2, "max_in_flight_per_key": 3, "rate": {"count": 10, "per": "1s"}});
    let created = follower.put(PATH, &body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    for (field, value) in body.as_object().unwrap() {
        assert_eq!(&created.body[field], value, "{field}");
    }
    assert_eq!(created.body["updated_by"], "anonymous");
    let again = leader.put(PATH, &created.body).await;
    assert_eq!(
        (again.status.as_u16(), again.header("etag")),
        (200, created.header("etag")),
        "what is printed is put again"
    );
    fire(&leader, 4);
    let got = leader.post("/v1/queues/batch/lease", &json!({"worker": "w", "max": 9})).await;
    assert_eq!(got.body.as_array().unwrap().len(), 2, "{}", got.text);
    assert_eq!(leader.get(PATH).await.body["opens_at"], Value::Null, "the limit is reached");
    leader.put("/v1/queues/another", &json!({})).await;
    let list = leader.get("/v1/queues?limit=1").await.body;
    assert_eq!(list["items"][0]["name"], "another");
    let rest = leader
        .get(&format!("/v1/queues?page_token={}", list["next_page_token"].as_str().unwrap()))
        .await
        .body;
    assert_eq!((&rest["items"][0]["name"], &rest["next_page_token"]), (&json!("batch"), &Value::Null));
    for _ in 0..2 {
        assert_eq!(leader.ask("DELETE", PATH, &[], "").await.status, 204, "delete is idempotent");
    }
    let shown = leader.get(PATH).await.body;
    assert_eq!(
        (&shown["max_in_flight"], &shown["depth"], &shown["leased"]),
        (&Value::Null, &json!(2), &json!(2))
    );
}

#[tokio::test]
async fn a_paused_queue_says_why_since_when_and_who() {
    let api = cluster().await;
    fire(&api, 1);
    let paused = api.post("/v1/queues/batch/pause", &json!({"note": "database upgrade"})).await;
    let wanted = json!({"note": "database upgrade", "at": "2026-12-01T00:01:00Z", "by": "anonymous"});
    assert_eq!((paused.status.as_u16(), &paused.body["paused"]), (200, &wanted), "{}", paused.text);
    assert_eq!(api.get(PATH).await.body, paused.body);
    let resumed = api.post("/v1/queues/batch/resume", &json!({})).await;
    assert_eq!((&resumed.body["paused"], &resumed.body["depth"]), (&Value::Null, &json!(1)));
    assert_eq!(api.post("/v1/queues/never/resume", &json!({})).await.status, 200);
}

#[tokio::test]
async fn writes_of_a_queue_ask_for_what_they_have_seen() {
    let api = Api::leader();
    let tag = api.put(PATH, &json!({"max_in_flight": 1})).await.header("etag").to_owned();
    let absent = [("if-none-match", "*")];
    assert_eq!(api.ask("PUT", PATH, &absent, "{}").await.problem(), (409, "already_exists"));
    let stale = [("if-match", "\"999\"")];
    for method in ["PUT", "DELETE"] {
        assert_eq!(api.ask(method, PATH, &stale, "{}").await.problem(), (412, "version_conflict"));
    }
    let none = api.ask("PUT", "/v1/queues/none", &[("if-match", &tag)], "{}").await;
    assert_eq!(none.problem(), (412, "version_conflict"));
    assert_eq!(api.ask("PUT", PATH, &[("if-match", &tag)], "{}").await.status, 200);
}

#[tokio::test]
async fn limits_that_would_never_lease_are_refused_with_their_place() {
    let api = Api::leader();
    for (body, pointer) in [
        (json!({"max_in_flight": 0}), "/max_in_flight"),
        (json!({"max_in_flight": "2"}), "/max_in_flight"),
        (json!({"max_in_flight_per_key": 0}), "/max_in_flight_per_key"),
        (json!({"rate": {"count": 0, "per": "1s"}}), "/rate/count"),
        (json!({"rate": {"count": 1, "per": "1ms"}}), "/rate/per"),
        (json!({"rate": {"count": 1}}), "/rate/per"),
        (json!({"rate": {"count": 1, "per": "1s", "burst": 2}}), "/rate/burst"),
        (json!({"max_inflight": 2}), "/max_inflight"),
    ] {
        let answer = api.put(PATH, &body).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["errors"][0]["pointer"]),
            (422, &json!(pointer)),
            "{}",
            answer.text
        );
    }
    assert_eq!(api.put("/v1/queues/a%20b", &json!({})).await.body["errors"][0]["pointer"], "/name");
    let note = api.post("/v1/queues/batch/pause", &json!({"note": "x".repeat(2000)})).await;
    assert_eq!(note.status, 422);
    assert_eq!(api.log.committed(), 0);
}
