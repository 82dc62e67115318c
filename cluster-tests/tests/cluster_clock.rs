//! Clocks that are wrong, in real processes: steps ahead and back, a suspended cluster, a wrong majority. The names begin
//! with the reports that they answer (B073 and so on).
//!
//! What must hold whatever the clocks do: every instant once, none before its time, and the log's time never carried ahead
//! of what a quorum of clocks shows. The nodes' clocks are moved while they run; the receiver's is right.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::time::{Duration, Instant};

use campanile_cluster_tests::binary::says;
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::judge::{Evidence, judge};
use campanile_cluster_tests::ledger::{Fact, Ledger};
use campanile_cluster_tests::receiver::{Receiver, now};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::trial::{gather, judge_after};
use campanile_cluster_tests::{wait, workload};
use campanile_core::time::{Span, Timestamp};
use serde_json::Value;

const WITHIN: Duration = Duration::from_secs(30);
const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;
/// Schedules that fire every second.
const SCHEDULES: usize = 10;

/// A cluster whose clocks can be moved, and that has begun to fire.
async fn ticking(seed: Seed, max_clock_ahead: &str) -> (Cluster, Receiver) {
    let receiver = Receiver::start().await;
    let extra = format!("[cluster]\nmax_clock_ahead = \"{max_clock_ahead}\"").parse().unwrap();
    let cluster = Cluster::start(Options { movable_clocks: true, extra, ..Options::new(seed) }).await;
    let ticking: Vec<_> = (0..SCHEDULES)
        .map(|n| workload::cron(&format!("ticking/n{n}"), "* * * * * *", &receiver.url("/fine")))
        .collect();
    workload::create_all(&cluster.api(1), &ticking).await.unwrap();
    more_calls(&receiver, 2 * SCHEDULES).await;
    (cluster, receiver)
}

async fn more_calls(receiver: &Receiver, count: usize) {
    let enough = receiver.count() + count;
    wait::must("calls", WITHIN, async || (receiver.count() >= enough).then_some(())).await;
}

/// Another node than this one leads.
async fn successor(cluster: &mut Cluster, old: usize) -> usize {
    wait::must("a successor", WITHIN, async || cluster.leader_now().await.filter(|leader| *leader != old))
        .await
}

/// What `GET /v1/cluster` of a node says, once it is as wanted.
async fn view(cluster: &Cluster, node: usize, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let what = format!("node {node} to say {what}");
    wait::must(&what, WITHIN, async || cluster.view(node).await.filter(&wanted)).await
}

fn warns(view: &Value, of: &str) -> bool {
    view["warnings"].as_array().unwrap().iter().any(|warning| warning.as_str().unwrap().contains(of))
}

async fn passes(instant: Timestamp) {
    wait::must("time to pass", WITHIN, async || (now() >= instant).then_some(())).await;
}

async fn ledger(cluster: &Cluster, node: usize) -> Ledger {
    let mut ledger = Ledger::default();
    ledger.read_on(&cluster.api(node)).await.unwrap();
    ledger
}

/// No row carries a moment that had not come.
fn assert_never_ahead(evidence: &Evidence, by: i64) {
    let latest = now().as_millis() + by;
    for (node, ledger) in &evidence.ledgers {
        let ahead = ledger.rows.iter().find(|row| row.at.as_millis() > latest);
        assert!(ahead.is_none(), "node {node}: {:?}", ahead.map(|row| &row.json));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b074_b076_a_leader_eight_hours_ahead_commits_nothing_ahead_and_gives_its_office_away() {
    let seed = Seed::from_environment();
    let (mut cluster, receiver) = ticking(seed, "1s").await;
    let wrong = cluster.leader().await;
    cluster.set_clock(wrong, 8 * HOUR);
    let began = Instant::now();
    // A write of a user, too, must not carry the log's time away, whoever takes it.
    let written = workload::cron("written/ahead", "*/2 * * * * *", &receiver.url("/fine"));
    written.create(&cluster.api(wrong)).await.unwrap();
    let right = successor(&mut cluster, wrong).await;
    eprintln!("node {wrong} was ahead; node {right} led after {:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(10));

    let own = view(&cluster, wrong, "that it is ahead", |view| view["clock_ahead"] == true).await;
    assert!(warns(&own, "check NTP on this node"), "{own}");
    assert!(own["quorum_offset_ms"].as_i64().unwrap() > 7 * HOUR, "{own}");
    let ready = cluster.api(wrong).get("/readyz").await.unwrap();
    assert_eq!(ready.status, 503);
    assert!(ready.body.to_string().contains("ahead of a majority of clocks"), "{}", ready.body);
    let metrics = cluster.api(wrong).get("/metrics").await.unwrap().body;
    assert!(metrics.as_str().unwrap().contains("campanile_clock_ahead 1\n"), "{metrics}");
    view(&cluster, right, "that a peer is ahead", |view| warns(view, "8h")).await;
    let status = says(cluster.command(&["cluster", "status"]));
    assert!(status.stdout.contains("warning: the clock of node"), "{status}");

    more_calls(&receiver, 2 * SCHEDULES).await;
    assert_ne!(cluster.leader().await, wrong, "it does not take its office back");
    cluster.set_clock(wrong, 0);
    cluster.wait_ready().await;

    let evidence = gather(&cluster, &receiver, now()).await.unwrap();
    assert_never_ahead(&evidence, 0);
    let verdict = judge(&evidence);
    eprintln!("{verdict}");
    verdict.assert_clean();
    assert!(verdict.counts.fired > 4 * SCHEDULES);
}

#[tokio::test(flavor = "multi_thread")]
async fn b073_b077_b079_a_leader_set_back_ten_seconds_waits_and_repeats_nothing() {
    let seed = Seed::from_environment();
    let (mut cluster, receiver) = ticking(seed, "1s").await;
    let leader = cluster.leader().await;
    cluster.set_clock(leader, -10 * SECOND);
    let stepped = now() + Span::from_millis(200);
    passes(stepped + Span::from_secs(3)).await;
    let waiting = ledger(&cluster, leader).await;
    let nominals = waiting.rows.iter().filter_map(|row| match &row.fact {
        Fact::Fired { firing, .. } => Some(firing.nominal),
        _ => None,
    });
    // Unless an election for nothing has put a right clock in office, which waits for nothing.
    if cluster.leader().await == leader {
        assert!(nominals.max().unwrap() <= stepped, "it did not wait");
    }
    let behind = view(&cluster, leader, "that it is behind", |view| warns(view, "behind a majority")).await;
    assert_eq!(behind["clock_ahead"], false);
    cluster.set_clock(leader, 0);
    more_calls(&receiver, 3 * SCHEDULES).await;

    let verdict = judge_after(&cluster, &receiver, now()).await.unwrap();
    eprintln!("{verdict}");
    verdict.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn b080_a_cluster_suspended_for_three_hours_goes_on_after_now_and_accounts_for_what_it_missed() {
    let seed = Seed::from_environment();
    let (cluster, receiver) = ticking(seed, "1s").await;
    let slept = now();
    cluster.places().for_each(|node| cluster.set_clock(node, 3 * HOUR));
    let woke = slept + Span::from_millis(3 * HOUR as u64);
    let after = woke + Span::from_secs(2);
    wait::must("calls after the sleep", WITHIN, async || {
        let calls = receiver.calls();
        let late = calls.iter().filter(|call| call.nominal > Some(after)).count();
        (late >= SCHEDULES).then_some(())
    })
    .await;

    let mut evidence = gather(&cluster, &receiver, woke).await.unwrap();
    assert_never_ahead(&evidence, 3 * HOUR);
    // The receiver slept as well: its clock is set like those of the nodes.
    for call in evidence.calls.iter_mut().filter(|call| call.received_at > slept) {
        call.received_at = call.received_at + Span::from_millis(3 * HOUR as u64);
    }
    let verdict = judge(&evidence);
    eprintln!("{verdict}");
    verdict.assert_clean();
    // All but the minute that the catch-up window reaches, in one row each.
    let missed = SCHEDULES as u64 * (3 * 3_600 - 60 - 10);
    assert!(verdict.counts.skipped >= missed, "{verdict}");
    let skips =
        evidence.ledgers[0].1.rows.iter().filter(|row| matches!(row.fact, Fact::Skipped { .. })).count();
    assert!(skips <= 3 * SCHEDULES, "{skips} rows");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_right_stays_in_office_when_both_others_are_a_day_ahead_and_says_so() {
    let seed = Seed::from_environment();
    let (mut cluster, receiver) = ticking(seed, "1s").await;
    let right = cluster.leader().await;
    let wrong: Vec<usize> = cluster.places().filter(|node| *node != right).collect();
    wrong.iter().for_each(|node| cluster.set_clock(*node, DAY));
    let said = view(&cluster, right, "that both others are ahead", |view| {
        view["warnings"].as_array().is_some_and(|warnings| warnings.len() >= 2) && warns(view, "1d")
            || warns(view, "behind a majority")
    })
    .await;
    assert_eq!(said["clock_ahead"], false);
    more_calls(&receiver, 2 * SCHEDULES).await;
    cluster.wait_ready_of(right).await;
    assert_never_ahead(&gather(&cluster, &receiver, now()).await.unwrap(), 0);

    // When one of them leads, what a majority shows is the time: nobody can tell who is right, so it is told.
    let to = cluster.view(wrong[0]).await.unwrap()["node"].clone();
    let order = serde_json::json!({ "to": to });
    assert!(cluster.api(right).post("/v1/cluster/transfer", &order).await.unwrap().is_success());
    let new = successor(&mut cluster, right).await;
    let said = view(&cluster, new, "that a node is behind", |view| warns(view, "behind the clock")).await;
    assert_eq!(said["clock_ahead"], false);
    let left = view(&cluster, right, "that it is behind", |view| warns(view, "behind a majority")).await;
    assert!(left["quorum_offset_ms"].as_i64().unwrap() < -23 * HOUR, "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn b098_a_successor_four_seconds_behind_goes_on_after_the_last_committed_instant() {
    let seed = Seed::from_environment();
    let (mut cluster, receiver) = ticking(seed, "5s").await;
    let old = cluster.leader().await;
    let others: Vec<usize> = cluster.places().filter(|node| *node != old).collect();
    others.iter().for_each(|node| cluster.set_clock(*node, -4 * SECOND));
    view(&cluster, old, "that it is ahead of them", |view| view["quorum_offset_ms"].as_i64() > Some(3_000))
        .await;
    more_calls(&receiver, SCHEDULES).await;
    cluster.kill(old);
    let killed = now();
    let new = successor(&mut cluster, old).await;
    cluster.spawn(old);
    wait::must("instants after the last one of the old leader", WITHIN, async || {
        let calls = receiver.calls();
        let later = calls.iter().filter(|call| call.nominal > Some(killed + Span::from_secs(1))).count();
        (later >= SCHEDULES).then_some(())
    })
    .await;
    eprintln!("node {old} was killed, node {new} took over four seconds behind");
    others.iter().for_each(|node| cluster.set_clock(*node, 0));
    cluster.wait_ready().await;

    let verdict = judge_after(&cluster, &receiver, now()).await.unwrap();
    eprintln!("{verdict}");
    verdict.assert_clean();
    assert!(verdict.counts.offices >= 2);
}
