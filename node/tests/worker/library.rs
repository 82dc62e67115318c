//! The loop of the client with a handler in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use campanile::client::worker::{Job, Options, Outcome, Totals, Worker};
use campanile::client::{self, Client, Endpoint};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fake::Queue;
use super::node::Node;

/// A worker of these nodes.
pub(crate) fn worker(nodes: &[&Node], options: Options) -> Worker {
    let endpoints = nodes.iter().map(|node| Endpoint::parse(&node.url()).unwrap()).collect();
    let options_of_client = client::Options { endpoints, token: None, timeout: Duration::from_secs(30) };
    Worker::new(Client::new(options_of_client).unwrap(), options).unwrap()
}

/// A worker with this ttl.
pub(crate) fn lasting(ttl: Duration) -> Options {
    Options { ttl, ..Options::new("batch", "test") }
}

/// Waits for something in the queue without holding up the worker, whose runtime this is.
pub(crate) async fn wait<T: Send + 'static>(
    queue: &Queue,
    what: &'static str,
    seen: impl Fn(&super::fake::State) -> Option<T> + Send + 'static,
) -> T {
    let queue = queue.clone();
    tokio::task::spawn_blocking(move || queue.wait(what, seen)).await.unwrap()
}

#[tokio::test]
async fn many_firings_are_worked_on_at_once_and_each_is_settled_once() {
    let queue = Queue::with((0..40).map(Value::from));
    let node = Node::of(&queue);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let stop = CancellationToken::new();
    let worker = worker(&[&node], Options { concurrency: 8, ..Options::new("batch", "test") });
    let (now, peak) = (running.clone(), most.clone());
    let run = worker.run(
        move |job: Job| {
            let (now, peak) = (now.clone(), peak.clone());
            async move {
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
                Outcome::succeeded().output(job.leased().payload.0.to_string())
            }
        },
        stop.clone(),
    );
    let all = async {
        wait(&queue, "outcomes", |state| {
            let settled = state.leases.iter().filter(|lease| lease.settled.is_some()).count();
            (settled == 40).then_some(())
        })
        .await;
        stop.cancel();
    };
    let (totals, ()) = tokio::join!(run, all);
    assert_eq!(totals.unwrap(), Totals { settled: 40, lost: 0 });
    assert!(most.load(Ordering::SeqCst) <= 8);
    let leases = queue.settled(40);
    let mut outputs: Vec<u32> = leases.iter().map(|lease| lease.output().parse().unwrap()).collect();
    outputs.sort_unstable();
    assert_eq!(outputs, (0..40).collect::<Vec<u32>>());
    assert!(leases.iter().all(|lease| lease.settle_keys.len() == 1));
}

#[tokio::test]
async fn a_handler_that_panics_has_failed_and_the_worker_goes_on() {
    let queue = Queue::with([json!("bad"), json!("good")]);
    let node = Node::of(&queue);
    let stop = CancellationToken::new();
    let run = worker(&[&node], lasting(Duration::from_secs(60))).run(
        async |job: Job| {
            assert_ne!(&*job.leased().payload.0, "\"bad\"", "on purpose");
            Outcome::succeeded()
        },
        stop.clone(),
    );
    let both = async {
        wait(&queue, "outcomes", |state| state.leases.get(1)?.settled.as_ref().map(drop)).await;
        stop.cancel();
    };
    let (totals, ()) = tokio::join!(run, both);
    assert_eq!(totals.unwrap().settled, 2);
    let said: Vec<_> = queue.settled(2).iter().map(super::fake::Lease::said).collect();
    assert_eq!(said[0], ("failed".to_owned(), "the handler panicked".to_owned()));
    assert_eq!(said[1].0, "succeeded");
}

#[tokio::test]
async fn an_outcome_of_a_lease_that_is_somebody_elses_changes_nothing() {
    // B155: the first holder stalls, the second has begun, the first comes back with a result.
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    let stop = CancellationToken::new();
    let (stalled, ended) = (queue.clone(), stop.clone());
    let run = worker(&[&node], lasting(Duration::from_secs(60))).run(
        move |_job: Job| {
            let (stalled, ended) = (stalled.clone(), ended.clone());
            async move {
                stalled.change(|state| state.leases[0].lost = true);
                ended.cancel();
                Outcome::succeeded()
            }
        },
        stop,
    );
    assert_eq!(run.await.unwrap(), Totals { settled: 0, lost: 1 });
    let (refused, settled) = queue.change(|state| (state.leases[0].refused, state.leases[0].settled.clone()));
    assert_eq!((refused, settled), (1, None));
}

#[test]
fn options_out_of_their_bounds_are_refused_before_anything_is_asked() {
    let good = || Options::new("batch", "host-1/7");
    for (options, why) in [
        (Options { concurrency: 0, ..good() }, "concurrency"),
        (Options { concurrency: 1001, ..good() }, "concurrency"),
        (Options { ttl: Duration::from_millis(999), ..good() }, "ttl"),
        (Options { ttl: Duration::from_secs(3601), ..good() }, "ttl"),
        (Options { wait: Duration::from_secs(61), ..good() }, "wait"),
        (Options { name: " ".into(), ..good() }, "name"),
        (Options { name: "a\nb".into(), ..good() }, "control character"),
        (Options { queue: "a/b".into(), ..good() }, "queue"),
    ] {
        let endpoints = vec![Endpoint::parse("127.0.0.1:1").unwrap()];
        let timeout = Duration::from_secs(1);
        let client = Client::new(client::Options { endpoints, token: None, timeout }).unwrap();
        let refused = Worker::new(client, options.clone()).unwrap_err().to_string();
        assert!(refused.contains(why), "{options:?}: {refused}");
    }
}
