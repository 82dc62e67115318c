//! What a node whose clock is ahead may stamp: nothing later than the node allows, not even when it takes office. And what
//! rides on answers beside the clock.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use campanile_core::command::{Body, Tick};
use campanile_core::id::NodeId;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use campanile_raft::{Options, PeerClock};
use cluster::{Cluster, Disk, poll, tick, within};

/// How far one clock is ahead: eight hours. The other two are right.
const AHEAD: i64 = 8 * 3_600_000;

/// No entry later than what every other voter's clock shows, as far as it was heard.
fn slowest(now: Timestamp, others: &[Option<PeerClock>]) -> Timestamp {
    others.iter().flatten().map(|clock| clock.at(Instant::now())).min().unwrap_or(now)
}

/// The node of the highest address runs ahead; each has tz data of its own.
fn tune(options: &mut Options) {
    let clock = Arc::clone(&options.clock);
    if options.peers.iter().max() == Some(&options.peer_address) {
        options.clock = Arc::new(move || Timestamp::from_millis(clock().as_millis() + AHEAD));
    }
    options.stamp_bound = Arc::new(slowest);
    options.tz_data = Some(format!("tz of {}", options.api_address));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_ahead_takes_office_and_commits_as_of_the_time_of_the_others() {
    let mut cluster = Cluster::started_with(3, Disk::Memory, tune).await;
    let ahead = 2;
    poll(|| async {
        let (leader, _) = cluster.in_office().await;
        if leader != ahead {
            // Refused by a node that has just lost its office; then the next look asks another.
            let _ = cluster.nodes[&leader].transfer(NodeId(3)).await;
        }
        (leader == ahead).then_some(())
    })
    .await;
    let office = poll(|| async { cluster.nodes[&ahead].offices().borrow().clone() }).await;
    let real = cluster.now().as_millis() + 60_000;
    assert!(cluster.nodes[&ahead].view().clock().as_millis() < real, "taking office was stamped ahead");

    let own = Timestamp::from_millis(cluster.now().as_millis() + AHEAD);
    assert!(!office.allows(own));
    let mut stamps = Vec::new();
    let plan = |at: Timestamp, _: &_| {
        stamps.push(at.as_millis());
        Some(Body::Tick(Tick::default()))
    };
    let reply = within(office.propose(own, plan)).await.unwrap();
    assert!(matches!(reply, Some(Reply::Ticked(_))), "{reply:?}");
    assert!(stamps[0] < real, "{stamps:?}");
    // What cannot do with an earlier moment proposes nothing.
    let planned = office.propose(own, move |at, machine| if at >= own { tick(at, machine) } else { None });
    assert_eq!(within(planned).await.unwrap(), None);
    // The log's time goes on in steps all the same, wherever clocks stand.
    let next = cluster.nodes[&ahead].view().clock().successor();
    let stepped = office.propose(next, move |at, machine| if at == next { tick(at, machine) } else { None });
    assert!(matches!(within(stepped).await.unwrap(), Some(Reply::Ticked(_))));
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_hears_the_tz_data_and_the_clock_of_every_other() {
    let mut cluster = Cluster::started_with(3, Disk::Memory, tune).await;
    cluster.in_office().await;
    for (node, consensus) in &cluster.nodes {
        consensus.hear_peers(Duration::from_secs(5)).await;
        let members = consensus.status().members;
        let tz: Vec<_> = members.iter().map(|member| member.tz_data.as_deref().unwrap_or_default()).collect();
        assert_eq!(tz, ["tz of http://api-0", "tz of http://api-1", "tz of http://api-2"], "node {node}");
        assert_eq!(consensus.peer_tz().len(), 2);
        assert!(consensus.voter_clocks().iter().all(Option::is_some), "node {node}");
    }
    cluster.stop_all().await;
}
