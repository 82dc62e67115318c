//! What a worker hears when its words or the cluster are not in order.

use std::time::Duration;

use serde_json::{Value, json};

use super::{cluster, fire, lease, one, say, story};
use crate::fake::{Api, Fault};

#[tokio::test]
async fn a_lost_answer_to_an_outcome_is_found_again_and_settles_once() {
    let api = cluster().await;
    fire(&api);
    let held = one(&lease(&api, json!({})).await);
    for fault in [Fault::NotSent, Fault::Vanished, Fault::AnswerLost] {
        api.log.break_next(fault);
    }
    let settled = say(&api, &held, "settle", json!({"outcome": "failed", "error": "no"})).await;
    assert_eq!(
        (settled.status.as_u16(), &settled.body["state"]),
        (200, &json!("failed")),
        "{}",
        settled.text
    );
    assert_eq!(story(&api, &held).await["attempts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_node_that_is_cut_off_or_stops_sends_its_workers_to_another() {
    let leader = cluster().await;
    let follower = Api::follower_of(&leader);
    fire(&leader);
    let held = one(&lease(&follower, json!({})).await);
    let (stopped, ()) = tokio::join!(lease(&follower, json!({"wait": "60s"})), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        follower.stop();
    });
    assert_eq!(stopped.problem(), (503, "not_ready"));
    follower.cut_off();
    assert_eq!(lease(&follower, json!({"wait": "60s"})).await.problem(), (503, "no_quorum"));
    for (what, body) in [("heartbeat", json!({})), ("settle", json!({"outcome": "succeeded"}))] {
        let refused = say(&follower, &held, what, body.clone()).await;
        assert_eq!(refused.problem(), (503, "no_quorum"), "{what}");
    }
    assert_eq!(say(&leader, &held, "settle", json!({"outcome": "succeeded"})).await.status, 200);
}

#[tokio::test]
async fn a_leader_that_says_nothing_leaves_an_unknown_outcome() {
    let leader = cluster().await;
    let follower = Api::follower_of(&leader);
    fire(&leader);
    follower.silence_the_leader();
    assert_eq!(lease(&follower, json!({})).await.problem(), (504, "unknown_outcome"));
}

#[tokio::test]
async fn words_that_are_wrong_are_told_and_a_text_that_is_no_lease_is_not_found() {
    let api = cluster().await;
    for (body, pointers) in [
        (json!({}), json!(["/worker"])),
        (json!({"worker": "w", "max": 0}), json!(["/max"])),
        (json!({"worker": "w", "ttl": "2h", "wait": "61s"}), json!(["/ttl", "/wait"])),
        (json!({"worker": "w", "maximum": 3}), json!(["/maximum"])),
    ] {
        let answer = api.post("/v1/queues/batch/lease", &body).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
        let told: Value =
            answer.body["errors"].as_array().unwrap().iter().map(|flaw| flaw["pointer"].clone()).collect();
        assert_eq!(told, pointers, "{}", answer.text);
    }
    assert_eq!(api.post("/v1/queues/a%20b/lease", &json!({"worker": "w"})).await.status, 422);
    let zeros = "0".repeat(32);
    for text in ["x".to_owned(), format!("lse_{zeros}"), format!("lse_{zeros}_01"), format!("frg_{zeros}")] {
        let held = json!({"lease": text});
        assert_eq!(say(&api, &held, "heartbeat", json!({})).await.problem(), (404, "not_found"), "{text}");
        let settled = say(&api, &held, "settle", json!({"outcome": "succeeded"})).await;
        assert_eq!(settled.problem(), (404, "not_found"), "{text}");
    }
    let never = json!({"lease": format!("lse_{zeros}_1")});
    assert_eq!(say(&api, &never, "heartbeat", json!({})).await.problem(), (409, "lease_lost"));
    assert_eq!(
        say(&api, &never, "settle", json!({"outcome": "succeeded"})).await.problem(),
        (409, "lease_lost")
    );
    let large =
        say(&api, &never, "settle", json!({"outcome": "succeeded", "output": "x".repeat(300_000)})).await;
    assert_eq!(large.problem(), (413, "payload_too_large"));
    assert_eq!(
        say(&api, &never, "settle", json!({"outcome": "done"})).await.body["errors"][0]["pointer"],
        "/outcome"
    );
    assert_eq!(api.get("/v1/queues/batch/lease").await.status, 405);
}
