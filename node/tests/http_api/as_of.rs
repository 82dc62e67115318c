//! Schedules as they stood: what is told as of an entry is what was told when that entry was the last one.

#![allow(clippy::print_stdout)]

use campanile_core::attempt::Verdict;
use campanile_core::command::{Body, Restate};
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely, schedule};

/// What a schedule is, without what only the present knows.
fn told(schedule: &Value) -> Value {
    let status = &schedule["status"];
    json!({
        "name": [&schedule["namespace"], &schedule["name"], &schedule["uid"]],
        "definition": [&schedule["specs"], &schedule["revision"], &schedule["display_name"]],
        "changed": [&schedule["updated_at"], &schedule["updated_by"]],
        "state": [&status["state"], &status["note"], &status["until"], &status["text"]],
        "next": status["next"][0],
    })
}

fn named(body: &Value) -> Vec<String> {
    let items = body["items"].as_array().unwrap();
    items.iter().map(|item| format!("{}/{}", item["namespace"], item["name"]).replace('"', "")).collect()
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = campanile_core::retry::mix(self.0);
        self.0 % end
    }
}

/// A user, or time, does something to a schedule.
async fn happen(api: &Api, dice: &mut Dice) {
    let path = format!("/v1/schedules/a/s{}", dice.below(3));
    match dice.below(10) {
        0 | 1 => {
            let mut body = schedule(&json!([{"every": format!("{}m", 1 + dice.below(3))}]));
            body["display_name"] = format!("{}", dice.below(1_000)).into();
            body["max_firings"] = if dice.below(3) == 0 { json!(2) } else { Value::Null };
            api.put(&path, &body).await;
        }
        2 => drop(api.ask("DELETE", &path, &[], "").await),
        3 => drop(api.post(&format!("{path}/pause"), &json!({"note": "hold"})).await),
        4 => {
            let until = json!({"until": "2026-12-01T01:00:00Z"});
            drop(api.post(&format!("{path}/pause"), &until).await);
        }
        5 => drop(api.post(&format!("{path}/resume"), &json!({})).await),
        6 => drop(api.post(&format!("{path}/trigger"), &json!({})).await),
        7 => {
            let to = json!({"to": format!("2026-12-01T02:{:02}:30Z", dice.below(60))});
            drop(api.post(&format!("{path}/mark"), &to).await);
        }
        _ => {
            api.log.pass(Span::from_secs(20 + dice.below(200)));
            api.log.tick();
            api.log.work(Verdict::Succeeded);
        }
    }
}

#[tokio::test]
async fn what_is_told_as_of_an_entry_is_what_was_told_then() {
    for seed in 1..=6 {
        println!("SEED={seed}");
        let (api, mut dice) = (Api::leader(), Dice(seed));
        let mut then = Vec::new();
        for _ in 0..60 {
            happen(&api, &mut dice).await;
            let list = api.get("/v1/schedules").await.body;
            let mut shown = Vec::new();
            for name in named(&list) {
                shown.push((name.clone(), told(&api.get(&format!("/v1/schedules/{name}")).await.body)));
            }
            then.push((api.log.view().applied().0, api.log.now(), shown));
        }
        for (index, _, shown) in &then {
            for name in ["a/s0", "a/s1", "a/s2"] {
                let answer = api.get(&format!("/v1/schedules/{name}?as_of={index}")).await;
                match shown.iter().find(|(shown, _)| shown == name) {
                    Some((_, wanted)) => {
                        assert_eq!(told(&answer.body), *wanted, "seed {seed}, {name} as of {index}");
                    }
                    None => assert_eq!(answer.problem(), (404, "not_found"), "{name} as of {index}"),
                }
            }
            let list = api.get(&format!("/v1/schedules?as_of={index}")).await.body;
            let mut names = named(&list);
            names.sort();
            let wanted: Vec<&String> = shown.iter().map(|(name, _)| name).collect();
            assert_eq!(names.iter().collect::<Vec<_>>(), wanted, "seed {seed}, as of {index}");
        }
    }
}

#[tokio::test]
async fn an_instant_means_everything_that_was_decided_by_then() {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &minutely()).await;
    api.log.pass(Span::from_secs(90));
    api.log.tick();
    api.post("/v1/schedules/a/b/pause", &json!({"note": "quiet"})).await;
    api.log.pass(Span::from_secs(60));
    api.ask("DELETE", "/v1/schedules/a/b", &[], "").await;
    for (as_of, state, next, mark) in [
        ("2026-12-01T00:00:00Z", "active", json!(["2026-12-01T00:01:00Z"]), "2026-12-01T00:00:00Z"),
        ("2026-12-01T00:01:29.999Z", "active", json!(["2026-12-01T00:01:00Z"]), "2026-12-01T00:00:00Z"),
        ("2026-12-01T01:01:30%2B01:00", "paused", json!([]), "2026-12-01T00:01:00Z"),
        ("2026-12-01T00:02:00Z", "paused", json!([]), "2026-12-01T00:01:00Z"),
    ] {
        let list = api.get(&format!("/v1/schedules?as_of={as_of}")).await;
        let shown = &list.body["items"][0];
        let status = &shown["status"];
        assert_eq!(
            (&status["state"], &status["next"], &status["mark"]),
            (&json!(state), &next, &json!(mark)),
            "{as_of}"
        );
        assert_eq!(shown["stands"], false, "it has been removed since");
    }
    let gone = api.get("/v1/schedules/a/b?as_of=2026-12-01T00:02:30Z").await;
    assert_eq!(gone.problem(), (404, "not_found"));
    let early = api.get("/v1/schedules?as_of=2026-11-01T00:00:00Z").await;
    assert_eq!(early.body, json!({"items": []}), "nothing stood before the first entry");
    for (query, says) in [
        ("as_of=2027-01-01T00:00:00Z", "is to come"),
        ("as_of=99", "the last one is"),
        ("as_of=yesterday", "a log index or an RFC 3339 instant"),
        ("as_of=1&sort=next", "leave sort out"),
    ] {
        let refused = api.get(&format!("/v1/schedules?{query}")).await;
        assert_eq!(refused.problem(), (400, "bad_request"), "{query}");
        assert!(refused.text.contains(says), "{}", refused.text);
    }
}

#[tokio::test]
async fn pages_are_in_the_order_of_creation_and_keep_their_filters() {
    let api = Api::leader();
    for name in ["x/c", "y/b", "x/a", "x/d"] {
        api.put(&format!("/v1/schedules/{name}"), &minutely()).await;
    }
    let index = api.log.view().applied().0;
    api.put("/v1/schedules/x/later", &minutely()).await;
    let mut names = Vec::new();
    let mut path = format!("/v1/schedules?as_of={index}&namespace=x&limit=2");
    loop {
        let page = api.get(&path).await.body;
        names.extend(named(&page));
        let Some(token) = page["next_page_token"].as_str() else { break };
        path = format!("/v1/schedules?as_of={index}&namespace=x&limit=2&page_token={token}");
    }
    assert_eq!(names, ["x/c", "x/a", "x/d"]);
}

#[tokio::test]
async fn what_was_due_then_is_told_by_the_calendars_of_then() {
    let api = Api::leader();
    api.put("/v1/calendars/free", &json!({"dates": ["2026-12-02"]})).await;
    let mut body = schedule(&json!([{"cron": "0 12 * * *", "time_zone": "UTC"}]));
    body["exclude"] = json!([{"calendar": "free"}]);
    api.put("/v1/schedules/a/b", &body).await;
    api.log.pass(Span::from_secs(13 * 3_600));
    api.log.tick();
    let before = api.log.view().applied().0;
    api.put("/v1/calendars/free", &json!({"dates": ["2026-12-03"]})).await;
    let after = api.log.view().applied().0;
    for (index, next) in [(before, "2026-12-03T12:00:00Z"), (after, "2026-12-02T12:00:00Z")] {
        let shown = api.get(&format!("/v1/schedules/a/b?as_of={index}")).await.body;
        assert_eq!(shown["status"]["next"][0], next, "as of {index}");
    }
}

#[tokio::test]
async fn what_retention_has_passed_is_gone_and_what_was_told_again_is_known() {
    let api = Api::leader();
    api.put("/v1/schedules/a/old", &minutely()).await;
    api.put("/v1/schedules/a/gone", &minutely()).await;
    api.ask("DELETE", "/v1/schedules/a/gone", &[], "").await;
    api.post("/v1/schedules/a/old/pause", &json!({"note": "winter"})).await;
    let floor = api.log.view().applied().0 + 1;
    let told = |after| Body::Restate(Restate { after, most: 10 });
    api.log.commit(|_, _| Some(told(None)));
    api.log.pass(Span::from_secs(60));
    api.put("/v1/schedules/a/new", &minutely()).await;
    api.log.drop_before(floor);
    let now = api.log.view().applied().0;
    for path in [format!("/v1/schedules?as_of={}", floor - 1), "/v1/schedules/a/old?as_of=2".into()] {
        let expired = api.get(&path).await;
        assert_eq!(expired.problem(), (410, "watch_expired"), "{path}");
        assert!(expired.text.contains(&format!("from entry {floor} on")), "{}", expired.text);
    }
    let list = api.get(&format!("/v1/schedules?as_of={floor}")).await.body;
    assert_eq!(named(&list), ["a/old"]);
    let old = api.get(&format!("/v1/schedules/a/old?as_of={floor}")).await.body;
    assert_eq!((&old["status"]["state"], &old["status"]["note"]), (&json!("paused"), &json!("winter")));
    assert_eq!((&old["updated_at"], &old["updated_by"]), (&Value::Null, &json!("anonymous")));
    let list = api.get(&format!("/v1/schedules?as_of={now}")).await.body;
    assert_eq!(named(&list), ["a/old", "a/new"]);
    let gone = api.get(&format!("/v1/schedules/a/gone?as_of={now}")).await;
    assert_eq!(gone.problem(), (404, "not_found"));
}
