//! From a cluster that was hurt to a verdict: lets it finish its work, then gathers what the judge needs.
//!
//! It waits for the promise ("late, never dropped") to come true, and no longer than the promise may take. It gathers even
//! when it does not come true, since then there is something to find.

use std::time::Duration;

use anyhow::Result;
use campanile_core::time::Timestamp;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::judge::{Evidence, Promise, Verdict, is_open, judge};
use crate::ledger::{Ledger, Position};
use crate::proof;
use crate::receiver::{Call, Receiver};
use crate::wait;

/// An attempt whose node was killed is free again when its lease ends: the longest timeout in use (30 s), the margin of the
/// lease (10 s), and a retry.
const FINISH_WITHIN: Duration = Duration::from_secs(75);
/// How long a node may take until it has rows that another has.
const LEVEL_WITHIN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Waits until everything up to `until` is decided and delivered, has every ledger verified, reads it and judges.
///
/// # Errors
/// When a node that should run does not answer, or `campanile verify` gives no verdict.
pub async fn judge_after(cluster: &Cluster, receiver: &Receiver, until: Timestamp) -> Result<Verdict> {
    Ok(judge(&gather(cluster, receiver, until).await?))
}

/// The same where receivers may refuse for good: waits until everything up to `until` is decided and has ended. `calls`
/// says what has arrived, at receivers and at workers.
///
/// # Errors
/// As [`judge_after`].
pub async fn judge_settled(
    cluster: &Cluster,
    calls: impl Fn() -> Vec<Call>,
    until: Timestamp,
) -> Result<Verdict> {
    Ok(judge(&gather_for(Promise::Settled, cluster, &calls, until).await?))
}

/// The evidence alone.
///
/// # Errors
/// As [`judge_after`].
pub async fn gather(cluster: &Cluster, receiver: &Receiver, until: Timestamp) -> Result<Evidence> {
    gather_for(Promise::Delivered, cluster, &|| receiver.calls(), until).await
}

/// The evidence for either promise.
///
/// # Errors
/// As [`judge_after`].
pub async fn gather_for(
    promise: Promise,
    cluster: &Cluster,
    calls: &impl Fn() -> Vec<Call>,
    until: Timestamp,
) -> Result<Evidence> {
    let mut evidence = Evidence {
        ledgers: vec![(1, Ledger::default())],
        position: Position { index: 0, n: 0 },
        said: Vec::new(),
        calls: Vec::new(),
        until,
        promise,
    };
    finish(cluster, calls, &mut evidence).await?;
    // Calls before ledgers: a call that arrives in between may have its Begin behind the end of what is read.
    evidence.calls = calls();
    evidence.ledgers.extend(cluster.places().skip(1).map(|node| (node, Ledger::default())));
    level_all(cluster, &mut evidence).await?;
    // Verdicts when every node has all of it, and before the ledgers are read on: their ends must be found in them.
    evidence.said = proof::ask_all(cluster, until).await?;
    level_all(cluster, &mut evidence).await?;
    Ok(evidence)
}

/// Until the first node's ledger has nothing open, by its rows and by its own word, or for as long as that may take.
async fn finish(cluster: &Cluster, calls: &impl Fn() -> Vec<Call>, evidence: &mut Evidence) -> Result<()> {
    let deadline = Instant::now() + FINISH_WITHIN;
    loop {
        let (node, ledger) = &mut evidence.ledgers[0];
        let api = cluster.api(*node);
        // In this order: what the node has decided by its word is in the rows that are read after it. The other way round, a
        // node that catches up in between says that all is decided, of rows that nobody has read.
        let is_undecided = proof::is_undecided(&api, evidence.until).await?;
        ledger.read_on(&api).await?;
        evidence.position = ledger.last().unwrap_or(evidence.position);
        evidence.calls = calls();
        let is_over = !is_undecided && !is_open(evidence);
        if is_over || Instant::now() >= deadline {
            return Ok(());
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Reads every ledger up to the end of the longest.
async fn level_all(cluster: &Cluster, evidence: &mut Evidence) -> Result<()> {
    for (node, ledger) in &mut evidence.ledgers {
        ledger.read_on(&cluster.api(*node)).await?;
    }
    let furthest = evidence.ledgers.iter().filter_map(|(_, ledger)| ledger.last()).max();
    evidence.position = furthest.unwrap_or(evidence.position);
    for (node, ledger) in &mut evidence.ledgers {
        level(cluster, *node, ledger, evidence.position).await;
    }
    Ok(())
}

/// Until a node has the row at `position`. One that never gets there is the judge's business.
async fn level(cluster: &Cluster, node: usize, ledger: &mut Ledger, position: Position) {
    let api = cluster.api(node);
    wait::until(LEVEL_WITHIN, async || {
        let read = ledger.read_on(&api).await;
        (read.is_ok() && ledger.last() >= Some(position)).then_some(())
    })
    .await;
}
