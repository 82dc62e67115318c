//! Three nodes in one process: offices, proposals, reads, forwarding, fail-over.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use campanile_core::command::{Body, OnTime, Tick};
use campanile_core::id::{LogIndex, NodeId, Revision, Uid};
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use campanile_raft::{ForwardError, ProposeError};
use cluster::{Cluster, Disk, poll, tick, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_found_a_cluster_and_one_of_them_takes_office() {
    let mut cluster = Cluster::started(3, Disk::Sled).await;
    let (leader, office) = cluster.in_office().await;
    assert_eq!(cluster.nodes[&leader].view().epoch(), office.epoch());
    assert_eq!(cluster.voters(leader), [1, 2, 3].map(NodeId));
    let members = cluster.nodes[&leader].status().members;
    let apis: Vec<_> = members.iter().map(|member| member.peer.api_address.as_str()).collect();
    assert_eq!(apis, ["http://api-0", "http://api-1", "http://api-2"]);
    let ticked = cluster.ticks(20).await;
    cluster.agreed(ticked).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_is_a_cluster_of_its_own() {
    let mut cluster = Cluster::started(1, Disk::Sled).await;
    let ticked = cluster.ticks(5).await;
    cluster.stop(0).await;
    cluster.start(0).await;
    let (_, office) = cluster.in_office().await;
    assert!(office.epoch().0 > ticked.0);
    assert_eq!(cluster.nodes[&0].incarnation(), 2);
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stamps_never_run_back_whatever_the_clock_says() {
    let mut cluster = Cluster::started(1, Disk::Memory).await;
    let (_, office) = cluster.in_office().await;
    let mut stamps = Vec::new();
    for now in [2_000_000, 1_500_000, 2_000_001, 0] {
        let plan = |at: Timestamp, _: &_| {
            stamps.push(at.as_millis());
            Some(Body::Tick(Tick::default()))
        };
        let reply = within(office.propose(Timestamp::from_millis(now), plan)).await.unwrap();
        assert!(matches!(reply, Some(Reply::Ticked(_))), "{reply:?}");
    }
    assert_eq!(stamps, [2_000_000, 2_000_000, 2_000_001, 2_000_001]);
    let nothing = within(office.propose(Timestamp::EPOCH, |_, _| None)).await.unwrap();
    assert_eq!(nothing, None);
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_flight_is_bounded_and_the_order_is_that_of_handing_over() {
    let mut cluster = Cluster::started_with(1, Disk::Memory, |options| options.in_flight = 8).await;
    let (_, office) = cluster.in_office().await;
    let mut pending = Vec::new();
    let refused = loop {
        match office.hand_over(cluster.now(), tick) {
            Ok(Some(handed)) => pending.push(handed),
            Ok(None) => unreachable!("the plan always proposes"),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, ProposeError::Busy);
    assert!(pending.len() >= 8);
    for handed in pending {
        assert!(matches!(within(handed.reply()).await, Ok(Reply::Ticked(_))));
    }
    // Their places are free again, though not before openraft let go of them.
    poll(|| async { office.hand_over(cluster.now(), tick).ok() }).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_is_too_large_is_refused_before_it_is_appended() {
    let mut cluster = Cluster::started(1, Disk::Memory).await;
    let (_, office) = cluster.in_office().await;
    let before = cluster.nodes[&0].status().last_log;
    let due =
        OnTime { uid: Uid(1), revision: Revision(1), nominal: Timestamp::EPOCH, next_at: Timestamp::NEVER };
    let large = Tick { on_time: vec![due; 10_000], ..Tick::default() };
    let refused = within(office.propose(cluster.now(), |_, _| Some(Body::Tick(large)))).await;
    assert!(matches!(refused, Err(ProposeError::TooLarge { .. })), "{refused:?}");
    assert_eq!(cluster.nodes[&0].status().last_log, before);
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_reads_what_was_committed_before_it_asked() {
    let mut cluster = Cluster::started(3, Disk::Memory).await;
    for _ in 0..20 {
        let ticked = cluster.ticks(1).await;
        for node in cluster.nodes.values() {
            let index = poll(|| async { node.read_barrier().await.ok() }).await;
            assert!(index >= ticked, "{index} < {ticked}");
            assert!(node.view().applied() >= index);
        }
    }
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_forwarded_to_the_leader() {
    let mut cluster = Cluster::started(3, Disk::Memory).await;
    let (leader, _) = cluster.in_office().await;
    let follower = (0..3).find(|node| *node != leader).unwrap();
    let not_yet = cluster.nodes[&follower].forward(Bytes::from("early"), Duration::from_secs(5)).await;
    assert!(matches!(not_yet, Err(ForwardError::NotSent(_))), "{not_yet:?}");
    for (number, node) in &cluster.nodes {
        let number = *number;
        node.answer_forwarded(Arc::new(move |request| {
            Box::pin(async move { Bytes::from(format!("{number}:{}", String::from_utf8_lossy(&request))) })
        }));
    }
    let answer = cluster.nodes[&follower].forward(Bytes::from("put"), Duration::from_secs(5)).await.unwrap();
    assert_eq!(answer, format!("{leader}:put"));
    let itself = cluster.nodes[&leader].forward(Bytes::from("put"), Duration::from_millis(50)).await;
    assert!(matches!(itself, Err(ForwardError::NotSent(_))), "{itself:?}");
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_leader_stops_another_takes_office_with_a_later_epoch() {
    let mut cluster = Cluster::started(3, Disk::Sled).await;
    let ticked = cluster.ticks(10).await;
    let (leader, office) = cluster.in_office().await;
    cluster.stop(leader).await;
    let (_, next) = cluster.next_office(&office).await;
    assert!(next.epoch() > office.epoch() && next.term() > office.term());
    let stale = within(office.propose(cluster.now(), tick)).await;
    assert!(matches!(stale, Err(ProposeError::Stopped(_) | ProposeError::Unknown(_))), "{stale:?}");
    let later = cluster.ticks(10).await;
    assert!(later > ticked);
    cluster.start(leader).await;
    cluster.agreed(later).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leadership_moves_on_request_and_the_old_office_is_refused() {
    let mut cluster = Cluster::started(3, Disk::Memory).await;
    cluster.ticks(10).await;
    let (leader, office) = cluster.in_office().await;
    let heir = (0..3).find(|node| *node != leader).unwrap();
    let heir_id = cluster.nodes[&heir].node();
    within(cluster.nodes[&leader].transfer(heir_id)).await.unwrap();
    let (taken_by, next) = cluster.next_office(&office).await;
    assert_eq!(taken_by, heir);
    poll(|| async { cluster.nodes[&leader].offices().borrow().is_none().then_some(()) }).await;
    let stale = within(office.propose(cluster.now(), tick)).await;
    assert!(matches!(stale, Err(ProposeError::NotLeader { .. })), "{stale:?}");
    assert!(matches!(within(next.propose(cluster.now(), tick)).await, Ok(Some(Reply::Ticked(_)))));
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_quorum_nothing_is_committed_and_nothing_is_read() {
    let mut cluster = Cluster::started(3, Disk::Memory).await;
    cluster.ticks(3).await;
    let (leader, office) = cluster.in_office().await;
    for node in (0..3).filter(|node| *node != leader) {
        cluster.stop(node).await;
    }
    let alone = &cluster.nodes[&leader];
    let read = within(alone.read_barrier()).await;
    assert!(read.is_err(), "{read:?}");
    let applied = alone.applied();
    let pending = office.hand_over(cluster.now(), tick);
    assert!(!matches!(pending, Err(ProposeError::TooLarge { .. } | ProposeError::Busy)));
    drop(pending);
    assert_eq!(alone.applied(), applied);
    let follower = (0..3).find(|node| *node != leader).unwrap();
    cluster.start(follower).await;
    let ticked = cluster.ticks(3).await;
    cluster.agreed(ticked).await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_stopped_and_started_again_have_lost_nothing() {
    let mut cluster = Cluster::started(3, Disk::Sled).await;
    let ticked = cluster.ticks(50).await;
    let head = cluster.nodes[&0].ledger().head();
    cluster.stop_all().await;
    for node in 0..3 {
        cluster.start(node).await;
    }
    let (leader, _) = cluster.in_office().await;
    let after = cluster.nodes[&leader].view();
    assert!(after.applied() > ticked);
    assert!(after.applied() > LogIndex(50));
    assert!(cluster.nodes[&leader].ledger().head().rows > head.rows, "a new office is a new row");
    cluster.agreed(after.applied()).await;
    cluster.stop_all().await;
}
