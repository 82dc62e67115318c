//! How long nothing fires when the leader dies: from `kill -9` to the first firing of another leader.
//!
//! 100 schedules that fire every second, their grids 10 ms apart, so that the next due instant is never more than 10 ms
//! away. Measured twice: to the first call that arrives from another node, after its tick and its Begin were committed
//! (`failover_*`); and to the log's time of the first instant that another leader decided (`failover_decided_*`).

use std::time::Duration;

use anyhow::{Context, Result};
use campanile_cluster_tests::ledger::{Fact, Ledger};
use campanile_cluster_tests::receiver::{Receiver, now};
use campanile_cluster_tests::{wait, workload};
use campanile_core::time::Timestamp;

use crate::Plan;
use crate::figure::Report;
use crate::load;
use crate::stage::Stage;

const SCHEDULES: u64 = 100;
const KILLS: usize = 10;
const FOUND_WITHIN: Duration = Duration::from_secs(30);

pub(crate) async fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let receiver = Receiver::start().await;
    let mut stage = Stage::set(plan, toml::Table::new()).await?;
    let (api, url) = (stage.leader_api().await, receiver.url("/"));
    let schedules = (0..SCHEDULES)
        .map(move |n| workload::schedule(&format!("fine/n{n}"), &workload::every_second(n * 10), &url));
    load::create(&api, schedules).await?;

    let mut dice = plan.seed.dice("failover");
    let kills = if plan.quick { 2 } else { KILLS };
    let (mut arrived, mut at) = (Vec::new(), Vec::new());
    for kill in 1..=kills {
        settle(&receiver, dice.between(Duration::from_secs(1), Duration::from_secs(3))).await;
        let leader = stage.cluster.leader().await;
        let id = stage.cluster.view(leader).await.context("the leader answers")?["node"].to_string();
        let killed_at = now();
        stage.cluster.kill(leader);
        let first = first_call(&receiver, &id, killed_at).await;
        println!(
            "   kill {kill:>2}: node {leader}, first call of another after {} ms",
            first.since(killed_at).as_millis()
        );
        arrived.push(first.since(killed_at).as_millis() as f64);
        at.push(killed_at);
        stage.cluster.spawn(leader);
        stage.cluster.wait_ready().await;
    }
    let api = stage.leader_api().await;
    let mut ledger = Ledger::default();
    ledger.read_on(&api).await?;
    let decided: Vec<f64> = at.iter().filter_map(|killed_at| first_decision(&ledger, *killed_at)).collect();

    let how =
        format!("kill -9 to the first call from another node; 100 every 1s, 10 ms apart; {kills} kills");
    report.add("failover_median_ms", "ms", arrived.clone(), how);
    report.add("failover_max_ms", "ms", vec![arrived.into_iter().fold(0.0, f64::max)], "the longest of them");
    report.add(
        "failover_decided_median_ms",
        "ms",
        decided,
        "kill -9 to the log's time of the first instant decided by another",
    );
    Ok(())
}

/// Lets the cluster run for a while that the dice chose, and until calls come.
async fn settle(receiver: &Receiver, span: Duration) {
    tokio::time::sleep(span).await;
    receiver.forget();
    wait::must("calls", FOUND_WITHIN, async || (receiver.count() > 20).then_some(())).await;
}

/// When the first call arrived that a node other than the killed one sent after the kill.
async fn first_call(receiver: &Receiver, killed: &str, killed_at: Timestamp) -> Timestamp {
    wait::must("a call from another node", FOUND_WITHIN, async || {
        let calls = receiver.calls();
        calls
            .iter()
            .find(|call| call.received_at >= killed_at && call.node != killed)
            .map(|call| call.received_at)
    })
    .await
}

/// From a kill to the log's time of the first instant that was decided under an office taken after it, in milliseconds.
fn first_decision(ledger: &Ledger, killed_at: Timestamp) -> Option<f64> {
    let after = ledger
        .rows
        .iter()
        .skip_while(|row| !(matches!(row.fact, Fact::LeaderEpoch { .. }) && row.at >= killed_at));
    let first = after.into_iter().find(|row| matches!(row.fact, Fact::Fired { .. }))?;
    Some(first.at.since(killed_at).as_millis() as f64)
}
