//! What a request says beside its payload: signatures, the headers of CloudEvents, what a notice tells, what caused a firing;
//! and how long it may take under a deadline.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use campanile::clock::Clock;
use campanile::dispatch::Limits;
use campanile::dispatch::sign::{Signed, SigningKey, TOLERANCE, Unverified, verify};
use campanile_core::attempt::Verdict;
use campanile_core::command::{Body, Condition, DeleteSecret, PutSecret, Request};
use campanile_core::cron::instant_text;
use campanile_core::definition::{Action, Definition, ScheduleName, Target, Webhook};
use campanile_core::event::{Event, Outcome};
use campanile_core::firing::EndState;
use campanile_core::reply::{Change, Reply};
use campanile_core::secret::SecretText;
use campanile_core::time::Span;
use serde_json::{Value, json};
use standardwebhooks::Webhook as Oracle;

use super::receiver::{Receiver, Seen, ok};
use super::stage::{Stage, on_demand, with_policy, with_webhook};

const OLD: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const NEW: &str = "whsec_HxAeHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgE=";

fn request() -> Request {
    Request { by: "test".into(), key: None }
}

/// Puts a secret; the one before goes on to sign for an hour.
async fn put_secret(stage: &Stage, name: &str, text: &str) {
    let put = PutSecret {
        name: name.into(),
        text: SecretText::new(text),
        keep_previous: Span::from_secs(3_600),
        condition: Condition::None,
        request: request(),
    };
    let reply = stage.propose(|_, _| Some(Body::PutSecret(put))).await;
    assert!(matches!(reply, Some(Reply::Secret(Change::Created | Change::Changed, _))), "{reply:?}");
}

fn signed_by(definition: Definition, name: &str) -> Definition {
    with_webhook(definition, |webhook| webhook.secret = Some(name.into()))
}

/// Whether a receiver with that key believes a request: by the crate `standardwebhooks`, and by this product's own check.
fn believes(key: &str, seen: &Seen, body: &str) -> bool {
    let mut headers = HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        headers.insert(name, seen.header(name).parse().unwrap());
    }
    let by_oracle = Oracle::new(key).unwrap().verify(body.as_bytes(), &headers).is_ok();
    let signed = Signed {
        id: seen.header("webhook-id"),
        timestamp: seen.header("webhook-timestamp"),
        signature: seen.header("webhook-signature"),
    };
    let now = Clock::system().now().as_millis() / 1_000;
    let verified = verify([&SigningKey::read(key).unwrap()], signed, body.as_bytes(), now, TOLERANCE);
    assert_eq!(verified, if by_oracle { Ok(()) } else { Err(Unverified::NoMatch) });
    by_oracle
}

/// What the last attempt was reported with.
fn last_report(events: &[Event]) -> (Verdict, String) {
    let report = events.iter().rev().find_map(|event| match event {
        Event::Settled { report: Some(report), .. } => Some(report),
        _ => None,
    });
    report.map(|report| (report.verdict, report.error.to_string())).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_signed_with_the_secret_that_its_target_names_and_with_two_while_it_is_exchanged() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    put_secret(&stage, "hook", OLD).await;
    stage.put("a/b", &signed_by(on_demand(&receiver.url), "hook")).await;
    stage.trigger("a/b").await;
    let first = receiver.wait_for(1).await.remove(0);
    assert_eq!(first.header("webhook-id"), first.header("campanile-firing"));
    assert_eq!(first.header("webhook-signature").split(' ').count(), 1);
    assert_eq!([OLD, NEW].map(|key| believes(key, &first, &first.body)), [true, false]);
    assert!(!believes(OLD, &first, "{\"kind\":\"none\"}"), "another body");
    put_secret(&stage, "hook", NEW).await;
    stage.trigger("a/b").await;
    let second = receiver.wait_for(2).await.remove(1);
    assert_eq!(second.header("webhook-signature").split(' ').count(), 2);
    assert_eq!([OLD, NEW].map(|key| believes(key, &second, &second.body)), [true, true]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_secret_there_is_no_signature() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    stage.trigger("a/b").await;
    assert!(!receiver.wait_for(1).await[0].headers.contains_key("webhook-signature"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_gone_or_is_no_key_fails_the_firing_with_the_reason_and_nothing_is_sent() {
    let stage = Stage::with(Limits { in_flight: 1, per_host: 2 });
    let receiver = Receiver::held(ok).await;
    put_secret(&stage, "hook", OLD).await;
    put_secret(&stage, "word", "sesame").await;
    stage.put("a/blocks", &on_demand(&receiver.url)).await;
    stage.trigger("a/blocks").await;
    receiver.wait_for(1).await;
    // What waits for a seat keeps the definition that fired it; the next one names no secret.
    stage.put("a/b", &signed_by(on_demand(&receiver.url), "hook")).await;
    stage.trigger("a/b").await;
    stage.put("a/b", &on_demand(&receiver.url)).await;
    let delete = DeleteSecret { name: "hook".into(), condition: Condition::None, request: request() };
    let deleted = stage.propose(|_, _| Some(Body::DeleteSecret(delete))).await;
    assert_eq!(deleted, Some(Reply::Deleted(true)));
    receiver.let_go(1);
    assert_eq!(last_report(&stage.settled(2).await), (Verdict::Refused, "there is no secret hook".into()));
    stage.put("a/c", &signed_by(on_demand(&receiver.url), "word")).await;
    stage.trigger("a/c").await;
    let (verdict, error) = last_report(&stage.settled(3).await);
    assert_eq!(verdict, Verdict::Refused);
    assert!(error.starts_with("the secret word does not begin with whsec_"), "{error}");
    assert!(!error.contains("sesame"), "{error}");
    assert_eq!(receiver.seen().len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_asks_for_it_gets_the_headers_of_cloud_events_around_the_same_body() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    let definition = with_webhook(on_demand(&receiver.url), |webhook| webhook.cloud_events = true);
    stage.put("billing/run", &definition).await;
    let id = stage.trigger("billing/run").await;
    let seen = receiver.wait_for(1).await.remove(0);
    let of_events = seen.headers.iter().filter(|(name, _)| name.starts_with("ce-"));
    let told: Vec<_> = of_events.map(|(name, value)| (name.as_str(), value.clone())).collect();
    let expected = [
        ("ce-id", id.to_string()),
        ("ce-source", "/schedules/billing/run".into()),
        ("ce-specversion", "1.0".into()),
        ("ce-time", instant_text(id.nominal)),
        ("ce-type", "dev.campanile.firing".into()),
    ];
    assert_eq!(told, expected);
    assert_eq!(
        (seen.header("content-type"), seen.body.as_str()),
        ("application/json", "{\"kind\":\"full\"}")
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_tells_another_target_how_a_firing_ended() {
    fn refuses(_: u32) -> axum::response::Response {
        (StatusCode::BAD_REQUEST, "no").into_response()
    }
    let (stage, receiver, told) = (Stage::open(), Receiver::start(refuses).await, Receiver::start(ok).await);
    let notify = Action::Notify(Target::Webhook(Box::new(Webhook::new(&format!("{}/told", told.url)))));
    let definition = Definition { on_failure: Some(Box::new(notify)), ..on_demand(&receiver.url) };
    stage.put("a/b", &definition).await;
    let id = stage.trigger("a/b").await;
    let seen = told.wait_for(1).await.remove(0);
    let mut body: Value = serde_json::from_str(&seen.body).unwrap();
    let decided_at = body.as_object_mut().unwrap().remove("decided_at").unwrap();
    assert!(campanile_core::cron::parse_instant(decided_at.as_str().unwrap()).is_some(), "{decided_at}");
    let told_of = json!({
        "firing": id.to_string(), "schedule": "a/b", "uid": id.uid.to_string(), "nominal": instant_text(id.nominal),
        "run": 0, "state": "failed", "attempts": 1, "status": 400, "error": null,
    });
    assert_eq!(body, told_of);
    assert_eq!(seen.path, "/told");
    for (name, value) in [
        ("campanile-cause", id.to_string().as_str()),
        ("campanile-kind", "notice"),
        ("campanile-schedule", "a/b"),
        ("campanile-attempt", "1"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(seen.header(name), value, "{name}");
    }
    assert_ne!(seen.header("campanile-firing"), id.to_string(), "a notice is a firing of its own");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_firing_that_follows_another_names_it() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    stage.put("a/next", &on_demand(&format!("{}/next", receiver.url))).await;
    let next = Action::Trigger(ScheduleName::parse("a/next").unwrap());
    let first =
        Definition { on_success: Some(Box::new(next)), ..on_demand(&format!("{}/first", receiver.url)) };
    stage.put("a/first", &first).await;
    let id = stage.trigger("a/first").await;
    let seen = receiver.wait_for(2).await;
    let told = |seen: &Seen| {
        ["campanile-schedule", "campanile-kind", "campanile-cause"].map(|name| seen.header(name).to_owned())
    };
    assert_eq!(told(&seen[0]), ["a/first", "manual", ""]);
    assert_eq!(told(&seen[1]), ["a/next", "chained", id.to_string().as_str()]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_cuts_a_request_short_however_short_it_is() {
    let (stage, receiver) = (Stage::open(), Receiver::held(ok).await);
    let definition = with_policy(on_demand(&receiver.url), |policy| {
        policy.deadline = Some(Span::from_secs(1));
        policy.retry.max_attempts = 1;
    });
    stage.put("a/b", &definition).await;
    let asked = Instant::now();
    stage.trigger("a/b").await;
    receiver.wait_for_hang_ups(1).await;
    let events = stage.settled(1).await;
    assert!(asked.elapsed() < Duration::from_secs(10), "its timeout is 20 s: {:?}", asked.elapsed());
    let lease = events.iter().find_map(|event| match event {
        Event::Begun { lease, .. } => Some(lease.until.since(lease.begun_at)),
        _ => None,
    });
    assert!(lease.unwrap() <= Span::from_secs(1), "{lease:?}");
    let end = events.iter().find_map(|event| match event {
        Event::Settled { outcome: Outcome::End { state, .. }, .. } => Some(*state),
        _ => None,
    });
    assert_eq!(end, Some(EndState::TimedOut));
    stage.close().await;
}
