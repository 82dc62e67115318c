//! What consensus itself tells the ledger: members, gaps between leaders, and what retention has dropped.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;

use campanile_core::command::{AdmitNode, Body, DropLedger, Request, Restate};
use campanile_core::event::{Event, Row};
use campanile_core::format::FormatLevel;
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use campanile_raft::Options;
use campanile_storage::codec::{self, Kind};
use campanile_storage::ledger::Position;
use cluster::{Cluster, Disk, poll, within};

/// Every fact in the ledger of a node, with its time.
fn facts(cluster: &Cluster, node: usize) -> Vec<Row> {
    let rows = cluster.nodes[&node].ledger().read(None, usize::MAX, usize::MAX).unwrap();
    let decode = |body: &[u8]| {
        let frame = codec::open(Kind::Event, body).unwrap();
        assert_eq!(FormatLevel(frame.schema()), FormatLevel::OLDEST);
        frame.decode().unwrap()
    };
    rows.iter().map(|row| decode(&row.body)).collect()
}

fn outages(cluster: &Cluster, node: usize) -> Vec<(Timestamp, Timestamp)> {
    let told = facts(cluster, node).into_iter().filter_map(|row| match row.event {
        Event::Outage { from, to } => Some((from, to)),
        _ => None,
    });
    told.collect()
}

async fn propose(cluster: &Cluster, body: Body) -> Reply {
    let (_, office) = cluster.in_office().await;
    within(office.propose(cluster.now(), |_, _| Some(body))).await.unwrap().unwrap()
}

async fn rows(cluster: &Cluster, count: usize) -> LogIndex {
    for _ in 0..count {
        let admit = AdmitNode {
            peer_address: "nowhere:1".into(),
            api_address: "".into(),
            request: Request { by: "test".into(), key: None },
        };
        let reply = propose(cluster, Body::AdmitNode(admit)).await;
        assert!(matches!(reply, Reply::Admitted(_)), "{reply:?}");
    }
    let (leader, _) = cluster.in_office().await;
    cluster.nodes[&leader].applied()
}

/// Tells again what stands, and says from where on.
async fn restate(cluster: &Cluster) -> LogIndex {
    assert_eq!(
        propose(cluster, Body::Restate(Restate { after: None, most: 10 })).await,
        Reply::Refreshed(true)
    );
    let (leader, _) = cluster.in_office().await;
    cluster.nodes[&leader].view().keeping().restated.last().unwrap().from
}

fn short_logs(options: &mut Options) {
    options.image_every_entries = 50;
    options.keep_entries = 5;
    options.ledger.segment_bytes = 2_000;
}

/// The oldest row that every running node shows, once all show the same.
async fn oldest(cluster: &Cluster) -> Option<Position> {
    let firsts: Vec<_> = cluster.nodes.values().map(|node| node.ledger().first().unwrap()).collect();
    assert!(firsts.iter().all(|first| *first == firsts[0]), "{firsts:?}");
    firsts[0]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_of_members_is_a_row_and_the_same_one_everywhere() {
    let mut cluster = Cluster::started(3, Disk::Memory).await;
    rows(&cluster, 1).await;
    let (leader, _) = cluster.in_office().await;
    let out = (0..3).find(|node| *node != leader).unwrap();
    let id = cluster.nodes[&out].node();
    within(cluster.nodes[&leader].remove_node(id)).await.unwrap();
    cluster.stop(out).await;
    let now = rows(&cluster, 1).await;
    cluster.agreed(now).await;
    let left: Vec<NodeId> = [1, 2, 3].map(NodeId).into_iter().filter(|node| *node != id).collect();
    let told: Vec<_> = facts(&cluster, leader)
        .into_iter()
        .filter_map(|row| match row.event {
            Event::MembersChanged { voters, .. } => Some(voters),
            _ => None,
        })
        .collect();
    assert_eq!(told.last(), Some(&left), "{told:?}");
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_is_told_after_everything_was_down_and_not_after_a_transfer() {
    let mut cluster = Cluster::started(3, Disk::Sled).await;
    let (leader, office) = cluster.in_office().await;
    let heir = (0..3).find(|node| *node != leader).unwrap();
    let heir_id = cluster.nodes[&heir].node();
    rows(&cluster, 3).await;
    within(cluster.nodes[&leader].transfer(heir_id)).await.unwrap();
    let (leader, _) = cluster.next_office(&office).await;
    let now = rows(&cluster, 3).await;
    cluster.agreed(now).await;
    assert_eq!(outages(&cluster, leader), []);
    let down = cluster.now();
    cluster.stop_all().await;
    cluster.pass(60_000);
    for node in 0..3 {
        cluster.start(node).await;
    }
    let (leader, _) = cluster.in_office().await;
    let now = rows(&cluster, 1).await;
    cluster.agreed(now).await;
    assert_eq!(outages(&cluster, leader), [(down, cluster.now())]);
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_retention_drops_is_gone_from_every_node_and_stays_gone() {
    let mut cluster = Cluster::started_with(3, Disk::Sled, short_logs).await;
    rows(&cluster, 120).await;
    let place = restate(&cluster).await;
    let (leader, _) = cluster.in_office().await;
    let away = (0..3).find(|node| *node != leader).unwrap();
    cluster.agreed(place).await;
    let last = cluster.nodes[&away].status().last_log;
    cluster.stop(away).await;
    let dropped = propose(&cluster, Body::DropLedger(DropLedger { before: place })).await;
    assert_eq!(dropped, Reply::Refreshed(true));
    let now = rows(&cluster, 1).await;
    cluster.agreed(now).await;
    let first = Some(Position::new(place.0, 0));
    assert_eq!(oldest(&cluster).await, first);
    // Files go up to the newest image, here one that is made later.
    let held = cluster.nodes[&leader].ledger().base();
    let after = rows(&cluster, 60).await;
    poll(|| async {
        rows(&cluster, 1).await;
        (cluster.nodes[&leader].ledger().base().rows > held.rows.max(60)).then_some(())
    })
    .await;
    assert!(cluster.nodes[&leader].ledger().base().rows < after.0);
    // Who was away is given an image, and rows from the floor on.
    while cluster.nodes[&leader].status().log.purged.is_none_or(|purged| purged <= last) {
        rows(&cluster, 60).await;
    }
    cluster.start(away).await;
    let now = rows(&cluster, 1).await;
    cluster.agreed(now).await;
    assert_eq!(oldest(&cluster).await, first);
    assert_eq!(cluster.nodes[&away].ledger().base().index() + 1, place.0, "it was given no more");
    // Who starts again hides the same.
    cluster.stop_all().await;
    for node in 0..3 {
        cluster.start(node).await;
    }
    let now = rows(&cluster, 1).await;
    cluster.agreed(now).await;
    assert_eq!(oldest(&cluster).await, first);
    cluster.stop_all().await;
}
