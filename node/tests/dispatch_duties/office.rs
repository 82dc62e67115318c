//! What happens when an office is lost, and when a node is told to stop.

use campanile_core::event::Event;

use super::receiver::{Receiver, ok};
use super::stage::{Stage, in_time, on_demand};

fn begun(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Begun { .. })).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_office_begins_nothing_and_the_next_one_goes_on_from_the_machine() {
    let (mut stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    stage.trigger("a/b").await;
    stage.settled(1).await;
    in_time(stage.tools.desk.idle()).await;
    // Another node leads and decides firings; this one hears of them and does nothing.
    let other = stage.log.elect(2);
    stage.office.lose();
    stage.offices.send_replace(None);
    stage.office = other;
    for _ in 0..5 {
        stage.trigger("a/b").await;
    }
    assert_eq!(begun(&stage.log.events()), 1);
    // It leads again.
    let again = stage.log.elect(1);
    stage.offices.send_replace(Some(again));
    stage.settled(6).await;
    assert_eq!(receiver.seen().len(), 6);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_lost_office_cannot_settle_is_dropped_and_its_lease_stands() {
    let (stage, receiver) = (Stage::open(), Receiver::held(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    let id = stage.trigger("a/b").await;
    receiver.wait_for(1).await;
    stage.office.lose();
    stage.offices.send_replace(None);
    receiver.let_go(1);
    in_time(stage.tools.desk.idle()).await;
    assert!(stage.log.view().firing(id).is_some(), "it runs until its lease ends");
    assert_eq!(begun(&stage.log.events()), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_to_stop_begins_nothing_and_settles_what_is_under_way() {
    let (stage, receiver) = (Stage::open(), Receiver::held(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    stage.trigger("a/b").await;
    receiver.wait_for(1).await;
    stage.stop.begin_nothing.cancel();
    tokio::task::yield_now().await;
    let waiting = stage.trigger("a/b").await;
    receiver.let_go(100);
    stage.settled(1).await;
    in_time(stage.tools.desk.idle()).await;
    let firing = stage.log.view().firing(waiting).cloned().unwrap();
    assert_eq!(firing.attempt.0, 0, "the next leader begins it");
    stage.close().await;
}
