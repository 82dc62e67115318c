//! The schedule commands: what each asks a node, and what it prints.

#![allow(clippy::unwrap_used)]

mod cli_support;

use std::io::{self, Write};

use campanile::cli::Exit;
use cli_support::{Node, answer, cli, cli_reading, exit_of, problem};
use serde_json::{Value, json};

fn schedule(name: &str) -> Value {
    json!({
        "namespace": "shop", "name": name, "labels": {"team": "web"},
        "specs": [{"cron": "*/5 * * * *", "time_zone": "UTC"}],
        "target": {"webhook": {"url": "http://h/x", "method": "POST"}}, "payload": {"on": "no"},
        "uid": "7", "revision": 2, "created_at": "2026-11-01T00:00:00Z", "updated_at": "2026-11-02T00:00:00Z",
        "updated_by": "admin",
        "status": {
            "state": "active", "note": null, "next": ["2026-12-01T08:05:00Z", "2026-12-01T08:10:00Z"],
            "text": "Every 5 minutes", "consecutive_failures": 0,
            "last": {"firing": "frg_1", "nominal": "2026-12-01T08:00:00Z", "state": "succeeded"},
        },
    })
}

/// Two pages of schedules.
fn listing() -> Node {
    Node::start(|asked| {
        if asked.query.contains("page_token=more") {
            answer(200, json!({"items": [schedule("gamma")]}))
        } else {
            answer(200, json!({"items": [schedule("alpha"), schedule("beta")], "next_page_token": "more"}))
        }
    })
}

#[test]
fn a_list_goes_through_every_page_in_each_format() {
    let node = listing();
    let ls = |format: &str| {
        let ran = cli(&["schedule", "ls", "-o", format, "--endpoint", &node.url()]);
        assert_eq!((ran.exit, ran.err.as_str()), (Exit::Done, ""));
        ran.out
    };
    let rows = ls("table");
    let mut rows = rows
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>());
    assert_eq!(rows.next().unwrap(), ["NAME", "STATE", "NEXT", "LAST", "WHEN"]);
    let alpha =
        ["shop/alpha", "active", "2026-12-01T08:05:00Z", "succeeded 2026-12-01T08:00:00Z", "Every 5 minutes"];
    assert_eq!(rows.next().unwrap(), alpha);
    assert_eq!(rows.count(), 2);

    assert_eq!(ls("name"), "shop/alpha\nshop/beta\nshop/gamma\n");
    let whole: Vec<Value> = serde_json::from_str(&ls("json")).unwrap();
    assert_eq!(whole, [schedule("alpha"), schedule("beta"), schedule("gamma")]);
    let lines: Vec<Value> = ls("jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, whole);
    assert_eq!(serde_saphyr::from_multiple::<Value>(&ls("yaml")).unwrap(), whole);
}

#[test]
fn a_list_asks_for_what_was_selected_and_for_no_more_than_the_limit() {
    let node = listing();
    let args = [
        "--namespace",
        "shop",
        "-l",
        "team=web",
        "--state",
        "paused",
        "-q",
        "al",
        "--sort",
        "next",
        "--limit",
        "2",
    ];
    let ran = cli(&[&["schedule", "ls", "-o", "name", "--endpoint", &node.url()], args.as_slice()].concat());
    assert_eq!(ran.out, "shop/alpha\nshop/beta\n");
    let asked = "GET /v1/schedules?namespace=shop&state=paused&q=al&label=team%3Dweb&sort=next&limit=2";
    assert_eq!(node.lines(), [asked]);
}

#[test]
fn an_empty_list_is_empty_data_and_a_word_on_the_side() {
    let node = Node::start(|_| answer(200, json!({"items": []})));
    let ran = cli(&["schedule", "ls", "--endpoint", &node.url()]);
    assert_eq!((ran.exit, ran.out.as_str(), ran.err.as_str()), (Exit::Done, "", "no schedules found\n"));
    assert_eq!(cli(&["schedule", "ls", "-o", "json", "--endpoint", &node.url()]).out, "[]\n");
}

#[test]
fn what_get_prints_can_be_put_again() {
    let node = Node::start(|_| answer(200, schedule("alpha")));
    for format in ["yaml", "json", "jsonl"] {
        let printed = cli(&["schedule", "get", "shop/alpha", "-o", format, "--endpoint", &node.url()]).out;
        let ran = cli_reading(&["schedule", "put", "-f", "-", "--endpoint", &node.url()], &printed);
        assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "put shop/alpha\n"), "{}", ran.err);
        let asked = node.asked().pop().unwrap();
        assert_eq!(asked.line(), "PUT /v1/schedules/shop/alpha");
        let mut definition = schedule("alpha");
        for added in ["uid", "revision", "created_at", "updated_at", "updated_by", "status"] {
            definition.as_object_mut().unwrap().remove(added);
        }
        assert_eq!(asked.body, definition, "{format}");
    }
}

#[test]
fn a_schedule_for_people_says_what_comes_and_what_was() {
    let node = Node::start(|_| {
        let mut answer = answer(200, schedule("alpha"));
        answer.headers.push(("etag", "\"41\"".into()));
        answer
    });
    let out = cli(&["schedule", "get", "shop/alpha", "--endpoint", &node.url()]).out;
    for text in [
        "shop/alpha",
        "Every 5 minutes",
        "2026-12-01T08:05:00Z, 2026-12-01T08:10:00Z",
        "POST http://h/x",
        "team=web",
        "\"41\"",
    ] {
        assert!(out.contains(text), "{text}: {out}");
    }
    assert!(!out.contains("Note") && !out.contains("Until"), "{out}");
}

#[test]
fn one_refused_document_does_not_hold_the_others_back() {
    let node = Node::start(|asked| match asked.path.as_str() {
        "/v1/schedules/default/b" => problem(422, "invalid_schedule", "no specs"),
        _ => answer(
            201,
            json!({"status": {"warnings": [{"code": "x", "pointer": "/specs/0", "message": "look"}]}}),
        ),
    });
    let ran = cli_reading(
        &["schedule", "put", "-f", "-", "--endpoint", &node.url()],
        "name: a\n---\nname: b\n---\nname: c\n",
    );
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, "created default/a\ncreated default/c\n"));
    assert!(ran.err.contains("default/b (standard input, schedule 2):\nerror: no specs\n"), "{}", ran.err);
    assert!(ran.err.contains("warning: default/a /specs/0: look"), "{}", ran.err);
}

#[test]
fn nothing_is_put_when_one_of_the_files_cannot_be_read() {
    let node = Node::start(|_| answer(201, json!({})));
    for input in ["name: a\n---\nspecs: []\n", "name: a\n---\nb: [", "name: a/b/c\n", "", "text"] {
        let ran = cli_reading(&["schedule", "put", "-f", "-", "--endpoint", &node.url()], input);
        assert_eq!((ran.exit, node.asked().len()), (Exit::Usage, 0), "{input:?}");
        assert!(ran.err.starts_with("error: "), "{}", ran.err);
    }
}

#[test]
fn create_sends_what_the_flags_say_and_only_if_there_is_none() {
    let node = Node::start(|_| answer(201, schedule("x")));
    let args = [
        "schedule",
        "create",
        "shop/x",
        "--cron",
        "30 2 * * *",
        "--tz",
        "Europe/Berlin",
        "--every",
        "90s",
        "--at",
        "2026-12-24T18:00:00+01:00",
        "--url",
        "http://h/x",
        "--header",
        "x-env: prod",
        "--attempt-timeout",
        "5s",
        "--payload",
        "{\"a\": 1}",
        "-l",
        "team=web",
        "--overlap",
        "skip",
        "--endpoint",
    ];
    let ran = cli(&[args.as_slice(), &[&node.url()]].concat());
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "created shop/x\n"), "{}", ran.err);
    let asked = node.asked().pop().unwrap();
    assert_eq!(
        (asked.line().as_str(), asked.header("if-none-match").as_deref()),
        ("PUT /v1/schedules/shop/x", Some("*"))
    );
    assert_eq!(
        asked.body,
        json!({
            "namespace": "shop", "name": "x", "labels": {"team": "web"}, "overlap": "skip", "payload": {"a": 1},
            "specs": [
                {"cron": "30 2 * * *", "time_zone": "Europe/Berlin"}, {"every": "1m30s"}, {"at": "2026-12-24T17:00:00Z"},
            ],
            "target": {"webhook": {"url": "http://h/x", "headers": {"x-env": "prod"}, "timeout": "5s"}},
        })
    );
    let printed = cli(&["schedule", "create", "x", "--every", "1m", "--url", "http://h/", "--print"]);
    assert_eq!(
        printed.out,
        "namespace: default\nname: x\nspecs:\n- every: 1m\ntarget:\n  webhook:\n    url: http://h/\n"
    );
    let queued =
        cli(&["schedule", "create", "x", "--every", "1m", "--queue", "batch", "--priority", "-5", "--print"]);
    assert_eq!(
        queued.out,
        "namespace: default\nname: x\nspecs:\n- every: 1m\ntarget:\n  queue:\n    name: batch\n    priority: -5\n"
    );
}

#[test]
fn pause_resume_rm_and_next_ask_what_the_contract_says() {
    let node = Node::start(|asked| match asked.path.rsplit('/').next().unwrap() {
        "next" => answer(
            200,
            json!({"text": "t", "next": [
            {"nominal": "2026-03-29T01:00:00Z", "local": "2026-03-29T03:00:00+02:00", "note": "moved_from_gap"}], "warnings": []}),
        ),
        _ => answer(200, schedule("x")),
    });
    let url = node.url();
    let run = |args: &[&str]| {
        let ran = cli(&[args, &["--endpoint", &url]].concat());
        assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
        (ran.out, node.asked().pop().unwrap())
    };
    let (out, asked) =
        run(&["schedule", "pause", "x", "--note", "holiday", "--until", "2026-12-24T18:00:00+01:00"]);
    assert_eq!(
        (out.as_str(), asked.line().as_str()),
        ("paused default/x\n", "POST /v1/schedules/default/x/pause")
    );
    assert_eq!(asked.body, json!({"note": "holiday", "until": "2026-12-24T17:00:00Z"}));
    let (_, asked) = run(&["schedule", "resume", "x", "--catch-up"]);
    assert_eq!(
        (asked.line().as_str(), asked.body),
        ("POST /v1/schedules/default/x/resume", json!({"catch_up": true}))
    );
    let (out, asked) = run(&["schedule", "rm", "x"]);
    assert_eq!(
        (out.as_str(), asked.line().as_str()),
        ("removed default/x\n", "DELETE /v1/schedules/default/x")
    );
    let (out, asked) = run(&["schedule", "next", "x", "-c", "1", "--after", "2026-03-28T00:00:00Z"]);
    assert_eq!(asked.line(), "GET /v1/schedules/default/x/next?count=1&after=2026-03-28T00%3A00%3A00Z");
    assert!(out.contains("2026-03-29T03:00:00+02:00") && out.contains("does not exist"), "{out}");
}

#[test]
fn a_reader_that_has_enough_ends_the_command_quietly() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let node = listing();
    let mut err = Vec::new();
    let exit =
        exit_of(&["schedule", "ls", "--endpoint", &node.url()], &mut Closed, &mut err, &mut io::empty());
    assert_eq!((exit, err.as_slice(), node.asked().len()), (Exit::Done, b"".as_slice(), 1));
}
