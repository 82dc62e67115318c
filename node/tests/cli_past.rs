//! The commands about what is past: backfills, the mark, revisions, firings once more.

#![allow(clippy::unwrap_used)]

mod cli_support;

use std::ffi::OsString;
use std::sync::atomic::{AtomicUsize, Ordering};

use campanile::cli::{Exit, Io, Outcome, run};
use campanile_core::cron::parse_instant;
use cli_support::{Answer, Asked, Node, Ran, answer, cli, problem};
use serde_json::{Value, json};

const AFTER: &str = "2026-12-01T00:00:00Z";
const UNTIL: &str = "2026-12-01T01:00:00Z";

fn backfill(state: &str, live: u64, failed: u64) -> Value {
    json!({
        "id": "bkf_7", "schedule": "shop/x", "after": AFTER, "until": UNTIL, "again": false, "overlap": "allow", "pace": "0s",
        "max_live": 10, "state": state, "reason": null, "instants": 60, "position": UNTIL, "fired": 59, "passed": 1,
        "skipped": 0, "live": live, "succeeded": 59 - live - failed, "failed": failed, "progress": 0.5,
        "created_at": AFTER, "ended_at": null, "created_by": "alice",
    })
}

/// A node that counts, creates, and tells of a backfill that ends like this after two looks.
fn filling(state: &'static str, failed: u64) -> Node {
    let looks = AtomicUsize::new(0);
    Node::start(move |asked: &Asked| match asked.method.as_str() {
        "POST" if asked.body["dry_run"] == true => answer(
            200,
            json!({"dry_run": true, "after": AFTER, "until": UNTIL, "instants": 60, "would_fire": 59, "passed": 1}),
        ),
        "POST" => answer(201, backfill("running", 10, 0)),
        _ if looks.fetch_add(1, Ordering::Relaxed) < 2 => answer(200, backfill("running", 10, 0)),
        _ => answer(200, backfill(state, 0, failed)),
    })
}

fn fill(node: &Node, more: &[&str]) -> Ran {
    let args = ["schedule", "backfill", "shop/x", "--after", AFTER, "--endpoint"];
    cli(&[args.as_slice(), &[&node.url()], more].concat())
}

/// Runs a command as a person at a terminal would, who answers a question like this.
fn at_a_terminal(args: &[&str], says: &str) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["campanile"].iter().chain(args).map(OsString::from);
    let now = parse_instant("2026-12-01T08:00:00Z").unwrap();
    let io = &mut Io {
        out: &mut out,
        err: &mut err,
        input: &mut says.as_bytes(),
        terminal: true,
        color: false,
        now,
    };
    let Outcome::Exit(exit) = run(args, io) else { panic!("a client command") };
    Ran { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

#[test]
fn a_backfill_is_counted_before_it_is_created() {
    let node = filling("completed", 0);
    let more = ["--until", UNTIL, "--again", "--overlap", "queue_all", "--pace", "2s", "--max-live", "3"];
    let ran = fill(&node, &more);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "bkf_7\n"), "{}", ran.err);
    assert!(
        ran.err.contains("60 instants") && ran.err.contains("59 would fire, 1 have fired"),
        "{}",
        ran.err
    );
    assert_eq!(node.lines(), ["POST /v1/backfills", "POST /v1/backfills"]);
    let mut wanted = json!({
        "schedule": "shop/x", "after": AFTER, "until": UNTIL, "again": true, "overlap": "queue_all", "pace": "2s",
        "max_live": 3, "dry_run": true,
    });
    assert_eq!(node.asked()[0].body, wanted);
    wanted["dry_run"] = false.into();
    assert_eq!(node.asked()[1].body, wanted);
}

#[test]
fn a_dry_run_counts_and_creates_nothing() {
    let node = filling("completed", 0);
    let ran = fill(&node, &["--dry-run"]);
    assert_eq!((ran.exit, node.asked().len()), (Exit::Done, 1), "{}", ran.err);
    assert!(ran.out.contains("59 would fire"), "{}", ran.out);
    let json: Value = serde_json::from_str(&fill(&node, &["--dry-run", "-o", "json"]).out).unwrap();
    assert_eq!(json["would_fire"], 59);
}

#[test]
fn a_backfill_that_is_waited_for_ends_as_its_firings_do() {
    for (state, failed, exit) in [
        ("completed", 0, Exit::Done),
        ("completed", 3, Exit::FiringFailed),
        ("cancelled", 0, Exit::Failed),
        ("failed", 0, Exit::Failed),
    ] {
        let node = filling(state, failed);
        let ran = fill(&node, &["--wait"]);
        assert_eq!(ran.exit, exit, "{state} {failed}: {}", ran.err);
        assert_eq!(node.lines()[2..], ["GET /v1/backfills/bkf_7"; 3]);
        assert!(ran.out.contains(state), "{}", ran.out);
        assert!(!ran.err.contains('\r'), "no bar in a pipe: {}", ran.err);
    }
    let node = filling("running", 0);
    let ran = fill(&node, &["--wait", "--wait-timeout", "250ms"]);
    assert_eq!(ran.exit, Exit::TimedOut);
    assert!(ran.err.contains("campanile backfill get bkf_7"), "{}", ran.err);
}

#[test]
fn a_person_sees_a_bar_while_waiting_and_it_is_gone_at_the_end() {
    let node = filling("completed", 0);
    let args = ["schedule", "backfill", "shop/x", "--after", AFTER, "--wait", "--endpoint", &node.url()];
    let ran = at_a_terminal(&args, "");
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(ran.err.contains("[###############...............]  50 %  59 fired, 10 live"), "{}", ran.err);
    assert!(ran.err.ends_with("\r\x1b[2K"), "{:?}", ran.err);
}

#[test]
fn backfills_are_listed_shown_and_cancelled() {
    let node = Node::start(|asked| match asked.method.as_str() {
        "DELETE" => answer(200, backfill("cancelled", 2, 0)),
        _ if asked.path == "/v1/backfills" => answer(200, json!({"items": [backfill("running", 10, 0)]})),
        _ => answer(200, backfill("running", 10, 0)),
    });
    let ask = |args: &[&str]| {
        let ran = cli(&[["backfill"].as_slice(), args, &["--endpoint", &node.url()]].concat());
        assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
        ran.out
    };
    let listed = ask(&["ls", "-s", "shop/x", "--state", "running"]);
    assert!(listed.contains("bkf_7") && listed.contains("50 %"), "{listed}");
    let shown = ask(&["get", "bkf_7"]);
    assert!(shown.contains("50 % of 60 instants") && shown.contains("by alice"), "{shown}");
    assert_eq!(ask(&["cancel", "bkf_7"]), "bkf_7 is cancelled\n");
    assert_eq!(
        node.lines(),
        [
            "GET /v1/backfills?schedule=shop%2Fx&state=running&limit=100",
            "GET /v1/backfills/bkf_7",
            "DELETE /v1/backfills/bkf_7"
        ]
    );
    for bad in ["7", "bkf_", "bkf_../x", "frg_7"] {
        assert_eq!(cli(&["backfill", "get", bad, "--endpoint", &node.url()]).exit, Exit::Usage, "{bad}");
    }
}

/// A node on which the mark can be moved.
fn marking() -> Node {
    Node::start(|asked| {
        let back = asked.body["to"] == AFTER;
        let dry_run = asked.body["dry_run"] == true;
        let mut body =
            json!({"schedule": "shop/x", "to": asked.body["to"], "mark": UNTIL, "dry_run": dry_run});
        body["direction"] = if back { "back" } else { "ahead" }.into();
        if dry_run {
            body["fires"] = if back { 60 } else { 1 }.into();
            body["skips"] = if back { 0 } else { 5 }.into();
        } else if back {
            body["backfill"] = backfill("running", 0, 0);
        }
        answer(200, body)
    })
}

#[test]
fn a_mark_is_set_after_its_consequences_were_shown_and_agreed_to() {
    let ahead = "2026-12-02T00:00:00Z";
    let args = |node: &Node, to: &str, more: &[&str]| -> Vec<String> {
        let url = node.url();
        let all = [["schedule", "mark", "shop/x", "--to", to, "--endpoint", &url].as_slice(), more].concat();
        all.into_iter().map(str::to_owned).collect()
    };
    for (says, exit, asked) in
        [("y\n", Exit::Done, 2), ("YES\n", Exit::Done, 2), ("\n", Exit::Failed, 1), ("", Exit::Failed, 1)]
    {
        let node = marking();
        let args = args(&node, AFTER, &[]);
        let ran = at_a_terminal(&args.iter().map(String::as_str).collect::<Vec<_>>(), says);
        assert_eq!((ran.exit, node.asked().len()), (exit, asked), "{says:?}: {}", ran.err);
        assert!(ran.err.contains("60 instants fire again") && ran.err.contains("[y/N]"), "{}", ran.err);
        assert_eq!(ran.out.contains("bkf_7"), exit == Exit::Done, "{}", ran.out);
    }
    for (terminal, more) in [(true, ["--yes"].as_slice()), (false, &[])] {
        let node = marking();
        let args = args(&node, ahead, more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = if terminal { at_a_terminal(&args, "") } else { cli(&args) };
        assert_eq!((ran.exit, node.asked().len()), (Exit::Done, 2), "{}", ran.err);
        assert!(ran.err.contains("5 instants are skipped, 1 that are due fire"), "{}", ran.err);
        assert!(!ran.err.contains("[y/N]"), "{}", ran.err);
    }
    let node = marking();
    let args = args(&node, ahead, &["--dry-run"]);
    let ran = cli(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((ran.exit, node.asked().len()), (Exit::Done, 1));
    assert!(ran.out.contains("5 instants are skipped"), "{}", ran.out);
}

#[test]
fn revisions_are_listed_with_who_and_when() {
    let node = Node::start(|_| {
        let definition = json!({"specs": [{"every": "2h", "anchor": "1970-01-01T00:00:00Z"}], "target": {"webhook": {"url": "http://h/x"}}});
        let item =
            json!({"revision": 2, "at": AFTER, "by": "alice", "position": "9.0", "definition": definition});
        answer(200, json!({"items": [item]}))
    });
    let ran = cli(&["schedule", "revisions", "shop/x", "--endpoint", &node.url()]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    for text in ["2", AFTER, "alice", "9.0", "every=2h", "http://h/x"] {
        assert!(ran.out.contains(text), "{text}: {}", ran.out);
    }
    assert_eq!(node.lines(), ["GET /v1/schedules/shop/x/revisions?limit=1000"]);
}

#[test]
fn a_firing_is_fired_once_more_or_cancelled() {
    let node = Node::start(|asked| -> Answer {
        if asked.path.contains("frg_gone") {
            return problem(409, "conflict", "firing frg_gone has ended already: succeeded");
        }
        let state = if asked.method == "GET" { "succeeded" } else { "queued" };
        answer(
            200,
            json!({"id": "frg_8", "schedule": "shop/x", "state": state, "run": 1, "kind": "rerun", "attempts": []}),
        )
    });
    let ask = |args: &[&str]| cli(&[["firing"].as_slice(), args, &["--endpoint", &node.url()]].concat());
    let again = ask(&["rerun", "frg_7", "--payload", "{\"a\":1}", "--overlap", "allow", "--wait"]);
    assert_eq!(again.exit, Exit::Done, "{}", again.err);
    assert_eq!(node.lines(), ["POST /v1/firings/frg_7/rerun", "GET /v1/firings/frg_8"]);
    assert_eq!(node.asked()[0].body, json!({"payload": {"a": 1}, "overlap": "allow"}));
    assert_eq!(ask(&["rerun", "frg_7"]).out, "frg_8\n");
    assert_eq!(ask(&["cancel", "frg_7", "frg_9"]).out, "cancelled frg_7\ncancelled frg_9\n");
    let gone = ask(&["cancel", "frg_gone"]);
    assert_eq!((gone.exit, gone.out.as_str()), (Exit::Conflict, ""));
    assert!(gone.err.contains("ended already"), "{}", gone.err);
    assert_eq!(ask(&["rerun", "../x"]).exit, Exit::Usage);
}

#[test]
fn a_trigger_names_its_nominal() {
    let node = Node::start(|_| answer(202, json!({"id": "frg_1", "state": "queued"})));
    let ran = cli(&["schedule", "trigger", "shop/x", "--nominal", AFTER, "--endpoint", &node.url()]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "frg_1\n"), "{}", ran.err);
    assert_eq!(node.asked()[0].body, json!({"nominal": AFTER}));
}
