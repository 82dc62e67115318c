//! Writes reach the leader from any node, act once, and an outcome that is not known is said to be unknown.

use serde_json::json;

use crate::fake::{Api, Fault, minutely, schedule};

#[tokio::test]
async fn a_follower_answers_writes_as_the_leader_does() {
    let leader = Api::leader();
    let follower = Api::follower_of(&leader);
    let created = follower.put("/v1/schedules/a/b", &minutely()).await;
    assert_eq!((created.status.as_u16(), created.header("etag")), (201, "\"2\""), "{}", created.text);
    let conflict =
        follower.ask("PUT", "/v1/schedules/a/b", &[("if-match", "\"1\"")], &minutely().to_string()).await;
    assert_eq!(conflict.problem(), (412, "version_conflict"));
    let refused = follower.put("/v1/schedules/a/b", &schedule(&json!([{"cron": "61 * * * *"}]))).await;
    assert_eq!(refused.body["errors"][0]["column"], 1);
    assert_eq!(follower.get("/v1/schedules/a/b").await.body, leader.get("/v1/schedules/a/b").await.body);
    assert_eq!(follower.post("/v1/preview", &json!({"specs": [{"every": "1m"}]})).await.status, 200);
}

#[tokio::test]
async fn a_follower_that_must_not_forward_names_the_leader() {
    let leader = Api::leader();
    let follower = Api::follower_of(&leader);
    let answer = follower.put("/v1/schedules/a/b?forward=false", &minutely()).await;
    assert_eq!(answer.problem(), (421, "not_leader"));
    assert_eq!(answer.body["leader"], "http://node1:7700");
    assert_eq!(leader.put("/v1/schedules/a/b?forward=false", &minutely()).await.status, 201);
    assert_eq!(
        leader.put("/v1/schedules/a/b?forward=maybe", &minutely()).await.problem(),
        (400, "bad_request")
    );
}

#[tokio::test]
async fn the_same_key_gets_the_same_answer_and_acts_once() {
    let api = Api::leader();
    let follower = Api::follower_of(&api);
    api.put("/v1/schedules/a/b", &minutely()).await;
    api.log.pass(campanile_core::time::Span::from_millis(5));
    let key = [("idempotency-key", "once")];
    let first = api.ask("POST", "/v1/schedules/a/b/trigger", &key, "{}").await;
    let replay = follower.ask("POST", "/v1/schedules/a/b/trigger", &key, "{}").await;
    assert_eq!((first.status.as_u16(), &first.body), (202, &replay.body));
    assert_eq!(api.log.view().live_count(), 1);

    let other = api.ask("POST", "/v1/schedules/a/b/trigger", &key, r#"{"overlap": "allow"}"#).await;
    assert_eq!(other.problem(), (422, "idempotency_mismatch"));
    let elsewhere = api.ask("POST", "/v1/schedules/a/b/pause", &key, "{}").await;
    assert_eq!(elsewhere.problem(), (422, "idempotency_mismatch"));

    let key = [("idempotency-key", "put")];
    let body = schedule(&json!([{"every": "7m"}])).to_string();
    let created = api.ask("PUT", "/v1/schedules/a/c", &key, &body).await;
    api.put("/v1/schedules/a/c", &minutely()).await;
    let replay = api.ask("PUT", "/v1/schedules/a/c", &key, &body).await;
    assert_eq!((created.status.as_u16(), replay.status.as_u16()), (201, 201));
    assert_eq!(
        api.get("/v1/schedules/a/c").await.body["specs"],
        json!([{"every": "1m", "anchor": "1970-01-01T00:00:00Z"}])
    );
}

#[tokio::test]
async fn an_answer_that_was_lost_is_found_again_and_nothing_is_done_twice() {
    let leader = Api::leader();
    let follower = Api::follower_of(&leader);
    leader.put("/v1/schedules/a/b", &minutely()).await;
    for (node, fault) in [
        (&leader, Fault::AnswerLost),
        (&follower, Fault::AnswerLost),
        (&leader, Fault::Vanished),
        (&follower, Fault::Vanished),
        (&leader, Fault::NotSent),
        (&follower, Fault::NotSent),
    ] {
        let before = leader.log.view().live_count();
        leader.log.pass(campanile_core::time::Span::from_millis(5));
        leader.log.break_next(fault);
        let answer = node.post("/v1/schedules/a/b/trigger", &json!({})).await;
        assert_eq!(answer.status, 202, "{fault:?}: {}", answer.text);
        assert_eq!(leader.log.view().live_count(), before + 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_create_only_that_was_done_is_not_answered_as_a_conflict_of_its_own_making() {
    let api = Api::leader();
    api.log.break_next(Fault::AnswerLost);
    let answer =
        api.ask("PUT", "/v1/schedules/a/b", &[("if-none-match", "*")], &minutely().to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

#[tokio::test]
async fn an_outcome_that_stays_unknown_is_said_to_be_unknown() {
    let api = Api::leader();
    (0..10_000).for_each(|_| api.log.break_next(Fault::Vanished));
    let answer = api.put("/v1/schedules/a/b", &minutely()).await;
    assert_eq!(answer.problem(), (504, "unknown_outcome"));
    assert!(answer.body["detail"].as_str().unwrap().contains("Idempotency-Key"), "{}", answer.text);
}

#[tokio::test]
async fn without_a_majority_the_missing_nodes_are_named() {
    let leader = Api::leader();
    let follower = Api::follower_of(&leader);
    follower.cut_off();
    for (method, path) in [("PUT", "/v1/schedules/a/b"), ("GET", "/v1/schedules/a/b"), ("GET", "/v1/ledger")]
    {
        let body = if method == "PUT" { minutely().to_string() } else { String::new() };
        let answer = follower.ask(method, path, &[], &body).await;
        assert_eq!(answer.problem(), (503, "no_quorum"), "{method} {path}");
        assert_eq!(answer.body["missing_nodes"], json!(["node 1 (node1:7701)", "node 3 (node3:7701)"]));
        assert_eq!(answer.header("retry-after"), "1");
    }
    let stale = follower.get("/v1/schedules?consistency=stale").await;
    assert_eq!((stale.status.as_u16(), &stale.body), (200, &json!({"items": []})));
    assert_eq!(follower.get("/v1/cluster").await.status, 200, "who is missing can be seen without them");
}

#[tokio::test]
async fn a_write_waits_for_the_next_leader() {
    let api = Api::leader();
    api.set_leads(false);
    let body = minutely();
    let (answer, ()) = tokio::join!(api.put("/v1/schedules/a/b", &body), async {
        tokio::task::yield_now().await;
        api.set_leads(true);
    });
    assert_eq!(answer.status, 201, "{}", answer.text);
}

#[tokio::test]
async fn a_node_that_takes_office_does_not_wait_for_the_dead_leader() {
    let follower = Api::follower_of(&Api::leader());
    follower.silence_the_leader();
    let body = minutely();
    let (answer, ()) = tokio::join!(follower.put("/v1/schedules/a/b", &body), async {
        tokio::task::yield_now().await;
        follower.set_leads(true);
    });
    assert_eq!(answer.status, 201, "{}", answer.text);
}

#[tokio::test]
async fn a_leader_whom_no_majority_answers_does_nothing_rather_than_something_unknown() {
    let api = Api::leader();
    api.cut_off();
    let answer = api.put("/v1/schedules/a/b", &minutely()).await;
    assert_eq!(answer.problem(), (503, "no_quorum"));
    assert!(answer.body["detail"].as_str().unwrap().contains("no majority answers"), "{}", answer.text);
    assert_eq!(api.log.committed(), 0);
}

#[tokio::test]
async fn a_leader_that_stays_silent_leaves_the_outcome_unknown() {
    let follower = Api::follower_of(&Api::leader());
    follower.silence_the_leader();
    let answer = follower.put("/v1/schedules/a/b", &minutely()).await;
    assert_eq!(answer.problem(), (504, "unknown_outcome"));
}

#[tokio::test]
async fn the_cluster_and_its_orders_are_answered() {
    let api = Api::leader();
    let cluster = api.get("/v1/cluster").await.body;
    assert_eq!(
        (&cluster["name"], &cluster["leader"], &cluster["epoch"]),
        (&json!("test"), &json!(1), &json!(1))
    );
    assert_eq!(cluster["nodes"].as_array().unwrap().len(), 3);
    assert_eq!(cluster["clock"], "2026-12-01T00:00:00Z");
    assert_eq!(api.post("/v1/cluster/transfer", &json!({})).await.status, 202);
    assert_eq!(api.post("/v1/cluster/transfer", &json!({"to": 9})).await.problem(), (404, "not_found"));
    assert_eq!(api.post("/v1/cluster/nodes", &json!({})).await.body["errors"].as_array().unwrap().len(), 2);
    let node = json!({"peer_address": "n4:7701", "api_address": "http://n4:7700"});
    assert_eq!(api.post("/v1/cluster/nodes", &node).await.body, json!({"id": 1000}));
    assert_eq!(api.ask("DELETE", "/v1/cluster/nodes/2", &[], "").await.status, 204);
    assert_eq!(api.ask("DELETE", "/v1/cluster/nodes/x", &[], "").await.problem(), (404, "not_found"));
}
