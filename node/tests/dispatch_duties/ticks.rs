//! The ticker: each instant once, none before its time, whatever happens to the replies.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use campanile_core::event::Event;
use campanile_core::id::Uid;
use campanile_core::time::Timestamp;

use super::receiver::{Receiver, ok};
use super::stage::{Stage, every_second, in_time};

/// How many schedules, each at its own millisecond of the second, so that ticks are many and small.
const SCHEDULES: i64 = 40;

fn nominals(events: &[Event]) -> BTreeMap<Uid, Vec<Timestamp>> {
    let mut nominals: BTreeMap<Uid, Vec<Timestamp>> = BTreeMap::new();
    for event in events {
        if let Event::Fired { firing, .. } = event {
            nominals.entry(firing.uid).or_default().push(firing.nominal);
        }
    }
    nominals
}

async fn put_all(stage: &Stage, url: &str) {
    for n in 0..SCHEDULES {
        stage.put(&format!("t/s{n}"), &every_second(url, n * 25)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_instant_is_decided_once_and_none_before_its_time() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    put_all(&stage, &receiver.url).await;
    let twice = |events: &[Event]| {
        let nominals = nominals(events);
        nominals.len() as i64 == SCHEDULES && nominals.values().all(|all| all.len() >= 2)
    };
    let events = stage.events(twice).await;
    for (uid, nominals) in nominals(&events) {
        let gaps: Vec<u64> = nominals.windows(2).map(|pair| pair[1].since(pair[0]).as_millis()).collect();
        assert!(gaps.iter().all(|gap| *gap == 1_000), "{uid}: {nominals:?}");
    }
    let now = campanile::clock::Clock::system().now();
    assert!(nominals(&events).values().flatten().all(|nominal| *nominal <= now));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ticks_whose_replies_are_lost_fire_nothing_twice() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    put_all(&stage, &receiver.url).await;
    stage.log.lose_replies.store(30, Ordering::Relaxed);
    let events = stage
        .events(|events| {
            let nominals = nominals(events);
            nominals.len() as i64 == SCHEDULES && nominals.values().all(|all| all.len() >= 2)
        })
        .await;
    for (uid, nominals) in nominals(&events) {
        assert!(
            nominals.windows(2).all(|pair| pair[1].since(pair[0]).as_millis() == 1_000),
            "{uid}: {nominals:?}"
        );
    }
    assert_eq!(stage.log.lose_replies.load(Ordering::Relaxed), 0, "replies were lost");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_outgrows_an_entry_is_committed_in_smaller_ones() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    stage.log.largest_tick.store(3, Ordering::Relaxed);
    for n in 0..SCHEDULES {
        stage.put(&format!("t/s{n}"), &every_second(&receiver.url, 0)).await;
    }
    let events = stage.events(|events| nominals(events).len() as i64 == SCHEDULES).await;
    let all = nominals(&events);
    assert!(all.values().all(|nominals| nominals.windows(2).all(|pair| pair[0] < pair[1])), "{all:?}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_clock_is_ahead_decides_nothing_settles_and_goes_on_when_it_is_right() {
    let (stage, receiver) = (Stage::open(), Receiver::held(ok).await);
    stage.put("a/slow", &every_second(&receiver.url, 0)).await;
    receiver.wait_for(1).await;
    // From here on the peers' clocks stand at this moment, and this one goes on.
    let stands = campanile::clock::Clock::system().now();
    stage.log.latest.store(stands.as_millis(), Ordering::Relaxed);
    // A tick or a Begin that was on its way is through once the reports of its attempts are settled.
    receiver.let_go(100);
    let decided =
        |events: &[Event]| events.iter().filter(|event| matches!(event, Event::Fired { .. })).count();
    let before = stage.settled(1).await;
    assert!(
        before.iter().all(|event| !matches!(event, Event::Fired { firing, .. } if firing.nominal > stands))
    );
    // The next two instants pass.
    in_time(async {
        while campanile::clock::Clock::system().now().since(stands).as_millis() < 2_100 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(decided(&stage.log.events()), decided(&before), "nothing is decided by a clock that is ahead");
    assert!(stage.log.view().clock() <= stands, "and the log's time does not follow it");

    stage.log.latest.store(i64::MAX, Ordering::Relaxed);
    let after = stage.events(|events| decided(events) >= decided(&before) + 3).await;
    let nominals = nominals(&after).into_values().next().unwrap();
    assert!(nominals.windows(2).all(|pair| pair[1].since(pair[0]).as_millis() == 1_000), "{nominals:?}");
    stage.close().await;
}
