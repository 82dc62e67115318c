//! What the command line prints of schedules can be put again, and changes nothing.
//!
//! Each field has values here; those that this version refuses are left alone, so that a field is held to this as soon as
//! it is carried.

use std::collections::BTreeSet;

use campanile::cli::Exit;
use serde_json::{Value, json};

use crate::cli_support::{Ran, cli_reading};
use crate::fake::{Api, minutely};

/// What answers add, and what the path says.
const BESIDE: [&str; 8] =
    ["uid", "revision", "created_at", "updated_at", "updated_by", "status", "namespace", "name"];

/// Values of every field that are not its default, each to be put on its own.
fn values() -> Vec<(&'static str, Value)> {
    let webhook = |more: Value| {
        let mut webhook = json!({"url": "https://h/x?a=b#c"});
        webhook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "webhook": webhook })
    };
    let thorny = "on: \"no\" # ~ 'x' & *y !z %a @b `c` {d} [e] | > ?";
    let mut values = vec![
        ("display_name", json!(thorny)),
        ("description", json!(" two\nlines: - a\n  b\n\n")),
        ("description", json!("\n")),
        ("labels", json!({"yes": "no", "null": "~", "1": "0x1f", "a/b": "2026-12-01", "e": ""})),
        ("specs", json!([{"cron": "*/5 * * * *", "time_zone": "Europe/Berlin"}, {"cron": "@daily"}])),
        (
            "specs",
            json!([{"cron": "0 0 13 * 5", "day_match": "all", "dst_gap": "skip", "dst_overlap": "both"}]),
        ),
        (
            "specs",
            json!([{"every": "90s", "anchor": "2026-01-01T00:00:00.001Z"}, {"at": "2027-01-01T00:00:00Z"}]),
        ),
        (
            "specs",
            json!([{"rrule": "FREQ=MONTHLY;BYDAY=-1FR", "start": "2026-01-30T09:00:00", "time_zone": "Europe/Berlin"}]),
        ),
        ("exclude", json!([{"cron": "* * 25 12 *", "time_zone": "Europe/Berlin"}])),
        ("exclude", json!([{"dates": ["2026-12-25"], "time_zone": "Europe/Berlin"}])),
        ("exclude", json!([{"calendar": "holidays-de"}])),
        ("concurrency_key", json!("tenant: 7")),
        ("start_at", json!("2026-12-02T00:00:00.123Z")),
        ("end_at", json!("2027-12-02T00:00:00Z")),
        ("max_firings", json!(i64::MAX)),
        ("after_completion", json!("delete")),
        ("jitter", json!("5s")),
        ("jitter", json!("auto")),
        (
            "target",
            webhook(json!({"method": "GET", "timeout": "1h", "headers": {"x-a": "1e3", "x-b": ": #"}})),
        ),
        ("target", json!({"queue": {"name": "batch", "priority": 3, "concurrency_key": "k"}})),
        ("queue_limit", json!(5)),
        ("catch_up", json!({"mode": "latest", "window": "unlimited"})),
        ("catch_up", json!({"mode": "none", "window": "1h30m"})),
        ("delivery", json!("at_most_once")),
        ("deadline", json!("15m")),
        ("retry", json!({"max_attempts": 3, "initial": "2m", "max": "3m", "factor": 7, "until_next": true})),
        ("pause_after_failures", json!(4)),
        ("on_failure", json!({"trigger": "a/b"})),
        ("on_success", json!({"trigger": "a/b"})),
    ];
    let overlaps = ["skip", "queue_one", "queue_all", "replace", "terminate"];
    values.extend(overlaps.map(|overlap| ("overlap", json!(overlap))));
    let payloads = [
        json!({"on": "no", "n": 1.5, "e": "", "l": [[], {}, null, true, -0.25], "k: #": {"~": "a\nb\n", "\u{7}": "\t"}}),
        // The order of the keys is the user's, and part of the definition.
        json!({"z": 1, "a": {"y": [], "b": 2.25}}),
        json!(u64::MAX),
        json!(i64::MIN),
        json!("text\n"),
        json!("null"),
        json!(false),
        json!([]),
    ];
    values.extend(payloads.map(|payload| ("payload", payload)));
    values
}

/// A node that serves, and the command line that asks it.
pub(crate) struct Served {
    pub(crate) api: Api,
    pub(crate) url: String,
}

impl Served {
    pub(crate) async fn start() -> Self {
        let api = Api::leader();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        // It ends with the runtime of the test.
        tokio::spawn(axum::serve(listener, api.router.clone()).into_future());
        Self { api, url }
    }

    /// Runs the command line on a thread of its own: it brings its runtime along.
    pub(crate) async fn cli(&self, args: &[&str], input: &str) -> Ran {
        let args: Vec<String> =
            args.iter().chain(&["--endpoint", &self.url]).map(ToString::to_string).collect();
        let input = input.to_owned();
        let run = move || cli_reading(&args.iter().map(String::as_str).collect::<Vec<_>>(), &input);
        tokio::task::spawn_blocking(run).await.unwrap()
    }

    /// Every schedule with its definition, revision and uid.
    async fn all(&self) -> Vec<Value> {
        self.api.get("/v1/schedules?limit=1000").await.body["items"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn what_is_printed_can_be_put_again_and_changes_nothing() {
    let served = Served::start().await;
    // One value of `exclude` names it.
    assert_eq!(served.api.put("/v1/calendars/holidays-de", &json!({})).await.status, 201);
    let mut carried = BTreeSet::new();
    for (place, (field, value)) in values().into_iter().enumerate() {
        let mut body = minutely();
        body[field] = value;
        let answer = served.api.put(&format!("/v1/schedules/a/s{place}"), &body).await;
        match answer.status.as_u16() {
            201 => carried.insert(field),
            status => {
                assert_eq!(status, 422, "{field}: {}", answer.text);
                continue;
            }
        };
    }
    for field in ["description", "labels", "specs", "target", "payload", "catch_up", "retry", "overlap"] {
        assert!(carried.contains(field), "no value of {field} was taken");
    }
    let before = served.all().await;
    let known: BTreeSet<&str> = values().iter().map(|(field, _)| *field).chain(BESIDE).collect();
    for field in before[0].as_object().unwrap().keys() {
        assert!(
            known.contains(field.as_str()),
            "give {field} some values above, so that its export is held to this"
        );
    }

    let names: Vec<String> =
        before.iter().map(|schedule| format!("a/{}", schedule["name"].as_str().unwrap())).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for format in ["yaml", "json", "jsonl"] {
        for command in [&["schedule", "ls"][..], &[&["schedule", "get"], names.as_slice()].concat()] {
            let printed = served.cli(&[command, &["-o", format]].concat(), "").await;
            assert_eq!(printed.exit, Exit::Done, "{}", printed.err);
            let put = served.cli(&["schedule", "put", "-f", "-"], &printed.out).await;
            assert_eq!(put.exit, Exit::Done, "{format} {}: {}\n{}", command[1], put.err, printed.out);
            assert_eq!(put.out.lines().count(), before.len(), "{format} {}", command[1]);
            assert_eq!(served.all().await, before, "{format} {}", command[1]);
            let applied = served.cli(&["schedule", "apply", "-f", "-"], &printed.out).await;
            assert_eq!(applied.exit, Exit::Done, "{format} {}: {}", command[1], applied.err);
            assert_eq!(applied.out.lines().count(), before.len(), "{format} {}", command[1]);
            let same = applied.out.lines().all(|line| line.starts_with("unchanged a/s"));
            assert!(same, "{format} {}: {}", command[1], applied.out);
            let differs = served.cli(&["schedule", "diff", "-f", "-"], &printed.out).await;
            assert_eq!((differs.exit, differs.out.as_str()), (Exit::Done, ""), "{format} {}", command[1]);
            assert_eq!(served.all().await, before, "{format} {}", command[1]);
        }
    }
}
