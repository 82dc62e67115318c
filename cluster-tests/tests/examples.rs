//! Runs what `deploy/examples/` gives to people who write workers and receivers, against a real cluster.
//!
//! The examples are processes like a user's: they see the API, the token file and the secret. Judged are what they printed,
//! and what the cluster says of the same firings. Python 3.11 and node 20 with npm are tried where they are; what is not
//! there is said and passed over, except in CI, where it is a failure.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "examples/captured.rs"]
mod captured;
#[path = "examples/language.rs"]
mod language;
#[path = "examples/running.rs"]
mod running;

use std::time::Duration;

use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::wait;
use captured::{Capture, Delivery};
use running::Example;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A firing that was leased or sent when a node was killed comes again when its lease has ended.
const WITHIN: Duration = Duration::from_secs(60);
/// Workers finish what is in hand, and their long poll of two seconds.
const DRAINED_WITHIN: Duration = Duration::from_secs(20);
/// Firings that are looked at before, and again after something happens.
const SOME: usize = 4;

const FIRST_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SECOND_SECRET: &str = "whsec_c29tZSBvdGhlciBrZXksIDMyIGJ5dGVzIGxvbmcuLi4=";

#[test]
fn the_examples_pass_their_own_tests() {
    for language in language::all_here() {
        language.assert_own_tests_pass();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_firing_of_a_queue_is_settled_by_the_example_worker_also_when_its_node_dies() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(Options::new(Seed::from_environment())).await;
    let mut workers = Vec::new();
    for language in language::all_here() {
        let queue = language.name;
        put_schedule(&cluster.api(2), queue, json!({ "queue": { "name": queue } })).await;
        // The command line's own arguments: all nodes, the first of them first, and the token.
        let reach = cluster.command(&[]);
        let options = ["--queue", queue, "--ttl", "10", "--wait", "2"];
        workers.push(Example::start(language.worker(&options, reach.get_args()), queue, folder.path()));
    }

    for worker in &workers {
        worker.firings(SOME).await;
    }
    cluster.kill(1);
    for worker in &workers {
        let done = worker.firings(worker.said().len() + SOME).await;
        assert!(done.iter().all(|line| line["state"] == "succeeded"), "{done:?}");
        let newest = &done.last().unwrap()["nominal"];
        let settled = succeeded_up_to(&cluster.api(2), &worker.name, newest.as_str().unwrap()).await;
        assert!(settled.len() >= 2 * SOME, "{} of {} firings", settled.len(), 2 * SOME);
        let said = worker.said();
        for firing in settled {
            assert!(said.iter().any(|line| line["firing"] == firing["id"]), "not by the worker: {firing}");
        }
    }
    for worker in &mut workers {
        worker.assert_drains(DRAINED_WITHIN).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_receiver_takes_what_the_cluster_signs_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let capture = Capture::start().await;
    let cluster = Cluster::start(Options::new(Seed::from_environment())).await;
    let api = cluster.api(1);
    put_secret(&api, FIRST_SECRET).await;
    put_schedule(&api, "captured", webhook(&capture.url())).await;
    let receivers = start_receivers(&folder).await;
    for (receiver, url) in &receivers {
        put_schedule(&api, &receiver.name, webhook(url)).await;
    }

    for (receiver, _) in &receivers {
        let done = receiver.firings(SOME).await;
        let newest = &done.last().unwrap()["nominal"];
        for firing in succeeded_up_to(&api, &receiver.name, newest.as_str().unwrap()).await {
            let last = firing["attempts"].as_array().unwrap().last().unwrap().clone();
            assert_eq!(last["status"], 204, "{firing}");
        }
    }
    let [older, newer] = capture.two_firings().await;
    for (receiver, url) in &receivers {
        eprintln!("{}: forgeries", receiver.name);
        assert_forgeries_are_refused(&older, &newer, url).await;
    }

    put_secret(&api, SECOND_SECRET).await;
    let signed_twice = capture.next_with_signatures(2).await;
    for (receiver, url) in &receivers {
        assert_eq!(signed_twice.send(url).await, 204, "{} knows the first secret only", receiver.name);
        receiver.firings(receiver.said().len() + SOME).await;
    }
}

/// In this order: what is refused must leave nothing behind that would change the verdict on what follows.
async fn assert_forgeries_are_refused(older: &Delivery, newer: &Delivery, url: &str) {
    let another_body = newer.clone().with_body(r#"{"for":"somebody else"}"#);
    let another_time = newer.clone().with("webhook-timestamp", |stamp| format!("{}", number(stamp) + 1));
    let another_id = newer.clone().with("webhook-id", |id| format!("{id}0"));
    let another_firing = newer.clone().with("campanile-firing", |id| format!("{id}0"));
    assert_eq!(another_body.send(url).await, 401, "another body");
    assert_eq!(another_time.send(url).await, 401, "another timestamp");
    assert_eq!(another_id.send(url).await, 401, "another id");
    assert_eq!(newer.clone().without("webhook-signature").send(url).await, 401, "no signature");
    assert_eq!(another_firing.send(url).await, 400, "a firing that was not signed");
    assert_eq!(newer.send(url).await, 204, "as it came");
    assert_eq!(older.send(url).await, 409, "an older fencing token");
    assert_eq!(newer.send(url).await, 204, "again, and done already");
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// One of each language, with where it listens.
async fn start_receivers(folder: &TempDir) -> Vec<(Example, String)> {
    let secret = folder.path().join("hook.secret");
    std::fs::write(&secret, FIRST_SECRET).unwrap();
    let mut receivers = Vec::new();
    for language in language::all_here() {
        let state = folder.path().join(format!("{}.json", language.name));
        let receiver = Example::start(language.receiver(&secret, &state), language.name, folder.path());
        let url = receiver.url().await;
        receivers.push((receiver, url));
    }
    receivers
}

fn webhook(url: &str) -> Value {
    json!({ "webhook": { "url": url, "secret_ref": "examples" } })
}

/// Every second, one after another: a receiver that fences a schedule wants one that does not overtake itself.
async fn put_schedule(api: &Api, name: &str, target: Value) {
    let body = json!({
        "specs": [{ "every": "1s" }], "target": target, "payload": { "for": name }, "overlap": "queue_all",
    });
    let reply = api.put(&format!("/v1/schedules/examples/{name}"), &body).await.unwrap();
    assert_eq!(reply.status, 201, "{}", reply.body);
}

async fn put_secret(api: &Api, secret: &str) {
    let body = json!({ "secret": secret, "keep_previous": "24h" });
    let reply = api.put("/v1/secrets/examples", &body).await.unwrap();
    assert!(reply.is_success(), "{}", reply.body);
    assert!(!reply.body.to_string().contains(secret), "a secret is not told again: {}", reply.body);
}

/// Every firing of a schedule up to a nominal instant, once all of them have succeeded.
async fn succeeded_up_to(api: &Api, name: &str, nominal: &str) -> Vec<Value> {
    let path = format!("/v1/schedules/examples/{name}/firings?limit=1000");
    wait::must(&format!("{name}: every firing up to {nominal} to succeed"), WITHIN, async || {
        let reply = api.get(&path).await.ok().filter(|reply| reply.status == 200)?;
        let mut firings = reply.body["items"].as_array().unwrap().clone();
        // Instants are written in one form, so their texts have the order of the instants.
        firings.retain(|firing| firing["nominal"].as_str().unwrap() <= nominal);
        firings.iter().all(|firing| firing["state"] == "succeeded").then_some(firings)
    })
    .await
}
