//! The mark over HTTP: rewind fires again, skipping ahead fires nothing, and both can be counted first.

use campanile_core::attempt::Verdict;
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely};

const MARK: &str = "/v1/schedules/a/b/mark";

/// A minutely schedule of which three instants have fired.
async fn three_fired() -> Api {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &minutely()).await;
    for _ in 0..3 {
        api.log.pass(Span::from_secs(60));
        api.log.tick();
        api.log.work(Verdict::Succeeded);
    }
    api
}

#[tokio::test]
async fn a_rewind_counts_first_and_then_fires_again_by_a_backfill() {
    let api = three_fired().await;
    let _office = api.lead_backfills();
    let to = json!({"to": "2026-12-01T00:01:00Z", "dry_run": true});
    let counted = api.post(MARK, &to).await;
    assert_eq!(
        counted.body,
        json!({"schedule": "a/b", "to": "2026-12-01T00:01:00Z", "mark": "2026-12-01T00:03:00Z", "direction": "back",
            "dry_run": true, "fires": 2, "skips": 0, "backfill": null}),
    );
    let done = api.post(MARK, &json!({"to": "2026-12-01T00:01:00Z"})).await;
    assert_eq!((done.status.as_u16(), &done.body["direction"]), (200, &json!("back")), "{}", done.text);
    assert_eq!((&done.body["fires"], &done.body["mark"]), (&Value::Null, &json!("2026-12-01T00:03:00Z")));
    let path = format!("/v1/backfills/{}", done.body["backfill"]["id"].as_str().unwrap());
    let ended = api.until(&path, |backfill| backfill["state"] == "completed").await;
    assert_eq!((&ended["fired"], &ended["again"]), (&json!(2), &json!(true)));
    let firings = api.get("/v1/schedules/a/b/firings").await.body;
    let told: Vec<_> = firings["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|firing| (firing["nominal"].as_str().unwrap(), firing["run"].as_u64().unwrap()))
        .collect();
    let minute = |n: u32| format!("2026-12-01T00:0{n}:00Z");
    let (one, two, three) = (minute(1), minute(2), minute(3));
    assert_eq!(told, [(&*three, 1), (&*three, 0), (&*two, 1), (&*two, 0), (&*one, 0)]);
}

#[tokio::test]
async fn skipping_ahead_decides_what_is_due_and_skips_what_is_to_come() {
    let api = three_fired().await;
    api.log.pass(Span::from_secs(61));
    let to = "2026-12-01T00:10:30Z";
    let counted = api.post(MARK, &json!({"to": to, "dry_run": true})).await.body;
    assert_eq!(
        (&counted["direction"], &counted["fires"], &counted["skips"], &counted["mark"]),
        (&json!("ahead"), &json!(1), &json!(6), &json!("2026-12-01T00:03:00Z"))
    );
    let done = api.post(MARK, &json!({"to": to})).await;
    assert_eq!((&done.body["mark"], &done.body["backfill"]), (&json!(to), &Value::Null), "{}", done.text);
    let shown = api.get("/v1/schedules/a/b").await.body;
    assert_eq!(shown["status"]["next"][0], "2026-12-01T00:11:00Z");
    let firings = api.get("/v1/schedules/a/b/firings?limit=2").await.body;
    let skip = &firings["items"][0];
    assert_eq!(
        (&skip["state"], &skip["reason"], &skip["skipped"]["count"]),
        (&json!("skipped"), &json!("superseded"), &json!(6))
    );
    assert_eq!(firings["items"][1]["nominal"], "2026-12-01T00:04:00Z");
}

#[tokio::test]
async fn a_mark_that_cannot_be_set_is_said_with_what_to_do() {
    let api = three_fired().await;
    api.log.pass(Span::from_secs(30));
    for (to, status, code, says) in [
        ("2026-12-01T00:03:00Z", 409, "conflict", "there already"),
        ("2026-12-01T00:03:10Z", 422, "invalid_schedule", "/to"),
        ("tomorrow", 422, "invalid_schedule", "/to"),
    ] {
        for dry_run in [false, true] {
            let answer = api.post(MARK, &json!({"to": to, "dry_run": dry_run})).await;
            assert_eq!(answer.problem(), (status, code), "{to}: {}", answer.text);
            assert!(answer.text.contains(says), "{}", answer.text);
        }
    }
    assert_eq!(api.post(MARK, &json!({})).await.problem(), (422, "invalid_schedule"));
    let nobody = "/v1/schedules/a/nobody/mark";
    assert_eq!(api.post(nobody, &json!({"to": "2026-12-01T00:01:00Z"})).await.problem(), (404, "not_found"));
    api.post("/v1/schedules/a/b/pause", &json!({})).await;
    let paused = api.post(MARK, &json!({"to": "2026-12-01T01:00:00Z"})).await;
    assert_eq!(paused.problem(), (409, "conflict"), "{}", paused.text);
}
