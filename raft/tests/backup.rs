//! A backup of a cluster, and another cluster that is founded on it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;

use std::fs;
use std::io::Write;
use std::path::Path;

use campanile_core::command::{AdmitNode, Body, Request};
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::reply::Reply;
use campanile_raft::seed::{self, Seed, Staging, Unfit};
use campanile_raft::{Consensus, Options, StartError};
use cluster::{Cluster, Disk, poll, within};

/// Commits so many commands that each make a row of the ledger.
async fn rows(cluster: &Cluster, count: usize) {
    let (_, office) = cluster.in_office().await;
    for _ in 0..count {
        let request = Request { by: "test".into(), key: None };
        let admit = AdmitNode { peer_address: "nowhere:1".into(), api_address: "".into(), request };
        let reply = within(office.propose(cluster.now(), |_, _| Some(Body::AdmitNode(admit)))).await.unwrap();
        assert!(matches!(reply, Some(Reply::Admitted(_))), "{reply:?}");
    }
}

/// A backup of a cluster of one.
async fn backup_of_one() -> (Vec<u8>, LogIndex) {
    let mut cluster = Cluster::started(1, Disk::Sled).await;
    rows(&cluster, 100).await;
    let node = &cluster.nodes[&0];
    let (taken, applied) = (within(node.image_of_now()).await.unwrap(), node.applied());
    assert_eq!(taken.index(), applied);
    rows(&cluster, 5).await;
    let file = tokio::task::spawn_blocking(move || {
        let mut file = Vec::new();
        taken.write(b"a note", &mut file).unwrap();
        file
    });
    let file = file.await.unwrap();
    cluster.stop_all().await;
    (file, applied)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_founded_on_a_backup_goes_on_behind_it_and_others_join() {
    let (file, index) = backup_of_one().await;
    let mut seed = Seed::open(&file[..]).unwrap();
    assert_eq!((seed.note(), seed.index()), (&b"a note"[..], index));
    let (mut told, [base, head]) = (Vec::new(), seed.ledger());
    seed.rows(|rows, _| {
        told.extend_from_slice(rows);
        Ok(())
    })
    .unwrap();
    assert_eq!((base.rows, head.rows), (0, told.len() as u64));
    let before = seed.machine().clone();

    let mut cluster = Cluster::new(3, Disk::Sled).await;
    let mut staging = Staging::into_empty(&cluster.data(1)).unwrap();
    staging.write_all(&file).unwrap();
    staging.finish().unwrap();
    // The other two come first: they must wait for the one that has the backup.
    let mut starts = Vec::new();
    for node in [0, 2] {
        let (options, listener) = (cluster.options(node), cluster.listener(node).await);
        starts.push((node, tokio::spawn(Consensus::start(options, listener))));
    }
    cluster.start(1).await;
    for (node, start) in starts {
        cluster.nodes.insert(node, within(start).await.unwrap().unwrap());
    }
    poll(|| async { (cluster.voters(1).len() == 3).then_some(()) }).await;
    rows(&cluster, 3).await;
    let (_, office) = cluster.in_office().await;
    cluster.agreed(LogIndex(office.epoch().0)).await;

    let founder = &cluster.nodes[&1];
    assert!(founder.node() >= NodeId(1_100), "100 nodes were admitted before the backup: {}", founder.node());
    assert!(office.epoch().0 >= index.0 + 1_000_000, "{} is above {index} by the leap", office.epoch());
    assert!(office.term() > before.office().term);
    for node in cluster.nodes.values() {
        let kept = node.ledger().read(None, told.len(), usize::MAX).unwrap();
        assert_eq!(kept, told, "the ledger begins with the backup's rows");
    }
    // It is a cluster like any other: it comes back.
    cluster.stop_all().await;
    for node in 0..3 {
        cluster.start(node).await;
    }
    let (_, again) = cluster.in_office().await;
    assert!(again.epoch() > office.epoch());
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_not_restored_beside_a_running_cluster_nor_over_data() {
    let (file, _) = backup_of_one().await;
    let mut cluster = Cluster::started(3, Disk::Sled).await;
    // Founded, and known to be by each of them.
    rows(&cluster, 1).await;
    let (leader, _) = cluster.in_office().await;
    cluster.agreed(cluster.nodes[&leader].applied()).await;
    let held = Staging::into_empty(&cluster.data(2)).unwrap_err();
    assert!(matches!(held, Unfit::NotEmpty { .. }), "{held}");
    cluster.stop(2).await;
    cluster.wipe(2);
    let mut staging = Staging::into_empty(&cluster.data(2)).unwrap();
    staging.write_all(&file).unwrap();
    staging.finish().unwrap();
    let refused = cluster.try_start(2).await.unwrap_err();
    assert!(matches!(&refused, StartError::Restore(why) if why.contains("running cluster")), "{refused}");
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_cut_or_changed_is_refused_and_leaves_nothing() {
    let (file, _) = backup_of_one().await;
    let check = |bytes: &[u8]| Seed::open(bytes)?.rows(|_, _| Ok(()));
    check(&file).unwrap();
    for length in (0..file.len()).step_by(97).chain([file.len() - 1]) {
        let refused = check(&file[..length]).unwrap_err().to_string();
        assert!(refused.contains("cut off"), "{length}: {refused}");
    }
    for place in (0..file.len()).step_by(89) {
        let mut damaged = file.clone();
        damaged[place] ^= 0x20;
        assert!(check(&damaged).is_err(), "byte {place} is changed, and nobody notices");
    }
    let dir = tempfile::tempdir().unwrap();
    let mut staging = Staging::into_empty(dir.path()).unwrap();
    staging.write_all(&file[..100]).unwrap();
    drop(staging);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "what was not finished leaves nothing");
}

/// What a crash in the middle of a planting leaves: each of these begins with what the one before has done.
fn interrupt(data: &Path, step: usize) {
    let [replacing, replaced] = ["replacing", "replaced"].map(|name| data.join(name));
    let parts = ["identity", "ledger", "images", "log"];
    if step >= 1 {
        fs::create_dir_all(data.join("planting/log")).unwrap();
        fs::write(data.join("planting/log/db"), "half of one").unwrap();
    }
    let moved = step.saturating_sub(1).min(parts.len());
    if moved > 0 {
        fs::create_dir(&replacing).unwrap();
    }
    parts[..moved].iter().for_each(|part| fs::rename(data.join(part), replacing.join(part)).unwrap());
    if step >= 6 {
        fs::rename(&replacing, &replaced).unwrap();
    }
    if step >= 7 {
        fs::create_dir(data.join("log")).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => drop(fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planting_that_was_interrupted_anywhere_begins_anew_and_keeps_what_was_there() {
    let (file, index) = backup_of_one().await;
    let mut cluster = Cluster::started(1, Disk::Sled).await;
    cluster.stop_all().await;
    let (given, options) = (cluster.data(0), cluster.options(0));
    let old = fs::read_to_string(given.join("identity")).unwrap();
    let mut staging = Staging::beside_stores(&given).unwrap();
    staging.write_all(&file).unwrap();
    staging.finish().unwrap();
    for step in 0..=7 {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { data: folder.path().join("data"), ..options.clone() };
        copy(&given, &options.data);
        interrupt(&options.data, step);
        let staged = seed::staged(&options.data).unwrap();
        let planted = seed::plant(&options, &staged).unwrap();
        assert_eq!((planted.backup, planted.node), (index, NodeId(1_100)), "step {step}");
        assert_eq!(fs::read_to_string(options.data.join("replaced/identity")).unwrap(), old, "step {step}");
        assert_eq!(seed::staged(&options.data), None, "step {step}");
        assert!(!options.data.join("planting").exists(), "step {step}");
        let listener = cluster.listener(0).await;
        let node = within(Consensus::start(options, listener)).await.unwrap();
        poll(|| async { node.offices().borrow().is_some().then_some(()) }).await;
        assert!(node.view().applied() > planted.index, "step {step}");
        within(node.stop()).await;
    }
}
