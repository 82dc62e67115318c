//! How many requests at once: all together and to one host, and that a slow host holds up nobody but itself.

use std::time::{Duration, Instant};

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
    let stage = Stage::with(Limits { in_flight: 64, per_host: 4 });
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
    assert_eq!(slow.seen().len(), 2, "a schedule has half of the seats of its host");
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
    in_time(stage.desk().idle()).await;
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
    assert_eq!(stage.desk().in_flight(), 0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_schedule_leaves_seats_to_its_neighbour_on_the_same_host() {
    let stage = Stage::with(Limits { in_flight: 64, per_host: 4 });
    let receiver = Receiver::holding("/slow", ok).await;
    stage.put("a/slow", &on_demand(&format!("{}/slow", receiver.url))).await;
    stage.put("a/quick", &on_demand(&format!("{}/quick", receiver.url))).await;
    for _ in 0..10 {
        stage.trigger("a/slow").await;
    }
    receiver.wait_for(2).await;
    for _ in 0..10 {
        stage.trigger("a/quick").await;
    }
    let seen = receiver.wait_for(12).await;
    let of = |path| seen.iter().filter(|seen| seen.path == path).count();
    assert_eq!((of("/slow"), of("/quick")), (2, 10));
    receiver.let_go(1_000);
    stage.settled(20).await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_of_ten_thousand_to_a_host_that_is_full_does_not_delay_another_host() {
    let stage = Stage::with(Limits { in_flight: 64, per_host: 4 });
    let (full, other) = (Receiver::held(ok).await, Receiver::start(ok).await);
    for n in 0..100 {
        stage.put(&format!("full/f{n}"), &on_demand(&full.url)).await;
    }
    for n in 0..10_000 {
        stage.trigger(&format!("full/f{}", n % 100)).await;
    }
    full.wait_for(4).await;
    stage.put("other/o", &on_demand(&other.url)).await;
    let mut slowest = Duration::ZERO;
    for n in 1..=20 {
        let asked = Instant::now();
        stage.trigger("other/o").await;
        other.wait_for(n).await;
        slowest = slowest.max(asked.elapsed());
    }
    // Milliseconds; what is left is for a machine that does other things too. To walk the backlog takes longer.
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    assert_eq!((full.seen().len(), stage.log.view().live_count() >= 10_000), (4, true));
    stage.close().await;
}
