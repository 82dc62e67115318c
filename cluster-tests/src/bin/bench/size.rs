//! What a schedule weighs: memory and disk of a node before and after 100,000 of them were created over HTTP.
//!
//! Each is a daily job with a name, a URL and a label of its own; 1,440 different patterns in three zones.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use campanile_cluster_tests::wait;
use campanile_cluster_tests::workload::{self, Schedule};
use serde_json::json;

use crate::Plan;
use crate::figure::Report;
use crate::load;
use crate::stage::Stage;

const SCHEDULES: usize = 100_000;
const ZONES: [&str; 3] = ["UTC", "Europe/Berlin", "America/New_York"];

pub(crate) async fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let mut stage = Stage::set(plan, toml::Table::new()).await?;
    let count = plan.share(SCHEDULES);
    let api = stage.leader_api().await;
    let before = weigh(&stage)?;
    let took = load::create(&api, (0..count).map(schedule)).await?;
    everywhere(&stage, count).await;
    let after = weigh(&stage)?;

    let how = format!("{count} daily cron schedules created over HTTP; growth of each node");
    report.add(
        "rss_bytes_per_schedule",
        "bytes",
        grown_per(count, &before, &after, |weight| weight.resident),
        how.clone(),
    );
    report.add(
        "disk_bytes_per_schedule",
        "bytes",
        grown_per(count, &before, &after, |weight| weight.disk),
        format!("{how}: log, ledger, images, index"),
    );
    let rate = count as f64 / took.as_secs_f64();
    report.add("created_per_s", "schedules/s", vec![rate], "PUT over 64 connections to the leader");
    stage.end_undisturbed(report).await?;

    for node in stage.cluster.places() {
        stage.cluster.kill(node);
        stage.cluster.spawn(node);
        stage.cluster.wait_ready_of(node).await;
    }
    everywhere(&stage, count).await;
    let restarted = weigh(&stage)?;
    let grown = grown_per(count, &before, &restarted, |weight| weight.resident);
    let how = "the same after each node was killed and started again: without what creating them left behind";
    report.add("rss_restarted_bytes_per_schedule", "bytes", grown, how);
    Ok(())
}

/// How much each node grew for each schedule.
fn grown_per(count: usize, before: &[Weight], after: &[Weight], part: fn(&Weight) -> u64) -> Vec<f64> {
    let pairs = before.iter().zip(after);
    pairs.map(|(before, after)| part(after).saturating_sub(part(before)) as f64 / count as f64).collect()
}

fn schedule(n: usize) -> Schedule {
    let pattern = format!("{} {} * * *", n % 60, n / 60 % 24);
    let spec = json!({ "cron": pattern, "time_zone": ZONES[n % ZONES.len()] });
    let url = format!("http://127.0.0.1:9/teams/team-{}/jobs/job-{n}", n % 500);
    let mut schedule = workload::schedule(&format!("team-{}/job-{n}", n % 500), &spec, &url);
    schedule.body["labels"] = json!({ "team": format!("team-{}", n % 500) });
    schedule
}

struct Weight {
    resident: u64,
    disk: u64,
}

fn weigh(stage: &Stage) -> Result<Vec<Weight>> {
    let weigh = |node| {
        let pid = stage.cluster.pid(node).context("the node runs")?;
        Ok(Weight { resident: resident(pid)?, disk: disk(stage.cluster.data(node)) })
    };
    stage.cluster.places().map(weigh).collect()
}

/// `VmRSS` of a process, in bytes.
fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    ensure!(kib > 0, "a process that weighs nothing");
    Ok(kib * 1024)
}

/// Bytes of the files in a folder and below.
pub(crate) fn disk(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => disk(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

/// Until every node has applied all of them.
async fn everywhere(stage: &Stage, count: usize) {
    for node in stage.cluster.places() {
        wait::must("every schedule on every node", Duration::from_secs(60), async || {
            let view = stage.cluster.view(node).await?;
            (view["schedules"].as_u64() == Some(count as u64)).then_some(())
        })
        .await;
    }
}
