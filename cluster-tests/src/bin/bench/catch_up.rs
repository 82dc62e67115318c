//! Catching up, in the pure machine: what a leader plans and applies after an outage. Consensus and disks are not in it.
//!
//! A year of missed seconds on one schedule, and a million schedules that missed an hour while a thousand healthy ones go
//! on firing every second: the time that planning and applying take is the time that passes.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use campanile_core::command::{Body, Tick};
use campanile_core::cron::parse_instant;
use campanile_core::definition::{CatchUp, CatchUpMode, Definition, Policy, Target, Webhook};
use campanile_core::event::{Event, Row};
use campanile_core::firing::FiringId;
use campanile_core::spec::{Exclusion, Spec};
use campanile_core::time::{Span, Timestamp};

use crate::Plan;
use crate::figure::Report;
use crate::office::{Office, cron, pattern};

const SCHEDULES: usize = 1_000_000;
const HEALTHY: usize = 1_000;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    year(report)?;
    million(plan, report)
}

/// 31,536,000 missed instants, decided by one command.
fn year(report: &mut Report) -> Result<()> {
    let start = parse_instant("2025-01-01T00:00:00Z").context("an instant")?;
    let end = parse_instant("2026-01-01T00:00:00Z").context("an instant")?;
    let seconds = || cron("* * * * * *", "UTC");
    let lunch = Exclusion::Cron(Box::new(pattern("* 12 * * *", "Europe/Berlin")));
    for (name, specs, exclude) in [
        ("year_of_seconds_ms", vec![seconds()], vec![]),
        ("year_of_a_union_ms", vec![seconds(), cron("*/7 * * * *", "Europe/Berlin")], vec![lunch]),
    ] {
        let mut runs = Vec::new();
        let mut rows = 0;
        for _ in 0..7 {
            let (mut office, _) = Office::at(start);
            office.put("job", start, definition(specs.clone(), exclude.clone(), None))?;
            let began = Instant::now();
            let tick = office.planner.tick(&office.machine, end).context("a year is due")?;
            rows = skips(&office.commit(end, Body::Tick(tick)).rows);
            runs.push(began.elapsed().as_secs_f64() * 1e3);
        }
        ensure!(rows < 10, "{rows} rows of skips");
        let how =
            format!("planned and applied: {rows} rows of skips, and the newest 1,000 and the last 30 s fire");
        report.add(name, "ms", runs, how);
    }
    Ok(())
}

fn million(plan: &Plan, report: &mut Report) -> Result<()> {
    let count = plan.share(SCHEDULES);
    let start = parse_instant("2026-01-01T00:00:30Z").context("an instant")?;
    let outage_ends = start + Span::from_secs(3_600);
    let (mut office, _) = Office::at(start);
    let missed = definition(vec![cron("* * * * *", "Europe/Berlin")], vec![], Some(Span::from_secs(60)));
    for n in 0..count {
        office.put(&format!("missed-{n}"), start, missed.clone())?;
    }
    let every = Spec::Every { every: Span::from_secs(1), anchor: Timestamp::EPOCH };
    let healthy = definition(vec![every], vec![], Some(Span::from_secs(60)));
    for n in 0..HEALTHY {
        office.put(&format!("healthy-{n}"), outage_ends, healthy.clone())?;
    }
    let first_healthy = office.machine.applied().0 - HEALTHY as u64;
    let (began, mut busy) = (Instant::now(), 0.0);
    let (mut lateness, mut ticks, mut largest) = (Vec::new(), 0_u64, 0);
    // Time passes as it is spent; an idle leader sleeps to the next second.
    let mut slept = Span::ZERO;
    let caught_up = loop {
        let now = outage_ends + Span::from_millis(began.elapsed().as_millis() as u64) + slept;
        let Some(tick) = office.planner.tick(&office.machine, now) else {
            let next = office.machine.due().next_tick().context("something is due next")?;
            if next > outage_ends
                && office
                    .machine
                    .due()
                    .schedules_from(Timestamp::EPOCH)
                    .next()
                    .is_some_and(|(at, _)| at > now)
            {
                break busy;
            }
            slept = Span::from_millis(slept.as_millis() + next.since(now).as_millis());
            continue;
        };
        let turn = Instant::now();
        largest = largest.max(size_of(&tick));
        let committed = office.commit(now, Body::Tick(tick));
        busy = began.elapsed().as_secs_f64();
        ticks += 1;
        let at = now + Span::from_millis(turn.elapsed().as_millis() as u64);
        let on_time = fired(&committed.rows).filter(|firing| firing.uid.0 > first_healthy);
        lateness.extend(on_time.map(|firing| at.since(firing.nominal).as_millis() as f64));
    };
    ensure!(!lateness.is_empty(), "the healthy ones fired");
    lateness.sort_by(f64::total_cmp);
    let at = |part: f64| lateness[((lateness.len() - 1) as f64 * part) as usize];
    let how =
        format!("{count} minutely schedules after an hour, {ticks} ticks of at most {largest} instants");
    report.add("million_caught_up_s", "s", vec![caught_up], how);
    let how =
        format!("{HEALTHY} schedules of every second meanwhile; p50 {:.0}, max {:.0}", at(0.5), at(1.0));
    report.add("healthy_lateness_p99_ms", "ms", vec![at(0.99)], how);
    Ok(())
}

fn skips(rows: &[Row]) -> usize {
    rows.iter().filter(|row| matches!(row.event, Event::Skipped { .. })).count()
}

fn fired(rows: &[Row]) -> impl Iterator<Item = FiringId> + '_ {
    rows.iter().filter_map(|row| match &row.event {
        Event::Fired { firing, .. } => Some(*firing),
        _ => None,
    })
}

fn size_of(tick: &Tick) -> usize {
    let decisions = tick.decisions.iter().map(|decision| decision.fire.len() + decision.skips.len());
    tick.on_time.len() + decisions.sum::<usize>()
}

fn definition(specs: Vec<Spec>, exclude: Vec<Exclusion>, window: Option<Span>) -> Arc<Definition> {
    let target = Target::Webhook(Box::new(Webhook::new("http://127.0.0.1:9/")));
    let policy = Policy { catch_up: CatchUp { mode: CatchUpMode::All, window }, ..Policy::default() };
    Arc::new(Definition {
        exclude: exclude.into(),
        policy: Arc::new(policy),
        ..Definition::new(specs, target)
    })
}
