//! Queues: what waits, limits, pauses.

use campanile::cli::Exit;
use serde_json::{Value, json};

use super::cli_support::{Asked, Node, answer, problem};
use super::{AT, ask, done};

fn queue(paused: bool) -> Value {
    let note = paused.then(|| json!({"note": "the database moves", "at": AT, "by": "alice"}));
    json!({
        "name": "batch", "max_in_flight": 10, "max_in_flight_per_key": 1, "rate": {"count": 600, "per": "1h"},
        "paused": note, "depth": 7, "leased": 3, "oldest_at": AT, "opens_at": null, "updated_at": AT, "updated_by": "bob",
    })
}

/// A node with one queue.
fn queues(paused: bool) -> Node {
    Node::start(move |asked: &Asked| match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/v1/queues") => answer(200, json!({"items": [queue(paused)]})),
        ("GET", "/v1/queues/batch") | ("POST", _) => {
            let mut shown = answer(200, queue(paused));
            shown.headers.push(("etag", "\"44\"".to_owned()));
            shown
        }
        ("PUT", _) if asked.header("if-match").is_some() => {
            problem(412, "version_conflict", "it is \"45\" by now")
        }
        ("PUT", _) => answer(201, queue(paused)),
        ("DELETE", _) => answer(204, Value::Null),
        _ => problem(404, "not_found", "no such thing"),
    })
}

#[test]
fn queues_are_listed_and_shown_with_what_waits_and_what_limits_it() {
    let node = queues(true);
    let listed = done(&node, &["queue", "ls"]);
    for text in ["batch", "paused", "7", "3", AT, "10", "600/1h", "the database moves"] {
        assert!(listed.contains(text), "{text}: {listed}");
    }
    assert_eq!(done(&node, &["queue", "ls", "-o", "name"]), "batch\n");
    let shown = done(&node, &["queue", "get", "batch"]);
    for text in
        [format!("since {AT} by alice: the database moves"), format!("{AT} by bob"), "\"44\"".to_owned()]
    {
        assert!(shown.contains(&text), "{text}: {shown}");
    }
    let json: Value = serde_json::from_str(&done(&node, &["queue", "get", "batch", "-o", "json"])).unwrap();
    assert_eq!(json, queue(true));
    assert!(done(&queues(false), &["queue", "ls"]).contains("open"));
    assert_eq!(ask(&node, &["queue", "get", "other"]).exit, Exit::NotFound);
    assert_eq!(node.lines()[0], "GET /v1/queues?limit=1000");
}

#[test]
fn a_queue_gets_exactly_the_limits_that_were_named_and_all_of_them_are_told() {
    let node = queues(false);
    let said = done(
        &node,
        &["queue", "put", "batch", "--max-in-flight", "10", "--per-key", "2", "--rate", "600/60m"],
    );
    assert_eq!(said, "created batch: at most 10 leased at once, 1 per key, 600/1h at the fastest\n");
    let wanted =
        json!({"max_in_flight": 10, "max_in_flight_per_key": 2, "rate": {"count": 600, "per": "1h"}});
    assert_eq!(node.asked()[0].body, wanted);
    done(&node, &["queue", "put", "batch", "--per-key", "3"]);
    assert_eq!(node.asked()[1].body, json!({"max_in_flight_per_key": 3}));
    let stale = ask(&node, &["queue", "put", "batch", "--per-key", "3", "--if-match", "\"44\""]);
    assert_eq!(stale.exit, Exit::Conflict, "{}", stale.err);
    for bad in [["batch", "--rate", "10"], ["batch", "--max-in-flight", "-1"], ["a/b", "--per-key", "1"]] {
        assert_eq!(ask(&node, &[["queue", "put"].as_slice(), &bad].concat()).exit, Exit::Usage, "{bad:?}");
    }
    let nothing = ask(&node, &["queue", "put", "batch"]);
    assert_eq!(nothing.exit, Exit::Usage, "no limit at all is a slip: {}", nothing.err);
    assert_eq!(node.asked().len(), 3);
}

#[test]
fn a_queue_is_paused_with_a_note_resumed_and_forgotten() {
    let node = queues(false);
    let paused = done(&node, &["queue", "pause", "batch", "--note", "the database moves"]);
    assert_eq!(paused, "paused batch, 3 leased firings go on\n");
    assert_eq!(done(&node, &["queue", "resume", "batch"]), "resumed batch, 7 firings wait\n");
    assert!(done(&node, &["queue", "rm", "batch", "other"]).contains("its firings stay"));
    assert_eq!(
        node.lines(),
        [
            "POST /v1/queues/batch/pause",
            "POST /v1/queues/batch/resume",
            "DELETE /v1/queues/batch",
            "DELETE /v1/queues/other"
        ]
    );
    assert_eq!(node.asked()[0].body, json!({"note": "the database moves"}));
    assert!(node.asked().iter().all(|asked| asked.header("idempotency-key").is_some()));
    assert_eq!(ask(&node, &["queue", "pause", "batch"]).exit, Exit::Usage, "a pause has a reason");
}
