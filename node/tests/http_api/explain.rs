//! Why a schedule ran, or did not: a table of situations, each brought about through the API and told in sentences.

mod fired;
mod skipped;
mod specs;
mod stood;

use campanile_core::attempt::Verdict;
use campanile_core::command::{Body, LeaderEpoch};
use campanile_core::id::{NodeId, Term};
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely, schedule};

/// A leader, and the minutely schedule `a/b`.
async fn with(change: Value) -> Api {
    let api = Api::leader();
    let mut body = minutely();
    body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    put(&api, "a/b", &body).await;
    api
}

async fn put(api: &Api, name: &str, body: &Value) {
    let answer = api.put(&format!("/v1/schedules/{name}"), body).await;
    assert!(answer.status.is_success(), "{}", answer.text);
}

async fn post(api: &Api, path: &str, body: Value) -> Value {
    let answer = api.post(&format!("/v1/schedules/a/b/{path}"), &body).await;
    assert!(answer.status.is_success(), "{}", answer.text);
    answer.body
}

/// Time passes, and what is due is decided.
fn pass(api: &Api, span: Span) {
    api.log.pass(span);
    api.log.tick();
}

/// Time passes, what is due is decided, and what is decided succeeds.
fn run(api: &Api, span: Span) {
    pass(api, span);
    api.log.work(Verdict::Succeeded);
}

/// Nobody leads for so long; then node 2 does.
fn change_leader(api: &Api, away: Span) {
    let since = api.log.now();
    api.log.pass(away);
    api.log.commit(|_, _| {
        Some(Body::LeaderEpoch(LeaderEpoch {
            node: NodeId(2),
            incarnation: 1,
            term: Term(2),
            ledger: None,
            leaderless_since: Some(since),
        }))
    });
}

/// The explanation, which must have that verdict and say all of that, in that order.
async fn says(api: &Api, name: &str, at: &str, verdict: &str, sentences: &[&str]) -> Value {
    let answer = api.get(&format!("/v1/explain/{name}?at={at}")).await;
    assert_eq!(answer.status, 200, "{at}: {}", answer.text);
    let text = answer.body["text"].as_str().unwrap();
    assert_eq!(answer.body["verdict"], verdict, "{at}: {text}");
    let mut rest = text;
    for sentence in sentences {
        let Some(place) = rest.find(sentence) else { panic!("{at}: {sentence:?} is not in {text:?}") };
        rest = &rest[place + sentence.len()..];
    }
    answer.body
}

/// `2026-12-01T00:MM:SSZ`.
fn minute(minutes: u32) -> String {
    format!("2026-12-01T{:02}:{:02}:00Z", minutes / 60, minutes % 60)
}

fn daily(time: &str, more: &Value) -> Value {
    let mut spec = json!({"cron": time, "time_zone": "Europe/Berlin"});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    schedule(&json!([spec]))
}
