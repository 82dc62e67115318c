//! A node whose disk is gone comes back as another one: under a new id, with everything that the others have.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::time::Duration;

use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::receiver::{Receiver, now};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::trial::judge_after;
use campanile_cluster_tests::{wait, workload};
use serde_json::Value;

/// Ids from here on are given by the cluster, and none of them twice.
const FIRST_GIVEN: u64 = 1000;
const JOINED_WITHIN: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_node_rejoins_under_a_new_id_with_the_whole_ledger() {
    let seed = Seed::from_environment();
    let receiver = Receiver::start().await;
    // Images often, so that the log is purged and the node must be sent one.
    let extra = toml::toml! {
        [raft]
        snapshot_entries = 200
    };
    let mut cluster = Cluster::start(Options { extra, ..Options::new(seed) }).await;
    let ticking: Vec<_> =
        (0..20).map(|n| workload::every(&format!("ticking/n{n}"), "1s", &receiver.url("/"))).collect();
    workload::create_all(&cluster.api(1), &ticking).await.unwrap();
    wait::must("some firings", Duration::from_secs(60), async || (receiver.count() > 400).then_some(()))
        .await;

    let leader = cluster.leader().await;
    let follower = cluster.places().find(|node| *node != leader).unwrap();
    for wiped in [follower, leader] {
        let old = id_of(&cluster, wiped).await;
        cluster.wipe(wiped);
        let calls = receiver.count();
        wait::must("firings while it is away", Duration::from_secs(30), async || {
            (receiver.count() > calls + 40).then_some(())
        })
        .await;
        cluster.spawn(wiped);
        cluster.wait_ready_of(wiped).await;
        let new = wait::must("the wiped node to be a voter under a new id", JOINED_WITHIN, async || {
            replaced(&cluster, wiped, old).await
        })
        .await;
        assert!(new >= FIRST_GIVEN, "node {wiped} was {old} and came back as {new}");
        eprintln!("node {wiped} was {old} and came back as {new}");
    }

    let verdict = judge_after(&cluster, &receiver, now()).await.unwrap();
    eprintln!("{verdict}");
    verdict.assert_clean();
    assert_eq!(verdict.counts.ledgers, 3);
}

async fn id_of(cluster: &Cluster, node: usize) -> u64 {
    cluster.view(node).await.unwrap()["node"].as_u64().unwrap()
}

/// The new id, once every node agrees that the old one is gone and the new one votes.
async fn replaced(cluster: &Cluster, wiped: usize, old: u64) -> Option<u64> {
    let new = cluster.view(wiped).await?["node"].as_u64().filter(|id| *id != old)?;
    for node in cluster.places() {
        let view = cluster.view(node).await?;
        let members = view["nodes"].as_array()?.clone();
        let is = |member: &Value, id: u64| member["id"] == id;
        let votes = |member: &Value| is(member, new) && member["role"] != "learner";
        if members.len() != 3 || members.iter().any(|member| is(member, old)) || !members.iter().any(votes) {
            return None;
        }
    }
    Some(new)
}
