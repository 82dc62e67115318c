//! Backfills over HTTP: counted, created, gone through by the leader, looked at, cancelled.

use campanile_core::attempt::Verdict;
use campanile_core::cron::parse_instant;
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely};

/// A minutely schedule over an hour, of which the last minute has fired and the others came too late.
async fn an_hour_missed() -> Api {
    let api = Api::leader();
    let mut body = minutely();
    body["catch_up"] = json!({"mode": "none", "window": "1s"});
    api.put("/v1/schedules/a/b", &body).await;
    api.log.pass(Span::from_secs(3_600));
    api.log.tick();
    api.log.work(Verdict::Succeeded);
    api
}

fn range(more: &Value) -> Value {
    let mut body =
        json!({"schedule": "a/b", "after": "2026-12-01T00:00:00Z", "until": "2026-12-01T01:00:00Z"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn nominals(page: &Value, kind: &str) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter().filter(|firing| firing["kind"] == kind);
    items.map(|firing| firing["nominal"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_dry_run_counts_what_would_fire_and_creates_nothing() {
    let api = an_hour_missed().await;
    let counted = api.post("/v1/backfills", &range(&json!({"dry_run": true}))).await;
    assert_eq!(counted.status, 200, "{}", counted.text);
    assert_eq!(
        counted.body,
        json!({"dry_run": true, "schedule": "a/b", "after": "2026-12-01T00:00:00Z", "until": "2026-12-01T01:00:00Z",
            "instants": 60, "would_fire": 59, "passed": 1})
    );
    let again = api.post("/v1/backfills", &range(&json!({"dry_run": true, "again": true}))).await;
    assert_eq!((&again.body["would_fire"], &again.body["passed"]), (&json!(60), &json!(0)));
    assert_eq!(api.get("/v1/backfills").await.body["items"], json!([]));
}

#[tokio::test]
async fn a_backfill_fires_what_has_not_fired_and_tells_its_progress() {
    let api = an_hour_missed().await;
    let _office = api.lead_backfills();
    let created = api.post("/v1/backfills", &range(&json!({"max_live": 20}))).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let id = created.body["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("bkf_"), "{id}");
    let path = format!("/v1/backfills/{id}");

    let full = api.until(&path, |backfill| backfill["live"] == 20).await;
    assert_eq!(
        (&full["state"], &full["fired"], &full["instants"]),
        (&json!("running"), &json!(20), &json!(60))
    );
    assert_eq!(full["progress"], json!(20.0 / 60.0));
    let listed = api.get("/v1/schedules/a/b/firings?limit=1000").await.body;
    assert_eq!(nominals(&listed, "backfill").len(), 20);
    let shown = api.get("/v1/schedules/a/b").await.body;
    assert_eq!((&shown["status"]["queued"], &shown["status"]["waiting"]), (&json!(20), &json!(0)));

    for fired in [40, 59] {
        api.log.work(Verdict::Succeeded);
        api.until(&path, |backfill| backfill["fired"] == fired).await;
    }
    api.log.work(Verdict::Refused);
    let ended = api.until(&path, |backfill| backfill["state"] == "completed" && backfill["live"] == 0).await;
    for (field, value) in [
        ("schedule", json!("a/b")),
        ("overlap", json!("allow")),
        ("pace", json!("0s")),
        ("fired", json!(59)),
        ("passed", json!(1)),
        ("skipped", json!(0)),
        ("succeeded", json!(40)),
        ("failed", json!(19)),
        ("progress", json!(1.0)),
        ("position", json!("2026-12-01T01:00:00Z")),
        ("created_by", json!("anonymous")),
        ("reason", Value::Null),
    ] {
        assert_eq!(ended[field], value, "{field}: {ended}");
    }
    let listed = api.get("/v1/schedules/a/b/firings?limit=1000").await.body;
    let mut fired = nominals(&listed, "backfill");
    fired.sort();
    fired.dedup();
    assert_eq!(fired.len(), 59, "each instant once: {listed}");
    let of_it =
        listed["items"].as_array().unwrap().iter().find(|firing| firing["kind"] == "backfill").unwrap();
    assert_eq!((of_it["backfill"].as_str().unwrap(), &of_it["run"]), (&*id, &json!(0)));
}

#[tokio::test]
async fn what_was_skipped_and_what_fired_at_the_same_instant_are_two_stories() {
    let api = an_hour_missed().await;
    let _office = api.lead_backfills();
    let range = json!({"schedule": "a/b", "after": "2026-12-01T00:58:00Z", "until": "2026-12-01T00:59:00Z"});
    let id = api.post("/v1/backfills", &range).await.body["id"].as_str().unwrap().to_owned();
    api.until(&format!("/v1/backfills/{id}"), |backfill| backfill["state"] == "completed").await;
    for list in ["/v1/schedules/a/b/firings", "/v1/firings"] {
        let items = api.get(list).await.body["items"].as_array().unwrap().clone();
        let mut states: Vec<(&str, u64)> = items
            .iter()
            .filter(|firing| firing["nominal"] == "2026-12-01T00:59:00Z")
            .map(|firing| {
                (firing["state"].as_str().unwrap(), firing["skipped"]["count"].as_u64().unwrap_or(0))
            })
            .collect();
        states.sort_unstable();
        assert_eq!(states, [("queued", 0), ("skipped", 59)], "{list}: {items:?}");
    }
    let fired = api.get("/v1/firings?state=queued").await.body["items"][0].clone();
    assert_eq!(api.get(&format!("/v1/firings/{}", fired["id"].as_str().unwrap())).await.body, fired);
}

#[tokio::test]
async fn another_run_of_everything_is_asked_for_with_again() {
    let api = an_hour_missed().await;
    let _office = api.lead_backfills();
    let created = api.post("/v1/backfills", &range(&json!({"again": true, "max_live": 1000}))).await.body;
    let path = format!("/v1/backfills/{}", created["id"].as_str().unwrap());
    let ended = api.until(&path, |backfill| backfill["state"] == "completed").await;
    assert_eq!((&ended["fired"], &ended["passed"]), (&json!(60), &json!(0)));
    let last = api.get("/v1/schedules/a/b/firings?limit=2").await.body;
    let runs: Vec<_> = last["items"].as_array().unwrap().iter().map(|firing| &firing["run"]).collect();
    assert_eq!(runs, [&json!(1), &json!(0)], "the instant that had fired has another run");
}

#[tokio::test]
async fn a_pace_keeps_the_distance_by_the_time_of_the_log() {
    let api = an_hour_missed().await;
    let _office = api.lead_backfills();
    let created = api.post("/v1/backfills", &range(&json!({"pace": "10s"}))).await.body;
    let path = format!("/v1/backfills/{}", created["id"].as_str().unwrap());
    for fired in 1..=5 {
        api.until(&path, |backfill| backfill["fired"] == fired).await;
        // Any entry brings the log's time along.
        for _ in 0..4 {
            api.log.pass(Span::from_millis(2_500));
            api.put("/v1/schedules/a/other", &minutely()).await;
        }
    }
    let firings = api.get("/v1/schedules/a/b/firings?limit=1000").await.body;
    let mut decided: Vec<_> = firings["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|firing| firing["kind"] == "backfill")
        .map(|firing| parse_instant(firing["decided"]["at"].as_str().unwrap()).unwrap())
        .collect();
    decided.sort_unstable();
    assert!(decided.len() >= 5, "{firings}");
    for pair in decided.windows(2) {
        assert!(pair[1].since(pair[0]) >= Span::from_secs(10), "{pair:?}");
    }
}

#[tokio::test]
async fn a_cancelled_backfill_fires_nothing_more_and_stays_cancelled() {
    let api = an_hour_missed().await;
    let _office = api.lead_backfills();
    let created = api.post("/v1/backfills", &range(&json!({"max_live": 5}))).await.body;
    let path = format!("/v1/backfills/{}", created["id"].as_str().unwrap());
    api.until(&path, |backfill| backfill["live"] == 5).await;
    let second = api.post("/v1/backfills", &range(&json!({}))).await;
    assert_eq!(second.problem(), (409, "conflict"));
    assert!(second.text.contains(created["id"].as_str().unwrap()), "{}", second.text);

    for _ in 0..2 {
        let cancelled = api.ask("DELETE", &path, &[], "").await;
        assert_eq!((cancelled.status.as_u16(), &cancelled.body["state"]), (200, &json!("cancelled")));
    }
    api.log.work(Verdict::Succeeded);
    let ended = api.until(&path, |backfill| backfill["live"] == 0).await;
    assert_eq!((&ended["fired"], &ended["succeeded"]), (&json!(5), &json!(5)));
    let firings = api.get("/v1/schedules/a/b/firings?limit=1000").await.body;
    assert_eq!(nominals(&firings, "backfill").len(), 5);
}

#[tokio::test]
async fn backfills_are_listed_by_schedule_and_state_in_pages() {
    let api = an_hour_missed().await;
    api.put("/v1/schedules/a/other", &minutely()).await;
    api.log.pass(Span::from_secs(60));
    api.log.tick();
    let other = json!({"schedule": "a/other", "after": "2026-12-01T00:00:00Z"});
    let mut made = Vec::new();
    for body in [range(&json!({})), other] {
        let created = api.post("/v1/backfills", &body).await;
        assert_eq!(created.status, 201, "{}", created.text);
        made.push(created.body["id"].as_str().unwrap().to_owned());
    }
    api.ask("DELETE", &format!("/v1/backfills/{}", made[0]), &[], "").await;
    let ids = async |query: &str| -> Vec<String> {
        let page = api.get(&format!("/v1/backfills?{query}")).await.body;
        page["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("").await, [made[1].clone(), made[0].clone()], "the newest first");
    assert_eq!(ids("schedule=a/b").await, [made[0].clone()]);
    assert_eq!(ids("state=running").await, [made[1].clone()]);
    let first = api.get("/v1/backfills?limit=1").await.body;
    let next = first["next_page_token"].as_str().unwrap();
    assert_eq!(ids(&format!("limit=1&page_token={next}")).await, [made[0].clone()]);
    assert!(api.get(&format!("/v1/backfills?page_token={next}")).await.body["next_page_token"].is_null());
}

#[tokio::test]
async fn more_backfills_than_go_on_at_once_all_come_to_their_end() {
    const SCHEDULES: usize = 40;
    let api = Api::leader();
    for n in 0..SCHEDULES {
        api.put(&format!("/v1/schedules/many/n{n}"), &minutely()).await;
    }
    let past = |n: usize| json!({"schedule": format!("many/n{n}"), "after": "2026-11-30T12:00:00Z", "max_live": 1000});
    for n in 0..SCHEDULES {
        let created = api.post("/v1/backfills", &past(n)).await;
        assert_eq!(
            (created.status.as_u16(), &created.body["instants"]),
            (201, &json!(720)),
            "{}",
            created.text
        );
    }
    let _office = api.lead_backfills();
    let completed = |page: &Value| page["items"].as_array().unwrap().len() == SCHEDULES;
    let all = api.until("/v1/backfills?state=completed", completed).await;
    assert!(all["items"].as_array().unwrap().iter().all(|one| one["fired"] == 720), "{all}");
}

#[tokio::test]
async fn what_retention_has_passed_is_not_fired_again_by_guess() {
    let api = an_hour_missed().await;
    let fired = api.get("/v1/firings?state=succeeded").await.body["items"][0].clone();
    api.log.forget();
    for _ in 0..2 {
        api.log.pass(Span::from_secs(60));
        api.log.tick();
    }
    let refused = api.post("/v1/backfills", &range(&json!({"until": "2026-12-01T01:02:00Z"}))).await;
    assert_eq!(refused.problem(), (422, "invalid_schedule"), "{}", refused.text);
    assert!(
        refused.text.contains("/after") && refused.text.contains("not known any more"),
        "{}",
        refused.text
    );
    let rerun = api.post(&format!("/v1/firings/{}/rerun", fired["id"].as_str().unwrap()), &json!({})).await;
    assert_eq!(rerun.problem(), (409, "conflict"), "{}", rerun.text);
    let known = json!({"schedule": "a/b", "after": "2026-12-01T01:01:00.001Z", "dry_run": true});
    let counted = api.post("/v1/backfills", &known).await;
    assert_eq!(
        (&counted.body["instants"], &counted.body["passed"]),
        (&json!(1), &json!(1)),
        "{}",
        counted.text
    );
}

#[tokio::test]
async fn a_key_that_is_sent_twice_makes_one_backfill_and_a_follower_sends_it_on() {
    let leader = an_hour_missed().await;
    let follower = Api::follower_of(&leader);
    let (body, key) = (range(&json!({})).to_string(), [("idempotency-key", "once")]);
    let first = leader.ask("POST", "/v1/backfills", &key, &body).await;
    let second = follower.ask("POST", "/v1/backfills", &key, &body).await;
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{}", second.text);
    assert_eq!(first.body["id"], second.body["id"]);
    assert_eq!(leader.get("/v1/backfills").await.body["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_backfilled_is_said_with_its_place_and_what_to_do() {
    let api = an_hour_missed().await;
    let after = |at: &str| json!({"schedule": "a/b", "after": at});
    for (body, status, code, says) in [
        (json!({"schedule": "a/b"}), 422, "invalid_schedule", "/after"),
        (json!({"after": "2026-12-01T00:00:00Z"}), 422, "invalid_schedule", "/schedule"),
        (json!({"schedule": "a/nobody", "after": "2026-12-01T00:00:00Z"}), 404, "not_found", "a/nobody"),
        (range(&json!({"max_live": 0})), 422, "invalid_schedule", "/max_live"),
        (range(&json!({"until": "2026-11-30T00:00:00Z"})), 422, "invalid_schedule", "/until"),
        (range(&json!({"overlap": "skp"})), 422, "invalid_schedule", "did you mean"),
        (range(&json!({"pase": "1s"})), 422, "unknown_field", "did you mean"),
        (after("2026-12-01T01:00:00Z"), 422, "invalid_schedule", "/after"),
        (after("2027-01-01T00:00:00Z"), 422, "invalid_schedule", "/"),
    ] {
        for dry_run in [false, true] {
            let mut body = body.clone();
            body["dry_run"] = dry_run.into();
            let answer = api.post("/v1/backfills", &body).await;
            assert_eq!(answer.problem(), (status, code), "{body}: {}", answer.text);
            assert!(answer.text.contains(says), "{body}: {}", answer.text);
        }
    }
    for path in ["/v1/backfills/bkf_999", "/v1/backfills/nonsense"] {
        assert_eq!(api.get(path).await.problem(), (404, "not_found"));
        assert_eq!(api.ask("DELETE", path, &[], "").await.problem(), (404, "not_found"));
    }
}
