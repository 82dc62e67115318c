//! Dead letters over HTTP: listed, put aside, run again; one and many.

use campanile_core::attempt::Verdict;
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, Fault, minutely};

/// `count` firings of `a/b` that came to nothing, the last of them just now.
async fn cluster(count: u64) -> Api {
    let api = Api::leader();
    assert_eq!(api.put("/v1/schedules/a/b", &minutely()).await.status, 201);
    fail(&api, count);
    api
}

fn fail(api: &Api, count: u64) {
    for _ in 0..count {
        api.log.pass(Span::from_secs(60));
        api.log.tick();
        api.log.work(Verdict::Refused);
    }
}

async fn letters(api: &Api, query: &str) -> Vec<Value> {
    let answer = api.get(&format!("/v1/dead_letters?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["items"].as_array().unwrap().clone()
}

fn field(letters: &[Value], name: &str) -> Vec<Value> {
    letters.iter().map(|letter| letter[name].clone()).collect()
}

#[tokio::test]
async fn what_came_to_nothing_is_listed_the_newest_first_by_what_is_asked_for() {
    let api = cluster(3).await;
    let mut queued = minutely();
    queued["target"] = json!({"queue": {"name": "batch"}});
    queued["deadline"] = "30s".into();
    api.put("/v1/schedules/q/late", &queued).await;
    api.log.pass(Span::from_secs(60));
    api.log.tick();
    api.log.pass(Span::from_secs(31));
    api.log.tick();
    let all = letters(&api, "").await;
    assert_eq!(all.len(), 4, "{all:?}");
    let late = &all[0];
    assert_eq!(
        (&late["schedule"], &late["queue"], &late["state"], &late["attempts"]),
        (&json!("q/late"), &json!("batch"), &json!("timed_out"), &json!(0))
    );
    let failed = &all[1];
    assert_eq!(
        (&failed["schedule"], &failed["queue"], &failed["state"], &failed["status"], &failed["error"]),
        (&json!("a/b"), &Value::Null, &json!("failed"), &json!(500), &json!("status 500"))
    );
    assert_eq!(
        (&failed["nominal"], &failed["ended_at"]),
        (&json!("2026-12-01T00:03:00Z"), &json!("2026-12-01T00:03:00Z"))
    );
    for (query, count) in [
        ("schedule=a/b", 3),
        ("namespace=q", 1),
        ("queue=batch", 1),
        ("queue=other", 0),
        ("state=failed", 3),
        ("state=unknown", 0),
        ("after=2026-12-01T00:02:00Z", 2),
        ("before=2026-12-01T00:02:00Z", 1),
    ] {
        assert_eq!(letters(&api, query).await.len(), count, "{query}");
    }
    let page = api.get("/v1/dead_letters?limit=3").await.body;
    let rest = letters(&api, &format!("page_token={}", page["next_page_token"].as_str().unwrap())).await;
    assert_eq!(field(&rest, "nominal"), ["2026-12-01T00:01:00Z"]);
    for wrong in ["state=succeeded", "schedule=a/b/c", "page_token=x", "until=x"] {
        assert_eq!(api.get(&format!("/v1/dead_letters?{wrong}")).await.problem(), (400, "bad_request"));
    }
}

#[tokio::test]
async fn one_is_put_aside_and_its_story_says_who_did_it() {
    let api = cluster(2).await;
    let firing = letters(&api, "").await[0]["firing"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let path = format!("/v1/dead_letters/{firing}");
        assert_eq!(api.ask("DELETE", &path, &[], "").await.status, 204, "it is idempotent");
    }
    assert_eq!(letters(&api, "").await.len(), 1);
    assert_eq!(api.get(&format!("/v1/firings/{firing}")).await.body["discarded"]["by"], "anonymous");
    assert_eq!(api.ask("DELETE", "/v1/dead_letters/x", &[], "").await.problem(), (404, "not_found"));
}

#[tokio::test]
async fn many_are_put_aside_by_a_filter_and_all_of_them_only_when_it_says_all() {
    let api = cluster(5).await;
    let empty = api.post("/v1/dead_letters/discard", &json!({})).await;
    assert_eq!(
        (empty.status.as_u16(), &empty.body["errors"][0]["pointer"]),
        (422, &json!("/all")),
        "{}",
        empty.text
    );
    let some = json!({"schedule": "a/b", "before": "2026-12-01T00:03:00Z"});
    api.log.break_next(Fault::AnswerLost);
    assert_eq!(api.post("/v1/dead_letters/discard", &some).await.body, json!({"discarded": 2, "left": 0}));
    assert_eq!(letters(&api, "").await.len(), 3);
    assert_eq!(
        api.post("/v1/dead_letters/discard", &json!({"all": true})).await.body,
        json!({"discarded": 3, "left": 0})
    );
    assert_eq!(letters(&api, "").await.len(), 0);
}

#[tokio::test]
async fn more_than_an_entry_holds_are_put_aside_under_one_key() {
    let api = Api::leader();
    let mut body = minutely();
    body["specs"] = json!([{"every": "1s"}]);
    api.put("/v1/schedules/a/b", &body).await;
    for _ in 0..90 {
        api.log.pass(Span::from_secs(25));
        api.log.tick();
        api.log.work(Verdict::Refused);
    }
    let all = json!({"all": true}).to_string();
    let key = [("idempotency-key", "clean")];
    let discarded = api.ask("POST", "/v1/dead_letters/discard", &key, &all).await;
    assert_eq!(discarded.body, json!({"discarded": 2250, "left": 0}), "{}", discarded.text);
    let again = api.ask("POST", "/v1/dead_letters/discard", &key, &all).await;
    assert_eq!(again.body, discarded.body);
}

#[tokio::test]
async fn letters_are_run_again_those_that_ended_first_and_leave_the_view() {
    let leader = cluster(5).await;
    let follower = Api::follower_of(&leader);
    let before = letters(&leader, "").await;
    let order = json!({"schedule": "a/b", "max": 3});
    let done = follower.post("/v1/dead_letters/rerun", &order).await;
    assert_eq!(
        (done.status.as_u16(), &done.body["left"], &done.body["refused"]),
        (200, &json!(2), &json!([])),
        "{}",
        done.text
    );
    let mut rerun = field(done.body["rerun"].as_array().unwrap(), "firing");
    rerun.reverse();
    assert_eq!(rerun, field(&before[2..], "firing"));
    assert_eq!(letters(&leader, "").await, before[..2]);
    let new = done.body["rerun"][0]["as"].as_str().unwrap();
    let told = leader.get(&format!("/v1/firings/{new}")).await.body;
    assert_eq!(
        (&told["run"], &told["kind"], &told["nominal"]),
        (&json!(1), &json!("rerun"), &before[4]["nominal"])
    );
    // What fails again is a letter again, and one re-run of an instant does for all its runs.
    leader.log.work(Verdict::Refused);
    let again = leader.post("/v1/dead_letters/rerun", &json!({"all": true})).await;
    assert_eq!(
        (again.body["rerun"].as_array().unwrap().len(), &again.body["left"]),
        (5, &json!(0)),
        "{}",
        again.text
    );
}

#[tokio::test]
async fn the_same_key_runs_none_twice_and_goes_on_where_an_answer_was_lost() {
    let leader = cluster(6).await;
    let follower = Api::follower_of(&leader);
    let body = json!({"all": true, "max": 4}).to_string();
    let key = [("idempotency-key", "again-1")];
    leader.log.break_next(Fault::AnswerLost);
    let first = follower.ask("POST", "/v1/dead_letters/rerun", &key, &body).await;
    let second = leader.ask("POST", "/v1/dead_letters/rerun", &key, &body).await;
    for answer in [&first, &second] {
        let count = answer.body["rerun"].as_array().map(Vec::len);
        assert_eq!((count, &answer.body["left"]), (Some(4), &json!(2)), "{}", answer.text);
    }
    assert_eq!(leader.get("/v1/firings?limit=100").await.body["items"].as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn those_that_cannot_be_run_again_say_why_and_stay() {
    let api = cluster(2).await;
    let mut skips = minutely();
    skips["overlap"] = "skip".into();
    api.put("/v1/schedules/a/b", &skips).await;
    let done = api.post("/v1/dead_letters/rerun", &json!({"namespace": "a"})).await;
    let (rerun, refused) = (done.body["rerun"].as_array().unwrap(), done.body["refused"].as_array().unwrap());
    assert_eq!((rerun.len(), refused.len()), (1, 1), "{}", done.text);
    assert!(refused[0]["why"].as_str().unwrap().contains("overlap"), "{}", done.text);
    let beside = api.post("/v1/dead_letters/rerun", &json!({"namespace": "a", "overlap": "allow"})).await;
    assert_eq!(beside.body["rerun"].as_array().unwrap().len(), 1, "{}", beside.text);
    for (body, pointer) in [
        (json!({"max": 5}), "/all"),
        (json!({"all": true, "max": 1001}), "/max"),
        (json!({"all": true, "max": 0}), "/max"),
        (json!({"schedule": "a/b/c"}), "/schedule"),
        (json!({"state": "succeeded"}), "/state"),
        (json!({"all": true, "limit": 3}), "/limit"),
    ] {
        let answer = api.post("/v1/dead_letters/rerun", &body).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["errors"][0]["pointer"]),
            (422, &json!(pointer)),
            "{}",
            answer.text
        );
    }
}
