//! A rolling upgrade: the cluster writes a newer format only when every node reads it, and then an older version stays out.
//!
//! There is one version, so the newer one is a build of it that reads one format level more. `SEED` chooses another run.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use campanile_cluster_tests::binary::{self, says};
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::ledger::Ledger;
use campanile_cluster_tests::receiver::Receiver;
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::{wait, workload};
use campanile_storage::log::{LogStore, SledLog};
use serde_json::Value;

const WITHIN: Duration = Duration::from_secs(60);
/// The level of the binary of this tree.
const OLD: u64 = 4;
/// That of the newer one.
const NEW: u64 = 5;
const SCHEDULES: usize = 5;
/// The node that is upgraded last.
const LAST: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_format_is_written_once_every_node_reads_it_and_an_older_version_then_stays_out() {
    let seed = Seed::from_environment();
    let (newer, older) = (binary::next_format(), binary::path());
    let receiver = Receiver::start().await;
    let mut cluster = Cluster::lay_out(Options { binary: newer.clone(), ..Options::new(seed) }).await;
    cluster.use_binary(LAST, older);
    cluster.places().for_each(|node| cluster.spawn(node));
    cluster.wait_ready().await;
    let ticking: Vec<_> =
        (0..SCHEDULES).map(|n| workload::every(&format!("ticking/n{n}"), "1s", &receiver.url("/"))).collect();
    workload::create_all(&cluster.api(1), &ticking).await.unwrap();

    spoken(&mut cluster, [OLD, NEW, NEW]).await;
    // A leader looks every second.
    calls(&receiver, 4 * SCHEDULES).await;
    assert_eq!(levels(&cluster).await, Some(vec![OLD; 3]), "one node does not read the newer level");

    cluster.kill(LAST);
    cluster.use_binary(LAST, &newer);
    cluster.spawn(LAST);
    cluster.wait_ready_of(LAST).await;
    wait::must("the newer level on every node", WITHIN, async || {
        (levels(&cluster).await? == [NEW; 3]).then_some(())
    })
    .await;
    calls(&receiver, 2 * SCHEDULES).await;
    let raised_at = raised(&cluster).await;
    let verified = says(cluster.command(&["verify"]));
    assert_eq!(verified.code, Some(0), "{verified}");

    cluster.kill(LAST);
    cluster.use_binary(LAST, older);
    cluster.spawn(LAST);
    refuses(&mut cluster, "the cluster writes format level 5").await;
    cluster.wipe(LAST);
    cluster.spawn(LAST);
    refuses(&mut cluster, "this node cannot join").await;

    cluster.kill_all();
    let written = command_levels(cluster.data(1));
    let of = |is_behind: bool| -> BTreeSet<u64> {
        let chosen = written.iter().filter(|(index, _)| (*index > raised_at) == is_behind);
        chosen.map(|(_, level)| *level).collect()
    };
    assert_eq!((of(false), of(true)), ([OLD].into(), [NEW].into()), "raised at {raised_at}");
    eprintln!("{} commands, the level raised at entry {raised_at}", written.len());
}

/// Waits until the leader has heard from every node which levels it reads.
async fn spoken(cluster: &mut Cluster, wanted: [u64; 3]) {
    wait::must("every node to say what it reads", WITHIN, async || {
        let leader = cluster.leader_now().await?;
        let view = cluster.view(leader).await?;
        let told = view["nodes"].as_array()?.iter().map(|node| node["speaks"].as_u64());
        let mut told: Vec<u64> = told.collect::<Option<_>>()?;
        told.sort_unstable();
        (told == wanted).then_some(())
    })
    .await;
}

/// Waits for so many deliveries more.
async fn calls(receiver: &Receiver, more: usize) {
    let before = receiver.count();
    wait::must("deliveries", WITHIN, async || (receiver.count() >= before + more).then_some(())).await;
}

/// The level that each node knows.
async fn levels(cluster: &Cluster) -> Option<Vec<u64>> {
    let mut levels = Vec::new();
    for node in cluster.places() {
        levels.push(cluster.view(node).await?["format_level"].as_u64()?);
    }
    Some(levels)
}

/// The entry that raised the level: one, and the same on every node.
async fn raised(cluster: &Cluster) -> u64 {
    let mut found = BTreeSet::new();
    for node in cluster.places() {
        let mut ledger = Ledger::default();
        ledger.read_on(&cluster.api(node)).await.unwrap();
        let rows: Vec<&Value> =
            ledger.rows.iter().map(|row| &row.json).filter(|row| row["type"] == "format_level_set").collect();
        assert_eq!(rows.len(), 1, "node {node}: {rows:?}");
        assert_eq!((rows[0]["from"].as_u64(), rows[0]["level"].as_u64()), (Some(OLD), Some(NEW)));
        let (index, _) = rows[0]["position"].as_str().unwrap().split_once('.').unwrap();
        found.insert(index.parse::<u64>().unwrap());
    }
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

/// Waits until the last node has ended by itself with that sentence.
async fn refuses(cluster: &mut Cluster, sentence: &str) {
    wait::must("the older version to end", WITHIN, async || (!cluster.is_running(LAST)).then_some(())).await;
    let output = cluster.output(LAST);
    let (_, life) = output.rsplit_once("--- started").unwrap();
    assert!(life.contains(sentence) && life.contains("start a version that reads 5"), "{life}");
}

/// The commands in the log of a node that is not running: their entries, and the level that each was written at. What an
/// entry is made of stands in `raft/src/format.rs`.
fn command_levels(data: &Path) -> Vec<(u64, u64)> {
    const HEAD: usize = 3 + 8 + 8 + 4;
    const WHAT: usize = 3 + 8 + 8;
    const COMMAND: u8 = 1;
    let log = SledLog::open(&data.join("log")).unwrap();
    let entries = log.reader().read_range(0..u64::MAX, usize::MAX).unwrap();
    let commands = entries.iter().filter(|(_, bytes)| bytes[WHAT] == COMMAND);
    let level = |bytes: &[u8]| u64::from(u16::from_le_bytes([bytes[HEAD + 1], bytes[HEAD + 2]]));
    commands.map(|(index, bytes)| (*index, level(bytes))).collect()
}
