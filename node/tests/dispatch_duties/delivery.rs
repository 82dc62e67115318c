//! One firing: begun, sent, settled, tried again, given up.

use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use campanile_core::attempt::{Holder, Verdict};
use campanile_core::definition::Delivery;
use campanile_core::event::{Event, Outcome};
use campanile_core::firing::EndState;
use campanile_core::id::NodeId;
use campanile_core::schedule::State;
use campanile_core::time::Span;
use tokio::io::AsyncReadExt as _;

use super::receiver::{Receiver, ok};
use super::stage::{Stage, in_time, on_demand, with_policy, with_webhook};

/// What stands in the ledger of each attempt: its number, what came of it, and how the firing ended if it did.
fn story(events: &[Event]) -> Vec<(u32, Option<Verdict>, Option<EndState>)> {
    let told = |event: &Event| match event {
        Event::Settled { attempt, report, outcome, .. } => {
            let end = match outcome {
                Outcome::Retry { .. } => None,
                Outcome::End { state, .. } => Some(*state),
            };
            Some((attempt.0, report.as_ref().map(|report| report.verdict), end))
        }
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

const AGAIN: Option<Verdict> = Some(Verdict::Retry { not_before: None });

#[tokio::test(flavor = "multi_thread")]
async fn a_firing_is_begun_before_it_is_sent_and_carries_what_was_committed() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    stage.put("billing/run", &on_demand(&format!("{}/hook", receiver.url))).await;
    let id = stage.trigger("billing/run").await;
    let seen = receiver.wait_for(1).await.remove(0);
    let events = stage.settled(1).await;
    let begun = events.iter().position(|event| matches!(event, Event::Begun { .. })).unwrap();
    let settled = events.iter().position(|event| matches!(event, Event::Settled { .. })).unwrap();
    assert!(begun < settled);
    let Event::Begun { firing, lease } = &events[begun] else { unreachable!() };
    assert_eq!((*firing, &lease.holder, lease.attempt.0), (id, &Holder::Node(NodeId(1)), 1));
    let lasts = lease.until.since(lease.begun_at);
    assert_eq!(lasts, Span::from_secs(30), "20 s for the attempt, 10 s to report it");
    for (name, value) in [
        ("idempotency-key", id.to_string()),
        ("campanile-firing", id.to_string()),
        ("campanile-schedule", "billing/run".into()),
        ("campanile-nominal", campanile_core::cron::instant_text(id.nominal)),
        ("campanile-attempt", "1".into()),
        ("campanile-kind", "manual".into()),
        ("campanile-run", "0".into()),
        ("campanile-fencing-token", lease.fencing_token.to_string()),
        ("campanile-node", "1".into()),
        ("webhook-id", id.to_string()),
        ("content-type", "application/json".into()),
        ("x-env", "test".into()),
        ("user-agent", concat!("campanile/", env!("CARGO_PKG_VERSION")).into()),
    ] {
        assert_eq!(seen.header(name), value, "{name}");
    }
    let trace = seen.header("traceparent");
    assert!(trace.starts_with("00-") && trace.len() == 55, "{trace}");
    assert_eq!((seen.path.as_str(), seen.body.as_str()), ("/hook", "{\"kind\":\"full\"}"));
    let Event::Settled { report: Some(report), .. } = &events[settled] else {
        panic!("{:?}", events[settled])
    };
    assert_eq!((report.verdict, report.status, &*report.output), (Verdict::Succeeded, Some(200), "done"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_fails_is_tried_again_under_a_greater_token_until_it_does_not() {
    fn third_time(attempt: u32) -> axum::response::Response {
        if attempt < 3 { StatusCode::INTERNAL_SERVER_ERROR.into_response() } else { ok(attempt) }
    }
    let (stage, receiver) = (Stage::open(), Receiver::start(third_time).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    stage.trigger("a/b").await;
    let events = stage.settled(3).await;
    assert_eq!(
        story(&events),
        [(1, AGAIN, None), (2, AGAIN, None), (3, Some(Verdict::Succeeded), Some(EndState::Succeeded))]
    );
    let seen = receiver.seen();
    let tokens: Vec<u64> =
        seen.iter().map(|seen| seen.header("campanile-fencing-token").parse().unwrap()).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    assert!(
        seen.iter().all(|request| request.header("idempotency-key") == seen[0].header("idempotency-key"))
    );
    assert!(
        seen.iter().all(|request| request.header("traceparent")[..35] == seen[0].header("traceparent")[..35])
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_refuses_is_not_asked_again_and_a_redirect_is_not_followed() {
    fn elsewhere(_: u32) -> axum::response::Response {
        (StatusCode::TEMPORARY_REDIRECT, [("location", "/elsewhere")]).into_response()
    }
    let (stage, receiver) = (Stage::open(), Receiver::start(elsewhere).await);
    stage.put("a/b", &on_demand(&format!("{}/here", receiver.url))).await;
    stage.trigger("a/b").await;
    assert_eq!(story(&stage.settled(1).await), [(1, Some(Verdict::Refused), Some(EndState::Failed))]);
    assert_eq!(receiver.seen().iter().map(|seen| seen.path.clone()).collect::<Vec<_>>(), ["/here"]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_pauses_its_schedule() {
    fn gone(_: u32) -> axum::response::Response {
        StatusCode::GONE.into_response()
    }
    let (stage, receiver) = (Stage::open(), Receiver::start(gone).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    let id = stage.trigger("a/b").await;
    assert_eq!(story(&stage.settled(1).await), [(1, Some(Verdict::Gone), Some(EndState::Failed))]);
    let schedule = stage.log.view().schedule(id.uid).unwrap().clone();
    assert!(matches!(schedule.state, State::Paused { .. }), "{:?}", schedule.state);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_listens_is_certain_so_even_at_most_once_tries_again() {
    let stage = Stage::open();
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let once = with_policy(on_demand(&format!("http://{closed}")), |policy| {
        policy.delivery = Delivery::AtMostOnce;
        policy.retry.max_attempts = 2;
    });
    stage.put("a/b", &once).await;
    stage.trigger("a/b").await;
    let not_sent = Some(Verdict::NotSent);
    assert_eq!(story(&stage.settled(2).await), [(1, not_sent, None), (2, not_sent, Some(EndState::Failed))]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_before_the_answer_is_unknown_when_it_may_be_sent_once_only() {
    let stage = Stage::open();
    let breaks = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let once = with_policy(on_demand(&format!("http://{}", breaks.local_addr().unwrap())), |policy| {
        policy.delivery = Delivery::AtMostOnce;
    });
    stage.put("a/b", &once).await;
    stage.trigger("a/b").await;
    let (mut connection, _) = breaks.accept().await.unwrap();
    assert!(connection.read_u8().await.is_ok(), "the request has left");
    drop(connection);
    assert_eq!(story(&stage.settled(1).await), [(1, Some(Verdict::Broken), Some(EndState::Unknown))]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_come_in_time_is_unknown_when_it_may_be_sent_once_only() {
    let (stage, receiver) = (Stage::open(), Receiver::held(ok).await);
    let once = with_policy(on_demand(&receiver.url), |policy| policy.delivery = Delivery::AtMostOnce);
    let once = with_webhook(once, |webhook| webhook.timeout = Span::from_millis(500));
    stage.put("a/b", &once).await;
    stage.trigger("a/b").await;
    assert_eq!(story(&stage.settled(1).await), [(1, Some(Verdict::TimedOut), Some(EndState::Unknown))]);
    assert!(receiver.seen().len() <= 1, "never a second time");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_cannot_be_built_is_refused_at_once() {
    let stage = Stage::open();
    let definition = with_webhook(on_demand("http://127.0.0.1:1/"), |webhook| {
        webhook.headers.insert("x-broken".into(), "a\nb".into());
    });
    stage.put("a/b", &definition).await;
    stage.trigger("a/b").await;
    assert_eq!(story(&stage.settled(1).await), [(1, Some(Verdict::Refused), Some(EndState::Failed))]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_that_are_lost_settle_an_attempt_once_and_send_it_once() {
    let (stage, receiver) = (Stage::open(), Receiver::held(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    stage.trigger("a/b").await;
    receiver.wait_for(1).await;
    stage.members[0].node.lose_answers.store(3, Ordering::Relaxed);
    receiver.let_go(100);
    in_time(stage.desk().idle()).await;
    assert_eq!(story(&stage.log.events()), [(1, Some(Verdict::Succeeded), Some(EndState::Succeeded))]);
    assert_eq!(receiver.seen().len(), 1);
    let settles = stage.log.settles.load(Ordering::Relaxed);
    assert_eq!(settles, 4, "three replies were lost, so the fourth was heard");
    stage.close().await;
}
