//! CronJobs, field by field.

use campanile::import::k8s;
use campanile::import::{Import, Settings};
use serde_json::{Value, json};

use crate::{came_of, holds, settings};

/// A CronJob with `piece` in its spec, indented as it stands there.
fn with(piece: &str) -> Import {
    let text = format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a}}\nspec:\n  schedule: '0 5 * * *'\n  timeZone: UTC\n{piece}\n"
    );
    k8s::read(text.as_bytes(), &settings()).unwrap()
}

/// A CronJob with `piece` in the spec of its job.
fn with_job(piece: &str) -> Import {
    with(&format!("  jobTemplate:\n    spec:\n{piece}"))
}

/// A CronJob with this schedule and zone.
fn at(piece: &str) -> Import {
    let text = format!("kind: CronJob\nmetadata: {{name: a, namespace: n}}\nspec: {{{piece}}}\n");
    k8s::read(text.as_bytes(), &settings()).unwrap()
}

#[test]
fn each_field_of_the_spec_is_carried_over_or_told() {
    holds(
        &[
            ("  concurrencyPolicy: Allow", "/overlap", json!("allow"), ""),
            ("  concurrencyPolicy: Forbid", "/overlap", json!("skip"), ""),
            ("  concurrencyPolicy: Replace", "/overlap", json!("replace"), ""),
            (
                "  concurrencyPolicy: Maybe",
                "/overlap",
                json!("allow"),
                "7 Dropped the concurrencyPolicy \"Maybe\"",
            ),
            ("  concurrencyPolicy: null", "/overlap", json!("allow"), ""),
            ("  startingDeadlineSeconds: 90", "/catch_up", json!({"mode": "latest", "window": "1m30s"}), ""),
            (
                "",
                "/catch_up",
                json!({"mode": "latest", "window": "unlimited"}),
                "4 Advice without startingDeadlineSeconds",
            ),
            ("  startingDeadlineSeconds: soon", "/catch_up/window", json!("unlimited"), "7 Dropped"),
            ("  startingDeadlineSeconds: -1", "/catch_up/window", json!("unlimited"), "7 Dropped"),
            ("  suspend: true", "/name", json!("a"), "7 Dropped it is suspended"),
            ("  suspend: false", "/name", json!("a"), ""),
            ("  failedJobsHistoryLimit: 1", "/name", json!("a"), "7 Dropped spec.failedJobsHistoryLimit"),
            ("  novelty: {a: 1}", "/name", json!("a"), "7 Dropped spec.novelty is not carried over"),
        ],
        with,
    );
    assert!(with("  suspend: true").schedules[0].paused);
    assert!(!with("  suspend: false").schedules[0].paused);
}

#[test]
fn each_field_of_the_job_is_carried_over_or_told() {
    let retry = |attempts: u32| json!({"max_attempts": attempts, "initial": "10s", "max": "6m"});
    holds(
        &[
            ("", "/retry", retry(7), ""),
            ("      backoffLimit: 0", "/retry", retry(1), ""),
            ("      backoffLimit: 4294967295", "/retry", retry(1000), "9 Dropped backoffLimit is 4294967295"),
            ("      activeDeadlineSeconds: 600", "/target/webhook/timeout", json!("10m"), "9 Advice"),
            ("      activeDeadlineSeconds: 7200", "/target/webhook/timeout", json!("1h"), "9 Dropped"),
            ("      activeDeadlineSeconds: 600", "/payload/active_deadline_seconds", json!(600), ""),
            ("      parallelism: 2", "/name", json!("a"), "9 Dropped spec.jobTemplate.spec.parallelism"),
            ("      template: {metadata: {labels: {x: y}}}", "/name", json!("a"), "template.metadata.labels"),
            ("      template: {spec: {nodeName: x}}", "/payload", json!({}), "template.spec.nodeName"),
            (
                "      template: {spec: {containers: [{image: i, command: [a, 5], env: [{name: A, value: s}], tty: true}]}}",
                "/payload",
                json!({"containers": [{"image": "i", "command": ["a", "5"], "env": ["A"]}]}),
                "9 Dropped spec.jobTemplate.spec.template.spec.containers[0].tty",
            ),
            (
                "      template: {spec: {containers: [{image: i, env: [{name: A, value: secret}]}]}}",
                "/payload/containers/0/env",
                json!(["A"]),
                "env are not carried over, only their names: A",
            ),
        ],
        with_job,
    );
}

#[test]
fn when_it_runs_is_carried_over_with_its_zone() {
    let cron = |text: &str, zone: &str| json!([{"cron": text, "time_zone": zone}]);
    holds(
        &[
            ("schedule: '0 5 * * *', timeZone: Asia/Tokyo", "/specs", cron("0 5 * * *", "Asia/Tokyo"), ""),
            ("schedule: '0 5 * * *'", "/specs", cron("0 5 * * *", "UTC"), "Advice it has no timeZone"),
            ("schedule: 'TZ=Asia/Tokyo 0 5 * * ?'", "/specs", cron("0 5 * * *", "Asia/Tokyo"), "written as"),
            ("schedule: '@hourly', timeZone: UTC", "/specs", cron("@hourly", "UTC"), ""),
            ("schedule: '@every 5m'", "/specs", json!([{"every": "5m"}]), "counted from the Unix epoch"),
            (
                "schedule: '30 2 * * *', timeZone: Europe/Berlin",
                "/specs",
                cron("30 2 * * *", "Europe/Berlin"),
                "does not exist",
            ),
            ("schedule: '0 5 * * *', timeZone: Mars", "/specs", Value::Null, "3 Lost its schedule"),
            ("schedule: '0 25 * * *'", "/specs", Value::Null, "3 Lost"),
            ("schedule: 5", "/specs", Value::Null, "3 Lost the CronJob has no schedule"),
            ("timeZone: UTC", "/specs", Value::Null, "3 Lost the CronJob has no schedule"),
        ],
        at,
    );
    let (_, remarks) = came_of(&at("schedule: '@every 5m'"), "");
    assert!(
        !remarks.iter().any(|remark| remark.contains("timeZone")),
        "an interval needs no zone: {remarks:?}"
    );
}

#[test]
fn the_flags_stand_above_the_file() {
    let flags = Settings {
        namespace: Some("ops".into()),
        time_zone: Some("Europe/Berlin".into()),
        labels: [("team".to_owned(), "mine".to_owned())].into(),
        ..settings()
    };
    let text = "kind: CronJob\nmetadata: {name: a, namespace: n, labels: {team: theirs, tier: '1', 'a b': c}}\nspec: {schedule: '0 5 * * *'}\n";
    let import = k8s::read(text.as_bytes(), &flags).unwrap();
    let (draft, remarks) = came_of(&import, "");
    assert_eq!(
        (&draft["namespace"], &draft["specs"][0]["time_zone"], &draft["labels"]),
        (&json!("ops"), &json!("Europe/Berlin"), &json!({"team": "mine", "tier": "1"}))
    );
    assert!(remarks.iter().any(|remark| remark.contains("2 Dropped the label \"a b\"")), "{remarks:#?}");
}

#[test]
fn what_is_no_cron_job_is_told() {
    for (text, wanted) in [
        (
            "kind: Pod\nmetadata: {name: p}\n",
            "1 Dropped the Pod \"p\" is no CronJob, so it is left where it is",
        ),
        ("a: 1\n", "1 Lost is no Kubernetes object: it has no kind"),
        ("- a\n", "1 Lost is no Kubernetes object: it has no fields"),
        ("just text\n", "1 Lost is no Kubernetes object: it has no fields"),
        ("kind: CronJob\napiVersion: batch/v9\n", "1 Lost a CronJob of batch/v9 is not known"),
        ("kind: CronJob\nspec: {schedule: '@daily'}\n", "1 Lost the CronJob has no name"),
        ("kind: List\nitems: [5]\n", "2 Lost is no Kubernetes object: it has no fields"),
    ] {
        let import = k8s::read(text.as_bytes(), &settings()).unwrap();
        assert_eq!((import.schedules.len(), came_of(&import, "").1), (0, vec![wanted.to_owned()]), "{text}");
    }
}

#[test]
fn names_that_would_clash_are_told_and_lines_of_aliases_are_those_of_their_use() {
    let text = "kind: List\nitems:\n- &job\n  kind: CronJob\n  metadata: {name: a}\n  spec: {schedule: '@daily', timeZone: UTC, startingDeadlineSeconds: 5}\n- *job\n";
    let import = k8s::read(text.as_bytes(), &settings()).unwrap();
    let names: Vec<&str> = import.schedules.iter().map(|found| found.draft.name.as_str()).collect();
    assert_eq!(names, ["a", "a-2"]);
    assert!(came_of(&import, "").1.iter().any(|remark| remark.contains("this one is a-2")));
}
