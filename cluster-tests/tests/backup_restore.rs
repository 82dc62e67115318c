//! A backup that is taken while everybody works, and the cluster that is founded on it when the old one is gone.
//!
//! Three real processes fire at a receiver; the backup is taken in the middle; the cluster goes on, so that it decides more
//! than the backup knows, and is killed. Another one is founded on the file, on empty disks. The receiver has seen both, and
//! is the witness.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "backup_restore/gap.rs"]
mod gap;
#[path = "backup_restore/refused.rs"]
mod refused;
#[path = "backup_restore/taken.rs"]
mod taken;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::binary::{self, says};
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::judge::judge;
use campanile_cluster_tests::ledger::{Fact, Ledger, Row};
use campanile_cluster_tests::receiver::{Call, Manner, Receiver, now};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::trial::gather_for;
use campanile_cluster_tests::workload::{self, Schedule};
use campanile_cluster_tests::{judge::Promise, wait};
use serde_json::{Value, json};

/// The founder of the restored cluster: not the first, which founds where there is no backup.
const FOUNDER: usize = 2;
const WITHIN: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_founded_on_a_backup_fires_nothing_that_the_backup_had_decided() {
    let seed = Seed::from_environment();
    let receiver = Receiver::start().await;
    receiver.answer("/hang", Manner::Hang);
    let mut cluster = Cluster::start(Options { extra: short_grace(), ..Options::new(seed) }).await;
    workload::create_all(&cluster.api(1), &schedules(&receiver)).await.unwrap();
    calls_of(&receiver, "/all", 5).await;
    let triggered = trigger(&cluster.api(1), "keyed/once").await;
    begin_hanging(&cluster, &receiver).await;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup");
    let index = take(&cluster, &file);
    let calls = receiver.calls().iter().filter(|call| call.path == "/all").count();
    calls_of(&receiver, "/all", calls + 6).await;
    let mut old = Ledger::default();
    old.read_on(&cluster.api(1)).await.unwrap();
    cluster.kill_all();
    let (killed_at, before) = (now(), receiver.calls());
    receiver.answer("/hang", Manner::Status(200));

    cluster.places().for_each(|node| cluster.wipe(node));
    restore(&cluster, &file);
    cluster.places().for_each(|node| cluster.spawn(node));
    cluster.wait_ready().await;
    let again = trigger(&cluster.api(1), "keyed/once").await;
    assert_eq!(again, triggered, "what was asked for under a key is answered again, and done once");
    members(&cluster, 3).await;

    // What the old cluster sent for decisions that the backup does not have is nobody's any more.
    let last_token = index * 4096 + 4095;
    let of_restored = receiver_after(&receiver, before.len());
    let known: Vec<Call> = before.iter().filter(|call| call.fencing_token <= last_token).cloned().collect();
    let evidence = gather_for(
        Promise::Settled,
        &cluster,
        &|| known.iter().cloned().chain(of_restored()).collect(),
        now(),
    )
    .await
    .unwrap();
    let verdict = judge(&evidence);
    eprintln!("{verdict}");
    verdict.assert_clean();

    let rows = &evidence.ledgers[0].1.rows;
    let kept = begins_with(rows, &old, index);
    nothing_decided_twice(&rows[..kept], &rows[kept..]);
    tokens_grew(&before, &of_restored());
    gap::follows_the_rules(rows, kept, killed_at);
    live_goes_on(rows, &known, &of_restored());
}

/// An outage of seconds is one here, so that the catch-up rules have something to say.
fn short_grace() -> toml::Table {
    toml::toml! {
        [cluster]
        failover_grace = "1s"
        [raft]
        snapshot_entries = 300
    }
}

fn schedules(receiver: &Receiver) -> Vec<Schedule> {
    let caught_up = |mode: &str| {
        workload::every(&format!("gap/{mode}"), "1s", &receiver.url(&format!("/{mode}")))
            .with(&json!({ "catch_up": { "mode": mode, "window": "1h" } }))
    };
    let load = (0..10).map(|n| workload::every(&format!("load/n{n}"), "1s", &receiver.url("/load")));
    let waits = |name: &str, delivery: &str| {
        workload::cron(name, "0 0 1 1 *", &receiver.url("/hang")).with(&json!({ "delivery": delivery }))
    };
    ["none", "latest", "all"]
        .map(caught_up)
        .into_iter()
        .chain(load)
        .chain([waits("live/least", "at_least_once"), waits("live/most", "at_most_once")])
        .chain([workload::cron("keyed/once", "0 0 1 1 *", &receiver.url("/keyed"))])
        .collect()
}

async fn calls_of(receiver: &Receiver, path: &str, least: usize) {
    wait::must(path, WITHIN, async || {
        (receiver.calls().iter().filter(|call| call.path == path).count() >= least).then_some(())
    })
    .await;
}

/// Triggers under a key that is always the same, and says the firing.
async fn trigger(api: &Api, schedule: &str) -> String {
    let path = format!("/v1/schedules/{schedule}/trigger");
    let request = api.request(reqwest::Method::POST, &path).header("Idempotency-Key", "the-one-key");
    let reply = Api::send(request.json(&json!({}))).await.unwrap();
    assert_eq!(reply.status, 202, "{}", reply.body);
    reply.body["id"].as_str().unwrap().to_owned()
}

/// Two firings whose receiver does not answer, so that they are under way in the backup.
async fn begin_hanging(cluster: &Cluster, receiver: &Receiver) {
    for schedule in ["live/least", "live/most"] {
        let reply =
            cluster.api(1).post(&format!("/v1/schedules/{schedule}/trigger"), &json!({})).await.unwrap();
        assert_eq!(reply.status, 202, "{}", reply.body);
    }
    calls_of(receiver, "/hang", 2).await;
}

/// Takes a backup, and says the log entry that it is of.
fn take(cluster: &Cluster, file: &Path) -> u64 {
    let answer = says(cluster.command(&["backup", "-o", "json", file.to_str().unwrap()]));
    assert_eq!(answer.code, Some(0), "{answer}");
    let contents: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(contents["note"]["cluster"], "tested");
    eprintln!("backup: {contents}");
    contents["index"].as_u64().unwrap()
}

fn restore(cluster: &Cluster, file: &Path) {
    let data = cluster.data(FOUNDER).to_str().unwrap();
    let put = || says(binary::campanile(["restore", file.to_str().unwrap(), "--data", data]));
    let answer = put();
    assert_eq!(answer.code, Some(0), "{answer}");
    let second = put();
    assert_eq!(second.code, Some(4), "a second restore is refused: {second}");
    assert!(second.stderr.contains("is not empty"), "{second}");
}

async fn members(cluster: &Cluster, wanted: usize) {
    wait::must("every node to vote", WITHIN, async || {
        let view = cluster.view(FOUNDER).await?;
        let nodes = view["nodes"].as_array()?;
        (nodes.len() == wanted && nodes.iter().all(|node| node["role"] != "learner")).then_some(())
    })
    .await;
}

fn receiver_after(receiver: &Receiver, count: usize) -> impl Fn() -> Vec<Call> + use<'_> {
    move || receiver.calls().split_off(count)
}

/// The rows of the backup stand at the head of the restored ledger, hash by hash; says how many they are.
fn begins_with(rows: &[Row], old: &Ledger, index: u64) -> usize {
    let of_backup: Vec<&Value> =
        old.rows.iter().filter(|row| row.position.index <= index).map(|row| &row.json).collect();
    let kept: Vec<&Value> = rows.iter().take(of_backup.len()).map(|row| &row.json).collect();
    assert!(!of_backup.is_empty() && kept == of_backup, "the ledger begins with the backup's rows");
    let next = rows[of_backup.len()].position.index;
    assert!(next > index + 1_000_000, "the log goes on at {next}, far behind {index}");
    of_backup.len()
}

fn fired(rows: &[Row]) -> BTreeSet<&str> {
    rows.iter()
        .filter_map(|row| match &row.fact {
            Fact::Fired { firing, .. } => Some(firing.firing.as_str()),
            _ => None,
        })
        .collect()
}

fn nothing_decided_twice(backup: &[Row], since: &[Row]) {
    let (of_backup, since) = (fired(backup), fired(since));
    assert!(of_backup.len() > 50 && since.len() > 50, "{} and {}", of_backup.len(), since.len());
    let twice: Vec<_> = of_backup.intersection(&since).collect();
    assert!(twice.is_empty(), "decided by the backup and again: {twice:?}");
}

/// Every token of the restored cluster is above all that the receiver saw before, those behind the backup included.
fn tokens_grew(before: &[Call], after: &[Call]) {
    let greatest = before.iter().map(|call| call.fencing_token).max().unwrap();
    let least = after.iter().map(|call| call.fencing_token).min().unwrap();
    assert!(least > greatest, "{least} came after {greatest}");
}

/// At least once is sent again when its lease has ended; at most once is not, and ends as unknown.
fn live_goes_on(rows: &[Row], before: &[Call], after: &[Call]) {
    let hung: Vec<&Call> = before.iter().filter(|call| call.path == "/hang").collect();
    let sent_again: Vec<&Call> = after.iter().filter(|call| call.path == "/hang").collect();
    assert_eq!((hung.len(), sent_again.len()), (2, 1), "{sent_again:?}");
    assert_eq!((sent_again[0].schedule.as_str(), sent_again[0].attempt), ("live/least", 2));
    let most = &hung.iter().find(|call| call.schedule == "live/most").unwrap().firing;
    let ended = rows.iter().any(|row| {
        matches!(&row.fact, Fact::Settled { firing, state: Some(state), .. }
            if firing.firing == *most && state == "unknown")
    });
    assert!(ended, "{most} does not end as unknown");
}

/// A backup of one node that has one schedule.
async fn small_backup(seed: Seed, folder: &Path) -> PathBuf {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::new(seed) }).await;
    workload::cron("kept/one", "0 0 1 1 *", "http://127.0.0.1:1/").create(&cluster.api(1)).await.unwrap();
    let file = folder.join("backup");
    take(&cluster, &file);
    file
}
