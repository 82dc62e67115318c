//! A node that cannot run ends with exit code 2 and one line that says what to do; the real binary, real ports and disks.

#![allow(clippy::unwrap_used)]

mod serve_support;

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output};

use tempfile::TempDir;

use serve_support::{Running, campanile, config, free_port, serve};

/// The one line on standard error of a process that ended with exit code 2.
#[track_caller]
fn refusal(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    lines[0].to_owned()
}

#[test]
fn a_typing_error_in_the_configuration_names_its_line() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("node.toml");
    fs::write(&path, "data_dir = \"d\"\n\n[api]\nlisen = \"127.0.0.1:7700\"\n").unwrap();
    let line = format!(
        "error: {}:4: api.lisen is no key of the configuration; did you mean \"listen\"?",
        path.display()
    );
    assert_eq!(refusal(&serve(&path).output().unwrap()), line);
    let checked = campanile().args(["config", "check"]).arg(&path).output().unwrap();
    assert_eq!(refusal(&checked), line, "config check and serve say the same");
}

#[test]
fn a_configuration_that_is_right_is_printed_whole() {
    let dir = TempDir::new().unwrap();
    let path = config(dir.path(), &dir.path().join("data"), 7700, 7701);
    let checked = campanile().args(["config", "check"]).arg(&path).output().unwrap();
    assert!(checked.status.success());
    let shown = String::from_utf8(checked.stdout).unwrap();
    assert!(shown.contains("heartbeat = \"50ms\"") && shown.contains("max_in_flight = 256"), "{shown}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("nothing.toml");
    let line = refusal(&serve(&path).output().unwrap());
    assert!(line.contains("nothing.toml: cannot be read"), "{line}");
}

#[test]
fn a_port_in_use_is_named_with_what_to_do() {
    let dir = TempDir::new().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let path = config(dir.path(), &dir.path().join("data"), port, free_port());
    assert_eq!(
        refusal(&serve(&path).output().unwrap()),
        format!(
            "error: 127.0.0.1:{port} is in use by another process: stop that one, or set api.listen or --listen to a free port"
        )
    );
    let path = config(dir.path(), &dir.path().join("data"), free_port(), port);
    let line = refusal(&serve(&path).output().unwrap());
    assert!(line.contains("peer.listen or --peer-listen"), "{line}");
}

#[test]
fn a_data_directory_that_is_a_file_cannot_be_opened() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    fs::write(&data, "a file").unwrap();
    let line = refusal(&serve(&config(dir.path(), &data, free_port(), free_port())).output().unwrap());
    assert!(line.contains("data: check that it is a directory this user may write to"), "{line}");
}

#[test]
fn a_data_directory_of_another_process_is_refused() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let api = free_port();
    let _running = Running::start(&config(dir.path(), &data, api, free_port()), api);
    let line = refusal(&serve(&config(dir.path(), &data, free_port(), free_port())).output().unwrap());
    assert!(line.contains("another process") || line.contains("in use"), "{line}");
}

#[test]
fn a_damaged_log_is_not_started_from() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let api = free_port();
    let path = config(dir.path(), &data, api, free_port());
    drop(Running::start(&path, api));
    fs::remove_file(data.join("log").join("db")).unwrap();
    let line = refusal(&serve(&path).output().unwrap());
    assert!(line.contains("is damaged") && line.contains("move it aside"), "{line}");
}

#[test]
fn a_node_that_is_told_to_stop_ends_with_zero() {
    let dir = TempDir::new().unwrap();
    let api = free_port();
    let mut node = Running::start(&config(dir.path(), &dir.path().join("data"), api, free_port()), api);
    let told = Command::new("kill").args(["-TERM", &node.0.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert_eq!(node.0.wait().unwrap().code(), Some(0));
}
