//! A node whose disk is gone comes back as another one: under a new id, with everything that the others have.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::time::Duration;

use campanile_cluster_tests::cluster::members::FIRST_GIVEN;
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::receiver::{Receiver, now};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::trial::judge_after;
use campanile_cluster_tests::{wait, workload};

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
        let old = cluster.id_of(wiped).await;
        cluster.wipe(wiped);
        let calls = receiver.count();
        wait::must("firings while it is away", Duration::from_secs(30), async || {
            (receiver.count() > calls + 40).then_some(())
        })
        .await;
        cluster.spawn(wiped);
        cluster.wait_ready_of(wiped).await;
        let new = wait::must("the wiped node to be a voter under a new id", JOINED_WITHIN, async || {
            cluster.replaced(wiped, old).await
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
