//! Writes through followers while the leader is killed: each acts once, and no answer is a riddle.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use campanile_cluster_tests::api::{Api, Reply};
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::fault::{carry_out, draw_kills};
use campanile_cluster_tests::ledger::{Fact, Ledger};
use campanile_cluster_tests::receiver::{Receiver, now};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::trial::judge_after;
use campanile_cluster_tests::workload::{self, Schedule};
use reqwest::Method;
use serde_json::{Value, json};

/// So many that trigger, and as many that put.
const WRITERS: usize = 3;
const SPAN: Duration = Duration::from_secs(16);
const KILLS: u32 = 2;
/// How often one user tries one write again before the test calls it stuck.
const TRIES: usize = 200;
/// Never due while the test runs.
const ONCE_A_YEAR: &str = "0 4 1 1 *";

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_repeated_through_a_failover_acts_once() {
    let seed = Seed::from_environment();
    let receiver = Receiver::start().await;
    let mut cluster = Cluster::start(Options::new(seed)).await;
    let triggered: Vec<Schedule> = (0..WRITERS)
        .map(|n| workload::cron(&format!("triggered/w{n}"), ONCE_A_YEAR, &receiver.url("/")))
        .collect();
    workload::create_all(&cluster.api(1), &triggered).await.unwrap();

    let over = Arc::new(AtomicBool::new(false));
    let users =
        || User { apis: cluster.places().map(|node| cluster.api(node)).collect(), over: over.clone() };
    let triggering: Vec<_> = triggered.into_iter().map(|it| tokio::spawn(users().trigger(it))).collect();
    let putting: Vec<_> = (0..WRITERS).map(|n| tokio::spawn(users().put(n, receiver.url("/")))).collect();
    carry_out(&mut cluster, &draw_kills(seed, SPAN, KILLS), SPAN).await;
    over.store(true, Ordering::Relaxed);
    let (mut told_firings, mut told_names) = (Vec::new(), Vec::new());
    for (firings, names) in triggering.into_iter().zip(putting) {
        told_firings.extend(firings.await.unwrap());
        told_names.extend(names.await.unwrap());
    }

    let verdict = judge_after(&cluster, &receiver, now()).await.unwrap();
    eprintln!("{} triggers, {} puts\n{verdict}", told_firings.len(), told_names.len());
    verdict.assert_clean();
    assert!(told_firings.len() > 20 && told_names.len() > 20, "hardly anything was written in {SPAN:?}");
    let (firings, names) = written(&cluster).await;
    assert_eq!(sorted(told_firings), firings, "each key is one firing, and there is no other");
    assert_eq!(sorted(told_names), names, "each key is one definition, and there is no other");
}

/// Somebody who writes until it is over, each write under a key of its own, through whatever node comes next.
struct User {
    apis: Vec<Api>,
    over: Arc<AtomicBool>,
}

impl User {
    /// Triggers a schedule again and again; returns the firings that it was told.
    async fn trigger(self, schedule: Schedule) -> Vec<String> {
        let mut firings = Vec::new();
        while !self.over.load(Ordering::Relaxed) {
            let key = format!("{}-{}", schedule.name.replace('/', "-"), firings.len());
            let path = format!("{}/trigger", schedule.path());
            let reply = self.until_done(Method::POST, &path, &key, &json!({})).await;
            assert_eq!(reply.status, 202, "{key}: {}", reply.body);
            firings.push(reply.body["id"].as_str().unwrap().to_owned());
        }
        firings
    }

    /// Creates one schedule after another; returns their names.
    async fn put(self, writer: usize, url: String) -> Vec<String> {
        let mut names = Vec::new();
        while !self.over.load(Ordering::Relaxed) {
            let name = format!("put/w{writer}-n{}", names.len());
            let schedule = workload::cron(&name, ONCE_A_YEAR, &url);
            let key = name.replace('/', "-");
            let reply = self.until_done(Method::PUT, &schedule.path(), &key, &schedule.body).await;
            // A try that was acknowledged to nobody is answered again as what it was: a creation.
            assert_eq!((reply.status, &reply.body["revision"]), (201, &json!(1)), "{key}: {}", reply.body);
            names.push(name);
        }
        names
    }

    /// Asks one node after another, under one key, until an answer says what became of it.
    async fn until_done(&self, method: Method, path: &str, key: &str, body: &Value) -> Reply {
        for api in self.apis.iter().cycle().skip(key.len() % 3).take(TRIES) {
            let request = api.request(method.clone(), path).header("idempotency-key", key).json(body);
            // No answer at all is a node that was just killed: the next one is asked.
            let Ok(reply) = Api::send(request).await else { continue };
            if reply.is_success() {
                return reply;
            }
            assert_says_what_it_is(&reply);
        }
        panic!("{key}: no success in {TRIES} tries");
    }
}

/// A refusal that a user may meet in a failover says that it is one, in the words of the contract.
#[track_caller]
fn assert_says_what_it_is(reply: &Reply) {
    let expected = match reply.code() {
        "no_quorum" | "not_ready" => 503,
        "unknown_outcome" => 504,
        "rate_limited" => 429,
        _ => 0,
    };
    assert_eq!(reply.status, expected, "{}", reply.body);
    assert!(reply.body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{}", reply.body);
}

/// The firings that somebody triggered and the names that somebody put, one for each row of the ledger.
async fn written(cluster: &Cluster) -> (Vec<String>, Vec<String>) {
    let mut ledger = Ledger::default();
    ledger.read_on(&cluster.api(1)).await.unwrap();
    let (mut firings, mut names) = (Vec::new(), Vec::new());
    for row in ledger.rows {
        match row.fact {
            Fact::Fired { firing, kind } if kind == "manual" => firings.push(firing.firing),
            Fact::Defined { schedule, .. } if schedule.starts_with("put/") => names.push(schedule),
            _ => {}
        }
    }
    (sorted(firings), sorted(names))
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts
}
