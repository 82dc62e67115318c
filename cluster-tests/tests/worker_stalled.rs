//! A worker that was stopped past its lease has lost it: another does its firing, and what the first says when it goes on
//! changes nothing (report B155).

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::time::Duration;

use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::ledger::Ledger;
use campanile_cluster_tests::process::tail;
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::wait;
use campanile_cluster_tests::workers::{Plan, Ran, Workers};
use serde_json::{Value, json};

const QUEUE: &str = "stalled";
const WITHIN: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stood_still_past_its_lease_changes_nothing_when_it_goes_on() {
    let cluster = Cluster::start(Options::new(Seed::from_environment())).await;
    let api = cluster.api(1);
    let folder = tempfile::tempdir().unwrap();
    let workers = Workers::start_all(&cluster, folder.path(), plan());
    put_schedule(&api).await;
    let triggered = api.post("/v1/schedules/stalled/once/trigger", &json!({})).await.unwrap();
    assert_eq!(triggered.status, 202, "{}", triggered.body);
    let firing = triggered.body["id"].as_str().unwrap().to_owned();

    let first = began(&workers, &firing, 1).await;
    let stalled = (0..workers.count()).find(|place| workers.name(*place) == first.call.node).unwrap();
    workers.pause(stalled);
    let second = began(&workers, &firing, 2).await;
    assert_ne!(second.call.node, first.call.node, "the other worker has it");
    assert!(second.call.fencing_token > first.call.fencing_token, "{first:?} {second:?}");
    let story = wait::must("its end", WITHIN, async || {
        let story = api.get(&format!("/v1/firings/{firing}")).await.ok()?.body;
        (story["state"] == "succeeded").then_some(story)
    })
    .await;
    assert_eq!(
        attempts(&story),
        [
            (first.call.node.clone(), "lease_ended".to_owned()),
            (second.call.node.clone(), "succeeded".to_owned())
        ]
    );
    let rows = rows_of(&api, &firing).await;

    workers.go_on(stalled);
    wait::must("the first worker to find its lease lost", WITHIN, async || {
        tail(&workers.log(stalled), 50).contains("lease is lost").then_some(())
    })
    .await;
    assert_lease_lost(&api, &first.lease).await;
    assert_eq!(rows_of(&api, &firing).await, rows, "nothing was added to its story");
    assert_eq!(api.get(&format!("/v1/firings/{firing}")).await.unwrap().body, story);
}

/// Two workers; their commands outlast a lease, so that heartbeats matter.
fn plan() -> Plan {
    Plan {
        queue: QUEUE.to_owned(),
        count: 2,
        concurrency: 1,
        ttl: Duration::from_secs(2),
        works: Duration::from_secs(3),
        retried: 0,
    }
}

async fn put_schedule(api: &Api) {
    let body = json!({
        "specs": [{ "every": "24h" }], "target": { "queue": { "name": QUEUE } }, "retry": { "initial": "100ms" },
    });
    let reply = api.put("/v1/schedules/stalled/once", &body).await.unwrap();
    assert_eq!(reply.status, 201, "{}", reply.body);
}

/// The command of this attempt, once it has begun.
async fn began(workers: &Workers, firing: &str, attempt: u32) -> Ran {
    wait::must(&format!("attempt {attempt} to begin"), WITHIN, async || {
        workers.ran().into_iter().find(|ran| ran.call.firing == firing && ran.call.attempt == attempt)
    })
    .await
}

/// Who made each attempt, and how it ended.
fn attempts(story: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let attempts = story["attempts"].as_array().unwrap();
    attempts.iter().map(|attempt| (text(&attempt["holder"]["worker"]), text(&attempt["outcome"]))).collect()
}

/// Whatever the holder of a lost lease says is refused with 409.
async fn assert_lease_lost(api: &Api, lease: &str) {
    let settle = json!({ "outcome": "failed", "error": "said too late" });
    for (what, body) in [("settle", settle), ("heartbeat", json!({}))] {
        let reply = api.post(&format!("/v1/leases/{lease}/{what}"), &body).await.unwrap();
        assert_eq!((reply.status, reply.code()), (409, "lease_lost"), "{what}: {}", reply.body);
    }
}

/// Every row of the ledger about a firing.
async fn rows_of(api: &Api, firing: &str) -> Vec<Value> {
    let mut ledger = Ledger::default();
    ledger.read_on(api).await.unwrap();
    ledger.rows.into_iter().map(|row| row.json).filter(|row| row["firing"] == firing).collect()
}
