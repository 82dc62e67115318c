//! How many requests at once: all together and to one host, and that a slow host holds up nobody but itself.

use campanile::dispatch::Limits;
use campanile_core::event::Event;

use super::receiver::{Receiver, ok};
use super::stage::{Stage, in_time, on_demand};

#[tokio::test(flavor = "multi_thread")]
async fn no_more_requests_are_under_way_than_there_are_seats() {
    let (stage, receiver) = (Stage::with(Limits { in_flight: 5, per_host: 64 }), Receiver::held(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    for _ in 0..20 {
        stage.trigger("a/b").await;
    }
    receiver.wait_for(5).await;
    receiver.let_go(1_000);
    stage.settled(20).await;
    let seen = receiver.seen();
    assert_eq!(seen.len(), 20);
    let most = seen.iter().map(|seen| seen.beside).max().unwrap();
    assert_eq!(most, 5, "the seats are used, and no more of them");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_at_its_limit_holds_up_nobody_else() {
    let stage = Stage::with(Limits { in_flight: 64, per_host: 2 });
    let (slow, quick) = (Receiver::held(ok).await, Receiver::start(ok).await);
    stage.put("slow/s", &on_demand(&slow.url)).await;
    stage.put("quick/q", &on_demand(&quick.url)).await;
    for _ in 0..50 {
        stage.trigger("slow/s").await;
    }
    slow.wait_for(2).await;
    for _ in 0..10 {
        stage.trigger("quick/q").await;
    }
    quick.wait_for(10).await;
    assert_eq!(slow.seen().len(), 2, "the slow host has two seats");
    slow.let_go(1_000);
    stage.settled(60).await;
    assert_eq!(slow.seen().len(), 50);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_begun_in_batches_and_each_firing_once() {
    let (stage, receiver) =
        (Stage::with(Limits { in_flight: 1_024, per_host: 1_024 }), Receiver::start(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    let mut fired = Vec::new();
    for _ in 0..200 {
        fired.push(stage.trigger("a/b").await);
    }
    let events = stage.settled(200).await;
    in_time(stage.tools.desk.idle()).await;
    let mut begun: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Begun { firing, .. } => Some(*firing),
            _ => None,
        })
        .collect();
    begun.sort_unstable();
    fired.sort_unstable();
    assert_eq!(begun, fired);
    assert_eq!(receiver.seen().len(), 200);
    assert_eq!(stage.tools.desk.in_flight(), 0);
    stage.close().await;
}
