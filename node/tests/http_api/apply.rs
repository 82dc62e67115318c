//! A set of schedules: all of it or nothing, told by names, pruned by a label.

use serde_json::{Value, json};

use crate::fake::{Api, Fault, minutely, schedule};

/// A schedule of a set.
fn named(name: &str, every: &str) -> Value {
    let mut body = schedule(&json!([{"every": every}]));
    body["namespace"] = json!("a");
    body["name"] = json!(name);
    body["labels"] = json!({"app": "x"});
    body
}

fn set(schedules: &[Value]) -> Value {
    json!({"schedules": schedules, "prune_label": {"app": "x"}})
}

/// Created, changed, unchanged and pruned.
fn told(body: &Value) -> Value {
    json!([body["created"], body["changed"], body["unchanged"], body["pruned"]])
}

#[tokio::test]
async fn a_set_is_put_and_pruned_in_one_entry_and_told_by_names() {
    let api = Api::leader();
    api.put("/v1/schedules/b/other", &minutely()).await;
    let first =
        api.post("/v1/apply", &set(&[named("one", "1m"), named("two", "2m"), named("three", "3m")])).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(told(&first.body), json!([["a/one", "a/two", "a/three"], [], [], []]));
    let next =
        api.post("/v1/apply", &set(&[named("one", "1m"), named("two", "5m"), named("four", "4m")])).await;
    assert_eq!(told(&next.body), json!([["a/four"], ["a/two"], ["a/one"], ["a/three"]]));
    assert_eq!(api.log.committed(), 3, "one entry a set");
    let names: Vec<String> = api.get("/v1/schedules").await.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["four", "one", "two", "other"], "what does not carry the label stays");
    assert_eq!(api.get("/v1/schedules/a/one").await.body["revision"], 1, "what is equal does not travel");
}

#[tokio::test]
async fn a_dry_run_tells_fields_and_ticks_and_changes_nothing() {
    let api = Api::leader();
    api.post("/v1/apply", &set(&[named("one", "1m"), named("two", "2m")])).await;
    let mut dry = set(&[named("one", "2m"), named("new", "1h")]);
    dry["dry_run"] = json!(true);
    let would = api.post("/v1/apply", &dry).await;
    assert_eq!(told(&would.body), json!([["a/new"], ["a/one"], [], ["a/two"]]), "{}", would.text);
    let diffs: Vec<(&str, &str, usize, usize)> = would.body["diffs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|diff| {
            let ticks = |side: &str| diff["ticks"][side].as_array().unwrap().len();
            (
                diff["schedule"].as_str().unwrap(),
                diff["change"].as_str().unwrap(),
                ticks("added"),
                ticks("removed"),
            )
        })
        .collect();
    assert_eq!(diffs, [("a/one", "changed", 0, 25), ("a/new", "created", 50, 0), ("a/two", "pruned", 0, 50)]);
    assert_eq!(
        would.body["diffs"][0]["fields"],
        json!([{"pointer": "/specs/0/every", "from": "1m", "to": "2m"}])
    );
    assert_eq!(api.log.committed(), 1);
    let real = api.post("/v1/apply", &set(&[named("one", "2m"), named("new", "1h")])).await;
    assert_eq!(told(&real.body), told(&would.body), "the real one does what the dry run said");
    assert_eq!(real.body.get("diffs"), None);
}

#[tokio::test]
async fn one_flaw_refuses_the_whole_set_and_every_flaw_is_told() {
    let api = Api::leader();
    let mut never = named("never", "1m");
    never["exclude"] = json!([{"cron": "* * * * *"}]);
    let mut unknown = named("unknown", "1m");
    unknown["exclude"] = json!([{"calendar": "none"}]);
    let mut past = named("past", "1m");
    past["specs"] = json!([{"at": "2020-01-01T00:00:00Z"}]);
    let answer = api.post("/v1/apply", &set(&[named("good", "1m"), never, unknown, past])).await;
    assert_eq!(answer.problem(), (422, "invalid_schedule"));
    let pointers: Vec<&str> = answer.body["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flaw| flaw["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(
        pointers,
        ["/schedules/1/exclude", "/schedules/2/exclude/0/calendar", "/schedules/3/specs/0/at"]
    );
    let mut bare = named("bare", "1m");
    bare["labels"] = json!({});
    let answer = api.post("/v1/apply", &set(&[named("good", "1s500ms"), bare])).await;
    let pointers: Vec<&str> = answer.body["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flaw| flaw["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(pointers, ["/schedules/0/specs/0/every", "/schedules/1/labels"], "{}", answer.text);
    assert_eq!(api.log.committed(), 0);
}

#[tokio::test]
async fn a_set_whose_answer_was_lost_is_told_again_and_acts_once() {
    let api = Api::leader();
    api.post("/v1/apply", &set(&[named("gone", "1m"), named("same", "1m")])).await;
    api.log.break_next(Fault::AnswerLost);
    let key = [("idempotency-key", "k1")];
    let body = set(&[named("same", "1m"), named("new", "1m")]).to_string();
    let first = api.ask("POST", "/v1/apply", &key, &body).await;
    assert_eq!(told(&first.body), json!([["a/new"], [], ["a/same"], ["a/gone"]]), "{}", first.text);
    let again = api.ask("POST", "/v1/apply", &key, &body).await;
    assert_eq!(told(&again.body), told(&first.body));
    assert_eq!(api.log.committed(), 2);
    let other = api.ask("POST", "/v1/apply", &key, &set(&[]).to_string()).await;
    assert_eq!(other.problem(), (422, "idempotency_mismatch"));
}

#[tokio::test]
async fn a_set_is_forwarded_by_a_follower() {
    let leader = Api::leader();
    let follower = Api::follower_of(&leader);
    let answer = follower.post("/v1/apply", &set(&[named("one", "1m")])).await;
    assert_eq!(told(&answer.body), json!([["a/one"], [], [], []]), "{}", answer.text);
}

#[tokio::test]
async fn a_set_beyond_an_entry_of_the_log_says_how_large_it_is_and_what_to_do() {
    let api = Api::leader();
    let many: Vec<Value> = (0..800).map(|n| named(&format!("s{n}"), "1m")).collect();
    let answer = api.post("/v1/apply", &set(&many)).await;
    assert_eq!(answer.problem(), (413, "payload_too_large"), "{}", answer.text);
    let detail = answer.body["detail"].as_str().unwrap();
    assert!(
        detail.contains("bytes") && detail.contains("at most") && detail.contains("in parts"),
        "{detail}"
    );
    let few = api.post("/v1/apply", &set(&many[..100])).await;
    assert_eq!(few.status, 200, "{}", few.text);
}

#[tokio::test]
async fn an_empty_set_prunes_all_that_carry_the_label() {
    let api = Api::leader();
    api.post("/v1/apply", &set(&[named("one", "1m")])).await;
    let gone = api.post("/v1/apply", &set(&[])).await;
    assert_eq!(told(&gone.body), json!([[], [], [], ["a/one"]]));
    let nothing = api.post("/v1/apply", &json!({})).await;
    assert_eq!(nothing.body["errors"][0]["pointer"], "/schedules", "{}", nothing.text);
}
