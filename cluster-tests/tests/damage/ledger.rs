//! The segments of the ledger: a torn tail heals from the log, damage is refused and rebuilt from a peer.

use std::path::Path;

use campanile_cluster_tests::wait;

use crate::disk::{change, cut, flip, newest, promised, segments, size};
use crate::scene::{Comes, SOON, Scene};

/// What a node says of a tail that it cut.
const CUT: &str = "the torn tail of the ledger is cut";
/// What it says of a file that is damaged, before the number of the byte.
const AT_BYTE: &str = ".segment is damaged (at byte ";

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_tail_is_cut_and_healed_from_the_log() {
    // No image within this test: nothing of the newest segment was promised, so whatever stands there may be torn.
    let mut scene = Scene::begin(20_000).await;
    type Tear = (&'static str, fn(&Path));
    let tears: [Tear; 4] = [
        ("bytes cut off", |data| cut(&newest(data), size(&newest(data)) - 3)),
        ("noise behind the end", |data| change(&newest(data), |bytes| bytes.extend([0xa5; 777]))),
        ("zeros behind the end", |data| change(&newest(data), |bytes| bytes.extend([0; 4096]))),
        ("half a record", |data| {
            let (segment, promised) = promised(data);
            let unsynced = if segment == newest(data) { promised } else { 0 };
            cut(&newest(data), (unsynced + size(&newest(data))) / 2 + 1);
            // The middle may be the end of a record; three bytes behind it are the begin of one at least.
            change(&newest(data), |bytes| bytes.extend([0xa5; 3]));
        }),
    ];
    for (n, (name, tear)) in tears.into_iter().enumerate() {
        scene.hurt(name, n % 2 == 0, tear, Comes::Healed(CUT)).await;
    }
    scene.judge().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_before_the_last_sync_is_refused_with_file_and_byte_and_rebuilt_from_a_peer() {
    let mut scene = Scene::begin(100).await;
    scene.wait_data("segments", |data| segments(data).len() >= 4).await;
    type Harm = (&'static str, fn(&Path));
    let harms: [Harm; 3] = [
        ("a flipped byte before the last sync", |data| {
            let (segment, promised) = promised(data);
            flip(&segment, promised / 2);
        }),
        ("a segment gone from the middle", |data| {
            let segments = segments(data);
            std::fs::remove_file(&segments[segments.len() / 2]).unwrap();
        }),
        ("a segment that ends in the middle", |data| {
            let segments = segments(data);
            let old = &segments[segments.len() - 2];
            cut(old, size(old) / 2);
        }),
    ];
    for (n, (name, harm)) in harms.into_iter().enumerate() {
        scene.hurt(name, n % 2 == 0, harm, Comes::Rebuilt(&[AT_BYTE])).await;
    }
    for leads in [false, true] {
        an_old_segment_is_damaged(&mut scene, leads).await;
    }
    scene.judge().await;
}

/// Older segments are not read when a node starts: whoever reads them finds the damage, is told, and the node stops.
async fn an_old_segment_is_damaged(scene: &mut Scene, leads: bool) {
    let name = "a flipped byte in an old segment";
    let harm = |data: &Path| {
        let old = &segments(data)[1];
        flip(old, size(old) / 2);
    };
    let node = scene.hurt(name, leads, harm, Comes::Healed("serving")).await;
    if leads {
        scene.make_leader(node).await;
    }
    let old = scene.cluster.id_of(node).await;
    let verified = scene.verify(node);
    assert_eq!(verified.code, Some(1), "{name}: {verified}");
    assert!(verified.to_string().contains(AT_BYTE), "{name}: {verified}");
    let ended = scene.cluster.wait_end(node, SOON).await;
    let life = scene.cluster.last_life(node);
    assert_eq!(ended.code(), Some(1), "{name}: it stops:\n{life}");
    assert!(life.contains(AT_BYTE), "{name}: it says why:\n{life}");
    scene.wait_written(20).await;
    scene.cluster.spawn(node);
    scene.cluster.wait_ready_of(node).await;
    scene.wait_rebuilt(name, node, old).await;
}

impl Scene {
    /// Waits until a node leads, asking the others to give it the office.
    async fn make_leader(&mut self, node: usize) {
        let id = self.cluster.id_of(node).await;
        let body = serde_json::json!({ "to": id });
        wait::must("the office to move", SOON, async || {
            let leader = self.cluster.leader_now().await?;
            if leader == node {
                return Some(());
            }
            let _asked = self.cluster.api(leader).post("/v1/cluster/transfer", &body).await;
            None
        })
        .await;
    }
}
