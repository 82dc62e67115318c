//! What happens to what is under way when who leads changes, and when a node is told to stop.

use std::sync::atomic::Ordering;

use campanile_core::attempt::Verdict;
use campanile_core::event::{Event, Outcome};
use campanile_core::firing::{EndState, FiringId};

use super::receiver::{Receiver, ok};
use super::stage::{ROOMY, Stage, in_time, on_demand};

fn begun(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Begun { .. })).count()
}

/// The reports, each with how its firing ended.
fn reports(events: &[Event]) -> Vec<(FiringId, Option<Verdict>, Option<EndState>)> {
    let told = |event: &Event| match event {
        Event::Settled { firing, report, outcome, .. } => {
            let end = match outcome {
                Outcome::Retry { .. } => None,
                Outcome::End { state, .. } => Some(*state),
            };
            Some((*firing, report.as_ref().map(|report| report.verdict), end))
        }
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

const DONE: (Option<Verdict>, Option<EndState>) = (Some(Verdict::Succeeded), Some(EndState::Succeeded));

#[tokio::test(flavor = "multi_thread")]
async fn a_report_survives_a_time_without_a_leader_and_lost_answers_and_is_settled_once() {
    let (stage, receiver) = (Stage::cluster(2, ROOMY), Receiver::held(ok).await);
    stage.members[0].stop.begin_nothing.cancel();
    stage.put("a/b", &on_demand(&receiver.url)).await;
    let id = stage.trigger("a/b").await;
    assert_eq!(receiver.wait_for(1).await[0].header("campanile-node"), "2");
    let sender = &stage.members[1];
    assert!(sender.node.forwarded.load(Ordering::Relaxed) > 0, "it began through the leader");
    stage.depose();
    receiver.let_go(1);
    sender.node.look_again(10).await;
    assert_eq!(reports(&stage.log.events()), [], "nobody leads");
    assert!(stage.log.view().firing(id).is_some());
    // The first leader is back, and is not heard; then the node that has something to report leads itself.
    sender.node.lose_answers.store(1, Ordering::Relaxed);
    stage.elect(1);
    stage.settled(1).await;
    stage.elect(2);
    in_time(sender.tools.desk.idle()).await;
    assert_eq!(reports(&stage.log.events()), [(id, DONE.0, DONE.1)]);
    assert_eq!(receiver.seen().len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_leader_begins_once_there_is_one() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    stage.trigger("a/b").await;
    stage.settled(1).await;
    in_time(stage.desk().idle()).await;
    let office = stage.offices.borrow().clone().unwrap();
    office.lose();
    let other = stage.log.elect(2);
    stage.offices.send_replace(Some(other));
    for _ in 0..5 {
        stage.trigger("a/b").await;
    }
    // Its Begin is carried for two seconds before it looks again.
    stage.members[0].node.look_again(1).await;
    assert_eq!(begun(&stage.log.events()), 1, "the leader does not answer");
    stage.elect(1);
    stage.settled(6).await;
    assert_eq!(receiver.seen().len(), 6);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_to_stop_begins_nothing_and_settles_what_is_under_way() {
    let (stage, receiver) = (Stage::open(), Receiver::held(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    stage.trigger("a/b").await;
    receiver.wait_for(1).await;
    stage.members[0].stop.begin_nothing.cancel();
    tokio::task::yield_now().await;
    let waiting = stage.trigger("a/b").await;
    receiver.let_go(100);
    stage.settled(1).await;
    in_time(stage.desk().idle()).await;
    let firing = stage.log.view().firing(waiting).cloned().unwrap();
    assert_eq!(firing.attempt.0, 0, "another node begins it");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_that_is_on_its_way_when_a_node_is_to_stop_is_not_lost() {
    let (stage, receiver) = (Stage::cluster(2, ROOMY), Receiver::start(ok).await);
    stage.members[0].stop.begin_nothing.cancel();
    stage.put("a/b", &on_demand(&receiver.url)).await;
    // Its first answer is lost, so that its Begin is known to the log for a while and not to the node.
    stage.members[1].node.lose_answers.store(1, Ordering::Relaxed);
    stage.trigger("a/b").await;
    stage.events(|events| begun(events) == 1).await;
    stage.members[1].stop.begin_nothing.cancel();
    stage.settled(1).await;
    in_time(stage.members[1].tools.desk.idle()).await;
    assert_eq!(receiver.seen().len(), 1);
    stage.close().await;
}
