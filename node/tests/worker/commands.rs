//! What a command is given, and what its end means.

use std::fs;

use serde_json::{Value, json};

use super::fake::Queue;
use super::node::{Mood, Node, Verb};
use super::process::{Process, lives, wait_for, worker};

#[test]
fn payload_arguments_and_environment_arrive_as_they_are_and_credentials_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "s3cret").unwrap();
    let queue = Queue::with([json!({"n": 12345678901234567_u64, "t": "a \"b\""})]);
    let node = Node::of(&queue);
    let line = "printf '%s|' \"$@\"; echo; cat; echo; env | grep -E '^(CAMPANILE_|TRACE|KEPT)' | sort";
    let mut command = worker(&[&node], &[], &["/bin/sh", "-c", line, "sh", "a b", "$HOME", "*"]);
    command.env("CAMPANILE_TOKEN_FILE", &token).env("CAMPANILE_TOKEN", "s3cret").env("KEPT", "yes");
    command
        .env("CAMPANILE_CAUSE", "of another")
        .env("TRACESTATE", "old")
        .env("CAMPANILE_ENDPOINT", node.url());
    let process = Process::start(command);
    let leases = queue.settled(1);
    let output = leases[0].output();
    let shown: Vec<&str> = output.lines().filter(|line| !line.starts_with("CAMPANILE_DEADLINE=2")).collect();
    let endpoint = format!("CAMPANILE_ENDPOINT={}", node.url());
    assert_eq!(
        shown,
        [
            "a b|$HOME|*|",
            "{\"n\":12345678901234567,\"t\":\"a \\\"b\\\"\"}",
            "CAMPANILE_ATTEMPT=2",
            &endpoint,
            "CAMPANILE_FENCING_TOKEN=4097",
            "CAMPANILE_FIRING=frg_1",
            "CAMPANILE_KIND=scheduled",
            "CAMPANILE_LEASE=lse_1",
            "CAMPANILE_NOMINAL=2026-12-01T01:30:00Z",
            "CAMPANILE_QUEUE=batch",
            "CAMPANILE_RUN=0",
            "CAMPANILE_SCHEDULE=ns/name",
            "KEPT=yes",
            "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ]
    );
    let poll = queue.change(|state| state.polls[0].clone());
    assert_eq!(poll, json!({"worker": "host-1/7", "max": 1, "ttl": "1m", "wait": "20s"}));
    let ended = process.stopped();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(!ended.err.contains("s3cret"), "{}", ended.err);
}

#[test]
fn the_exit_code_is_the_outcome() {
    let cases = [
        ("exit 0", "succeeded", ""),
        ("exit 75", "retry", "exit code 75"),
        ("exit 3", "failed", "exit code 3"),
        ("kill -KILL $$", "failed", "killed by signal 9"),
    ];
    let queue = Queue::with(cases.map(|(line, ..)| json!(line)));
    let node = Node::of(&queue);
    // The payload is a JSON text: its quotes come off, and the rest is what to do.
    let _process = Process::shell(&[&node], &[], "eval \"$(tr -d '\"')\"");
    for (lease, (line, outcome, error)) in queue.settled(cases.len()).iter().zip(cases) {
        assert_eq!(lease.said(), (outcome.to_owned(), error.to_owned()), "{line}");
    }
}

#[test]
fn output_is_passed_on_and_its_end_is_kept() {
    let line = "echo to-err >&2; i=0; while [ $i -lt 4000 ]; do echo line-$i; i=$((i+1)); done";
    for (flags, is_passed) in [(&[][..], true), (&["--quiet"], false)] {
        let queue = Queue::with([Value::Null]);
        let node = Node::of(&queue);
        let process = Process::shell(&[&node], flags, line);
        let output = queue.settled(1)[0].output();
        assert!(output.len() <= 16 * 1024 && output.len() > 16 * 1024 - 8, "{}", output.len());
        assert!(output.ends_with("line-3998\nline-3999\n") && !output.contains("line-100\n"));
        let ended = process.stopped();
        let passed = ended.out.lines().filter(|line| line.starts_with("line-")).count();
        assert_eq!(passed, if is_passed { 4000 } else { 0 }, "{flags:?}");
        assert_eq!(ended.err.contains("to-err"), is_passed, "{}", ended.err);
    }
}

#[test]
fn a_command_that_does_not_read_its_payload_is_no_failure() {
    let queue = Queue::with([json!("x".repeat(200_000)), Value::Null]);
    let node = Node::of(&queue);
    let _process = Process::start(worker(&[&node], &[], &["true"]));
    for lease in queue.settled(2) {
        assert_eq!(lease.said(), ("succeeded".to_owned(), String::new()));
    }
}

#[test]
fn no_more_commands_run_at_once_than_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let queue = Queue::with((0..9).map(Value::from));
    let node = Node::of(&queue);
    let line = format!("while ! [ -e {} ]; do sleep 0.02; done", go.display());
    let _process = Process::shell(&[&node], &["--concurrency", "3"], &line);
    queue.wait("three leases", |state| (state.leases.len() == 3).then_some(()));
    fs::write(&go, "").unwrap();
    queue.settled(9);
    assert_eq!(queue.change(|state| state.most_held), 3);
}

#[test]
fn a_process_that_is_left_behind_with_the_streams_does_not_hold_up_the_outcome_and_is_killed() {
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    let _process = Process::shell(&[&node], &[], "sleep 1000 & echo $!");
    let lease = queue.settled(1).remove(0);
    assert_eq!(lease.said().0, "succeeded");
    assert!(wait_for(|| !lives(lease.output().trim())), "what was left behind lives");
}

#[test]
fn a_command_that_is_not_there_is_told_before_anything_is_leased() {
    let queue = Queue::with([Value::Null]);
    let node = Node::of(&queue);
    for (command, said) in
        [("/nowhere/job", "there is no /nowhere/job"), ("echo hi", "no program \"echo hi\" in PATH")]
    {
        let ended = Process::start(worker(&[&node], &[], &[command])).ended();
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(said), "{}", ended.err);
    }
    assert_eq!(queue.change(|state| state.polls.len()), 0);
}

#[test]
fn a_command_that_vanishes_costs_one_attempt_and_ends_the_worker() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("job");
    fs::copy("/bin/true", &job).unwrap();
    let queue = Queue::default();
    let node = Node::of(&queue);
    let process = Process::start(worker(&[&node], &[], &[job.to_str().unwrap()]));
    queue.wait("a request", |state| state.polls.first().map(drop));
    fs::remove_file(&job).unwrap();
    (0..5).for_each(|number| queue.push(json!(number)));
    let lease = queue.settled(1).remove(0);
    assert_eq!(lease.said().0, "retry");
    let ended = process.ended();
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("cannot be started"), "{}", ended.err);
    assert_eq!(queue.change(|state| state.leases.len()), 1);
}

#[test]
fn a_worker_without_a_right_or_a_queue_says_so_and_ends() {
    for (status, code, exit) in [(401, "unauthenticated", 5), (403, "forbidden", 5), (404, "not_found", 3)] {
        let queue = Queue::default();
        let node = Node::of(&queue);
        node.set(Verb::Lease, Mood::Problem(status, code));
        let ended = Process::start(worker(&[&node], &[], &["true"])).ended();
        assert_eq!(ended.code, Some(exit), "{code}: {}", ended.err);
    }
    let ended = Process::start(worker(&[], &["--ttl", "2h"], &["true"])).ended();
    assert_eq!(ended.code, Some(2), "{}", ended.err);
}
