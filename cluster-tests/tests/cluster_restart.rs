//! All three nodes killed at once, with writes under way: what was acknowledged is there afterwards, and ticks go on.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::receiver::{Receiver, now};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::trial::judge_after;
use campanile_cluster_tests::{wait, workload};

const WRITERS: usize = 12;
/// So many acknowledged writes are under the belt of the cluster when it is killed, and more under way.
const ENOUGH: usize = 300;

/// Names that were answered 201.
type Acknowledged = Arc<Mutex<Vec<String>>>;

#[tokio::test(flavor = "multi_thread")]
async fn killing_all_three_at_once_loses_no_acknowledged_write() {
    let seed = Seed::from_environment();
    let receiver = Receiver::start().await;
    let mut cluster = Cluster::start(Options::new(seed)).await;
    let ticking: Vec<_> =
        (0..5).map(|n| workload::every(&format!("ticking/n{n}"), "1s", &receiver.url("/ticking"))).collect();
    workload::create_all(&cluster.api(1), &ticking).await.unwrap();

    for round in 0..2 {
        let acknowledged = write_until_killed(&mut cluster, &receiver, round).await;
        eprintln!("round {round}: killed all three after {} acknowledged writes", acknowledged.len());
        for node in cluster.places() {
            cluster.spawn(node);
        }
        cluster.wait_ready().await;
        for node in cluster.places() {
            assert_all_there(&cluster.api(node), &acknowledged).await;
        }
    }

    let calls = receiver.count();
    wait::must("a firing after the restart", Duration::from_secs(30), async || {
        (receiver.count() > calls).then_some(())
    })
    .await;
    let verdict = judge_after(&cluster, &receiver, now()).await.unwrap();
    eprintln!("{verdict}");
    verdict.assert_clean();
}

/// Many writers, each to a node of its own, until enough was acknowledged; then everything is killed under their hands.
async fn write_until_killed(cluster: &mut Cluster, receiver: &Receiver, round: usize) -> Vec<String> {
    let acknowledged = Acknowledged::default();
    let (next, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let api = cluster.api(writer % 3 + 1);
            let url = receiver.url("/never");
            let (next, over, acknowledged) = (next.clone(), over.clone(), acknowledged.clone());
            tokio::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    let name = format!("written/r{round}-n{}", next.fetch_add(1, Ordering::Relaxed));
                    let schedule = workload::cron(&name, "0 4 1 1 *", &url);
                    // What is not answered may be there or not; only what was promised is checked.
                    if api.put(&schedule.path(), &schedule.body).await.is_ok_and(|reply| reply.status == 201)
                    {
                        acknowledged.lock().unwrap().push(name);
                    }
                }
            })
        })
        .collect();
    wait::must("enough acknowledged writes", Duration::from_secs(60), async || {
        (acknowledged.lock().unwrap().len() >= ENOUGH).then_some(())
    })
    .await;
    cluster.kill_all();
    over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let names = acknowledged.lock().unwrap();
    names.clone()
}

async fn assert_all_there(api: &Api, names: &[String]) {
    let mut there = Vec::new();
    let mut token = String::new();
    loop {
        let path = format!("/v1/schedules?namespace=written&limit=1000{token}");
        let reply = api.get(&path).await.unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
        let items = reply.body["items"].as_array().unwrap();
        there.extend(items.iter().map(|item| format!("written/{}", item["name"].as_str().unwrap())));
        match reply.body["next_page_token"].as_str() {
            Some(next) => token = format!("&page_token={next}"),
            None => break,
        }
    }
    let lost: Vec<&String> = names.iter().filter(|name| !there.contains(name)).collect();
    assert!(
        lost.is_empty(),
        "{}: {} of {} acknowledged writes are gone: {lost:?}",
        api.base(),
        lost.len(),
        names.len()
    );
}
