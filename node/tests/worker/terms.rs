//! How long a lease is held: by the worker's own clock, from before it was asked for.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use campanile::client::worker::{Job, Outcome, Stop, Totals};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fake::Queue;
use super::library::{lasting, wait, worker};
use super::node::{Mood, Node, Verb};

/// Runs a worker whose jobs do nothing until they have to stop; tells why and when the first had to.
async fn until_stopped(queue: &Queue, node: &Node, ttl: Duration) -> (Stop, Duration, Totals) {
    let stop = CancellationToken::new();
    let told = Arc::new(Mutex::new(None));
    let (began, heard, end) = (Instant::now(), told.clone(), stop.clone());
    let run = worker(&[node], lasting(ttl)).run(
        move |job: Job| {
            let (heard, end) = (heard.clone(), end.clone());
            async move {
                let why = job.stopped().await;
                heard.lock().unwrap().get_or_insert((why, began.elapsed()));
                end.cancel();
                Outcome::cancelled()
            }
        },
        stop,
    );
    let totals = run.await.unwrap();
    let (why, when) = told.lock().unwrap().take().unwrap();
    assert_eq!(queue.change(|state| state.leases.len()), 1);
    (why, when, totals)
}

#[tokio::test]
async fn a_lease_is_lost_at_its_end_though_its_renewal_still_hangs() {
    // B157: with little left, the renewal blocks for longer than that.
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    node.set(Verb::Heartbeat, Mood::Silent);
    let ttl = Duration::from_secs(1);
    let (why, when, totals) = until_stopped(&queue, &node, ttl).await;
    assert_eq!((why, totals), (Stop::Expired, Totals { settled: 0, lost: 1 }));
    assert!(when >= ttl * 9 / 10, "not before its end: {when:?}");
    let (settled, late) = queue.change(|state| {
        let lease = &state.leases[0];
        (lease.settle_keys.len(), Instant::now().duration_since(lease.until))
    });
    assert_eq!(settled, 0, "the outcome of a lost lease is not reported");
    // The holder knew no later than the queue, but for what it took to wake up.
    assert!(late < Duration::from_secs(20), "{late:?}");
}

#[tokio::test]
async fn a_lease_that_is_refused_is_lost_at_the_next_heartbeat() {
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    node.set(Verb::Heartbeat, Mood::Problem(409, "lease_lost"));
    let (why, when, totals) = until_stopped(&queue, &node, Duration::from_secs(3)).await;
    assert_eq!((why, totals.lost), (Stop::Refused, 1));
    assert!(when >= Duration::from_millis(900), "{when:?}");
}

#[tokio::test]
async fn no_heartbeat_holds_a_lease_beyond_the_deadline_of_its_firing() {
    let queue = Queue::default();
    queue.push_until(Value::Null, Duration::from_secs(5));
    let node = Node::of(&queue);
    let (why, when, totals) = until_stopped(&queue, &node, Duration::from_secs(3)).await;
    assert_eq!((why, totals.lost), (Stop::Deadline, 1));
    assert!(when >= Duration::from_secs(4), "kept by heartbeats until then: {when:?}");
    assert!(queue.change(|state| state.leases[0].beats) >= 3);
}

#[tokio::test]
async fn a_firing_with_a_near_deadline_begins_though_it_came_at_the_end_of_a_long_wait() {
    let queue = Queue::default();
    // Given after a wait that is longer than the deadline is away.
    queue.push_until(json!(1), Duration::from_secs(3));
    let node = Node::of(&queue);
    node.set(Verb::Lease, Mood::Waits(Duration::from_millis(3_500)));
    let stop = CancellationToken::new();
    let run = worker(&[&node], lasting(Duration::from_secs(30)))
        .run(async |_job: Job| Outcome::succeeded().output("begun"), stop.clone());
    let end = async {
        wait(&queue, "an outcome", |state| state.leases.first()?.settled.as_ref().map(drop)).await;
        stop.cancel();
    };
    let (totals, ()) = tokio::join!(run, end);
    assert_eq!(totals.unwrap(), Totals { settled: 1, lost: 0 });
    assert!(queue.settled(1)[0].beats >= 1, "it asked how late it was");
}

#[tokio::test]
async fn work_that_comes_when_its_lease_is_over_is_not_begun() {
    let queue = Queue::with([json!("late")]);
    let node = Node::of(&queue);
    node.set(Verb::Lease, Mood::Slow(Duration::from_millis(1_300)));
    let stop = CancellationToken::new();
    let run = worker(&[&node], lasting(Duration::from_secs(1)))
        .run(async |_job: Job| Outcome::succeeded(), stop.clone());
    let end = async {
        wait(&queue, "a refused look", |state| (state.leases.first()?.refused > 0).then_some(())).await;
        stop.cancel();
    };
    let (totals, ()) = tokio::join!(run, end);
    assert_eq!(totals.unwrap(), Totals { settled: 0, lost: 1 });
    assert!(
        queue.change(|state| state.leases[0].settle_keys.is_empty()),
        "nothing came of what was not begun"
    );
}
