//! A node that cannot run ends with exit code 2 and one line that says what to do; the real binary, real ports and disks.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

fn campanile() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_campanile"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CAMPANILE_")) {
        command.env_remove(name);
    }
    command
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A configuration of one node; further lines stand above its first section.
fn config(dir: &Path, data: &Path, api: u16, peer: u16) -> std::path::PathBuf {
    let path = dir.join("node.toml");
    let text = format!(
        "data_dir = {data:?}\n[api]\nlisten = \"127.0.0.1:{api}\"\n[peer]\nlisten = \"127.0.0.1:{peer}\"\n",
    );
    fs::write(&path, text).unwrap();
    path
}

fn serve(config: &Path) -> Command {
    let mut command = campanile();
    command.args(["serve", "--log", "warn", "--config"]).arg(config);
    command
}

/// The one line on standard error of a process that ended with exit code 2.
#[track_caller]
fn refusal(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    lines[0].to_owned()
}

/// A node that runs until it is dropped.
struct Running(Child);

impl Running {
    fn start(config: &Path, api: u16) -> Self {
        let mut node = Self(serve(config).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_ready(api) {
            assert!(node.0.try_wait().unwrap().is_none(), "the node ended");
            assert!(Instant::now() < deadline, "the node is not ready in time");
            std::thread::yield_now();
        }
        node
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_ready(api: u16) -> bool {
    let asked = campanile()
        .args(["health", "--endpoint", &format!("http://127.0.0.1:{api}"), "--timeout", "2s"])
        .output()
        .unwrap();
    asked.status.success()
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
