//! A request under way whose firing is to stop, or is over: cut off at once, and settled only when that is still asked for.

use std::time::{Duration, Instant};

use campanile_core::attempt::Verdict;
use campanile_core::command::{Body, CancelFiring, Request};
use campanile_core::definition::Overlap;
use campanile_core::event::{Event, Outcome};
use campanile_core::firing::EndState;
use campanile_core::reply::Reply;

use super::receiver::{Receiver, ok};
use super::stage::{Stage, in_time, on_demand, with_policy};

/// Far below the timeout of the request (20 s), far above what a loaded machine needs.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A schedule with that overlap policy, one of whose firings is under way at a receiver that never answers.
async fn one_hangs(overlap: Overlap) -> (Stage, Receiver, campanile_core::firing::FiringId) {
    let (stage, receiver) = (Stage::open(), Receiver::held(ok).await);
    let definition = with_policy(on_demand(&receiver.url), |policy| policy.overlap = overlap);
    stage.put("a/b", &definition).await;
    let first = stage.trigger("a/b").await;
    receiver.wait_for(1).await;
    (stage, receiver, first)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_asked_to_stop_is_cut_off_and_makes_room_for_the_newer_firing() {
    let (stage, receiver, first) = one_hangs(Overlap::Replace).await;
    let asked = Instant::now();
    let second = stage.trigger("a/b").await;
    receiver.wait_for_hang_ups(1).await;
    let seen = receiver.wait_for(2).await;
    assert!(asked.elapsed() < AT_ONCE, "{:?}", asked.elapsed());
    assert_eq!(seen[1].header("campanile-firing"), second.to_string());
    let events = stage.settled(1).await;
    let settled = events.iter().find_map(|event| match event {
        Event::Settled { firing, report: Some(report), outcome: Outcome::End { state, .. }, .. } => {
            Some((*firing, report.verdict, report.status, *state))
        }
        _ => None,
    });
    assert_eq!(settled, Some((first, Verdict::Stopped, None, EndState::Cancelled)));
    receiver.let_go(1);
    stage.settled(2).await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_firing_is_terminated_is_cut_off_and_settles_nothing() {
    let (stage, receiver, first) = one_hangs(Overlap::Terminate).await;
    let second = stage.trigger("a/b").await;
    receiver.wait_for_hang_ups(1).await;
    receiver.wait_for(2).await;
    receiver.let_go(1);
    in_time(stage.desk().idle()).await;
    let events = stage.settled(2).await;
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Settled { firing, report, .. } => Some((*firing, report.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [(first, false), (second, true)], "nothing was reported of the first");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_firing_is_cancelled_by_a_user_is_cut_off_and_frees_its_seat() {
    let (stage, receiver, first) = one_hangs(Overlap::Allow).await;
    let request = Request { by: "alice".into(), key: None };
    let cancel = Body::CancelFiring(CancelFiring { firing: first, request });
    assert_eq!(stage.propose(move |_, _| Some(cancel)).await, Some(Reply::Cancelled));
    receiver.wait_for_hang_ups(1).await;
    in_time(stage.desk().idle()).await;
    assert_eq!(stage.desk().in_flight(), 0);
    assert_eq!(stage.log.settles.load(std::sync::atomic::Ordering::Relaxed), 0, "its token is dead");
    stage.close().await;
}
