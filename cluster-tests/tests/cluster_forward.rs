//! Writes through followers while the leader is killed: each acts once, and no answer is a riddle.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
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
use campanile_cluster_tests::workload;
use reqwest::Method;
use serde_json::json;

const WRITERS: usize = 4;
const SPAN: Duration = Duration::from_secs(16);
const KILLS: u32 = 2;
/// How often one user tries one write again before the test calls it stuck.
const TRIES: usize = 200;

/// What one writer did: for each key, the firing that it was told.
type Told = BTreeMap<String, String>;

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_repeated_through_a_failover_acts_once() {
    let seed = Seed::from_environment();
    let receiver = Receiver::start().await;
    let mut cluster = Cluster::start(Options::new(seed)).await;
    let api = cluster.api(1);
    for writer in 0..WRITERS {
        workload::cron(&format!("asked/w{writer}"), "0 4 1 1 *", &receiver.url("/asked"))
            .create(&api)
            .await
            .unwrap();
    }
    let over = Arc::new(AtomicBool::new(false));
    let apis: Vec<Api> = cluster.places().map(|node| cluster.api(node)).collect();
    let writers: Vec<_> =
        (0..WRITERS).map(|writer| tokio::spawn(trigger_until(over.clone(), apis.clone(), writer))).collect();
    carry_out(&mut cluster, &draw_kills(seed, SPAN, KILLS), SPAN).await;
    over.store(true, Ordering::Relaxed);

    let mut told = Vec::new();
    for writer in writers {
        told.push(writer.await.unwrap());
    }
    let verdict = judge_after(&cluster, &receiver, now()).await.unwrap();
    verdict.assert_clean();
    let keys: usize = told.iter().map(Told::len).sum();
    eprintln!("{keys} keys\n{verdict}");
    assert!(keys > 20, "only {keys} writes in {SPAN:?}");

    let mut ledger = Ledger::default();
    ledger.read_on(&cluster.api(1)).await.unwrap();
    let fired: Vec<&str> = ledger
        .rows
        .iter()
        .filter_map(|row| match &row.fact {
            Fact::Fired { firing, kind } if kind == "manual" => Some(firing.firing.as_str()),
            _ => None,
        })
        .collect();
    let mut answered: Vec<&str> = told.iter().flat_map(Told::values).map(String::as_str).collect();
    answered.sort_unstable();
    let mut in_ledger = fired.clone();
    in_ledger.sort_unstable();
    assert_eq!(in_ledger, answered, "each key is one firing, and the ledger has no other");
}

/// Triggers under one key after another, each through whatever node comes next, and again under the same key until the
/// answer says what became of it.
async fn trigger_until(over: Arc<AtomicBool>, apis: Vec<Api>, writer: usize) -> Told {
    let mut told = Told::new();
    let mut turn = writer;
    while !over.load(Ordering::Relaxed) {
        let key = format!("writer-{writer}-{}", told.len());
        let mut firing = None;
        for _ in 0..TRIES {
            turn += 1;
            let path = format!("/v1/schedules/asked/w{writer}/trigger");
            let request = apis[turn % apis.len()].request(Method::POST, &path);
            let answer = Api::send(request.header("idempotency-key", &key).json(&json!({}))).await;
            // No answer at all is a node that was just killed: the next one is asked.
            let Ok(reply) = answer else { continue };
            if reply.status == 202 {
                firing = reply.body["id"].as_str().map(str::to_owned);
                assert!(firing.is_some(), "202 without a firing: {}", reply.body);
                break;
            }
            assert_says_what_it_is(&reply);
        }
        let firing = firing.unwrap_or_else(|| panic!("{key}: no success in {TRIES} tries"));
        told.insert(key, firing);
    }
    told
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
