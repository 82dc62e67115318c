//! A backfill outlives its leader: killed in the midst of one, the next leader goes on where the log says, and every instant
//! of the range fires exactly once, by the ledger of every node and by what the receiver wrote down. A cancelled one stops.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::time::Duration;

use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::ledger::{Fact, Ledger};
use campanile_cluster_tests::receiver::{Receiver, now};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::{wait, workload};
use campanile_core::cron::instant_text;
use campanile_core::time::{Span, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};

const WITHIN: Duration = Duration::from_secs(90);
/// How many instants the first backfill has.
const INSTANTS: u64 = 300;
/// So long it takes at least, so that there is a midst to be killed in.
const PACE: &str = "20ms";
/// Calls of it before the leader is killed.
const BEFORE_THE_KILL: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_goes_on_under_the_next_leader_and_fires_each_instant_once() {
    let seed = Seed::from_environment();
    let receiver = Receiver::start().await;
    let mut cluster = Cluster::start(Options::new(seed)).await;
    // A schedule of each minute, so that hardly any instant of its own falls into the test: the range lies before its
    // creation, where nothing has ever fired.
    let schedule = workload::cron("past/minutely", "* * * * *", &receiver.url("/fine"));
    schedule.create(&cluster.api(1)).await.unwrap();
    let until = now() - Span::from_secs(120);
    let after = until - Span::from_secs(60 * INSTANTS);

    let body = json!({"schedule": schedule.name, "after": instant_text(after), "until": instant_text(until),
        "pace": PACE, "max_live": 50});
    let counted = create(&cluster, &body, true).await;
    let instants = counted["instants"].as_u64().unwrap();
    assert_eq!((instants, &counted["would_fire"]), (INSTANTS, &json!(INSTANTS)), "{counted}");
    let created = create(&cluster, &body, false).await;
    let path = format!("/v1/backfills/{}", created["id"].as_str().unwrap());

    wait::must("some calls", WITHIN, async || (receiver.count() >= BEFORE_THE_KILL).then_some(())).await;
    let old = cluster.leader().await;
    cluster.kill(old);
    eprintln!("node {old} was killed after {} calls", receiver.count());
    let asked = cluster.running()[0];
    let ended = ended(&cluster, asked, &path).await;
    assert_eq!(ended["state"], "completed", "{ended}");
    assert_eq!(
        (&ended["fired"], &ended["passed"], &ended["failed"]),
        (&json!(INSTANTS), &json!(0), &json!(0)),
        "{ended}"
    );
    cluster.spawn(old);
    cluster.wait_ready().await;

    let wanted = minutes(after, until);
    assert_eq!(wanted.len() as u64, INSTANTS);
    for node in cluster.places() {
        assert_eq!(fired(&cluster, node).await, wanted, "node {node}: each instant fired once");
    }
    let mut delivered: BTreeMap<Timestamp, Vec<String>> = BTreeMap::new();
    for call in receiver.calls().into_iter().filter(|call| call.kind == "backfill" && call.is_delivered()) {
        delivered.entry(call.nominal.unwrap()).or_default().push(call.firing);
    }
    assert!(delivered.keys().eq(wanted.keys()), "every instant was delivered, and no other");
    for (nominal, firings) in &mut delivered {
        firings.dedup();
        assert_eq!(firings.len(), 1, "{}: {firings:?}", instant_text(*nominal));
    }

    cancelled_in_its_midst(&cluster, &receiver, &body).await;
}

/// The same range once more, as another run of each instant, and cancelled after a few.
async fn cancelled_in_its_midst(cluster: &Cluster, receiver: &Receiver, body: &Value) {
    let mut body = body.clone();
    body["again"] = true.into();
    let before = receiver.count();
    let created = create(cluster, &body, false).await;
    let path = format!("/v1/backfills/{}", created["id"].as_str().unwrap());
    wait::must("some calls", WITHIN, async || (receiver.count() >= before + 20).then_some(())).await;
    let api = cluster.api(1);
    let cancelled =
        campanile_cluster_tests::api::Api::send(api.request(Method::DELETE, &path)).await.unwrap();
    assert_eq!(
        (cancelled.status, &cancelled.body["state"]),
        (200, &json!("cancelled")),
        "{}",
        cancelled.body
    );
    let ended = ended(cluster, 1, &path).await;
    assert_eq!((&ended["state"], &ended["fired"]), (&cancelled.body["state"], &cancelled.body["fired"]));
    let fired = ended["fired"].as_u64().unwrap();
    assert!((20..INSTANTS).contains(&fired), "{ended}");
    let runs: u64 = self::fired(cluster, 1).await.values().map(|count| count - 1).sum();
    assert_eq!(runs, fired, "what the ledger has of the second is what it counted");
}

async fn create(cluster: &Cluster, body: &Value, dry_run: bool) -> Value {
    let mut body = body.clone();
    body["dry_run"] = dry_run.into();
    let reply = cluster.api(1).post("/v1/backfills", &body).await.unwrap();
    assert!(reply.is_success(), "{} {}", reply.status, reply.body);
    reply.body
}

/// The backfill, once it has ended and nothing of it lives.
async fn ended(cluster: &Cluster, node: usize, path: &str) -> Value {
    let api = cluster.api(node);
    wait::must("the end of the backfill", WITHIN, async || {
        let reply = api.get(path).await.ok().filter(|reply| reply.status == 200)?;
        (reply.body["state"] != "running" && reply.body["live"] == 0).then_some(reply.body)
    })
    .await
}

/// How often each instant was fired by backfills, as the ledger of a node has it.
async fn fired(cluster: &Cluster, node: usize) -> BTreeMap<Timestamp, u64> {
    // A linearizable read: what was seen of the backfill elsewhere is here too.
    cluster.api(node).get("/v1/backfills").await.unwrap();
    let mut ledger = Ledger::default();
    ledger.read_on(&cluster.api(node)).await.unwrap();
    let mut fired = BTreeMap::new();
    for row in &ledger.rows {
        if let Fact::Fired { firing, kind } = &row.fact
            && kind == "backfill"
        {
            *fired.entry(firing.nominal).or_default() += 1;
        }
    }
    fired
}

/// The full minutes of `(after, until]`, once each.
fn minutes(after: Timestamp, until: Timestamp) -> BTreeMap<Timestamp, u64> {
    let minute = |at: Timestamp| at.as_millis().div_euclid(60_000);
    (minute(after) + 1..=minute(until)).map(|n| (Timestamp::from_millis(n * 60_000), 1)).collect()
}
