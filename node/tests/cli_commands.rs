//! The other commands: what each asks a node, and what it prints.

#![allow(clippy::unwrap_used)]

mod cli_support;

use campanile::cli::Exit;
use cli_support::{Answer, Asked, Node, answer, cli, cli_reading, problem};
use serde_json::{Value, json};

#[test]
fn trigger_waits_for_its_firing_and_fails_as_it_does() {
    let settling = |state: &'static str| {
        let looks = std::sync::atomic::AtomicUsize::new(0);
        Node::start(move |asked: &Asked| {
            let looked = looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let state = if looked < 2 { "running" } else { state };
            let attempts = json!([{"number": 1, "holder": {"node": 2}, "outcome": "failed", "status": 503, "error": "no room"}]);
            let firing = json!({"id": "frg_9", "schedule": "shop/x", "state": state, "attempts": attempts});
            answer(if asked.method == "POST" { 202 } else { 200 }, firing)
        })
    };
    for (state, exit) in [
        ("succeeded", Exit::Done),
        ("failed", Exit::FiringFailed),
        ("timed_out", Exit::FiringFailed),
        ("skipped", Exit::FiringFailed),
        ("running", Exit::TimedOut),
    ] {
        let node = settling(state);
        let args = [
            "schedule",
            "trigger",
            "shop/x",
            "--payload",
            "[1]",
            "--wait",
            "--wait-timeout",
            "600ms",
            "--endpoint",
        ];
        let ran = cli(&[args.as_slice(), &[&node.url()]].concat());
        assert_eq!(ran.exit, exit, "{state}: {}", ran.err);
        assert_eq!(node.lines()[..2], ["POST /v1/schedules/shop/x/trigger", "GET /v1/firings/frg_9"]);
        assert_eq!(node.asked()[0].body, json!({"payload": [1]}));
        assert_eq!(ran.err.contains("no room"), exit == Exit::FiringFailed, "{}", ran.err);
    }
}

#[test]
fn firings_and_the_story_of_one() {
    let node = Node::start(|asked| {
        let firing = json!({
            "id": "frg_1", "schedule": "shop/x", "nominal": "2026-12-01T08:00:00Z", "state": "skipped", "kind": "scheduled",
            "reason": "too_late", "skipped": {"from": "2026-12-01T07:00:00Z", "count": 3}, "lateness_ms": 4,
            "attempts": [{"number": 1, "holder": {"worker": "host/1"}, "begun_at": "2026-12-01T08:00:01Z", "outcome": null, "error": "a\u{7}b"}],
        });
        if asked.path.ends_with("firings") {
            answer(200, json!({"items": [firing]}))
        } else {
            answer(200, firing)
        }
    });
    let ls = cli(&["firing", "ls", "-s", "shop/x", "--state", "skipped", "--endpoint", &node.url()]).out;
    assert!(ls.contains("skipped × 3 since 2026-12-01T07:00:00Z"), "{ls}");
    let get = cli(&["firing", "get", "frg_1", "--endpoint", &node.url()]).out;
    assert!(get.contains("1 by worker host/1, begun 2026-12-01T08:00:01Z, running: a\\u{7}b"), "{get}");
    assert_eq!(
        node.lines(),
        ["GET /v1/schedules/shop/x/firings?state=skipped&limit=100", "GET /v1/firings/frg_1"]
    );
    assert_eq!(cli(&["firing", "get", "../schedules", "--endpoint", &node.url()]).exit, Exit::Usage);
}

/// A ledger of 2,500 rows, in which only every third log entry has a row.
fn ledger() -> Node {
    Node::start(|asked| {
        let of = |name: &str| {
            asked.query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")).map(str::to_owned))
        };
        let after: u64 = of("after").map_or(0, |after| after.split('.').next().unwrap().parse().unwrap());
        let limit: usize = of("limit").unwrap().parse().unwrap();
        let row = |index: u64| json!({"position": format!("{index}.0"), "at": "2026-12-01T08:00:00Z", "type": "fired", "firing": "frg", "hash": "ff"});
        let rows: Vec<Value> =
            (1..=2500).map(|n| n * 3).filter(|index| *index > after).take(limit).map(row).collect();
        let next = rows.last().filter(|_| rows.len() == limit).map(|row| row["position"].clone());
        let mut answer = answer(200, json!({"items": rows, "next_page_token": next}));
        answer.headers[1].1 = "7502".into();
        answer
    })
}

#[test]
fn an_export_has_every_row_once_and_a_tail_the_newest() {
    let node = ledger();
    let positions = |ran: &cli_support::Ran| -> Vec<String> {
        assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
        let rows = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.map(|row| row["position"].as_str().unwrap().to_owned()).collect()
    };
    let all: Vec<String> = (1..=2500).map(|n| format!("{}.0", n * 3)).collect();
    assert_eq!(positions(&cli(&["ledger", "export", "--endpoint", &node.url()])), all);
    assert_eq!(
        positions(&cli(&["ledger", "export", "--after", "7400.5", "--endpoint", &node.url()])),
        all[2466..]
    );
    for lines in [0, 1, 20, 1500, 5000] {
        let ran =
            cli(&["ledger", "tail", "-o", "jsonl", "-n", &lines.to_string(), "--endpoint", &node.url()]);
        assert_eq!(positions(&ran), all[2500_usize.saturating_sub(lines)..], "{lines}");
    }
    let table = cli(&["ledger", "tail", "-n", "1", "--endpoint", &node.url()]).out;
    assert!(
        table.starts_with("POSITION") && table.contains("firing=frg") && !table.contains("ff"),
        "{table}"
    );
}

#[test]
fn the_cluster_is_shown_as_its_leader_sees_it() {
    let cluster = |node: u64, leader: Value, reachable: Value| {
        json!({"name": "prod", "node": node, "version": "0.1.0", "leader": leader, "term": 3, "applied": 90, "last_log": 91,
            "nodes": [{"id": 1, "role": "leader", "api_address": "http://n1", "peer_address": "n1:1", "reachable": true, "lag": 0},
                      {"id": 2, "role": "follower", "api_address": "http://n2", "peer_address": "n2:1", "reachable": reachable, "lag": 7, "clock_offset_ms": -3, "tz_data": "2025b", "speaks": 4}],
            "warnings": ["the nodes have different tz data"]})
    };
    let follower = Node::start(move |_| answer(200, cluster(2, json!(1), Value::Null)));
    let leader = Node::start(move |_| answer(200, cluster(1, json!(1), json!(false))));
    let endpoints = format!("{},{}", follower.url(), leader.url());
    let ran = cli(&["cluster", "status", "--endpoint", &endpoints]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let row = ran.out.lines().find(|line| line.starts_with('2')).unwrap();
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, ["2", "follower", "no", "7", "-3 ms", "2025b", "4", "http://n2", "n2:1"]);
    assert!(ran.out.contains("90 of 91"), "{}", ran.out);
    assert!(ran.out.ends_with("\nwarning: the nodes have different tz data\n"), "{}", ran.out);

    let headless = Node::start(move |_| answer(200, cluster(2, Value::Null, Value::Null)));
    let ran = cli(&["cluster", "status", "--endpoint", &headless.url()]);
    assert_eq!(ran.exit, Exit::Unreachable);
    assert!(ran.out.contains("none") && ran.err.contains("there is no leader"), "{} {}", ran.out, ran.err);
}

#[test]
fn hosts_are_shown_as_one_node_sees_them() {
    let node = Node::start(|_| {
        answer(
            200,
            json!({"node": 2, "items": [
            {"host": "a.example", "in_flight": 3, "state": "closed", "failures": 0, "open_until": null},
            {"host": "b.example:8080", "in_flight": 0, "state": "open", "failures": 12, "open_until": "2026-12-01T08:00:08Z"}]}),
        )
    });
    let ran = cli(&["cluster", "hosts", "--endpoint", &node.url()]);
    assert_eq!((ran.exit, node.lines()), (Exit::Done, vec!["GET /v1/hosts".to_owned()]), "{}", ran.err);
    let row = ran.out.lines().find(|line| line.starts_with("b.")).unwrap();
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells[..4], ["b.example:8080", "0", "open", "12"]);
    assert!(cells[4].starts_with("2026-12-01"), "{cells:?}");
    assert_eq!(ran.err, "as node 2 sees them\n");
    let names = cli(&["cluster", "hosts", "-o", "name", "--endpoint", &node.url()]).out;
    assert_eq!(names, "a.example\nb.example:8080\n");
}

#[test]
fn transfer_and_remove_ask_what_the_contract_says() {
    let node = Node::start(|_| answer(200, json!({})));
    assert_eq!(cli(&["cluster", "transfer", "--to", "3", "--endpoint", &node.url()]).exit, Exit::Done);
    assert_eq!(cli(&["cluster", "transfer", "--endpoint", &node.url()]).exit, Exit::Done);
    assert_eq!(cli(&["cluster", "remove", "2", "--endpoint", &node.url()]).exit, Exit::Done);
    let asked = node.asked();
    assert_eq!(
        node.lines(),
        ["POST /v1/cluster/transfer", "POST /v1/cluster/transfer", "DELETE /v1/cluster/nodes/2"]
    );
    assert_eq!((&asked[0].body, &asked[1].body), (&json!({"to": 3}), &json!({})));
}

#[test]
fn health_is_good_only_when_every_node_is_ready() {
    let well = Node::start(|_| Answer { status: 200, headers: vec![], body: "ok".into() });
    let ill = Node::start(|asked| match asked.path.as_str() {
        "/livez" => Answer { status: 200, headers: vec![], body: String::new() },
        _ => problem(503, "not_ready", "catching up"),
    });
    assert_eq!(cli(&["health", "--endpoint", &well.url()]).exit, Exit::Done);
    let both = format!("{},{},{}", well.url(), ill.url(), cli_support::dead_url());
    let ran = cli(&["health", "-o", "jsonl", "--endpoint", &both]);
    let seen: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["health"].clone()).collect();
    assert_eq!(
        (ran.exit, seen),
        (Exit::Unreachable, vec![json!("ready"), json!("not_ready"), json!("unreachable")])
    );
    assert_eq!(ill.asked().len(), 1);
    assert_eq!(cli(&["health", "--live", "--endpoint", &ill.url()]).exit, Exit::Done);
}

#[test]
fn explain_speaks_without_a_cluster_and_points_at_what_is_wrong() {
    let ran = cli(&[
        "explain",
        "30 2 * * *",
        "--tz",
        "Europe/Berlin",
        "-c",
        "2",
        "--after",
        "2026-03-28T00:00:00Z",
        "-o",
        "json",
    ]);
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    let nominals: Vec<&Value> =
        answer["next"].as_array().unwrap().iter().map(|next| &next["nominal"]).collect();
    assert_eq!(nominals, [&json!("2026-03-28T01:30:00Z"), &json!("2026-03-29T01:00:00Z")]);
    assert_eq!(answer["next"][1]["note"], "moved_from_gap");

    let wrong = cli(&["explain", "0 24 * * *"]);
    assert_eq!((wrong.exit, wrong.out.as_str()), (Exit::Failed, ""));
    assert!(
        wrong.err.starts_with("error: ") && wrong.err.contains("\n  0 24 * * *\n    ^ column 3\n  hint: "),
        "{}",
        wrong.err
    );
    let zone = cli(&["explain", "0 2 * * *", "--tz", "Europe/Berlim"]);
    assert_eq!(zone.exit, Exit::Failed);
    assert!(zone.err.contains("Berlim"), "{}", zone.err);
}

#[test]
fn explain_speaks_of_rules_and_of_what_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let ics = dir.path().join("closed.ics");
    let event = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20260327\nEND:VEVENT\nEND:VCALENDAR\n";
    std::fs::write(&ics, event).unwrap();
    let ics = ics.display().to_string();
    let rule = [
        "explain",
        "RRULE:FREQ=MONTHLY;BYDAY=-1FR",
        "--start",
        "2026-01-30T09:00:00",
        "--tz",
        "Europe/Berlin",
    ];
    let more = [
        "--after",
        "2026-02-01T00:00:00Z",
        "-c",
        "3",
        "--exclude",
        "2026-02-27",
        "--exclude",
        &ics,
        "-o",
        "json",
    ];
    let ran = cli(&[rule.as_slice(), more.as_slice()].concat());
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    let locals: Vec<&str> =
        answer["next"].as_array().unwrap().iter().map(|next| next["local"].as_str().unwrap()).collect();
    assert_eq!(
        locals,
        ["2026-04-24T09:00:00+02:00", "2026-05-29T09:00:00+02:00", "2026-06-26T09:00:00+02:00"],
        "{}",
        ran.err
    );
    assert!(answer["text"].as_str().unwrap().contains("last Friday"), "{}", answer["text"]);
    assert!(answer["text"].as_str().unwrap().contains("not on 2026-02-27"), "{}", answer["text"]);

    let all = cli(&["explain", "0 2 * * *", "--exclude", "* 2 * * *"]);
    assert_eq!(all.exit, Exit::Done);
    assert!(all.err.contains("leave out everything"), "{}", all.err);
    let wrong = cli(&["explain", "0 2 * * *", "--exclude", "61 * * * *"]);
    assert!(wrong.err.contains("\n  61 * * * *\n  ^ column 1\n"), "{}", wrong.err);
    let wrong = cli(&["explain", "FREQ=YERLY", "--start", "2026-01-30T09:00:00"]);
    assert_eq!(wrong.exit, Exit::Failed);
    for args in
        [["explain", "FREQ=DAILY"].as_slice(), &["explain", "0 2 * * *", "--start", "2026-01-30T09:00:00"]]
    {
        assert_eq!(cli(args).exit, Exit::Usage, "{args:?}");
    }
}

#[test]
fn an_import_prints_what_put_reads_and_applies_the_same() {
    let node = Node::start(|_| answer(201, json!({})));
    let crontab = "@reboot x\n*/5 * * * * /opt/sync.sh a%b\nMAILTO=me\n";
    let import = |more: &[&str]| {
        let args =
            [["import", "crontab", "-", "-n", "ops", "--url", "http://h/run"].as_slice(), more].concat();
        cli_reading(&args, crontab)
    };
    let printed = import(&[]);
    assert_eq!((printed.exit, node.asked().len()), (Exit::Done, 0));
    assert!(printed.out.starts_with("# line 2: */5 * * * * /opt/sync.sh a%b\n"), "{}", printed.out);
    assert!(printed.err.contains("-:1: not carried over: @reboot"), "{}", printed.err);
    assert!(printed.err.contains("-:3: left out: MAILTO"), "{}", printed.err);
    assert!(printed.err.contains("-: 1 command lines carried over, 1 not"), "{}", printed.err);
    assert_eq!(
        cli_reading(&["schedule", "put", "-f", "-", "--endpoint", &node.url()], &printed.out).exit,
        Exit::Done
    );

    let applied = import(&["--apply", "--endpoint", &node.url()]);
    assert_eq!((applied.exit, applied.out.as_str()), (Exit::Done, "created ops/sync\n"), "{}", applied.err);
    let asked = node.asked();
    assert_eq!((asked[0].line(), &asked[0].body), (asked[1].line(), &asked[1].body));
    assert_eq!(asked[0].body["payload"], json!({"command": "/opt/sync.sh a", "stdin": "b\n"}));

    let strict = import(&["--apply", "--strict", "--endpoint", &node.url()]);
    assert_eq!((strict.exit, node.asked().len()), (Exit::Failed, 2));
}

#[test]
fn a_command_line_that_makes_no_sense_is_exit_code_2_and_asks_nobody() {
    for args in [
        ["schedule", "get", "a/b/c"].as_slice(),
        &["schedule", "create", "x", "--url", "http://h/"],
        &["schedule", "create", "x", "--every", "soon", "--url", "http://h/"],
        &["schedule", "create", "x", "--every", "1m"],
        &["schedule", "create", "x", "--every", "1m", "--url", "http://h/", "--queue", "batch"],
        &["schedule", "create", "x", "--every", "1m", "--queue", "batch", "--method", "GET"],
        &["schedule", "create", "x", "--every", "1m", "--url", "http://h/", "--priority", "1"],
        &["schedule", "pause", "x", "--until", "tomorrow"],
        &["schedule", "ls", "--endpoint", "ftp://x"],
        &["schedule", "trigger", "x", "--payload", "not json"],
        &["import", "crontab", "/nonexistent", "--url", "http://h/"],
        &["import", "crontab", "-", "--url", "http://h/", "--tz", "Mars/Olympus"],
        &["import", "crontab", "-"],
        &["serve"],
        &["nonsense"],
    ] {
        let ran = cli(args);
        assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""), "{args:?}");
        assert!(ran.err.starts_with("error: "), "{args:?}: {}", ran.err);
    }
}

#[test]
fn help_and_completions_are_data() {
    for args in
        [["--help"].as_slice(), &["--version"], &["schedule", "create", "--help"], &["completions", "bash"]]
    {
        let ran = cli(args);
        assert_eq!((ran.exit, ran.err.as_str()), (Exit::Done, ""), "{args:?}");
        assert!(ran.out.contains("campanile"), "{args:?}");
    }
}
