//! Who waits to be tried again goes on waiting, whoever dies: ten thousand firings whose receiver asked them to come again
//! in an hour keep that instant through the death of the leader, and through a restart of every node.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::time::Duration;

use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::receiver::{Manner, Receiver, now};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::{wait, workload};
use campanile_core::cron::{instant_text, parse_instant};
use campanile_core::time::{Span, Timestamp};
use serde_json::{Value, json};

/// Spread over a few schedules, so that every node has some to send.
const SCHEDULES: u64 = 10;
const EACH: u64 = 1_000;
/// What the receiver asks for, in seconds: the most that is honoured.
const HOUR: u32 = 3_600;
const WITHIN: Duration = Duration::from_secs(120);

/// When each firing is tried again.
type Waiting = BTreeMap<String, Timestamp>;

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_that_wait_for_a_retry_keep_their_instants_through_a_failover_and_a_restart() {
    let receiver = Receiver::start().await;
    receiver.answer("/busy", Manner::BusyFirst { failing: 1, status: 503, retry_after: HOUR });
    let mut cluster = Cluster::start(Options::new(Seed::from_environment())).await;
    let begun_at = now();
    for n in 0..SCHEDULES {
        fill(&cluster.api(1), &format!("wait/n{n}"), &receiver.url("/busy")).await;
    }
    let all = (SCHEDULES * EACH) as usize;
    wait::must("every firing to be told to wait", WITHIN, async || (receiver.count() >= all).then_some(()))
        .await;
    let before = wait::must("every firing to wait", WITHIN, async || {
        let waiting = waiting(&cluster.api(2)).await;
        (waiting.len() == all).then_some(waiting)
    })
    .await;
    let earliest = begun_at + Span::from_secs(HOUR.into());
    assert!(before.values().all(|until| *until >= earliest), "none is tried before its hour is over");

    let leader = cluster.leader().await;
    cluster.kill(leader);
    let other = cluster.running()[0];
    let new = wait::must("another leader", WITHIN, async || cluster.leader_now().await).await;
    eprintln!("node {leader} was killed, node {new} leads");
    assert_same(&before, &waiting(&cluster.api(other)).await, "after a failover");

    cluster.kill_all();
    cluster.places().for_each(|node| cluster.spawn(node));
    cluster.wait_ready().await;
    for node in cluster.places() {
        assert_same(&before, &waiting(&cluster.api(node)).await, &format!("on node {node}, restarted"));
    }
    assert_eq!(receiver.count(), all, "nobody was tried again");
}

/// A schedule that fires once a day, and a backfill of as many of its days as are wanted.
async fn fill(api: &Api, name: &str, url: &str) {
    const DAY: u64 = 86_400;
    let schedule = workload::every(name, "24h", url);
    schedule.create(api).await.unwrap();
    let until = now().as_millis().div_euclid(1_000 * DAY as i64) * 1_000 * DAY as i64;
    let until = Timestamp::from_millis(until) - Span::from_secs(DAY);
    let body = json!({
        "schedule": name, "max_live": EACH,
        "after": instant_text(until - Span::from_secs(DAY * EACH)), "until": instant_text(until),
    });
    let reply = api.post("/v1/backfills", &body).await.unwrap();
    assert!(reply.is_success(), "{} {}", reply.status, reply.body);
    assert_eq!(reply.body["instants"], EACH, "{}", reply.body);
}

/// The firings that wait, as a node tells them.
async fn waiting(api: &Api) -> Waiting {
    let mut waiting = Waiting::new();
    for n in 0..SCHEDULES {
        let mut token = String::new();
        loop {
            let path = format!("/v1/firings?schedule=wait/n{n}&state=waiting&limit=1000{token}");
            // Without a leader for a moment, nobody can say what is current.
            let page = wait::must("a page", WITHIN, async || {
                api.get(&path).await.ok().filter(|reply| reply.status == 200).map(|reply| reply.body)
            })
            .await;
            waiting.extend(page["items"].as_array().unwrap().iter().map(one));
            match page["next_page_token"].as_str() {
                Some(next) => token = format!("&page_token={next}"),
                None => break,
            }
        }
    }
    waiting
}

fn one(item: &Value) -> (String, Timestamp) {
    let until = item["waits_until"].as_str().and_then(parse_instant);
    (
        item["id"].as_str().unwrap().to_owned(),
        until.unwrap_or_else(|| panic!("it waits for no instant: {item}")),
    )
}

/// Ten thousand lines would help nobody: a few that differ do.
#[track_caller]
fn assert_same(before: &Waiting, after: &Waiting, when: &str) {
    let gone = before.iter().filter(|(id, until)| after.get(*id) != Some(until)).take(3);
    let moved: Vec<String> =
        gone.map(|(id, until)| format!("{id}: {until:?}, now {:?}", after.get(id))).collect();
    assert!(moved.is_empty() && before.len() == after.len(), "{when}: {} wait; {moved:?}", after.len());
}
