//! Schedules over HTTP: created, read, changed, listed, ordered, removed.

use campanile_core::attempt::Verdict;
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely, schedule};

#[tokio::test]
async fn a_schedule_is_created_read_replaced_and_removed() {
    let api = Api::leader();
    let created = api.put("/v1/schedules/a/b", &minutely()).await;
    assert_eq!((created.status.as_u16(), created.header("etag")), (201, "\"2\""));
    let again = api.put("/v1/schedules/a/b", &minutely()).await;
    assert_eq!((again.status.as_u16(), again.header("etag")), (200, "\"2\""), "what is equal is unchanged");

    let replaced = api.put("/v1/schedules/a/b", &schedule(&json!([{"every": "2m"}]))).await;
    assert_eq!((replaced.status.as_u16(), replaced.body["revision"].as_u64()), (200, Some(2)));
    let read = api.get("/v1/schedules/a/b").await;
    assert_eq!((&read.body, read.header("etag")), (&replaced.body, replaced.header("etag")));

    for _ in 0..2 {
        assert_eq!(api.ask("DELETE", "/v1/schedules/a/b", &[], "").await.status, 204, "delete is idempotent");
    }
    assert_eq!(api.get("/v1/schedules/a/b").await.problem(), (404, "not_found"));
}

#[tokio::test]
async fn an_answer_holds_every_field_of_the_contract() {
    let api = Api::leader();
    let mut body = schedule(&json!([
        {"cron": "30 2 * * *", "time_zone": "Europe/Berlin"}, {"every": "90s"}, {"at": "2027-01-01T00:00:00+01:00"}
    ]));
    body["payload"] = json!({"kind": "full"});
    body["labels"] = json!({"team": "billing"});
    let answer = api.put("/v1/schedules/billing/invoice-run", &body).await;
    let mut expected: Value = serde_json::from_str(include_str!("schedule.json")).unwrap();
    // Checked by the length of the list, since it follows the tz data.
    let next = answer.body["status"]["next"].clone();
    assert_eq!(next.as_array().unwrap().len(), 5);
    expected["status"]["next"] = next;
    expected["status"]["warnings"] = answer.body["status"]["warnings"].clone();
    assert_eq!(answer.body, expected, "{}", answer.text);
}

#[tokio::test]
async fn an_answer_can_be_put_back_as_it_is() {
    let api = Api::leader();
    let mut body = schedule(
        &json!([{"cron": "0 0 13 * 5", "day_match": "all", "dst_gap": "skip", "dst_overlap": "both"}]),
    );
    body["catch_up"] = json!({"mode": "latest", "window": "unlimited"});
    body["retry"] = json!({"max_attempts": 3, "initial": "2m", "until_next": true});
    body["delivery"] = json!("at_most_once");
    body["pause_after_failures"] = json!(4);
    let first = api.put("/v1/schedules/a/b", &body).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let again = api.put("/v1/schedules/a/b", &first.body).await;
    assert_eq!((again.status.as_u16(), &again.body), (200, &first.body));
}

#[tokio::test]
async fn a_payload_comes_back_digit_by_digit() {
    let api = Api::leader();
    let body = r#"{"specs": [{"every": "1m"}], "target": {"webhook": {"url": "http://a"}},
        "payload": {"z": 12345678901234567890123, "a": 1.10}}"#;
    let answer = api.ask("PUT", "/v1/schedules/a/b", &[], body).await;
    assert!(answer.text.contains(r#""payload":{"z":12345678901234567890123,"a":1.10}"#), "{}", answer.text);
    let patched = api.ask("PATCH", "/v1/schedules/a/b", &[], r#"{"overlap": "skip"}"#).await;
    assert!(patched.text.contains(r#""payload":{"z":12345678901234567890123,"a":1.10}"#), "{}", patched.text);
}

#[tokio::test]
async fn writes_ask_for_what_they_have_seen() {
    let api = Api::leader();
    let body = minutely().to_string();
    let create = [("if-none-match", "*")];
    assert_eq!(api.ask("PUT", "/v1/schedules/a/b", &create, &body).await.status, 201);
    assert_eq!(api.ask("PUT", "/v1/schedules/a/b", &create, &body).await.problem(), (409, "already_exists"));

    let other = schedule(&json!([{"every": "5m"}])).to_string();
    let tag = api.get("/v1/schedules/a/b").await.header("etag").to_owned();
    assert_eq!(api.ask("PUT", "/v1/schedules/a/b", &[("if-match", &tag)], &other).await.status, 200);
    for (method, body) in [("PUT", other.as_str()), ("PATCH", "{\"overlap\": \"skip\"}"), ("DELETE", "")] {
        let answer = api.ask(method, "/v1/schedules/a/b", &[("if-match", &tag)], body).await;
        assert_eq!(answer.problem(), (412, "version_conflict"), "{method}");
    }
    assert_eq!(api.get("/v1/schedules/a/b").await.body["overlap"], "allow");
    let absent = api.ask("PUT", "/v1/schedules/a/none", &[("if-match", &tag)], &other).await;
    assert_eq!(absent.problem(), (412, "version_conflict"));
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_null_goes_back_to_the_default() {
    let api = Api::leader();
    let mut body = minutely();
    body["labels"] = json!({"team": "a", "env": "prod"});
    body["overlap"] = json!("skip");
    api.put("/v1/schedules/a/b", &body).await;
    let patch = json!({"labels": {"env": null, "tier": "1"}, "overlap": null, "target": {"webhook": {"timeout": "5s"}}});
    let patched = api.ask("PATCH", "/v1/schedules/a/b", &[], &patch.to_string()).await;
    assert_eq!(patched.status, 200, "{}", patched.text);
    assert_eq!(patched.body["labels"], json!({"team": "a", "tier": "1"}));
    assert_eq!(
        (&patched.body["overlap"], &patched.body["target"]["webhook"]["timeout"]),
        (&json!("allow"), &json!("5s"))
    );
    let wrong = api.ask("PATCH", "/v1/schedules/a/b", &[], "{\"overlp\": 1}").await;
    assert_eq!(wrong.problem(), (422, "unknown_field"));
    assert_eq!(api.ask("PATCH", "/v1/schedules/a/none", &[], "{}").await.problem(), (404, "not_found"));
}

#[tokio::test]
async fn pause_and_resume_are_told_in_the_status() {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &minutely()).await;
    let order = json!({"note": "holidays", "until": "2026-12-02T00:00:00Z"});
    let paused = api.post("/v1/schedules/a/b/pause", &order).await;
    let status = &paused.body["status"];
    assert_eq!((&status["state"], &status["note"]), (&json!("paused"), &json!("holidays")));
    assert_eq!((&status["until"], &status["next"]), (&json!("2026-12-02T00:00:00Z"), &json!([])));
    assert_eq!(paused.body["revision"], 1, "pausing does not change the revision");
    let resumed = api.ask("POST", "/v1/schedules/a/b/resume", &[], "").await;
    assert_eq!(resumed.body["status"]["state"], "active", "{}", resumed.text);
    assert_eq!(api.post("/v1/schedules/a/none/pause", &json!({})).await.problem(), (404, "not_found"));
    let past = api.post("/v1/schedules/a/b/pause", &json!({"until": "2020-01-01T00:00:00Z"})).await;
    assert_eq!(past.problem(), (422, "invalid_schedule"));
    let wrong = api.post("/v1/schedules/a/b/resume", &json!({"catch_up": "yes"})).await;
    assert_eq!(wrong.body["errors"][0]["pointer"], "/catch_up");
}

#[tokio::test]
async fn a_trigger_answers_with_its_firing_and_an_overlap_is_a_conflict() {
    let api = Api::leader();
    let mut body = minutely();
    body["overlap"] = json!("skip");
    api.put("/v1/schedules/a/b", &body).await;
    api.log.pass(Span::from_millis(1));
    let fired = api.post("/v1/schedules/a/b/trigger", &json!({"payload": {"by": "hand"}})).await;
    assert_eq!(fired.status, 202, "{}", fired.text);
    assert_eq!((&fired.body["kind"], &fired.body["state"]), (&json!("manual"), &json!("queued")));
    assert_eq!(fired.body["schedule"], "a/b");
    api.log.pass(Span::from_millis(1));
    assert_eq!(api.post("/v1/schedules/a/b/trigger", &json!({})).await.problem(), (409, "overlap"));
    let beside = api.post("/v1/schedules/a/b/trigger", &json!({"overlap": "allow"})).await;
    assert_ne!(beside.body["id"], fired.body["id"]);
    let nominal = api.post("/v1/schedules/a/b/trigger", &json!({"nominal": "2026-12-02T00:00:00Z"})).await;
    assert_eq!(nominal.body["errors"][0]["pointer"], "/nominal");
}

#[tokio::test]
async fn an_instant_that_is_past_is_refused_only_while_it_is_new() {
    let api = Api::leader();
    let body = schedule(&json!([{"at": "2026-12-01T00:00:10Z"}]));
    assert_eq!(api.put("/v1/schedules/a/once", &body).await.status, 201);
    api.log.pass(Span::from_secs(3600));
    api.log.tick();
    api.log.work(Verdict::Succeeded);
    let again = api.put("/v1/schedules/a/once", &body).await;
    assert_eq!(
        (again.status.as_u16(), &again.body["status"]["state"]),
        (200, &json!("finished")),
        "{}",
        again.text
    );
    assert_eq!(api.put("/v1/schedules/a/late", &body).await.body["errors"][0]["pointer"], "/specs/0/at");
    let mut reached = body;
    reached["catch_up"] = json!({"window": "2h"});
    assert_eq!(api.put("/v1/schedules/a/reached", &reached).await.status, 201);
}

#[tokio::test]
async fn a_list_is_read_in_pages_that_lose_and_repeat_nothing() {
    let api = Api::leader();
    for n in 0..25 {
        let mut body = schedule(&json!([{"every": format!("{}m", 30 - n)}]));
        body["labels"] = json!({"parity": if n % 2 == 0 { "even" } else { "odd" }});
        let path = format!("/v1/schedules/{}/job-{n:02}", if n < 5 { "few" } else { "many" });
        assert_eq!(api.put(&path, &body).await.status, 201);
    }
    for (query, count) in [
        ("", 25),
        ("namespace=few", 5),
        ("namespace=fe", 0),
        ("namespace=no/name", 0),
        ("label=parity%3Dodd", 12),
        ("label=parity", 25),
        ("label=parity%3Dodd&namespace=few", 2),
        ("state=active", 25),
        ("state=paused", 0),
        ("q=JOB-1", 10),
        ("sort=next", 25),
        ("sort=next&label=parity%3Deven", 13),
    ] {
        let names = walk(&api, query).await;
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!((names.len(), distinct.len()), (count, count), "{query}");
    }
    let by_name = walk(&api, "").await;
    assert!(by_name.is_sorted());
    let by_next = api.get("/v1/schedules?sort=next").await;
    let next: Vec<&str> = by_next.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["status"]["next"][0].as_str().unwrap())
        .collect();
    assert!(next.is_sorted() && next.len() == 25, "{next:?}");
}

/// Every name of a list, in pages of four.
async fn walk(api: &Api, query: &str) -> Vec<String> {
    let (mut names, mut token) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("/v1/schedules?limit=4&{query}{token}")).await;
        assert_eq!(page.status, 200, "{}", page.text);
        for item in page.body["items"].as_array().unwrap() {
            names.push(format!("{}/{}", item["namespace"].as_str().unwrap(), item["name"].as_str().unwrap()));
        }
        match page.body["next_page_token"].as_str() {
            Some(next) => token = format!("&page_token={next}"),
            None => return names,
        }
    }
}

#[tokio::test]
async fn the_next_instants_show_daylight_saving() {
    let api = Api::leader();
    let body = schedule(&json!([{"cron": "30 2 * * *", "time_zone": "Europe/Berlin"}]));
    api.put("/v1/schedules/a/b", &body).await;
    let next = api.get("/v1/schedules/a/b/next?count=2&after=2027-03-27T12:00:00Z").await;
    assert_eq!(
        next.body["items"],
        json!([
            {"nominal": "2027-03-28T01:00:00Z", "local": "2027-03-28T03:00:00+02:00", "note": "moved_from_gap"},
            {"nominal": "2027-03-29T00:30:00Z", "local": "2027-03-29T02:30:00+02:00", "note": "normal"},
        ])
    );
    let mut question = json!({"specs": body["specs"], "after": "2026-10-24T12:00:00Z", "count": 2});
    question["specs"].as_array_mut().unwrap().push(json!({"at": "2026-10-25T00:30:00Z"}));
    let preview = api.post("/v1/preview", &question).await;
    assert_eq!(preview.status, 200, "{}", preview.text);
    let notes: Vec<&Value> =
        preview.body["next"].as_array().unwrap().iter().map(|next| &next["note"]).collect();
    assert_eq!(notes, [&json!("first_pass"), &json!("normal")], "equal instants of two specs are one");
    assert!(!preview.body["warnings"].as_array().unwrap().is_empty());
    assert!(preview.body["text"].as_str().unwrap().contains("02:30"), "{}", preview.text);
}
