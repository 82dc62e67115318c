//! Leases over HTTP: taken, waited for, extended, settled; and what is told to a worker whose lease is lost.

mod trouble;

use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Answer, Api, Fault, schedule};

/// A schedule that fires into the queue `batch` each minute.
fn queued() -> Value {
    let mut body = schedule(&json!([{"every": "1m"}]));
    body["target"] = json!({"queue": {"name": "batch"}});
    body["payload"] = json!({"big": 12_345_678_901_234_567_890_u64});
    body["labels"] = json!({"team": "x"});
    body["retry"] = json!({"max_attempts": 3, "initial": "1s"});
    body
}

/// A cluster with that schedule.
async fn cluster() -> Api {
    let api = Api::leader();
    let put = api.put("/v1/schedules/a/b", &queued()).await;
    assert_eq!(put.status, 201, "{}", put.text);
    api
}

/// The next firing is there.
fn fire(api: &Api) {
    api.log.pass(Span::from_secs(60));
    api.log.tick();
}

async fn lease(api: &Api, more: Value) -> Answer {
    let mut body = json!({"worker": "w-1"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    api.post("/v1/queues/batch/lease", &body).await
}

/// The only lease of an answer.
fn one(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body.as_array().map(Vec::len), Some(1), "{}", answer.text);
    answer.body[0].clone()
}

async fn say(api: &Api, lease: &Value, what: &str, body: Value) -> Answer {
    api.post(&format!("/v1/leases/{}/{what}", lease["lease"].as_str().unwrap()), &body).await
}

async fn story(api: &Api, lease: &Value) -> Value {
    api.get(&format!("/v1/firings/{}", lease["firing"].as_str().unwrap())).await.body
}

#[tokio::test]
async fn a_worker_gets_a_firing_with_all_that_it_needs_from_any_node_and_settles_it() {
    let leader = cluster().await;
    let follower = Api::follower_of(&leader);
    fire(&leader);
    let answer = lease(&follower, json!({"ttl": "30s"})).await;
    let got = one(&answer);
    let firing = got["firing"].as_str().unwrap();
    assert_eq!(got["lease"], json!(format!("lse_{}_1", firing.trim_start_matches("frg_"))));
    assert!(
        got["fencing_token"].as_u64().unwrap() < 1 << 53
            && got["traceparent"].as_str().unwrap().starts_with("00-")
    );
    let wanted = json!({"schedule": "a/b", "queue": "batch", "run": 0, "kind": "scheduled", "cause": null, "attempt": 1, "revision": 1,
        "nominal": "2026-12-01T00:01:00Z", "begun_at": "2026-12-01T00:01:00Z", "until": "2026-12-01T00:01:30Z",
        "deadline": "9999-12-31T23:59:59Z", "labels": {"team": "x"}});
    for (field, value) in wanted.as_object().unwrap() {
        assert_eq!(&got[field], value, "{field}");
    }
    assert!(answer.text.contains(r#""payload":{"big":12345678901234567890}"#), "{}", answer.text);
    assert_eq!(lease(&leader, json!({})).await.body, json!([]), "it is leased once");

    leader.log.pass(Span::from_secs(10));
    let beat = say(&follower, &got, "heartbeat", json!({})).await;
    assert_eq!(
        beat.body,
        json!({"until": "2026-12-01T00:01:40Z", "deadline": "9999-12-31T23:59:59Z", "stop": false})
    );
    let longer = say(&leader, &got, "heartbeat", json!({"ttl": "5m"})).await;
    assert_eq!(longer.body["until"], "2026-12-01T00:06:10Z", "{}", longer.text);

    let done = json!({"outcome": "succeeded", "output": "x".repeat(40_000)});
    let settled = say(&follower, &got, "settle", done.clone()).await;
    let wanted = json!({"firing": firing, "attempt": 1, "state": "succeeded", "retry_at": null});
    assert_eq!((settled.status.as_u16(), &settled.body), (200, &wanted), "{}", settled.text);
    let told = story(&leader, &got).await;
    assert_eq!(
        (&told["state"], &told["attempts"][0]["holder"]),
        (&json!("succeeded"), &json!({"worker": "w-1"}))
    );
    assert_eq!(told["attempts"][0]["output"].as_str().unwrap().len(), 16 * 1024, "the end of it is kept");
    // The answer may have been lost; another outcome is another matter.
    assert_eq!(say(&leader, &got, "settle", done).await.body, wanted);
    let other = say(&leader, &got, "settle", json!({"outcome": "failed"})).await;
    assert_eq!(other.problem(), (409, "lease_lost"));
    assert_eq!(say(&leader, &got, "heartbeat", json!({})).await.problem(), (409, "lease_lost"));
}

#[tokio::test]
async fn an_outcome_to_be_tried_again_says_when_and_is_answered_the_same_ever_after() {
    let api = cluster().await;
    fire(&api);
    let first = one(&lease(&api, json!({})).await);
    let retry = json!({"outcome": "retry", "retry_after": "30s", "error": "busy"});
    let settled = say(&api, &first, "settle", retry.clone()).await;
    assert_eq!(
        (&settled.body["state"], &settled.body["retry_at"]),
        (&json!("waiting"), &json!("2026-12-01T00:01:30Z"))
    );
    api.log.pass(Span::from_secs(5));
    assert_eq!(say(&api, &first, "settle", retry.clone()).await.body, settled.body, "while it waits");
    assert_eq!(lease(&api, json!({})).await.body, json!([]), "it waits for its instant");
    api.log.pass(Span::from_secs(25));
    let second = one(&lease(&api, json!({})).await);
    assert_eq!((&second["attempt"], &second["firing"]), (&json!(2), &first["firing"]));
    assert!(second["fencing_token"].as_u64() > first["fencing_token"].as_u64());
    assert_eq!(say(&api, &first, "settle", retry).await.body, settled.body, "another attempt runs");
    let cancelled = say(&api, &second, "settle", json!({"outcome": "cancelled"})).await;
    assert_eq!(cancelled.body["state"], "cancelled", "{}", cancelled.text);
}

/// B155: a worker is stopped beyond its lease, another one does the work, and the first one wakes up.
#[tokio::test]
async fn a_worker_that_was_stopped_beyond_its_lease_gets_409_and_changes_nothing() {
    let leader = cluster().await;
    let follower = Api::follower_of(&leader);
    fire(&leader);
    let stalled = one(&lease(&leader, json!({"ttl": "10s"})).await);
    leader.log.pass(Span::from_secs(15));
    leader.log.tick();
    assert_eq!(say(&follower, &stalled, "heartbeat", json!({})).await.problem(), (409, "lease_lost"));
    // Nobody has it now: an outcome changes nothing either, whatever it is.
    for outcome in ["succeeded", "failed", "retry", "cancelled"] {
        let late = say(&follower, &stalled, "settle", json!({"outcome": outcome})).await;
        assert_eq!(late.problem(), (409, "lease_lost"), "{outcome}");
    }
    leader.log.pass(Span::from_secs(5));
    let other = one(&lease(&follower, json!({"worker": "w-2"})).await);
    assert_eq!((&other["firing"], &other["attempt"]), (&stalled["firing"], &json!(2)));
    assert!(other["fencing_token"].as_u64() > stalled["fencing_token"].as_u64());
    let before = story(&leader, &other).await;
    for outcome in ["succeeded", "failed", "retry", "cancelled"] {
        let late = say(&leader, &stalled, "settle", json!({"outcome": outcome, "output": "too late"})).await;
        assert_eq!(late.problem(), (409, "lease_lost"), "{outcome}");
        assert!(late.body["detail"].as_str().unwrap().contains("must stop"), "{}", late.text);
    }
    assert_eq!(say(&leader, &stalled, "heartbeat", json!({})).await.problem(), (409, "lease_lost"));
    assert_eq!(story(&leader, &other).await, before);
    assert_eq!(
        say(&leader, &other, "settle", json!({"outcome": "succeeded"})).await.body["state"],
        "succeeded"
    );
    assert_eq!(
        say(&leader, &stalled, "settle", json!({"outcome": "succeeded"})).await.problem(),
        (409, "lease_lost")
    );
    let told = story(&leader, &other).await;
    let ends: Vec<_> =
        told["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(ends, [&json!("lease_ended"), &json!("succeeded")]);
}

#[tokio::test]
async fn a_cancelled_firing_is_lost_to_its_worker_and_a_replaced_one_is_asked_to_stop() {
    let api = cluster().await;
    fire(&api);
    let held = one(&lease(&api, json!({})).await);
    let cancel =
        api.post(&format!("/v1/firings/{}/cancel", held["firing"].as_str().unwrap()), &json!({})).await;
    assert_eq!(cancel.status, 200, "{}", cancel.text);
    assert_eq!(say(&api, &held, "heartbeat", json!({})).await.problem(), (409, "lease_lost"));
    for outcome in ["succeeded", "cancelled"] {
        let late = say(&api, &held, "settle", json!({"outcome": outcome})).await;
        assert_eq!(late.problem(), (409, "lease_lost"), "{outcome}");
    }
    let mut replaces = queued();
    replaces["overlap"] = "replace".into();
    api.put("/v1/schedules/a/b", &replaces).await;
    fire(&api);
    let older = one(&lease(&api, json!({"ttl": "10m"})).await);
    fire(&api);
    let beat = say(&api, &older, "heartbeat", json!({"ttl": "10m"})).await;
    assert_eq!(beat.body["stop"], true, "{}", beat.text);
    assert_eq!(say(&api, &older, "settle", json!({"outcome": "cancelled"})).await.body["state"], "cancelled");
    assert_ne!(one(&lease(&api, json!({})).await)["firing"], older["firing"]);
}

#[tokio::test]
async fn what_a_node_sends_no_worker_speaks_for() {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &crate::fake::minutely()).await;
    fire(&api);
    let begun = api.log.begin();
    let held = json!({"lease": format!("lse_{}_1", begun[0].firing.to_string().trim_start_matches("frg_"))});
    for (what, body) in [("heartbeat", json!({})), ("settle", json!({"outcome": "succeeded"}))] {
        assert_eq!(say(&api, &held, what, body).await.problem(), (409, "lease_lost"), "{what}");
    }
    assert_eq!(api.get("/v1/firings").await.body["items"][0]["state"], "running");
}

#[tokio::test]
async fn a_lease_waits_for_work_and_a_wait_that_is_over_gives_none() {
    let leader = cluster().await;
    let follower = Api::follower_of(&leader);
    let (got, ()) = tokio::join!(lease(&follower, json!({"wait": "30s"})), async {
        assert_eq!(lease(&leader, json!({"wait": "50ms"})).await.body, json!([]));
        fire(&leader);
    });
    assert_eq!(one(&got)["schedule"], "a/b");
    // Paused, limited, or held back by its key: nothing is leased, and a change is enough.
    fire(&leader);
    leader.post("/v1/queues/batch/pause", &json!({"note": "upgrade"})).await;
    let (got, ()) = tokio::join!(lease(&follower, json!({"wait": "30s"})), async {
        assert_eq!(lease(&leader, json!({})).await.body, json!([]));
        leader.post("/v1/queues/batch/resume", &json!({})).await;
    });
    assert_eq!(one(&got)["schedule"], "a/b");
}

#[tokio::test]
async fn of_many_who_wait_each_firing_goes_to_one() {
    let leader = cluster().await;
    let mut every_second = queued();
    every_second["specs"] = json!([{"every": "1s"}]);
    leader.put("/v1/schedules/a/b", &every_second).await;
    let follower = Api::follower_of(&leader);
    let waiting = (0..100).map(|n| {
        let api = if n % 2 == 0 { &leader } else { &follower };
        lease(api, json!({"worker": format!("w-{n}"), "wait": "20s", "ttl": "1h"}))
    });
    let (answers, ()) = tokio::join!(futures_util::future::join_all(waiting), async {
        for _ in 0..100 {
            leader.log.pass(Span::from_secs(1));
            leader.log.tick();
            tokio::task::yield_now().await;
        }
    });
    let mut firings: Vec<_> =
        answers.iter().map(|answer| one(answer)["firing"].clone().to_string()).collect();
    firings.sort_unstable();
    firings.dedup();
    assert_eq!(firings.len(), 100);
}

#[tokio::test]
async fn asking_again_under_the_same_key_gets_the_same_leases() {
    let leader = cluster().await;
    let follower = Api::follower_of(&leader);
    fire(&leader);
    fire(&leader);
    let key = [("idempotency-key", "take-1")];
    let body = json!({"worker": "w-1"}).to_string();
    let path = "/v1/queues/batch/lease";
    leader.log.break_next(Fault::AnswerLost);
    let first = leader.ask("POST", path, &key, &body).await;
    let again = follower.ask("POST", path, &key, &body).await;
    assert_eq!((one(&first), first.body.clone()), (again.body[0].clone(), again.body.clone()));
    let reused = follower.ask("POST", path, &key, &json!({"worker": "w-2"}).to_string()).await;
    assert_eq!(reused.problem(), (422, "idempotency_mismatch"));
    let other = one(&lease(&leader, json!({})).await);
    assert_ne!(other["firing"], first.body[0]["firing"]);
    // What is over is not given again.
    say(&leader, &first.body[0], "settle", json!({"outcome": "succeeded"})).await;
    assert_eq!(follower.ask("POST", path, &key, &body).await.body, json!([]));
}
