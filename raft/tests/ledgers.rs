//! Ledgers compared: who differs stops, says where, and comes back empty; who does not goes on.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;

use campanile_core::command::{AdmitNode, Body, Request};
use campanile_core::id::LogIndex;
use campanile_core::reply::Reply;
use campanile_raft::mark;
use cluster::tamper::tamper;
use cluster::{Cluster, Disk, poll, within};

/// Commits so many commands that each make a row, and says where the first one stands.
async fn rows(cluster: &Cluster, count: usize) -> LogIndex {
    let mut first = None;
    for _ in 0..count {
        let body = Body::AdmitNode(AdmitNode {
            peer_address: "nowhere:1".into(),
            api_address: "".into(),
            request: Request { by: "test".into(), key: None },
        });
        let (leader, office) = cluster.in_office().await;
        let reply = within(office.propose(cluster.now(), |_, _| Some(body))).await.unwrap();
        assert!(matches!(reply, Some(Reply::Admitted(_))), "{reply:?}");
        first = first.or(Some(cluster.nodes[&leader].applied()));
    }
    first.unwrap()
}

/// The leader states the end of its ledger, if it may.
async fn check(cluster: &Cluster) -> Option<LogIndex> {
    let (leader, office) = cluster.in_office().await;
    let end = within(cluster.nodes[&leader].compared_end()).await?;
    let reply = within(office.propose(cluster.now(), |_, _| Some(Body::CheckLedger(end)))).await.unwrap();
    assert_eq!(reply, Some(Reply::Refreshed(true)));
    Some(cluster.nodes[&leader].applied())
}

/// Stops a node with an image of everything, parts its ledger at that entry, and starts it again.
async fn part(cluster: &mut Cluster, node: usize, at: LogIndex) {
    cluster.nodes[&node].make_image().await.unwrap();
    poll(|| async { (cluster.nodes[&node].status().log.image? > at).then_some(()) }).await;
    cluster.stop(node).await;
    let options = cluster.options(node).ledger;
    tamper(&cluster.data(node), options, at.0);
    cluster.start(node).await;
}

/// The reason for which a node has stopped.
async fn stopped(cluster: &mut Cluster, node: usize) -> String {
    let mut fatal = cluster.nodes[&node].fatal();
    let reason = within(fatal.wait_for(Option::is_some)).await.unwrap().clone().unwrap();
    within(cluster.nodes.remove(&node).unwrap().stop()).await;
    reason
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_ledgers_are_compared_and_nobody_stops() {
    let mut cluster = Cluster::started(3, Disk::Memory).await;
    for _ in 0..5 {
        rows(&cluster, 10).await;
        let checked = check(&cluster).await.unwrap();
        cluster.agreed(checked).await;
    }
    let (leader, _) = cluster.in_office().await;
    let checked = cluster.nodes[&leader].view().keeping().checked.unwrap();
    assert_eq!(cluster.nodes[&leader].ledger().end_at(checked.index.0).unwrap().unwrap().hash, checked.hash);
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_ledger_differs_stops_names_the_first_index_and_comes_back_empty() {
    let mut cluster = Cluster::started(3, Disk::Sled).await;
    rows(&cluster, 20).await;
    check(&cluster).await.unwrap();
    let at = rows(&cluster, 20).await;
    let (leader, _) = cluster.in_office().await;
    let victim = (0..3).find(|node| *node != leader).unwrap();
    cluster.agreed(at).await;
    part(&mut cluster, victim, at).await;
    let id = cluster.nodes[&victim].node();
    rows(&cluster, 5).await;
    check(&cluster).await.unwrap();
    let reason = stopped(&mut cluster, victim).await;
    assert!(reason.contains(&format!("the first differing index is {at} ")), "{reason}");
    let mark = std::fs::read_to_string(cluster.data(victim).join(mark::LEDGER_DIFFERS)).unwrap();
    assert!(reason.contains(mark.trim_end()), "{mark}");
    // The others go on, and it comes back as somebody else with what they have.
    let on = rows(&cluster, 5).await;
    cluster.agreed(on).await;
    cluster.start(victim).await;
    let new = cluster.nodes[&victim].node();
    assert_ne!(new, id);
    poll(|| async { cluster.voters(victim).contains(&new).then_some(()) }).await;
    let checked = check(&cluster).await.unwrap();
    cluster.agreed(checked).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_ledger_differs_from_that_of_most_stops_and_takes_nobody_with_it() {
    let mut cluster = Cluster::started(3, Disk::Sled).await;
    let at = rows(&cluster, 20).await;
    let (leader, _) = cluster.in_office().await;
    cluster.agreed(at).await;
    // Both others part in the same way, so it is the leader that is alone.
    for other in (0..3).filter(|node| *node != leader) {
        part(&mut cluster, other, at).await;
    }
    let after = rows(&cluster, 1).await;
    poll(|| async { cluster.nodes.values().all(|node| node.applied() >= after).then_some(()) }).await;
    assert_eq!(within(cluster.nodes[&leader].compared_end()).await, None);
    let reason = stopped(&mut cluster, leader).await;
    assert!(reason.contains(&format!("the first differing index is {at} ")), "{reason}");
    let on = rows(&cluster, 5).await;
    cluster.agreed(on).await;
    cluster.stop_all().await;
}
