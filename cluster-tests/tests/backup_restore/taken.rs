//! Giving a backup to a node that runs: only the whole of an empty cluster takes it.

use std::fs;

use campanile_cluster_tests::api::{Api, Reply};
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::workload;
use reqwest::Method;

use crate::small_backup;

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_cluster_of_one_takes_a_backup_and_begins_with_it_after_a_restart() {
    let seed = Seed::from_environment();
    let folder = tempfile::tempdir().unwrap();
    let backup = fs::read(small_backup(seed, folder.path()).await).unwrap();
    let mut cluster = Cluster::start(Options { nodes: 1, ..Options::new(seed) }).await;
    let api = cluster.api(1);
    let cut = give(&api, &backup[..backup.len() / 2]).await;
    assert_eq!((cut.status, cut.code()), (400, "bad_request"), "{}", cut.body);
    assert!(cut.body["detail"].as_str().unwrap().contains("cut off"), "{}", cut.body);

    let taken = give(&api, &backup).await;
    assert_eq!(taken.status, 202, "{}", taken.body);
    assert_eq!(taken.body["schedules"], 1);
    let other = workload::cron("late/one", "0 0 1 1 *", "http://127.0.0.1:1/");
    let closed = api.put(&other.path(), &other.body).await.unwrap();
    assert_eq!((closed.status, closed.code()), (503, "not_ready"), "what came now would be lost");

    cluster.kill(1);
    cluster.spawn(1);
    cluster.wait_ready().await;
    let kept = cluster.api(1).get("/v1/schedules/kept/one").await.unwrap();
    assert_eq!(kept.status, 200, "{}", kept.body);
    assert!(cluster.data(1).join("replaced").is_dir(), "what the empty cluster had is kept beside");
    other.create(&cluster.api(1)).await.unwrap();
    let again = give(&cluster.api(1), &backup).await;
    assert_eq!((again.status, again.code()), (409, "conflict"), "{}", again.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_three_is_told_to_restore_before_the_others_join() {
    let seed = Seed::from_environment();
    let cluster = Cluster::start(Options::new(seed)).await;
    let refused = give(&cluster.api(2), b"whatever it is").await;
    assert_eq!((refused.status, refused.code()), (409, "conflict"), "{}", refused.body);
    assert!(refused.body["detail"].as_str().unwrap().contains("campanile restore"), "{}", refused.body);
}

async fn give(api: &Api, file: &[u8]) -> Reply {
    Api::send(api.request(Method::POST, "/v1/restore").body(file.to_vec())).await.unwrap()
}
