//! A full disk: the node stops with the reason, the others go on, and what was acknowledged is there when there is room again.

use std::time::Duration;

use campanile_cluster_tests::workload;

use crate::scene::{SOON, Scene};

/// What a node says when its disk takes no more.
const WHY: &str = "no space left while ";
/// A write that can have no quorum is answered within the node's own deadline.
const ANSWERED_WITHIN: Duration = Duration::from_secs(40);

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_its_node_with_the_reason_and_nothing_acknowledged_is_lost() {
    let mut scene = Scene::begin(200).await;
    for leads in [true, false] {
        scene.wait_written(40).await;
        let node = scene.choose(leads).await;
        scene.fill(node).await;
        scene.wait_written(40).await;
        let leader = scene.cluster.leader().await;
        assert_ne!(leader, node, "the office is with a node that has room");
        scene.cluster.spawn(node);
        scene.cluster.wait_ready_of(node).await;
    }
    without_a_majority(&mut scene).await;
    scene.judge().await;
}

/// The disks of two of three are full: nobody is promised anything, and nothing is half there afterwards.
async fn without_a_majority(scene: &mut Scene) {
    scene.wait_written(40).await;
    let leader = scene.cluster.leader().await;
    let others: Vec<usize> = scene.cluster.places().filter(|node| *node != leader).collect();
    for node in &others {
        scene.fill(*node).await;
    }
    let refused = workload::cron("refused/now", "0 4 1 1 *", &scene.receiver.url("/never"));
    let api = scene.cluster.api(leader);
    let answer = tokio::time::timeout(ANSWERED_WITHIN, api.put(&refused.path(), &refused.body)).await;
    let answer = answer.expect("it is answered in time").unwrap();
    let clear = [(503, "no_quorum"), (503, "not_ready"), (504, "unknown_outcome")];
    assert!(clear.contains(&(answer.status, answer.code())), "{} {}", answer.status, answer.body);
    eprintln!("a write without a majority: {}", answer.body);
    for node in &others {
        scene.cluster.spawn(*node);
    }
    scene.cluster.wait_ready().await;
    let mut there = Vec::new();
    for node in scene.cluster.places() {
        let reply = scene.cluster.api(node).get(&refused.path()).await.unwrap();
        there.push((reply.status, reply.body["uid"].clone(), reply.body["revision"].clone()));
    }
    assert!(there.iter().all(|found| *found == there[0]), "on all of them or on none: {there:?}");
    scene.wait_written(20).await;
}

impl Scene {
    /// Fills the disk of a node, and waits until it has ended with the reason.
    async fn fill(&mut self, node: usize) {
        self.cluster.fill_disk(node, 16 << 10);
        let ended = self.cluster.wait_end(node, SOON).await;
        let life = self.cluster.last_life(node);
        assert_eq!(ended.code(), Some(1), "node {node}:\n{life}");
        let last = life.lines().last().unwrap_or_default();
        assert!(last.starts_with("error: this node stopped: ") && last.contains(WHY), "node {node}:\n{life}");
        eprintln!("node {node}: {last}");
    }
}
