//! The history index: lost, of earlier, or damaged, it is made again, and history is told as on the other nodes.

use std::fs;
use std::path::Path;

use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::wait;
use serde_json::Value;

use crate::disk::{all, change, copy};
use crate::scene::{Comes, SOON, Scene};

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_an_older_and_a_damaged_history_index_are_rebuilt_and_tell_the_same() {
    let mut scene = Scene::begin(200).await;
    let shelf = tempfile::tempdir().unwrap();
    let older = shelf.path().join("history");
    let take = |data: &Path| copy(&data.join("history"), &older);
    let node = scene.hurt("a copy is taken", false, take, Comes::Healed("serving")).await;
    scene.assert_same_history("as it was").await;

    let put_back = |data: &Path| {
        fs::remove_dir_all(data.join("history")).unwrap();
        copy(&older, &data.join("history"));
    };
    scene.hurt_node("an older copy", node, put_back, Comes::Healed("serving")).await;
    scene.assert_same_history("an older copy").await;

    let gone = |data: &Path| fs::remove_dir_all(data.join("history")).unwrap();
    scene.hurt("the index gone", true, gone, Comes::Healed("serving")).await;
    scene.assert_same_history("the index gone").await;

    let mut dice = Seed::from_environment().dice("bytes of the index");
    for leads in [false, true, false] {
        let mut at = || dice.below(1 << 32) as usize;
        let damage = |data: &Path| {
            for folder in all(&data.join("history")).into_iter().filter(|path| path.is_dir()) {
                change(&folder.join("db"), |bytes| {
                    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
                    bytes[at() % used] ^= 0x10;
                    bytes[at() % used] ^= 0x10;
                });
            }
        };
        scene.hurt("a damaged index", leads, damage, Comes::Healed("serving")).await;
        scene.assert_same_history("a damaged index").await;
    }
    scene.judge().await;
}

impl Scene {
    /// What each node tells of a schedule's past is the same, and reaches back to its first firing.
    async fn assert_same_history(&self, name: &str) {
        let until = self.first_page(1, "").await.unwrap()["items"][0]["nominal"].as_str().unwrap().to_owned();
        let before = format!("&before={until}");
        // What has not ended yet may have ended on one node and not be known on another.
        let differ = |told: &[Option<Value>]| told.iter().any(|page| page.is_none() || page != &told[0]);
        let what = format!("{name}: the same history on each node");
        wait::must(&what, SOON, async || {
            let mut told = Vec::new();
            for node in self.cluster.places() {
                told.push(self.first_page(node, &before).await);
            }
            (!differ(&told)).then_some(())
        })
        .await;
    }

    async fn first_page(&self, node: usize, window: &str) -> Option<Value> {
        let path = format!("/v1/schedules/ticking/n0/firings?limit=1000{window}");
        let reply = self.cluster.api(node).get(&path).await.ok()?;
        reply.is_success().then_some(reply.body)
    }
}
