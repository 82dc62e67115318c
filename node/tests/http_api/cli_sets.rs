//! `schedule apply`, `diff`, `put --dry-run` and `calendar`, asking a node that serves.

use std::path::Path;

use campanile::cli::Exit;
use serde_json::{Value, json};

use crate::export::Served;

const TARGET: &str = "target: {webhook: {url: 'http://h/x'}}\n";

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A schedule of a set, as YAML.
fn yaml(name: &str, every: &str) -> String {
    format!("namespace: a\nname: {name}\nlabels: {{app: x}}\nspecs: [{{every: {every}}}]\n{TARGET}")
}

#[tokio::test]
async fn a_directory_is_compared_applied_and_pruned() {
    let served = Served::start().await;
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "10-two.yml", &format!("{}---\n{}", yaml("one", "1m"), yaml("two", "2m")));
    write(
        dir.path(),
        "20/three.json",
        r#"{"namespace": "a", "name": "three", "labels": {"app": "x"}, "specs": [{"every": "3m"}], "target": {"webhook": {"url": "http://h/x"}}}"#,
    );
    write(dir.path(), "README.txt", "no schedule");
    write(dir.path(), ".hidden.yaml", "name: [");
    let files = dir.path().display().to_string();
    let set = ["-f", &files, "--prune", "-l", "app=x"];
    let run = |command: &[&str]| {
        let args = [&["schedule"], command, set.as_slice()]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        let served = &served;
        async move { served.cli(&args.iter().map(String::as_str).collect::<Vec<_>>(), "").await }
    };

    let differs = run(&["diff"]).await;
    assert_eq!(differs.exit, Exit::Failed, "{}", differs.err);
    let heads: Vec<&str> = differs.out.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        heads,
        ["+ a/one created", "+ a/two created", "+ a/three created"],
        "in the order of the files"
    );
    let dry = run(&["apply", "--dry-run"]).await;
    assert_eq!((dry.exit, dry.out), (Exit::Done, differs.out), "a dry run is no failure");
    let applied = run(&["apply"]).await;
    assert_eq!(
        (applied.exit, applied.out.as_str()),
        (Exit::Done, "created a/one\ncreated a/two\ncreated a/three\n")
    );
    let same = run(&["diff"]).await;
    assert_eq!((same.exit, same.out.as_str(), same.err.as_str()), (Exit::Done, "", "3 unchanged\n"));

    write(dir.path(), "10-two.yml", &yaml("one", "90s"));
    let differs = run(&["diff"]).await;
    assert_eq!(differs.exit, Exit::Failed);
    let lines: Vec<&str> = differs.out.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "~ a/one changed",
            "    /specs/0/every: \"1m\" -> \"1m30s\"",
            "    Every 90 seconds of elapsed time"
        ]
    );
    assert_eq!(lines[3], "    ticks until 2026-12-01T00:50:00Z: 34 removed, 17 added, 16 kept");
    assert!(
        lines[4..].contains(&"- a/two pruned") && lines[4..].contains(&"      … 43 more"),
        "{}",
        differs.out
    );
    let named = run(&["diff", "-o", "name"]).await;
    assert_eq!((named.exit, named.out.as_str()), (Exit::Failed, "a/one\na/two\n"));
    let applied = run(&["apply"]).await;
    assert_eq!(applied.out, "changed a/one\nunchanged a/three\npruned a/two\n");
}

#[tokio::test]
async fn what_is_wrong_in_a_set_is_told_with_its_file() {
    let served = Served::start().await;
    let input = format!("{}---\n{}", yaml("good", "1m"), yaml("bad", "500ms"));
    let ran = served.cli(&["schedule", "apply", "-f", "-"], &input).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, ""));
    assert!(ran.err.contains("at standard input, schedule 2 (a/bad) /specs/0/every: "), "{}", ran.err);
    let warned = yaml("warned", "1m") + "jitter: 5m\n";
    let ran = served.cli(&["schedule", "apply", "-f", "-"], &warned).await;
    assert!(
        ran.err.contains("warning: standard input, schedule 1 (a/warned) /jitter: a spread"),
        "{}",
        ran.err
    );
    for args in [
        ["schedule", "apply", "-f", "-", "--prune"].as_slice(),
        &["schedule", "apply", "-f", "-", "-l", "app=x"],
        &["schedule", "apply", "-f", "/nonexistent"],
        &["schedule", "diff", "-f", "-"],
    ] {
        assert_eq!(served.cli(args, "").await.exit, Exit::Usage, "{args:?}");
    }
}

#[tokio::test]
async fn a_put_says_what_it_would_do() {
    let served = Served::start().await;
    let ran = served.cli(&["schedule", "put", "--dry-run", "-f", "-"], &yaml("one", "1m")).await;
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(ran.out.starts_with("+ a/one created\n    /labels: {\"app\":\"x\"}\n"), "{}", ran.out);
    assert_eq!(served.api.get("/v1/schedules/a/one").await.status, 404);
}

#[tokio::test]
async fn a_calendar_goes_in_as_a_file_and_comes_out_to_be_edited() {
    let served = Served::start().await;
    let dir = tempfile::tempdir().unwrap();
    let ical = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20261225\nEND:VEVENT\nBEGIN:VTODO\nEND:VTODO\nEND:VCALENDAR\n";
    write(dir.path(), "h.ics", ical);
    let file = dir.path().join("h.ics").display().to_string();
    let put = served.cli(&["calendar", "put", "holidays", "-f", &file], "").await;
    assert_eq!((put.exit, put.out.as_str()), (Exit::Done, "created holidays\n"), "{}", put.err);
    assert!(put.err.contains("h.ics:"), "remarks name the line: {}", put.err);
    let input =
        format!("name: user\nexclude: [{{calendar: holidays}}]\nspecs: [{{cron: '30 2 * * *'}}]\n{TARGET}");
    assert_eq!(served.cli(&["schedule", "put", "-f", "-"], &input).await.exit, Exit::Done);

    let printed = served.cli(&["calendar", "get", "holidays", "-o", "yaml"], "").await;
    let again = served.cli(&["calendar", "put", "holidays", "-f", "-"], &printed.out).await;
    assert_eq!(again.out, "put holidays\n", "{}", again.err);
    let edited = printed.out.replace("2026-12-25", "2026-12-24");
    let would = served.cli(&["calendar", "put", "holidays", "--dry-run", "-f", "-"], &edited).await;
    for line in [
        "holidays: changed, 1 dates, 0 spans\n",
        "~ default/user\n",
        "      - 2026-12-24T02:30:00Z",
        "      + 2026-12-25T02:30:00Z",
    ] {
        assert!(would.out.contains(line), "{line}: {}", would.out);
    }
    let list: Value =
        serde_json::from_str(&served.cli(&["calendar", "ls", "-o", "jsonl"], "").await.out).unwrap();
    assert_eq!((&list["name"], &list["users"]), (&json!("holidays"), &json!(1)));
    let kept = served.cli(&["calendar", "rm", "holidays"], "").await;
    assert_eq!(kept.exit, Exit::Conflict);
    assert!(kept.err.contains("default/user"), "{}", kept.err);
    served.cli(&["schedule", "rm", "user"], "").await;
    assert_eq!(served.cli(&["calendar", "rm", "holidays"], "").await.out, "removed holidays\n");
    assert_eq!(served.cli(&["calendar", "get", "holidays"], "").await.exit, Exit::NotFound);
    assert_eq!(served.cli(&["calendar", "get", "a/b"], "").await.exit, Exit::Usage);
}
