//! Several nodes over one log: who sends what, and that nothing is sent twice by a node that knows too little.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use bytes::Bytes;
use campanile::work;
use campanile_core::definition::Delivery;
use campanile_core::event::Event;

use super::receiver::{Receiver, Seen, ok};
use super::stage::{ROOMY, Stage, in_time, on_demand, with_policy};

/// How often each firing came.
fn times(seen: &[Seen]) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for seen in seen {
        *times.entry(seen.header("campanile-firing").to_owned()).or_default() += 1;
    }
    times
}

fn senders(seen: &[Seen]) -> BTreeSet<String> {
    seen.iter().map(|seen| seen.header("campanile-node").to_owned()).collect()
}

/// The index of the last entry.
fn last(stage: &Stage) -> u64 {
    stage.log.view().applied().0
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nodes_share_the_schedules_and_send_each_firing_once() {
    let (stage, receiver) = (Stage::cluster(3, ROOMY), Receiver::start(ok).await);
    for n in 0..30 {
        stage.put(&format!("a/s{n}"), &on_demand(&receiver.url)).await;
        stage.trigger(&format!("a/s{n}")).await;
    }
    stage.settled(30).await;
    let seen = receiver.seen();
    assert_eq!(times(&seen).into_values().collect::<Vec<_>>(), [1; 30]);
    assert_eq!(senders(&seen), ["1", "2", "3"].map(str::to_owned).into());
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_silent_node_would_send_is_sent_by_others() {
    let (mut stage, receiver) = (Stage::cluster(3, ROOMY), Receiver::start(ok).await);
    let gone = stage.members.pop().unwrap();
    gone.node.silent.store(true, Ordering::Relaxed);
    gone.stop.leave.cancel();
    for n in 0..30 {
        stage.put(&format!("a/s{n}"), &on_demand(&receiver.url)).await;
        stage.trigger(&format!("a/s{n}")).await;
    }
    stage.settled(30).await;
    let seen = receiver.seen();
    assert_eq!(times(&seen).into_values().collect::<Vec<_>>(), [1; 30]);
    assert!(!senders(&seen).contains("3"));
    gone.kill().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_whose_answer_was_lost_is_found_again_and_sent_once() {
    // Heard at the second try, after the node has stopped asking, and through the leader.
    for (nodes, lost) in [(1, 1), (1, usize::MAX), (2, 1), (2, usize::MAX)] {
        let (stage, receiver) = (Stage::cluster(nodes, ROOMY), Receiver::start(ok).await);
        if nodes == 2 {
            stage.members[0].stop.begin_nothing.cancel();
        }
        stage.put("a/b", &on_demand(&receiver.url)).await;
        let sender = stage.members.last().unwrap();
        sender.node.lose_answers.store(lost, Ordering::Relaxed);
        stage.trigger("a/b").await;
        stage.settled(1).await;
        sender.node.lose_answers.store(0, Ordering::Relaxed);
        in_time(sender.tools.desk.idle()).await;
        let attempts: Vec<u32> = receiver.seen().iter().map(Seen::attempt).collect();
        assert_eq!(attempts, [1], "{nodes} nodes, {lost} answers lost");
        let begun = |event: &&Event| matches!(event, Event::Begun { .. });
        assert_eq!(stage.log.events().iter().filter(begun).count(), 1);
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_applies_late_sends_no_attempt_twice() {
    fn second_time(attempt: u32) -> axum::response::Response {
        if attempt == 1 { StatusCode::INTERNAL_SERVER_ERROR.into_response() } else { ok(attempt) }
    }
    let (stage, receiver) = (Stage::cluster(2, ROOMY), Receiver::start(second_time).await);
    stage.members[0].stop.begin_nothing.cancel();
    stage.put("a/b", &on_demand(&receiver.url)).await;
    let late = &stage.members[1].node;
    // It sees that the firing waits and nothing of what it makes of it: not that it is begun, and not that it is settled.
    let fired = last(&stage) + 1;
    late.see_up_to(fired);
    stage.trigger("a/b").await;
    stage.settled(1).await;
    late.look_again(20).await;
    late.see_up_to(fired + 1);
    late.look_again(20).await;
    assert_eq!(receiver.seen().len(), 1, "the first attempt is over, whatever this node sees");
    late.see_all();
    stage.settled(2).await;
    assert_eq!(receiver.seen().iter().map(Seen::attempt).collect::<Vec<_>>(), [1, 2]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_has_just_started_sends_nothing_that_its_last_process_has_sent() {
    let (mut stage, receiver) = (Stage::cluster(2, ROOMY), Receiver::held(ok).await);
    stage.members[0].stop.begin_nothing.cancel();
    let once = with_policy(on_demand(&receiver.url), |policy| policy.delivery = Delivery::AtMostOnce);
    stage.put("a/b", &once).await;
    let fired = last(&stage) + 1;
    stage.trigger("a/b").await;
    receiver.wait_for(1).await;
    // Killed and started again: what it reads from its disk ends before its Begin.
    let killed = stage.members.pop().unwrap();
    killed.node.see_up_to(fired);
    let looks = killed.node.looks.load(Ordering::Relaxed);
    let started = killed.restart().await;
    started.node.looked(looks + 2).await;
    started.node.see_all();
    stage.put("a/c", &on_demand(&receiver.url)).await;
    let other = stage.trigger("a/c").await;
    let seen = receiver.wait_for(2).await;
    assert_eq!(seen[1].header("campanile-firing"), other.to_string());
    receiver.let_go(100);
    stage.settled(2).await;
    assert_eq!(receiver.seen().len(), 2);
    started.kill().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_of_requests_are_not_for_the_intake() {
    let stage = Stage::open();
    let member = &stage.members[0];
    let answer = |frame: &'static [u8]| {
        let (intake, node) = (member.tools.intake.clone(), member.node.clone());
        async move { work::answer(&intake, &*node, &Bytes::from_static(frame)).await }
    };
    assert_eq!(answer(&[1, 2, 3]).await, None);
    assert_eq!(answer(&[]).await, None);
    let refused = answer(b"W\0\0").await.unwrap();
    assert_eq!(refused[..2], [b'W', 1], "certainly not done");
    stage.close().await;
}
