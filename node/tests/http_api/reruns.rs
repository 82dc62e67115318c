//! Orders about one firing over HTTP: once more, in the name of an instant, stop it; and what waits for what.

use campanile_core::attempt::Verdict;
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Answer, Api, minutely};

/// A minutely schedule with that overlap policy, of which one instant has fired.
async fn one_fired(overlap: &str) -> (Api, Value) {
    let api = Api::leader();
    let mut body = minutely();
    body["overlap"] = overlap.into();
    api.put("/v1/schedules/a/b", &body).await;
    api.log.pass(Span::from_secs(60));
    api.log.tick();
    let firing = api.get("/v1/firings").await.body["items"][0].clone();
    (api, firing)
}

fn path(firing: &Value, order: &str) -> String {
    format!("/v1/firings/{}{order}", firing["id"].as_str().unwrap())
}

async fn trigger(api: &Api, body: Value) -> Answer {
    // A millisecond belongs to one firing.
    api.log.pass(Span::from_millis(1));
    api.post("/v1/schedules/a/b/trigger", &body).await
}

#[tokio::test]
async fn a_rerun_is_another_run_of_the_same_instant() {
    let (api, first) = one_fired("allow").await;
    api.log.work(Verdict::Refused);
    let order = json!({"payload": {"kind": "repair"}});
    let second = api.post(&path(&first, "/rerun"), &order).await;
    assert_eq!(second.status, 202, "{}", second.text);
    assert_eq!(
        (&second.body["nominal"], &second.body["run"], &second.body["kind"], &second.body["state"]),
        (&first["nominal"], &json!(1), &json!("rerun"), &json!("queued"))
    );
    // Of the repeated one as of the first: the next run is one that nothing has had.
    let third = api.post(&path(&first, "/rerun"), &json!({})).await;
    assert_eq!((third.status.as_u16(), &third.body["run"]), (202, &json!(2)), "{}", third.text);
    let told = api.get("/v1/schedules/a/b/firings").await.body;
    let runs: Vec<_> = told["items"].as_array().unwrap().iter().map(|firing| &firing["run"]).collect();
    assert_eq!(runs, [&json!(2), &json!(1), &json!(0)]);
    assert_eq!(api.get(&path(&first, "")).await.body["state"], "failed");
}

#[tokio::test]
async fn a_rerun_that_is_sent_twice_under_one_key_fires_once() {
    let (leader, first) = one_fired("allow").await;
    let follower = Api::follower_of(&leader);
    let key = [("idempotency-key", "repair-1")];
    let one = leader.ask("POST", &path(&first, "/rerun"), &key, "").await;
    let two = follower.ask("POST", &path(&first, "/rerun"), &key, "").await;
    assert_eq!((one.status.as_u16(), one.body), (202, two.body));
}

#[tokio::test]
async fn what_never_fired_cannot_be_repeated() {
    let (api, fired) = one_fired("allow").await;
    let nobody = api.post("/v1/firings/frg_00000000000000000000000000000000/rerun", &json!({})).await;
    assert!(matches!(nobody.problem(), (404 | 409, _)), "{}", nobody.text);
    api.log.pass(Span::from_secs(3_600));
    api.log.tick();
    let skipped = api.get("/v1/firings?state=skipped").await.body["items"][0].clone();
    let refused = api.post(&path(&skipped, "/rerun"), &json!({})).await;
    assert_eq!(refused.problem(), (409, "conflict"), "{}", refused.text);
    assert!(refused.text.contains("backfill"), "{}", refused.text);
    api.ask("DELETE", "/v1/schedules/a/b", &[], "").await;
    let gone = api.post(&path(&fired, "/rerun"), &json!({})).await;
    assert_eq!(gone.problem(), (409, "conflict"), "{}", gone.text);
}

#[tokio::test]
async fn a_cancelled_firing_ends_at_once_and_says_who_did_it() {
    let (api, firing) = one_fired("allow").await;
    let cancelled = api.post(&path(&firing, "/cancel"), &json!({})).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    assert_eq!(
        (&cancelled.body["state"], &cancelled.body["reason"]),
        (&json!("cancelled"), &json!("cancelled by anonymous"))
    );
    let again = api.post(&path(&firing, "/cancel"), &json!({})).await;
    assert_eq!(again.problem(), (409, "conflict"), "{}", again.text);
    assert!(again.text.contains("ended already"), "{}", again.text);
    let nobody = api.post("/v1/firings/frg_00000000000000000000000000000000/cancel", &json!({})).await;
    assert_eq!(nobody.problem(), (404, "not_found"));
    let words = api.post(&path(&firing, "/cancel"), &json!({"why": "x"})).await;
    assert_eq!(words.problem(), (422, "unknown_field"));
    let listed = api.get("/v1/schedules/a/b/firings?state=cancelled").await.body;
    assert_eq!(listed["items"][0], cancelled.body);
}

#[tokio::test]
async fn an_attempt_that_was_under_way_when_its_firing_was_cancelled_is_cancelled_too() {
    let (api, firing) = one_fired("allow").await;
    api.log.begin();
    let cancelled = api.post(&path(&firing, "/cancel"), &json!({})).await.body;
    let attempt = &cancelled["attempts"][0];
    assert_eq!((&attempt["outcome"], &attempt["number"]), (&json!("cancelled"), &json!(1)), "{cancelled}");
    assert!(!attempt["settled_at"].is_null());
}

#[tokio::test]
async fn a_firing_that_is_held_says_what_it_waits_for() {
    let (api, first) = one_fired("queue_all").await;
    api.log.begin();
    let second = trigger(&api, json!({})).await;
    assert_eq!(second.status, 202, "{}", second.text);
    let waits = format!("waits for {} to settle", first["id"].as_str().unwrap());
    assert_eq!((&second.body["state"], &second.body["reason"]), (&json!("waiting"), &json!(waits)));
    let status = api.get("/v1/schedules/a/b").await.body["status"].clone();
    assert_eq!(
        (&status["running"], &status["queued"], &status["waiting"]),
        (&json!(1), &json!(0), &json!(1))
    );
    assert_eq!(api.get("/v1/firings?state=waiting").await.body["items"][0], second.body);
}

#[tokio::test]
async fn a_firing_that_is_asked_to_stop_says_so_and_its_successor_waits() {
    let (api, first) = one_fired("replace").await;
    api.log.begin();
    let second = trigger(&api, json!({})).await;
    assert_eq!(second.body["state"], "waiting", "{}", second.text);
    let asked = api.get(&path(&first, "")).await.body;
    assert_eq!(asked["state"], "running");
    assert!(!asked["stop_asked_at"].is_null() && asked["reason"].as_str().unwrap().contains("asked to stop"));
    let third = trigger(&api, json!({})).await;
    let replaced = api.get(&path(&second.body, "")).await.body;
    assert_eq!(
        (&replaced["state"], &replaced["reason"]),
        (&json!("cancelled"), &json!("a newer firing took its place"))
    );
    assert_eq!(third.body["state"], "waiting");
}

#[tokio::test]
async fn a_trigger_may_fire_in_the_name_of_an_instant_that_is_past() {
    let (api, first) = one_fired("allow").await;
    let again = trigger(&api, json!({"nominal": first["nominal"], "payload": [1]})).await;
    assert_eq!(
        (again.status.as_u16(), &again.body["nominal"], &again.body["run"], &again.body["kind"]),
        (202, &first["nominal"], &json!(1), &json!("manual")),
        "{}",
        again.text
    );
    let between = trigger(&api, json!({"nominal": "2026-12-01T00:00:30Z"})).await;
    assert_eq!((between.status.as_u16(), &between.body["run"]), (202, &json!(0)), "{}", between.text);
    let ahead = trigger(&api, json!({"nominal": "2026-12-01T00:05:00Z"})).await;
    assert_eq!(ahead.problem(), (422, "invalid_schedule"));
    assert!(ahead.text.contains("/nominal"), "{}", ahead.text);
    api.log.pass(Span::from_secs(61));
    let due = trigger(&api, json!({"nominal": "2026-12-01T00:02:00Z"})).await;
    assert_eq!(due.problem(), (409, "conflict"), "{}", due.text);
}

#[tokio::test]
async fn a_schedule_that_skips_refuses_a_rerun_while_it_runs_unless_told_otherwise() {
    let (api, first) = one_fired("skip").await;
    let refused = api.post(&path(&first, "/rerun"), &json!({})).await;
    assert_eq!(refused.problem(), (409, "overlap"));
    let beside = api.post(&path(&first, "/rerun"), &json!({"overlap": "allow"})).await;
    assert_eq!((beside.status.as_u16(), &beside.body["run"]), (202, &json!(1)), "{}", beside.text);
}
