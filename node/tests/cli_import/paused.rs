//! What did not run where it comes from does not begin to run by being imported.

use campanile::cli::Exit;
use serde_json::json;

use crate::cli_support::{Node, answer, cli_reading, problem};

const JOBS: &str = r#"[
    {"name": "off", "schedule": "@every 5s", "disabled": true, "executor": "http", "executor_config": {"url": "http://a"}},
    {"name": "on", "schedule": "@every 5s", "executor": "http", "executor_config": {"url": "http://a"}}]"#;

#[test]
fn a_disabled_job_is_paused_as_soon_as_it_is_put() {
    let node = Node::start(|_| answer(201, json!({})));
    let ran = cli_reading(&["import", "dkron", "-", "--apply", "--endpoint", &node.url()], JOBS);
    assert_eq!(
        (ran.exit, ran.out.as_str()),
        (Exit::Done, "created default/on\ncreated default/off\npaused default/off\n"),
        "{}",
        ran.err
    );
    let lines = [
        "PUT /v1/schedules/default/on",
        "PUT /v1/schedules/default/off",
        "POST /v1/schedules/default/off/pause",
    ];
    assert_eq!(node.lines(), lines);
}

#[test]
fn what_was_refused_is_not_paused() {
    let node = Node::start(|_| problem(422, "invalid_schedule", "no"));
    let ran = cli_reading(&["import", "dkron", "-", "--apply", "--endpoint", &node.url()], JOBS);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, ""));
    assert!(node.lines().iter().all(|line| !line.ends_with("/pause")), "{:?}", node.lines());
}
