//! Every firing is settled, whoever dies and however receivers answer: leader, holder and worker are each killed with -9,
//! and each stopped past its lease and continued, while receivers fail, hang, reset, redirect, and ask for patience.
//!
//! Judged are the ledger of every node, what every receiver wrote down, and the journal of the workers' commands. `SEED`
//! chooses another run.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::time::Duration;

use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::fault::strike::{draw_strikes, strike_all};
use campanile_cluster_tests::receiver::{Call, Manner, Receiver, Rough, now};
use campanile_cluster_tests::seed::{Dice, Seed};
use campanile_cluster_tests::trial::judge_settled;
use campanile_cluster_tests::wait;
use campanile_cluster_tests::workers::{Plan, Workers};
use campanile_cluster_tests::workload::{self, Schedule};
use serde_json::{Value, json};

const WEBHOOKS: usize = 24;
const QUEUED: usize = 6;
const QUEUE: &str = "batch";
/// Where a redirect leads, and nobody may go.
const ELSEWHERE: &str = "/elsewhere";
/// The shortest lease there is room for heartbeats in.
const TTL: Duration = Duration::from_secs(2);
const PAST_A_WORKERS_LEASE: Duration = Duration::from_millis(3_000);
/// How long all of it may take to work again.
const CALM_WITHIN: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn every_firing_is_settled_whoever_dies_and_however_receivers_answer() {
    let seed = Seed::from_environment();
    let strikes = draw_strikes(seed, PAST_A_WORKERS_LEASE);
    strikes.iter().for_each(|strike| eprintln!("planned: {strike}"));
    let mut receiver = Receiver::start().await;
    let urls = urls(&mut receiver).await;
    let mut cluster = Cluster::start(Options::new(seed)).await;
    let folder = tempfile::tempdir().unwrap();
    let mut workers = Workers::start_all(&cluster, folder.path(), plan());
    let schedules = schedules(&urls, &mut seed.dice("schedules"));
    workload::create_all(&cluster.api(1), &schedules).await.unwrap();
    wait_for_work(&receiver, &workers).await;

    strike_all(&mut cluster, &mut workers, || receiver.calls(), &strikes).await;
    wait_for_work(&receiver, &workers).await;

    let calls = || all_calls(&receiver, &workers);
    let verdict = judge_settled(&cluster, calls, now()).await.unwrap();
    eprintln!("{verdict}");
    verdict.assert_clean();
    let counts = verdict.counts;
    assert_eq!((counts.ledgers, counts.schedules), (3, WEBHOOKS + QUEUED));
    assert!(counts.offices > 2, "two leaders were hurt: {verdict}");
    assert!(counts.leases_ended > 0, "holders were hurt with leases in hand: {verdict}");
    assert_everything_happened(&calls());
}

fn plan() -> Plan {
    Plan {
        queue: QUEUE.to_owned(),
        count: 3,
        concurrency: 4,
        ttl: TTL,
        works: Duration::from_millis(300),
        retried: 7,
    }
}

/// One URL for each way to answer.
async fn urls(receiver: &mut Receiver) -> Vec<String> {
    let manners = [
        ("/fine", Manner::Status(204)),
        ("/slow", Manner::After(Duration::from_millis(300), 200)),
        ("/fails", Manner::Status(500)),
        ("/flaky", Manner::FailFirst(1)),
        ("/limited", Manner::BusyFirst { failing: 2, status: 429, retry_after: 1 }),
        ("/busy", Manner::BusyFirst { failing: 1, status: 503, retry_after: 1 }),
        ("/redirects", Manner::Redirect(ELSEWHERE)),
        ("/gone", Manner::Status(410)),
        ("/fenced", Manner::Fenced(Duration::from_millis(50))),
    ];
    let mut urls = Vec::new();
    for (path, manner) in manners {
        receiver.answer(path, manner);
        urls.push(receiver.url(path));
    }
    for (rough, path) in
        [(Rough::Resets, "/resets"), (Rough::Hangs, "/hangs"), (Rough::Trickles, "/trickles")]
    {
        urls.push(format!("{}{path}", receiver.open(rough).await));
    }
    urls
}

/// Each way at least once, the others as the dice say; and the queue's.
fn schedules(urls: &[String], dice: &mut Dice) -> Vec<Schedule> {
    let mut schedules = Vec::new();
    for n in 0..WEBHOOKS {
        let url = urls.get(n).unwrap_or_else(|| &urls[dice.below(urls.len() as u64) as usize]);
        let spec = workload::every_second(dice.below(1_000));
        let schedule = workload::schedule(&format!("hooks/n{n}"), &spec, url).with(&policy(url));
        schedules.push(if dice.below(5) == 0 { schedule.with(&at_most_once()) } else { schedule });
    }
    for n in 0..QUEUED {
        let body = json!({
            "specs": [workload::every_second(dice.below(1_000))],
            "target": { "queue": { "name": QUEUE, "priority": n } },
            "overlap": if n % 2 == 0 { "allow" } else { "queue_all" },
            "retry": { "max_attempts": 5, "initial": "100ms", "max": "500ms" },
        });
        schedules.push(Schedule { name: format!("queued/n{n}"), body });
    }
    schedules
}

/// Where nobody answers, firings are given up soon: a node asks such a host less and less often. Where tokens are compared,
/// one firing runs at a time, since of two at once either may arrive first.
fn policy(url: &str) -> Value {
    let is = |paths: &[&str]| paths.iter().any(|path| url.ends_with(path));
    json!({
        "target": { "webhook": { "timeout": "1s" } },
        "retry": { "max_attempts": 4, "initial": "200ms", "max": "1s" },
        "deadline": if is(&["/resets", "/hangs"]) { "15s" } else { "50s" },
        "overlap": if is(&["/fenced"]) { "queue_all" } else { "allow" },
    })
}

fn at_most_once() -> Value {
    json!({ "delivery": "at_most_once" })
}

/// Until calls of now have come through, to receivers and to workers.
async fn wait_for_work(receiver: &Receiver, workers: &Workers) {
    let since = now();
    let of_now = |calls: Vec<Call>| {
        calls.iter().any(|call| call.nominal.is_some_and(|nominal| nominal > since) && call.is_delivered())
    };
    wait::must("firings of now, delivered and done", CALM_WITHIN, async || {
        (of_now(receiver.calls()) && of_now(workers.calls())).then_some(())
    })
    .await;
}

fn all_calls(receiver: &Receiver, workers: &Workers) -> Vec<Call> {
    let mut calls = receiver.calls();
    calls.extend(workers.calls());
    calls.sort_by_key(|call| call.received_at);
    calls
}

/// A run in which something was never tried proves nothing about it.
fn assert_everything_happened(calls: &[Call]) {
    let mut paths: BTreeMap<&str, usize> = BTreeMap::new();
    calls.iter().for_each(|call| *paths.entry(call.path.as_str()).or_default() += 1);
    eprintln!("calls: {paths:?}");
    for path in
        ["/fine", "/fails", "/limited", "/busy", "/redirects", "/gone", "/fenced", "/resets", "/hangs", ""]
    {
        assert!(paths.contains_key(path), "nothing came to {path:?}: {paths:?}");
    }
    assert!(!paths.contains_key(ELSEWHERE), "a redirect was followed: {paths:?}");
    let nodes: std::collections::BTreeSet<&str> = calls.iter().map(|call| call.node.as_str()).collect();
    assert!(nodes.len() >= 5, "every node and more than one worker did something: {nodes:?}");
    assert!(calls.iter().any(|call| call.asked_to_wait.is_some()), "a receiver asked for patience");
}
