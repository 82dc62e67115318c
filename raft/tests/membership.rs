//! Founding, joining, leaving; wiped and damaged disks; images for those who were away.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use campanile_core::command::{AdmitNode, Body, Request};
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::reply::Reply;
use campanile_raft::transport::clocks::Clocks;
use campanile_raft::transport::dialer::{CallError, Dialer, Target};
use campanile_raft::transport::guard::{ANYBODY, Guard};
use campanile_raft::transport::lanes::Lanes;
use campanile_raft::transport::message::{self, Hello};
use campanile_raft::transport::zones::Zones;
use campanile_raft::transport::{Purpose, path};
use campanile_raft::{Consensus, MembershipError, Options, Secret, StartError};
use cluster::{Cluster, Disk, poll, within};
use futures_util::FutureExt;

/// Commits so many commands that each make a row of the ledger.
async fn rows(cluster: &Cluster, count: usize) -> LogIndex {
    let (leader, office) = cluster.in_office().await;
    for _ in 0..count {
        let admit = AdmitNode {
            peer_address: "nowhere:1".into(),
            api_address: "".into(),
            request: Request { by: "test".into(), key: None },
        };
        let reply = within(office.propose(cluster.now(), |_, _| Some(Body::AdmitNode(admit)))).await.unwrap();
        assert!(matches!(reply, Some(Reply::Admitted(_))), "{reply:?}");
    }
    cluster.nodes[&leader].applied()
}

/// Images are small and the log behind them is short.
fn short_logs(options: &mut Options) {
    options.image_every_entries = 50;
    options.keep_entries = 5;
    options.ledger.segment_bytes = 2_000;
}

/// The log of whoever leads begins behind this entry.
async fn purged_beyond(cluster: &Cluster, index: LogIndex) {
    let (leader, _) = cluster.in_office().await;
    while cluster.nodes[&leader].status().log.purged.is_none_or(|purged| purged <= index) {
        rows(cluster, 60).await;
    }
}

fn dialer(cluster: &str, secret: &str) -> Dialer {
    let guard = Arc::new(Guard::new(cluster.into(), Some(Secret::new(secret))));
    Dialer::new(
        Arc::new(Lanes::default()),
        guard,
        Arc::new(Clocks::default()),
        Arc::new(Zones::default()),
        Arc::default(),
    )
}

async fn hello(dialer: &Dialer, address: &str, node: u64) -> Result<Hello, CallError> {
    let target = Target { address: address.into(), node };
    let asked =
        dialer.ask(&target, Purpose::Forward, path::HELLO, Bytes::new(), Duration::from_secs(10)).await;
    asked.map(|bytes| message::decode(&bytes).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_founds_a_cluster_while_a_peer_is_silent() {
    let mut cluster = Cluster::new(3, Disk::Memory).await;
    let mut starts = Vec::new();
    for node in [0, 1] {
        let (options, listener) = (cluster.options(node), cluster.listener(node).await);
        starts.push((node, tokio::spawn(Consensus::start(options, listener))));
    }
    let dialer = dialer("test", "not told");
    for node in [0, 1] {
        let hello = poll(|| async { hello(&dialer, cluster.address(node), ANYBODY).await.ok() }).await;
        assert_eq!((hello.node, hello.initialised), (None, false), "node {node}");
    }
    assert!(starts.iter().all(|(_, start)| !start.is_finished()));
    cluster.start(2).await;
    for (node, start) in starts {
        cluster.nodes.insert(node, within(start).await.unwrap().unwrap());
    }
    cluster.in_office().await;
    assert_eq!(cluster.voters(0), [1, 2, 3].map(NodeId));
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_who_knows_the_secret_the_cluster_and_the_id_is_answered() {
    let mut cluster = Cluster::started(1, Disk::Memory).await;
    let address = cluster.address(0).to_owned();
    let refused = async |dialer: Dialer, node: u64| match hello(&dialer, &address, node).await {
        Err(CallError::Refused { status, .. }) => status.as_u16(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(dialer("test", "wrong"), ANYBODY).await, 401);
    assert_eq!(refused(dialer("other", "not told"), ANYBODY).await, 421);
    assert_eq!(refused(dialer("test", "not told"), 2).await, 421);
    assert!(hello(&dialer("test", "not told"), &address, 1).await.unwrap().initialised);
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wiped_node_comes_back_under_a_new_id_and_takes_its_old_place() {
    let mut cluster = Cluster::started(3, Disk::Sled).await;
    let before = rows(&cluster, 10).await;
    let (leader, _) = cluster.in_office().await;
    let victim = (0..3).find(|node| *node != leader).unwrap();
    let old = cluster.nodes[&victim].node();
    cluster.stop(victim).await;
    cluster.wipe(victim);
    cluster.start(victim).await;
    let new = cluster.nodes[&victim].node();
    assert!(new.0 >= 1_000, "{new}");
    poll(|| async {
        let voters = cluster.voters(victim);
        (voters.len() == 3 && voters.contains(&new) && !voters.contains(&old)).then_some(())
    })
    .await;
    let after = rows(&cluster, 10).await;
    assert!(after > before);
    cluster.agreed(after).await;
    let meant_the_old_one = hello(&dialer("test", "not told"), cluster.address(victim), old.0).await;
    assert!(matches!(meant_the_old_one, Err(CallError::Refused { .. })), "{meant_the_old_one:?}");
    // It is a full member: it carries a quorum, also after a restart.
    let other = (0..3).find(|node| *node != leader && *node != victim).unwrap();
    cluster.stop(other).await;
    cluster.stop(victim).await;
    cluster.start(victim).await;
    assert_eq!(cluster.nodes[&victim].node(), new);
    rows(&cluster, 5).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_away_for_long_gets_an_image_with_its_ledger() {
    let mut cluster = Cluster::started_with(3, Disk::Sled, short_logs).await;
    rows(&cluster, 20).await;
    let (leader, _) = cluster.in_office().await;
    let away = (0..3).find(|node| *node != leader).unwrap();
    let last = cluster.nodes[&away].status().last_log;
    cluster.stop(away).await;
    purged_beyond(&cluster, last).await;
    cluster.start(away).await;
    let now = rows(&cluster, 3).await;
    cluster.agreed(now).await;
    let status = cluster.nodes[&away].status();
    assert!(status.log.image > Some(last), "it caught up without an image: {status:?}");
    // The ledger that it was given is a whole one, and on its disk.
    let head = cluster.nodes[&away].ledger().head();
    cluster.stop(away).await;
    assert_eq!(campanile_storage::ledger::verify_chain(&cluster.data(away).join("ledger")).unwrap(), head);
    cluster.start(away).await;
    let now = rows(&cluster, 3).await;
    cluster.agreed(now).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wiped_node_is_given_an_image_when_the_log_does_not_reach_back() {
    let mut cluster = Cluster::started_with(3, Disk::Memory, short_logs).await;
    purged_beyond(&cluster, LogIndex(10)).await;
    let (leader, _) = cluster.in_office().await;
    let victim = (0..3).find(|node| *node != leader).unwrap();
    cluster.stop(victim).await;
    cluster.wipe(victim);
    cluster.start(victim).await;
    let new = cluster.nodes[&victim].node();
    poll(|| async { cluster.voters(victim).contains(&new).then_some(()) }).await;
    let now = rows(&cluster, 3).await;
    cluster.agreed(now).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_directory_is_moved_aside_and_the_node_joins_again() {
    let mut cluster = Cluster::started(3, Disk::Sled).await;
    rows(&cluster, 10).await;
    let (leader, _) = cluster.in_office().await;
    let victim = (0..3).find(|node| *node != leader).unwrap();
    cluster.stop(victim).await;
    let data = cluster.data(victim);
    std::fs::remove_dir_all(data.join("log")).unwrap();
    cluster.start(victim).await;
    assert!(cluster.nodes[&victim].node().0 >= 1_000);
    assert!(data.with_file_name(format!("node-{victim}.damaged-1")).join("identity").exists());
    poll(|| async { (cluster.voters(victim).len() == 3).then_some(()) }).await;
    let now = rows(&cluster, 3).await;
    cluster.agreed(now).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_never_starts_with_less_than_it_promised() {
    let mut cluster = Cluster::started(1, Disk::Sled).await;
    rows(&cluster, 5).await;
    cluster.stop(0).await;
    std::fs::remove_dir_all(cluster.data(0).join("log")).unwrap();
    let refused = cluster.try_start(0).await;
    assert!(matches!(refused, Err(StartError::Trouble(_))), "{refused:?}");
    assert!(cluster.data(0).join("identity").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_of_another_cluster_and_a_list_without_oneself_are_refused() {
    let mut cluster = Cluster::started(1, Disk::Memory).await;
    cluster.stop(0).await;
    cluster.tune = |options| options.cluster = "other".into();
    let refused = cluster.try_start(0).await;
    assert!(matches!(refused, Err(StartError::OtherCluster { .. })), "{refused:?}");
    cluster.tune = |options| options.peers = vec!["localhost:1".into()];
    let refused = cluster.try_start(0).await;
    assert!(matches!(refused, Err(StartError::Configuration(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_node_is_out_for_good() {
    let mut cluster = Cluster::started(3, Disk::Memory).await;
    rows(&cluster, 3).await;
    let (leader, _) = cluster.in_office().await;
    let out = (0..3).find(|node| *node != leader).unwrap();
    let id = cluster.nodes[&out].node();
    let elsewhere = within(cluster.nodes[&out].remove_node(id)).await;
    assert_eq!(elsewhere, Err(MembershipError::NotLeader));
    within(cluster.nodes[&leader].remove_node(id)).await.unwrap();
    poll(|| async { (!cluster.voters(leader).contains(&id)).then_some(()) }).await;
    assert_eq!(within(cluster.nodes[&leader].remove_node(id)).await, Err(MembershipError::NoSuchNode(id)));
    cluster.stop(out).await;
    let now = rows(&cluster, 3).await;
    cluster.agreed(now).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_comes_to_its_end_when_nobody_waits_for_it() {
    let mut cluster = Cluster::started(3, Disk::Memory).await;
    rows(&cluster, 3).await;
    let (leader, _) = cluster.in_office().await;
    let out = (0..3).find(|node| *node != leader).unwrap();
    let id = cluster.nodes[&out].node();
    // Asked, and given up at once, as by a user who goes away.
    assert_eq!(cluster.nodes[&leader].remove_node(id).now_or_never(), None);
    poll(|| async { (!cluster.voters(leader).contains(&id)).then_some(()) }).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_removed_without_whom_the_others_could_not_commit_that() {
    let mut cluster = Cluster::started(3, Disk::Memory).await;
    rows(&cluster, 3).await;
    let (leader, _) = cluster.in_office().await;
    let [dead, out] = [1, 2].map(|step| (leader + step) % 3);
    let [dead_id, out_id] = [dead, out].map(|node| cluster.nodes[&node].node());
    cluster.stop(dead).await;
    let silent = || {
        let members = cluster.nodes[&leader].status().members;
        members.iter().any(|member| member.node == dead_id && member.answers() == Some(false))
    };
    poll(|| async { silent().then_some(()) }).await;
    let refused = within(cluster.nodes[&leader].remove_node(out_id)).await;
    assert!(
        matches!(&refused, Err(MembershipError::Failed(why)) if why.contains("no majority")),
        "{refused:?}"
    );
    rows(&cluster, 3).await;
    // The dead one can go, and what is left goes on.
    within(cluster.nodes[&leader].remove_node(dead_id)).await.unwrap();
    rows(&cluster, 3).await;
    cluster.stop_all().await;
}
