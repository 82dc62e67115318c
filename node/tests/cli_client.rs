//! How the command line reaches a cluster: endpoints, keys, tokens, waits, and what each way to fail looks like.

#![allow(clippy::unwrap_used)]

mod cli_support;

use std::sync::atomic::{AtomicUsize, Ordering};

use campanile::cli::Exit;
use cli_support::{Answer, Node, answer, cli, dead_url, problem};
use serde_json::json;

fn schedule() -> serde_json::Value {
    json!({"namespace": "a", "name": "b", "status": {"state": "active", "next": ["2026-12-02T01:30:00Z"]}})
}

#[test]
fn each_way_to_fail_has_its_exit_code_and_one_clear_line() {
    for (status, code, exit) in [
        (401, "unauthenticated", Exit::Auth),
        (403, "forbidden", Exit::Auth),
        (404, "not_found", Exit::NotFound),
        (409, "already_exists", Exit::Conflict),
        (409, "overlap", Exit::Conflict),
        (412, "version_conflict", Exit::Conflict),
        (413, "payload_too_large", Exit::Failed),
        (422, "invalid_schedule", Exit::Failed),
        (422, "unknown_field", Exit::Failed),
        (422, "idempotency_mismatch", Exit::Conflict),
        (500, "internal", Exit::Failed),
    ] {
        let node = Node::start(move |_| problem(status, code, "this is why"));
        let ran = cli(&["schedule", "pause", "a/b", "--endpoint", &node.url()]);
        assert_eq!(ran.exit, exit, "{code}");
        assert!(ran.err.starts_with("error: this is why\n"), "{code}: {}", ran.err);
        assert_eq!((ran.out.as_str(), node.asked().len()), ("", 1), "{code}");
    }
}

#[test]
fn every_flaw_of_a_refused_definition_is_shown_with_its_place_and_a_hint() {
    let node = Node::start(|_| {
        let errors = json!([
            {"pointer": "/specs/0/cron", "column": 3, "detail": "hour 24 is out of range", "hint": "hours are 0 to 23"},
            {"pointer": "/target/webhook/url", "detail": "is no address"},
        ]);
        answer(
            422,
            json!({"code": "invalid_schedule", "detail": "the schedule has 2 flaws", "errors": errors}),
        )
    });
    let ran =
        cli(&["schedule", "create", "b", "--cron", "0 24 * * *", "--url", "x", "--endpoint", &node.url()]);
    assert_eq!(
        ran.err,
        "error: the schedule has 2 flaws\n  at /specs/0/cron, column 3: hour 24 is out of range\n  \
         hint: hours are 0 to 23\n  at /target/webhook/url: is no address\n"
    );
}

#[test]
fn a_dead_endpoint_is_passed_over_and_all_dead_ones_are_named() {
    let node = Node::start(|_| answer(200, schedule()));
    let dead = dead_url();
    let ran = cli(&["schedule", "get", "a/b", "-o", "name", "--endpoint", &dead, "--endpoint", &node.url()]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "a/b\n"), "{}", ran.err);

    let both = format!("{dead},{}", dead_url());
    let ran = cli(&["schedule", "get", "a/b", "--endpoint", &both]);
    assert_eq!(ran.exit, Exit::Unreachable);
    assert!(ran.err.contains(&format!("{dead}: ")) && ran.err.contains("refused"), "{}", ran.err);
}

#[test]
fn a_write_that_a_node_cannot_take_now_is_sent_again_with_the_same_key() {
    let tries = AtomicUsize::new(0);
    let node = Node::start(move |_| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => problem(503, "no_quorum", "nodes 2 and 3 are missing"),
        1 => problem(504, "unknown_outcome", "it may have committed"),
        _ => answer(200, schedule()),
    });
    let ran = cli(&["schedule", "pause", "a/b", "--endpoint", &node.url()]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "paused a/b\n"), "{}", ran.err);
    let keys: Vec<Option<String>> =
        node.asked().iter().map(|asked| asked.header("idempotency-key")).collect();
    assert_eq!(keys.len(), 3);
    assert!(
        keys[0].as_ref().is_some_and(|key| key.len() == 32) && keys.iter().all(|key| *key == keys[0]),
        "{keys:?}"
    );
}

#[test]
fn another_node_is_asked_with_the_same_key_when_one_has_no_quorum() {
    let cut_off = Node::start(|_| problem(503, "no_quorum", "nodes 2 and 3 are missing"));
    let well = Node::start(|_| answer(202, json!({"id": "frg_1", "state": "queued"})));
    let endpoints = format!("{},{}", cut_off.url(), well.url());
    let ran = cli(&["schedule", "trigger", "a/b", "--endpoint", &endpoints]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "frg_1\n"), "{}", ran.err);
    let key = |node: &Node| node.asked()[0].header("idempotency-key");
    assert_eq!(key(&cut_off), key(&well));
}

#[test]
fn a_cluster_without_a_quorum_is_said_to_be_so_after_a_bounded_wait() {
    let node = Node::start(|_| problem(503, "no_quorum", "nodes 2 and 3 are missing"));
    let ran = cli(&["schedule", "rm", "a/b", "--endpoint", &node.url()]);
    assert_eq!((ran.exit, node.asked().len()), (Exit::Unreachable, 4));
    assert!(
        ran.err.contains("nodes 2 and 3 are missing") && ran.err.contains("cluster status"),
        "{}",
        ran.err
    );
}

#[test]
fn a_node_that_hangs_ends_at_the_timeout_and_a_write_is_said_to_be_unknown() {
    // It accepts connections, and never reads from them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let read = cli(&["schedule", "get", "a/b", "--timeout", "200ms", "--endpoint", &url]);
    assert_eq!(read.exit, Exit::TimedOut);
    assert!(!read.err.contains("may have been done"), "{}", read.err);
    let write = cli(&["schedule", "pause", "a/b", "--timeout", "200ms", "--endpoint", &url]);
    assert_eq!(write.exit, Exit::TimedOut);
    assert!(write.err.contains("may have been done"), "{}", write.err);
}

#[test]
fn the_token_goes_into_its_header_and_nowhere_else() {
    let node = Node::start(|_| problem(401, "unauthenticated", "the token is not known"));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "s3cret\n").unwrap();
    let ran = cli(&["schedule", "ls", "--token-file", file.to_str().unwrap(), "--endpoint", &node.url()]);
    assert_eq!(ran.exit, Exit::Auth);
    assert_eq!(node.asked()[0].header("authorization").as_deref(), Some("Bearer s3cret"));
    assert!(!ran.err.contains("s3cret"), "{}", ran.err);

    let missing = cli(&["schedule", "ls", "--token-file", "/nonexistent/token", "--endpoint", &node.url()]);
    assert_eq!((missing.exit, node.asked().len()), (Exit::Usage, 1));
    assert!(missing.err.contains("/nonexistent/token"), "{}", missing.err);
}

#[test]
fn a_redirect_is_not_followed_and_what_is_no_node_is_said_to_be_none() {
    let elsewhere = Node::start(|_| answer(200, schedule()));
    let to = elsewhere.url();
    let node = Node::start(move |_| Answer {
        status: 307,
        headers: vec![("location", to.clone())],
        body: String::new(),
    });
    let ran = cli(&["schedule", "get", "a/b", "--endpoint", &node.url()]);
    assert_eq!((ran.exit, elsewhere.asked().len()), (Exit::Usage, 0));
    assert!(ran.err.contains(&elsewhere.url()), "{}", ran.err);

    let page =
        Node::start(|_| Answer { status: 502, headers: vec![], body: "<html>Bad Gateway</html>".into() });
    let ran = cli(&["schedule", "get", "a/b", "--endpoint", &page.url()]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("does not answer as a campanile node (HTTP 502)"), "{}", ran.err);
}

#[test]
fn what_a_node_sends_cannot_move_the_cursor() {
    let node = Node::start(|_| problem(404, "not_found", "gone\u{1b}[2J\r\nerror: all is well"));
    let ran = cli(&["schedule", "get", "a/b", "--endpoint", &node.url()]);
    assert_eq!(ran.err.lines().count(), 1, "{:?}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
}
