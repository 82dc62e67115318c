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
use campanile_core::id::Term;
use campanile_core::machine::Machine;
use campanile_raft::image::{Covered, machine_bytes};
use campanile_raft::types::{StoredMembership, log_id};
use campanile_storage::archive::{ArchiveReader, ArchiveWriter};
use campanile_storage::ledger::Head;

use super::most_memory;
use super::questions::{Picked, Question};
use crate::Plan;
use crate::figure::{Report, median};
use crate::size::disk;

/// The place of the node.
const NODE: usize = 1;
/// How long the node may take to be made of the backup, and its index to be built.
const BUILT_WITHIN: Duration = Duration::from_secs(3_600);
/// Rows that are copied at once.
const PAGE: usize = 1_000;
/// How many questions are asked by the command line too: each is a process.
const BY_COMMAND: usize = 40;

/// The rows of an export as a backup that ends with this machine, in this term.
pub(super) fn back_up(export: &Path, end: &(Machine, Term), head: Head, backup: &Path) -> Result<()> {
    let (machine, term) = end;
    let mut rows = ArchiveReader::open(BufReader::new(File::open(export)?))?;
    let mut archive = ArchiveWriter::begin(BufWriter::new(File::create(backup)?), b"{}")?;
    let last = Some(log_id(term.0, machine.applied().0));
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
    what: &str,
    fired: u64,
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
    let meanwhile = indexed(&mut cluster, first).await?;
    let secs = begun.elapsed().as_secs_f64();
    println!(
        "   restored and ready after {until_ready:.0} s; while the index was built it said: {meanwhile}"
    );
    let how = format!("a node restored from a backup, from ready to its first history: {what}");
    report.add("history_rebuild_s", "s", vec![secs], how);
    let index = disk(&cluster.data(NODE).join("history"));
    let how = format!("the node's own index of its ledger, beside it on the disk: {what}");
    report.add("index_bytes_per_firing", "bytes", vec![index as f64 / fired as f64], how);
    let most = cluster.pid(NODE).and_then(most_memory).context("the node's memory")?;
    report.add("served_rss_mb", "MB", vec![most], format!("the most that the node held meanwhile: {what}"));
    over_http(&cluster, report, what, questions).await?;
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
async fn indexed(cluster: &mut Cluster, question: &Question) -> Result<String> {
    let mut meanwhile = "nothing, it was there at once".to_owned();
    wait::must("the index of the history", BUILT_WITHIN, async || {
        assert!(cluster.is_running(NODE), "the restored node ended by itself");
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
    what: &str,
    questions: &[(Picked, Question)],
) -> Result<()> {
    let (mut took, mut slowest) = (Vec::new(), (0.0, String::new()));
    let mut by_verdict: BTreeMap<(Picked, String), Vec<f64>> = BTreeMap::new();
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
        by_verdict.entry((*picked, verdict)).or_default().push(ms);
        took.push(ms);
    }
    for ((picked, verdict), took) in &by_verdict {
        let (count, median) = (took.len(), median(took));
        println!("   {:<16} {verdict:<14} {count:>4} asked, {median:>6.1} ms", format!("{picked:?}"));
    }
    println!("   slowest, {:.1} ms: {}", slowest.0, slowest.1);
    took.sort_by(f64::total_cmp);
    let how = format!("{} questions, each once, in HTTP, one node: {what}", took.len());
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
