//! `make sim`: worlds from seeds, and what was found. See `docs/simulation.md`.
//!
//! `SEED`, `SEEDS`, `MINUTES`, `THREADS`, `KINDS` (names of faults, with commas between), `TRACE=1` (all events), `SHRINK`
//! (how many runs a finding may be cut down in; 0: none), `PLAN` (faults as they are printed, instead
//! of the seed's), `PATIENCE` (real seconds for one world),
//! `QUIET=1` with `DAYS` and `SCHEDULES`: months of a quiet cluster instead.
//! `MUTANT` (in a build with that feature: one of its planted bugs; ends with the first finding).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a report belongs on its terminal")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use campanile_cluster_tests::seed::number_from_environment;
use campanile_cluster_tests::sim::fault::Kind;
use campanile_cluster_tests::sim::mutants::{VARIABLE, asked_for};
use campanile_cluster_tests::sim::plan::Plan;
use campanile_cluster_tests::sim::quiet;
use campanile_cluster_tests::sim::shrink::shrink;
use campanile_cluster_tests::sim::sweep::{Played, Sweep, tried};

/// How many of the worlds with findings are cut down.
const SHRUNK: usize = 3;

fn main() -> ExitCode {
    if number_from_environment("QUIET", 0) > 0 {
        return quiet();
    }
    let kinds = match std::env::var("KINDS").map(|names| Kind::named(&names)) {
        Err(_) => Kind::ALL.to_vec(),
        Ok(Ok(kinds)) => kinds,
        Ok(Err(name)) => {
            let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            eprintln!("KINDS: there is no {name:?}; there are {}", names.join(", "));
            return ExitCode::from(2);
        }
    };
    let mutant = match asked_for() {
        Ok(mutant) => mutant,
        Err(why) => {
            eprintln!("{VARIABLE}: {why}");
            return ExitCode::from(2);
        }
    };
    let plan = match std::env::var("PLAN").map(|plan| plan.parse::<Plan>()) {
        Err(_) => None,
        Ok(Ok(plan)) => Some(plan),
        Ok(Err(why)) => {
            eprintln!("PLAN: {why}");
            return ExitCode::from(2);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let sweep = Sweep {
        seed: number_from_environment("SEED", 1),
        seeds: number_from_environment("SEEDS", 1),
        minutes: number_from_environment("MINUTES", 10),
        threads: number_from_environment("THREADS", cores) as usize,
        loud: number_from_environment("TRACE", 0) > 0,
        kinds,
        plan,
        mutant,
        patience: Duration::from_secs(number_from_environment("PATIENCE", 120)),
    };
    let summary = sweep.run(|played| {
        print!("{}", played.text());
        played.verdict.lines.iter().for_each(|line| println!("{line}"));
    });
    let runs = number_from_environment("SHRINK", if mutant.is_some() { 0 } else { 60 }) as usize;
    if runs > 0 {
        summary.found.iter().take(SHRUNK).for_each(|played| cut_down(played, runs));
    }
    print!("{}", summary.text());
    if summary.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn quiet() -> ExitCode {
    let order = quiet::Order {
        seed: number_from_environment("SEED", 1),
        begins: quiet::BEGINS,
        days: number_from_environment("DAYS", 60),
        schedules: number_from_environment("SCHEDULES", 1_000) as usize,
        heartbeat: quiet::HEARTBEAT,
    };
    let began = Instant::now();
    let report = quiet::play(&order, |line| println!("{line}"));
    print!("{report}");
    let took = began.elapsed().as_secs_f64();
    println!("{} virtual days of {} schedules in {took:.0} s", order.days, order.schedules);
    if report.found.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cut_down(played: &Played, runs: usize) {
    let Some((name, _)) = played.verdict.found.told.first() else { return };
    let seed = played.order.seed;
    let cut = shrink(&played.order, name, runs, tried);
    println!("\nseed {seed}: {name}: cut down in {} runs to {} min and", cut.runs, cut.order.minutes);
    print!("{}", cut.order.faults());
    for (name, what) in &cut.verdict.found.told {
        println!("  {name}: {what}");
    }
    println!("the last events before it:");
    cut.verdict.before.iter().for_each(|line| println!("  {line}"));
    println!("all of it: make sim SEED={seed} MINUTES={} TRACE=1", played.order.minutes);
    println!("this: the same with MINUTES={} and the lines of faults as PLAN\n", cut.order.minutes);
}
