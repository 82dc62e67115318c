//! Hosts that do not answer: their circuit opens and holds nobody up, one request at a time finds out when they are back,
//! and their firings use no attempt up meanwhile.

use std::time::{Duration, Instant};

use campanile::clock::Clock;
use campanile::dispatch::breaker::{Circuit, LONGEST_PAUSE, THRESHOLD};
use campanile::dispatch::hosts::hosts;
use campanile_core::event::Event;
use campanile_core::time::Span;

use super::receiver::{Receiver, ok};
use super::stage::{Stage, in_time, on_demand, with_policy};

const LONGEST: Span = Span::from_secs(LONGEST_PAUSE.as_secs());

/// An address on which nobody listens.
fn closed() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// The circuit of that host, and how many requests in a row had no answer.
fn circuit(stage: &Stage, host: &str) -> Option<(Circuit, u32)> {
    let of_host = stage.desk().breakers().into_iter().find(|breaker| breaker.host == host)?;
    assert_eq!(of_host.open_until.is_some(), of_host.state == Circuit::Open);
    let now = Clock::system().now();
    let told = hosts(stage.desk(), now).into_iter().find(|told| told.host == host).unwrap();
    assert_eq!((told.state.as_str(), told.failures), (of_host.state.as_str(), of_host.failures));
    assert!(told.open_until.is_none_or(|until| until.0 >= now && until.0 <= now + LONGEST), "{told:?}");
    Some((of_host.state, of_host.failures))
}

/// A stage with a host that is down and has failed often enough, and so many firings that wait for it.
async fn down(firings: usize) -> (Stage, String) {
    let (stage, host) = (Stage::open(), closed());
    let patient =
        with_policy(on_demand(&format!("http://{host}/hook")), |policy| policy.retry.max_attempts = 100);
    stage.put("down/d", &patient).await;
    for _ in 0..firings {
        stage.trigger("down/d").await;
    }
    in_time(async {
        while !matches!(circuit(&stage, &host), Some((Circuit::Open, _))) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    (stage, host)
}

fn begun(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Begun { .. })).count()
}

/// How many attempts were answered with 200.
fn answered(events: &[Event]) -> usize {
    let is_ok = |event: &&Event| matches!(event, Event::Settled { report: Some(report), .. } if report.status == Some(200));
    events.iter().filter(is_ok).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_an_open_circuit_is_asked_nothing_and_holds_nobody_up() {
    let (stage, host) = down(30).await;
    let quick = Receiver::start(ok).await;
    stage.put("quick/q", &on_demand(&quick.url)).await;
    let asked = Instant::now();
    for n in 1..=10 {
        stage.trigger("quick/q").await;
        quick.wait_for(n).await;
    }
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    let (_, failures) = circuit(&stage, &host).unwrap();
    assert!(failures >= THRESHOLD, "{failures}");
    // What was under way when it opened has ended; beyond that only a probe a pause went there.
    let probes = usize::try_from(asked.elapsed().as_secs()).unwrap() + 1;
    let to_host = begun(&stage.log.events()) - 10;
    assert!(to_host <= 64 + THRESHOLD as usize + probes, "{to_host} attempts of 30 firings");
    stage.events(|events| answered(events) == 10).await;
    assert_eq!(stage.log.view().live_count(), 30, "they wait");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_at_a_time_finds_out_that_a_host_is_back() {
    let (stage, host) = down(20).await;
    let back = Receiver::holding_at(&host, "/", ok).await;
    back.wait_for(1).await;
    assert!(matches!(circuit(&stage, &host), Some((Circuit::HalfOpen, _))), "{:?}", circuit(&stage, &host));
    // Nineteen wait behind the one, whatever else is sent meanwhile.
    let quick = Receiver::start(ok).await;
    stage.put("quick/q", &on_demand(&quick.url)).await;
    for n in 1..=10 {
        stage.trigger("quick/q").await;
        quick.wait_for(n).await;
    }
    assert_eq!(back.seen().len(), 1);
    let told = hosts(stage.desk(), Clock::system().now());
    let told = told.iter().find(|told| told.host == host).unwrap();
    assert_eq!((told.in_flight, &*told.state), (1, "half_open"));
    assert_eq!(stage.desk().circuits_open(), 1);
    back.let_go(1_000);
    stage.events(|events| answered(events) == 30).await;
    in_time(stage.desk().idle()).await;
    assert_eq!(circuit(&stage, &host), None, "a host that answers is not kept");
    assert_eq!(stage.desk().hosts(), []);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_answers_with_errors_keeps_its_circuit_closed() {
    fn fails(_: u32) -> axum::response::Response {
        axum::response::IntoResponse::into_response(axum::http::StatusCode::INTERNAL_SERVER_ERROR)
    }
    let (stage, receiver) = (Stage::open(), Receiver::start(fails).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    for _ in 0..10 {
        stage.trigger("a/b").await;
    }
    stage.settled(50).await;
    assert_eq!(stage.desk().breakers(), []);
    stage.close().await;
}
