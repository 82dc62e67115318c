//! A node that serves the week: the rows as a backup with the state at their end, restored as a user would, and started. How
//! long the index of its history takes, and how long `explain` does.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use campanile_cluster_tests::api::Reply;
use campanile_cluster_tests::binary::{campanile, says};
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::wait;
use campanile_core::cron::instant_text;
use campanile_core::machine::Machine;
use campanile_raft::image::{Covered, machine_bytes};
use campanile_raft::types::{StoredMembership, log_id};
use campanile_storage::archive::{ArchiveReader, ArchiveWriter};
use campanile_storage::ledger::Head;

use super::questions::{Picked, Question};
use crate::Plan;
use crate::figure::Report;

/// The place of the node.
const NODE: usize = 1;
/// How long the node may take to be made of the backup, and its index to be built.
const BUILT_WITHIN: Duration = Duration::from_secs(3_600);
/// Rows that are copied at once.
const PAGE: usize = 1_000;
/// How many questions are asked by the command line too: each is a process.
const BY_COMMAND: usize = 40;

/// The rows of an export as a backup of this machine.
pub(super) fn back_up(export: &Path, machine: &Machine, head: Head, backup: &Path) -> Result<()> {
    let mut rows = ArchiveReader::open(BufReader::new(File::open(export)?))?;
    let mut archive = ArchiveWriter::begin(BufWriter::new(File::create(backup)?), b"{}")?;
    let last = Some(log_id(1, machine.applied().0));
    let covered = Covered { last, membership: StoredMembership::default(), ledger: head };
    archive.image(&covered.to_bytes(), &machine_bytes(machine)?)?;
    archive.base(Head::default())?;
    let mut page = Vec::with_capacity(PAGE);
    while let Some(row) = rows.next_row()? {
        page.push(row);
        if page.len() == PAGE {
            archive.rows(&page)?;
            page.clear();
        }
    }
    archive.rows(&page)?;
    archive.end()?.into_inner()?.sync_all()?;
    Ok(())
}

/// Starts a node on the backup, and asks it.
pub(super) async fn measure(
    plan: &Plan,
    report: &mut Report,
    backup: &Path,
    rows: u64,
    questions: &[(Picked, Question)],
) -> Result<()> {
    let mut cluster = Cluster::lay_out(Options { nodes: 1, ..Options::new(plan.seed) }).await;
    let mut restore = campanile(["restore"]);
    restore.arg(backup).arg("--data").arg(cluster.data(NODE));
    let restored = says(restore);
    ensure!(restored.code == Some(0), "restore: {restored}");
    std::fs::remove_file(backup)?;
    cluster.spawn(NODE);
    let until_ready = ready(&mut cluster).await;
    let (_, first) = questions.first().context("nothing to ask")?;
    let begun = Instant::now();
    let meanwhile = indexed(&cluster, first).await?;
    let secs = begun.elapsed().as_secs_f64();
    println!(
        "   restored and ready after {until_ready:.0} s; while the index was built it said: {meanwhile}"
    );
    let how = format!("a node restored from a backup of {rows} rows, from ready to its first history");
    report.add("history_rebuild_s", "s", vec![secs], how);
    over_http(&cluster, report, rows, questions).await?;
    by_command(&cluster, report, &questions[..questions.len().min(BY_COMMAND)])
}

async fn ready(cluster: &mut Cluster) -> f64 {
    let (begun, api) = (Instant::now(), cluster.api(NODE));
    wait::must("the restored node", BUILT_WITHIN, async || {
        assert!(cluster.is_running(NODE), "the restored node ended by itself");
        api.get("/readyz").await.is_ok_and(|reply| reply.status == 200).then_some(())
    })
    .await;
    begun.elapsed().as_secs_f64()
}

/// Waits for the index; answers what the node said when it was asked before.
async fn indexed(cluster: &Cluster, question: &Question) -> Result<String> {
    let mut meanwhile = "nothing, it was there at once".to_owned();
    wait::must("the index of the history", BUILT_WITHIN, async || {
        let reply = ask(cluster, question).await.ok()?;
        if reply.is_success() {
            return Some(());
        }
        meanwhile = format!("{} {} {}", reply.status, reply.code(), reply.body["detail"]);
        None
    })
    .await;
    Ok(meanwhile)
}

/// Each question once, one after the other.
async fn over_http(
    cluster: &Cluster,
    report: &mut Report,
    rows: u64,
    questions: &[(Picked, Question)],
) -> Result<()> {
    let (mut took, mut slowest) = (Vec::new(), (0.0, String::new()));
    let mut verdicts: BTreeMap<(Picked, String), usize> = BTreeMap::new();
    for (picked, question) in questions {
        let begun = Instant::now();
        let reply = ask(cluster, question).await?;
        let ms = begun.elapsed().as_secs_f64() * 1_000.0;
        ensure!(reply.is_success(), "{question:?} was answered {} {}", reply.status, reply.body);
        let verdict = reply.body["verdict"].as_str().context("no verdict")?.to_owned();
        if ms > slowest.0 {
            slowest =
                (ms, format!("{picked:?} {} at {}: {verdict}", question.name, instant_text(question.at)));
        }
        *verdicts.entry((*picked, verdict)).or_default() += 1;
        took.push(ms);
    }
    for ((picked, verdict), count) in &verdicts {
        println!("   {:<16} {verdict:<14} {count:>4}", format!("{picked:?}"));
    }
    println!("   slowest, {:.1} ms: {}", slowest.0, slowest.1);
    took.sort_by(f64::total_cmp);
    let how = format!("{} questions over {rows} rows, each once, in HTTP, one node", took.len());
    report.add("explain_p50_ms", "ms", vec![quantile(&took, 50)], how.clone());
    report.add("explain_p99_ms", "ms", vec![quantile(&took, 99)], how.clone());
    report.add("explain_max_ms", "ms", vec![quantile(&took, 100)], how);
    Ok(())
}

async fn ask(cluster: &Cluster, question: &Question) -> Result<Reply> {
    let path = format!("/v1/explain/{}?at={}", question.name, instant_text(question.at));
    Ok(cluster.api(NODE).get(&path).await?)
}

/// As a user does: a process for each.
fn by_command(cluster: &Cluster, report: &mut Report, questions: &[(Picked, Question)]) -> Result<()> {
    let mut took = Vec::new();
    for (_, question) in questions {
        let begun = Instant::now();
        let told = says(cluster.command(&["explain", &question.name, "--at", &instant_text(question.at)]));
        took.push(begun.elapsed().as_secs_f64() * 1_000.0);
        ensure!(told.code == Some(0), "explain: {told}");
    }
    let how = format!("`campanile explain NAME --at T`, {} processes from start to end", took.len());
    report.add("explain_command_ms", "ms", took, how);
    Ok(())
}

/// The least of `sorted` that so many percent do not exceed.
fn quantile(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(f64::NAN)
}
