//! A week of ten thousand schedules, proven: the rows are made by the real planner and machine under a fast clock, written
//! as an export, and `campanile verify` reads them as it would read anybody's. Then a node serves them, and explains them.

mod questions;
mod schedules;
mod served;
mod world;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use campanile_cluster_tests::binary::campanile;
use campanile_cluster_tests::seed::number_from_environment;
use campanile_core::cron::parse_instant;
use campanile_core::event::Row;
use campanile_core::format::FormatLevel;
use campanile_core::id::{LogIndex, Term};
use campanile_core::machine::Machine;
use campanile_core::time::Span;
use campanile_storage::archive::ArchiveWriter;
use campanile_storage::codec::{self, Kind};
use campanile_storage::ledger::{Head, Position, Row as Stored, chain_hash};

use crate::Plan;
use crate::figure::Report;
use questions::Questions;
use world::World;

/// The clocks of Europe go back in it.
const START: &str = "2026-10-20T00:00:30Z";
const DAY: u64 = 86_400;
const DAYS: u64 = 7;
const WEEK: Span = Span::from_secs(DAYS * DAY);
/// So much of it is served: the index of all of it is built in more than ten minutes on two cores, and is the same sort of
/// tree. `WEEK_SERVED_DAYS=7` waits for it.
const SERVED_DAYS: u64 = 1;
/// `WEEK_SCHEDULES` makes a smaller one.
const SCHEDULES: usize = 10_000;

/// What was written.
struct Week {
    fired: u64,
    rows: u64,
    head: Head,
    /// What the rows came to, and the term of the last entry.
    end: (Machine, Term),
    questions: Questions,
}

pub(crate) async fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("week.ledger");
    let schedules = plan.share(number_from_environment("WEEK_SCHEDULES", SCHEDULES as u64) as usize);
    let began = Instant::now();
    let week = write(plan, schedules, WEEK, &file)?;
    let Week { fired, rows, .. } = week;
    let bytes = std::fs::metadata(&file)?.len();
    println!(
        "   {fired} firings, {rows} rows, {:.1} GB, made in {:.0} s",
        bytes as f64 / 1e9,
        began.elapsed().as_secs_f64()
    );
    let how =
        format!("{schedules} schedules of mixed specs, a week with a change of clocks; all rows: {rows}");
    report.add("ledger_bytes_per_firing", "bytes", vec![bytes as f64 / fired as f64], how);
    let (secs, rss) = verify(&file)?;
    let how = format!("`campanile verify FILE` over {fired} firings, a process of its own");
    report.add("verify_week_s", "s", vec![secs], how.clone());
    report.add("verify_week_rss_mb", "MB", vec![rss], how);

    let days = number_from_environment("WEEK_SERVED_DAYS", SERVED_DAYS).clamp(1, DAYS);
    let span = Span::from_secs(days * DAY);
    let served = if days == DAYS { week } else { write(plan, schedules, span, &file)? };
    let backup = dir.path().join("week.campanile");
    served::back_up(&file, &served.end, served.head, &backup)?;
    std::fs::remove_file(&file)?;
    let start = parse_instant(START).context("an instant")?;
    let questions = served.questions.all(schedules, start, span);
    let what = format!("{schedules} schedules, {days} of the {DAYS} days, {} rows", served.rows);
    served::measure(plan, report, &backup, &what, served.fired, &questions).await
}

/// The export.
fn write(plan: &Plan, schedules: usize, span: Span, file: &Path) -> Result<Week> {
    let start = parse_instant(START).context("an instant")?;
    let mut archive = ArchiveWriter::begin(BufWriter::new(File::create(file)?), b"{}")?;
    archive.base(Head::default())?;
    let mut hash = Head::default().hash;
    let mut questions = Questions::new(plan.seed.dice("questions"));
    let (fired, rows, end) = {
        let sink = |index: LogIndex, rows: &[Row]| {
            let mut stored = Vec::with_capacity(rows.len());
            for (n, row) in (0..).zip(rows) {
                questions.see(row);
                let body = codec::encode(Kind::Event, FormatLevel::OLDEST.0, row)?;
                let position = Position::new(index.0, n);
                hash = chain_hash(&hash, position, &body);
                stored.push(Stored { position, hash, body: body.into() });
            }
            archive.rows(&stored)?;
            Ok(())
        };
        let mut world = World::begin(start, schedules, plan.seed.dice("week"), sink)?;
        world.live(start + span)?;
        let end = world.rest()?;
        (world.fired, world.rows, end)
    };
    let head = archive.head();
    archive.end()?.into_inner()?.sync_all()?;
    Ok(Week { fired, rows, head, end, questions })
}

/// Runs the command; answers its seconds and the most memory that it held, in megabytes.
fn verify(file: &Path) -> Result<(f64, f64)> {
    let began = Instant::now();
    let mut child = campanile(["verify", "-o", "json"])
        .arg(file)
        .stdout(Stdio::null())
        .spawn()
        .context("starting campanile verify")?;
    let mut peak = 0.0_f64;
    let status = loop {
        peak = peak.max(most_memory(child.id()).unwrap_or(0.0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    ensure!(status.success(), "verify found something in a good week");
    Ok((began.elapsed().as_secs_f64(), peak))
}

/// The kernel's own mark of the most memory of a process, in megabytes; `None` when it is gone.
fn most_memory(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").trim().parse::<f64>().ok().map(|kilobytes| kilobytes / 1_024.0)
}
