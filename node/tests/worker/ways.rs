//! The ways to the cluster: nodes that die, hang, or cannot now.

use std::fs;

use serde_json::Value;

use super::fake::Queue;
use super::node::{Mood, Node, Verb};
use super::process::{Process, lines};

/// A command that waits for `go`, in a worker of these nodes, begun; and what makes it go on.
fn begun(queue: &Queue, nodes: &[&Node], ttl: &str) -> (Process, impl FnOnce() + use<>) {
    let folder = tempfile::tempdir().unwrap();
    let (go, begun) = (folder.path().join("go"), folder.path().join("begun"));
    let line = format!("echo >> {}; while ! [ -e {} ]; do sleep 0.02; done", begun.display(), go.display());
    let process = Process::shell(nodes, &["--ttl", ttl], &line);
    queue.push(Value::Null);
    lines(&begun, 1);
    (process, move || {
        let folder = folder;
        fs::write(folder.path().join("go"), "").unwrap();
        // The command looks for it until it has ended, so the folder stays.
        let _ = folder.keep();
    })
}

fn beats(queue: &Queue, more: usize) {
    let beats = queue.change(|state| state.leases[0].beats);
    queue.wait("heartbeats", |state| (state.leases[0].beats >= beats + more).then_some(()));
}

#[test]
fn when_the_first_node_dies_the_second_hears_heartbeats_and_outcome() {
    let queue = Queue::default();
    let (one, two) = (Node::of(&queue), Node::of(&queue));
    let (process, go) = begun(&queue, &[&one, &two], "3s");
    drop(one);
    beats(&queue, 4);
    go();
    assert_eq!(queue.settled(1)[0].said().0, "succeeded");
    queue.push(Value::Null);
    queue.settled(2);
    let ended = process.stopped();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

#[test]
fn a_node_that_hangs_costs_no_lease_while_another_lives() {
    let queue = Queue::default();
    let (one, two) = (Node::of(&queue), Node::of(&queue));
    let (_process, go) = begun(&queue, &[&one, &two], "6s");
    one.set(Verb::Heartbeat, Mood::Silent);
    one.set(Verb::Settle, Mood::Silent);
    beats(&queue, 4);
    go();
    let lease = queue.settled(1).remove(0);
    assert_eq!((lease.said().0.as_str(), lease.refused), ("succeeded", 0));
}

#[test]
fn an_outcome_is_sent_under_one_key_until_the_cluster_takes_it() {
    for (status, code) in [(503, "no_quorum"), (504, "unknown_outcome"), (500, "internal")] {
        let queue = Queue::default();
        let node = Node::of(&queue);
        node.set(Verb::Settle, Mood::Problem(status, code));
        let (_process, go) = begun(&queue, &[&node], "20s");
        go();
        queue.wait("tries", |state| (state.leases[0].settle_keys.len() >= 2).then_some(()));
        node.set(Verb::Settle, Mood::Well);
        let keys = queue.settled(1).remove(0).settle_keys;
        assert!(keys.len() >= 3 && !keys[0].is_empty(), "{keys:?}");
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }
}

#[test]
fn an_outcome_whose_answer_is_lost_is_sent_again_and_counts_once() {
    let queue = Queue::default();
    let node = Node::of(&queue);
    node.set(Verb::Settle, Mood::Mute);
    let (process, go) = begun(&queue, &[&node], "20s");
    go();
    queue.wait("two tries", |state| (state.leases[0].settle_keys.len() >= 2).then_some(()));
    node.set(Verb::Settle, Mood::Well);
    let ended = process.stopped();
    assert!(ended.err.contains("settled") && !ended.err.contains("dropped"), "{}", ended.err);
    assert_eq!(ended.code, Some(0));
}

#[test]
fn a_worker_that_is_started_before_the_cluster_waits_for_it() {
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    node.set(Verb::Lease, Mood::Problem(503, "not_ready"));
    let process = Process::shell(&[&node], &[], "true");
    node.set(Verb::Lease, Mood::Well);
    queue.settled(1);
    assert_eq!(process.stopped().code, Some(0));
}

#[test]
fn leases_whose_answer_was_lost_are_asked_for_under_the_same_key() {
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    node.set(Verb::Lease, Mood::Mute);
    let _process = Process::shell(&[&node], &["--ttl", "2m"], "true");
    let keys = queue.wait("two requests", |state| (state.polls.len() >= 2).then(|| state.poll_keys.clone()));
    node.set(Verb::Lease, Mood::Well);
    assert!(!keys[0].is_empty() && keys[0] == keys[1], "{keys:?}");
}
