//! How commands are made to end: a lost lease, a wish of the cluster, a worker that leaves.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::fake::{Lease, Queue};
use super::node::Node;
use super::process::{Process, lines, lives, wait_for};

/// Says its process id, and does not end before `go` is there.
fn waits_for(go: &Path, pids: &Path) -> String {
    format!("echo $$ >> {}; while ! [ -e {} ]; do sleep 0.02; done", pids.display(), go.display())
}

fn first(queue: &Queue) -> Lease {
    queue.change(|state| state.leases[0].clone())
}

#[test]
fn heartbeats_keep_a_command_alive_that_takes_longer_than_its_lease() {
    let folder = tempfile::tempdir().unwrap();
    let (go, pids) = (folder.path().join("go"), folder.path().join("pids"));
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    let _process = Process::shell(&[&node], &["--ttl", "3s"], &waits_for(&go, &pids));
    queue.wait("heartbeats for two leases", |state| (state.leases.first()?.beats >= 7).then_some(()));
    fs::write(&go, "").unwrap();
    let leases = queue.settled(1);
    assert_eq!((leases.len(), leases[0].said().0.as_str(), leases[0].refused), (1, "succeeded", 0));
}

#[test]
fn a_lost_lease_ends_the_whole_group_and_what_ignores_sigterm_is_killed_after_the_grace() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    let stubborn = "trap '' TERM; echo $$ >> PIDS; (echo $(exec sh -c 'echo $PPID') >> PIDS; while :; do sleep 0.05; done) & \
        while :; do sleep 0.05; done"
        .replace("PIDS", &pids.display().to_string());
    let _process = Process::shell(&[&node], &["--ttl", "2s", "--grace", "300ms"], &stubborn);
    let pids = lines(&pids, 2);
    assert!(pids.iter().all(|pid| lives(pid)), "{pids:?}");
    let told = Instant::now();
    queue.change(|state| state.leases[0].lost = true);
    for pid in &pids {
        assert!(wait_for(|| !lives(pid)), "{pid} lives");
    }
    assert!(told.elapsed() >= Duration::from_millis(300), "killed without a grace: {:?}", told.elapsed());
    // The next work comes to a worker that has said nothing about the lost one.
    queue.push(Value::Null);
    queue.wait("another lease", |state| state.leases.get(1).map(drop));
    assert!(first(&queue).settle_keys.is_empty());
}

#[test]
fn a_worker_that_was_stopped_past_its_lease_ends_its_command_when_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (go, pids) = (folder.path().join("never"), folder.path().join("pids"));
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    let process = Process::shell(&[&node], &["--ttl", "2s"], &waits_for(&go, &pids));
    let pid = lines(&pids, 1).remove(0);
    process.signal("STOP");
    queue.wait("the end of the lease", |state| (Instant::now() > state.leases[0].until).then_some(()));
    assert!(lives(&pid), "a command is not stopped with its worker");
    process.signal("CONT");
    assert!(wait_for(|| !lives(&pid)), "{pid} lives");
    let ended = process.stopped();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("outcome dropped") && first(&queue).settle_keys.is_empty(), "{}", ended.err);
}

#[test]
fn a_holder_that_is_asked_to_stop_ends_its_command_and_settles_it_as_cancelled() {
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    let line = "trap 'echo bye; exit 0' TERM; echo hi; while :; do sleep 0.05; done";
    let _process = Process::shell(&[&node], &["--ttl", "3s"], line);
    queue.wait("a heartbeat", |state| (state.leases.first()?.beats > 0).then_some(()));
    queue.change(|state| state.leases[0].stop = true);
    let lease = queue.settled(1).remove(0);
    assert_eq!(lease.said(), ("cancelled".to_owned(), String::new()));
    // In between, the shell may tell what became of its own child.
    assert!(lease.output().starts_with("hi\n") && lease.output().ends_with("bye\n"), "{}", lease.output());
}

#[test]
fn a_worker_that_is_told_to_end_takes_no_more_and_waits_for_what_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (go, pids) = (folder.path().join("go"), folder.path().join("pids"));
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    let process = Process::shell(&[&node], &["--ttl", "3s", "--concurrency", "2"], &waits_for(&go, &pids));
    lines(&pids, 1);
    process.signal("TERM");
    let beats = first(&queue).beats;
    queue.wait("heartbeats after the signal", |state| (state.leases[0].beats >= beats + 4).then_some(()));
    queue.push(Value::Null);
    let polls = queue.change(|state| state.polls.len());
    fs::write(&go, "").unwrap();
    let ended = process.ended();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(first(&queue).said().0, "succeeded");
    let (leases, polls_after) = queue.change(|state| (state.leases.len(), state.polls.len()));
    assert_eq!((leases, polls_after), (1, polls), "took more after the signal");
}

#[test]
fn a_second_signal_kills_what_runs_and_leaves_it_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let (go, pids) = (folder.path().join("never"), folder.path().join("pids"));
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    let line = format!("trap '' TERM; {}", waits_for(&go, &pids));
    let process = Process::shell(&[&node], &["--grace", "1h"], &line);
    let pid = lines(&pids, 1).remove(0);
    // Two signals of one kind that come together are one.
    process.signal("TERM");
    process.signal("INT");
    let ended = process.ended();
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let why = "the worker was stopped before the command had ended";
    assert_eq!(first(&queue).said(), ("retry".to_owned(), why.to_owned()));
    assert!(!lives(&pid));
}

#[test]
fn what_has_not_ended_within_the_drain_is_stopped_and_left_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let (go, pids) = (folder.path().join("never"), folder.path().join("pids"));
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    let line = format!("trap 'echo bye; exit 0' TERM; {}", waits_for(&go, &pids));
    let process = Process::shell(&[&node], &["--drain-within", "200ms"], &line);
    lines(&pids, 1);
    let ended = process.stopped();
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let lease = first(&queue);
    assert_eq!(lease.said().0, "retry");
    assert!(lease.output().ends_with("bye\n"), "{}", lease.output());
}

#[test]
fn an_idle_worker_ends_at_once() {
    let queue = Queue::default();
    let node = Node::of(&queue);
    let process = Process::shell(&[&node], &[], "true");
    queue.wait("a request", |state| state.polls.first().map(drop));
    let told = Instant::now();
    let ended = process.stopped();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(
        told.elapsed() < Duration::from_secs(15),
        "waits for the end of its request: {:?}",
        told.elapsed()
    );
}
