//! What happened, over HTTP: the story of a firing, histories in pages, the ledger row by row.

use campanile_core::attempt::Verdict;
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely, schedule};

/// A minutely schedule that fired at three minutes: it succeeded, failed and was tried again, and waits.
async fn three_firings() -> Api {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &minutely()).await;
    api.log.pass(Span::from_millis(60_004));
    api.log.tick();
    api.log.work(Verdict::Succeeded);
    api.log.pass(Span::from_secs(60));
    api.log.tick();
    api.log.work(Verdict::Retry { not_before: None });
    api.log.pass(Span::from_secs(10));
    api.log.work(Verdict::Succeeded);
    api.log.pass(Span::from_secs(50));
    api.log.tick();
    api
}

#[tokio::test]
async fn the_story_of_a_firing_is_told_from_decision_to_outcome() {
    let api = three_firings().await;
    let list = api.get("/v1/schedules/a/b/firings").await;
    let items = list.body["items"].as_array().unwrap();
    let told: Vec<_> = items
        .iter()
        .map(|item| (item["nominal"].as_str().unwrap(), item["state"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("2026-12-01T00:03:00Z", "queued"),
            ("2026-12-01T00:02:00Z", "succeeded"),
            ("2026-12-01T00:01:00Z", "succeeded"),
        ]
    );
    let story = api.get(&format!("/v1/firings/{}", items[1]["id"].as_str().unwrap())).await;
    assert_eq!(story.body, items[1]);
    assert_eq!(story.body["schedule"], "a/b");
    assert_eq!(story.body["decided"]["node"], 1);
    assert_eq!(story.body["decided"]["term"], 1);
    assert_eq!(story.body["lateness_ms"], 4);
    let attempts = story.body["attempts"].as_array().unwrap();
    let outcomes: Vec<_> = attempts
        .iter()
        .map(|attempt| (&attempt["number"], &attempt["outcome"], &attempt["status"]))
        .collect();
    assert_eq!(
        outcomes,
        [(&json!(1), &json!("failed"), &json!(500)), (&json!(2), &json!("succeeded"), &json!(200))]
    );
    assert_eq!((&attempts[0]["error"], &attempts[0]["output"]), (&json!("status 500"), &json!("done")));
    assert!(attempts[1]["fencing_token"].as_u64() > attempts[0]["fencing_token"].as_u64());
    let unknown = api.get("/v1/firings/frg_00000000000000000000000000000000").await;
    assert_eq!(unknown.problem(), (404, "not_found"));
}

#[tokio::test]
async fn the_newest_outcome_stands_in_the_status() {
    let api = three_firings().await;
    let status = api.get("/v1/schedules/a/b").await.body["status"].clone();
    assert_eq!((&status["last"]["state"], &status["last"]["attempts"]), (&json!("succeeded"), &json!(2)));
    assert_eq!((&status["queued"], &status["running"], &status["fired"]), (&json!(1), &json!(0), &json!(3)));
    assert_eq!(status["mark"], "2026-12-01T00:03:00Z");
}

#[tokio::test]
async fn skipped_instants_stand_in_the_history_with_their_reason() {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &minutely()).await;
    api.log.pass(Span::from_secs(3600));
    api.log.tick();
    let skipped = api.get("/v1/schedules/a/b/firings?state=skipped").await;
    let item = &skipped.body["items"][0];
    assert_eq!(
        (&item["reason"], &item["state"]),
        (&json!("too_late"), &json!("skipped")),
        "{}",
        skipped.text
    );
    assert_eq!(item["skipped"]["from"], "2026-12-01T00:01:00Z");
    assert!(item["skipped"]["count"].as_u64().unwrap() > 50);
    assert_eq!(api.get(&format!("/v1/firings/{}", item["id"].as_str().unwrap())).await.body, *item);
}

/// Every id of a list of firings, in pages of three.
async fn walk(api: &Api, path: &str) -> Vec<String> {
    let (mut ids, mut token) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("{path}limit=3{token}")).await;
        assert_eq!(page.status, 200, "{}", page.text);
        ids.extend(
            page.body["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()),
        );
        match page.body["next_page_token"].as_str() {
            Some(next) => token = format!("&page_token={next}"),
            None => return ids,
        }
    }
}

#[tokio::test]
async fn histories_are_read_in_pages_that_lose_and_repeat_nothing() {
    let api = Api::leader();
    for n in 0..4 {
        api.put(&format!("/v1/schedules/ns{}/job{n}", n % 2), &schedule(&json!([{"every": "1s"}]))).await;
    }
    for _ in 0..20 {
        api.log.pass(Span::from_secs(1));
        api.log.tick();
        api.log.work(Verdict::Succeeded);
    }
    for (path, count) in [
        ("/v1/firings?", 80),
        ("/v1/firings?namespace=ns1&", 40),
        ("/v1/firings?state=failed&", 0),
        ("/v1/firings?schedule=ns0/job0&", 20),
        ("/v1/firings?after=2026-12-01T00:00:15Z&", 20),
        ("/v1/schedules/ns1/job1/firings?", 20),
        ("/v1/schedules/ns1/job1/firings?state=succeeded&", 20),
        ("/v1/schedules/ns1/job1/firings?before=2026-12-01T00:00:06Z&", 5),
        ("/v1/schedules/ns1/job1/firings?after=2026-12-01T00:00:06Z&before=2026-12-01T00:00:09Z&", 2),
    ] {
        let ids = walk(&api, path).await;
        let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
        assert_eq!((ids.len(), distinct.len()), (count, count), "{path}");
    }
    api.ask("DELETE", "/v1/schedules/ns0/job0", &[], "").await;
    let ids = walk(&api, "/v1/firings?").await;
    let story = api.get(&format!("/v1/firings/{}", ids.last().unwrap())).await;
    assert!(
        story.body["schedule"].as_str().unwrap().starts_with("ns"),
        "a name outlives its schedule: {}",
        story.text
    );
}

#[tokio::test]
async fn the_ledger_is_read_row_by_row_in_the_order_of_the_log() {
    let api = three_firings().await;
    let all = api.get("/v1/ledger").await;
    let rows = all.body["items"].as_array().unwrap();
    let types: Vec<&str> = rows.iter().map(|row| row["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        [
            "leader_epoch",
            "defined",
            "fired",
            "begun",
            "settled",
            "fired",
            "begun",
            "settled",
            "begun",
            "settled",
            "fired"
        ]
    );
    assert!(rows.iter().all(|row| row["hash"].as_str().unwrap().len() == 32 && row["at"].is_string()));
    assert_eq!(rows[1]["definition"]["specs"], json!([{"every": "1m", "anchor": "1970-01-01T00:00:00Z"}]));
    assert_eq!((&rows[4]["state"], &rows[7]["state"]), (&json!("succeeded"), &Value::Null));
    assert!(rows[7]["retry_at"].is_string());

    let mut positions = Vec::new();
    let mut after = String::new();
    loop {
        let page = api.get(&format!("/v1/ledger?limit=2{after}")).await;
        positions.extend(page.body["items"].as_array().unwrap().iter().map(|row| row["position"].clone()));
        match page.body["next_page_token"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(positions, rows.iter().map(|row| row["position"].clone()).collect::<Vec<_>>());
}
