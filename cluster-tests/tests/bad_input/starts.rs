//! Starts that cannot succeed: each ends with one line that says what to do, and exit code 2.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use campanile_cluster_tests::binary::{Answer, campanile};
use campanile_cluster_tests::ports;
use campanile_cluster_tests::process::Process;
use tempfile::TempDir;

use crate::{acknowledged, assert_kept, one_node};

/// A start that is refused ends by itself, and soon.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_node_beside_another_is_refused_and_the_other_keeps_what_it_has() {
    let mut cluster = one_node().await;
    let api = cluster.api(1);
    let kept = acknowledged(&api).await;
    let folder = tempfile::tempdir().unwrap();

    let same_disk = configuration(&folder, "disk", cluster.data(1), &free(), &free());
    assert_refused(&start(&folder, &same_disk).await, &cluster.data(1).display().to_string());

    let taken = cluster.url(1).trim_start_matches("http://").to_owned();
    let same_port = configuration(&folder, "port", &folder.path().join("other"), &taken, &free());
    assert_refused(&start(&folder, &same_port).await, &taken);

    assert_kept(&api, &kept).await;
    cluster.kill(1);
    cluster.spawn(1);
    cluster.wait_ready().await;
    assert_kept(&api, &kept).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_port_in_use_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let file = configuration(&folder, "peer", &folder.path().join("data"), &free(), &taken);
    assert_refused(&start(&folder, &file).await, &taken);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_cannot_be_opened_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("a-file");
    fs::write(&in_the_way, "not a directory").unwrap();
    for data in [in_the_way.clone(), in_the_way.join("below")] {
        let file = configuration(&folder, "disk", &data, &free(), &free());
        assert_refused(&start(&folder, &file).await, &in_the_way.display().to_string());
    }
    assert_eq!(fs::read_to_string(&in_the_way).unwrap(), "not a directory", "what stood there still stands");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_with_a_typo_says_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let file = configuration(&folder, "typo", &folder.path().join("data"), &free(), &free());
    let text = fs::read_to_string(&file).unwrap() + "[raft]\nelection_mni = \"150ms\"\n";
    fs::write(&file, text).unwrap();
    assert_refused(&start(&folder, &file).await, "did you mean \"election_min\"?");
    assert!(!folder.path().join("data").exists(), "nothing was begun");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nowhere.toml");
    assert_refused(&start(&folder, &file.display().to_string()).await, "nowhere.toml");
}

fn free() -> String {
    ports::free().to_string()
}

/// A node alone, without secrets, on loopback.
fn configuration(folder: &TempDir, name: &str, data: &Path, api: &str, peer: &str) -> String {
    let text = format!(
        "data_dir = {data:?}\n[api]\nlisten = {api:?}\n[peer]\nlisten = {peer:?}\nadvertise = {peer:?}\n\
         [cluster]\nname = \"tested\"\npeers = [{peer:?}]\n"
    );
    let file = folder.path().join(format!("{name}.toml"));
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// `campanile serve`, until it ends by itself.
async fn start(folder: &TempDir, configuration: &str) -> Answer {
    let log = folder.path().join("log");
    let _ = fs::remove_file(&log);
    let mut process =
        Process::start(campanile(["serve", "--log", "error", "--config", configuration]), &log).unwrap();
    let ended = process.ended(ENDS_WITHIN).await;
    let said = process
        .output()
        .lines()
        .filter(|line| *line != "--- started")
        .map(|line| format!("{line}\n"))
        .collect();
    let code = ended.unwrap_or_else(|| panic!("it runs, with {configuration}: {said}")).code();
    Answer { code, stdout: String::new(), stderr: said }
}

#[track_caller]
fn assert_refused(answer: &Answer, names: &str) {
    assert_eq!(answer.code, Some(2), "{answer}");
    assert_eq!(answer.stderr.lines().count(), 1, "one line: {answer}");
    assert!(answer.stderr.starts_with("error: ") && answer.stderr.contains(names), "{answer}");
}
