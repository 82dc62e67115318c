//! A leader that is stopped in its tracks and wakes up deposed: it believes that it leads, its connections are open, and a
//! successor has fired in the meantime. Nothing of what it then does may be dropped, doubled or sent without a right.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::time::Duration;

use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::receiver::{Manner, Receiver, now};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::trial::judge_after;
use campanile_cluster_tests::{wait, workload};

const ROUNDS: usize = 3;
const WITHIN: Duration = Duration::from_secs(30);
/// Calls that must have come from a successor before the old leader wakes up.
const FIRED_MEANWHILE: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_wakes_up_deposed_does_no_harm() {
    let seed = Seed::from_environment();
    let mut dice = seed.dice("pause");
    let receiver = Receiver::start().await;
    // Attempts are under way at any moment, so that some are when the leader is stopped.
    receiver.answer("/slow", Manner::After(Duration::from_millis(150), 200));
    let mut cluster = Cluster::start(Options::new(seed)).await;
    let ticking: Vec<_> = (0..20)
        .map(|n| workload::cron(&format!("ticking/n{n}"), "* * * * * *", &receiver.url("/slow")))
        .collect();
    workload::create_all(&cluster.api(1), &ticking).await.unwrap();

    for round in 0..ROUNDS {
        let some = receiver.count() + 20 + dice.below(60) as usize;
        calls(&receiver, some).await;
        let old = cluster.leader().await;
        cluster.pause(old);
        let new = successor(&cluster, old).await;
        calls(&receiver, receiver.count() + FIRED_MEANWHILE).await;
        cluster.go_on(old);
        eprintln!("round {round}: node {old} was stopped, node {new} took over, node {old} woke up");
        cluster.wait_ready().await;
    }

    let verdict = judge_after(&cluster, &receiver, now()).await.unwrap();
    eprintln!("{verdict}");
    verdict.assert_clean();
    assert!(verdict.counts.offices > ROUNDS, "each round deposes a leader: {verdict}");
}

async fn calls(receiver: &Receiver, count: usize) {
    wait::must("calls", WITHIN, async || (receiver.count() >= count).then_some(())).await;
}

/// The node other than `old` that says of itself that it leads.
async fn successor(cluster: &Cluster, old: usize) -> usize {
    let others: Vec<usize> = cluster.places().filter(|node| *node != old).collect();
    wait::must("a successor", WITHIN, async || {
        for node in &others {
            let view = cluster.view(*node).await?;
            if view["leader"].is_u64() && view["leader"] == view["node"] {
                return Some(*node);
            }
        }
        None
    })
    .await
}
