//! What `campanile verify` says of a cluster's ledgers, asked as a user asks: one process for the ledger of each node, and
//! one that has nothing but an export and knows of no cluster.
//!
//! It asks, and judges nothing: what the answers are worth stands in `judge/proven.rs`.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use campanile_core::cron::instant_text;
use campanile_core::time::Timestamp;
use serde_json::Value;

use crate::api::Api;
use crate::binary::{self, says};
use crate::cluster::Cluster;

/// What one process said.
#[derive(Debug, Clone)]
pub struct Said {
    /// Of which ledger: `node 1`, or `an export`.
    pub of: String,
    /// The verdict, as it was printed.
    pub verdict: Value,
}

/// Has the ledger of every node verified, then an export of the first node's.
///
/// # Errors
/// When a process fails, or its exit code says another thing than its verdict.
pub async fn ask_all(cluster: &Cluster, until: Timestamp) -> Result<Vec<Said>> {
    let until = instant_text(until);
    let mut said = Vec::new();
    for node in cluster.places() {
        let url = cluster.url(node);
        let command = cluster.command(&["verify", "--server", &url, "--until", &until, "-o", "json"]);
        said.push(ask(format!("node {node}"), command).await?);
    }
    let folder = tempfile::tempdir().context("a folder for the export")?;
    let file = folder.path().join("ledger.archive");
    let mut export = cluster.command(&["ledger", "export", "-o", "segments"]);
    export.stdout(File::create(&file).context("the export's file")?);
    run(export).await?.code.filter(|code| *code == 0).context("the export failed")?;
    said.push(ask("an export".into(), offline(cluster, &file, &until)).await?);
    Ok(said)
}

/// As on a machine that has the file and nothing else: no environment at all.
fn offline(cluster: &Cluster, file: &Path, until: &str) -> Command {
    let mut command = binary::command(cluster.binary(), ["verify"]);
    command.arg(file).args(["--until", until, "-o", "json"]).env_clear();
    command
}

async fn ask(of: String, command: Command) -> Result<Said> {
    let answer = run(command).await?;
    let printed: Value = serde_json::from_str(&answer.stdout).with_context(|| format!("{of}: {answer}"))?;
    // Of nodes it prints a list, of a file one verdict.
    let verdict = printed.get(0).unwrap_or(&printed).clone();
    let clean = verdict["clean"].as_bool().with_context(|| format!("{of}: no verdict: {answer}"))?;
    ensure!(answer.code == Some(i32::from(!clean)), "{of}: the exit code is no verdict: {answer}");
    Ok(Said { of, verdict })
}

/// Aside, so that a receiver goes on answering meanwhile.
async fn run(command: Command) -> Result<binary::Answer> {
    Ok(tokio::task::spawn_blocking(|| says(command)).await?)
}

/// Whether a node's own `verify` says that instants up to `until` wait for a decision: what a test waits for, not a
/// judgement.
///
/// # Errors
/// When the node does not say.
pub async fn is_undecided(api: &Api, until: Timestamp) -> Result<bool> {
    let path = format!("/v1/verify?until={}", instant_text(until));
    let reply = api.get(&path).await?;
    ensure!(reply.status == 200, "{path} of {}: {} {}", api.base(), reply.status, reply.body);
    Ok(["pending", "missing"].iter().any(|open| reply.body[open] != 0))
}
