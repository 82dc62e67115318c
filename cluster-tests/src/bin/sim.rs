//! `make sim`: worlds from seeds, one after the other, and what was found. See `docs/simulation.md`.

#![allow(clippy::print_stdout, reason = "a report belongs on its terminal")]

use campanile_cluster_tests::seed::number_from_environment;
use campanile_cluster_tests::sim::fault::Kind;
use campanile_cluster_tests::sim::world::{Order, play};

fn main() {
    let seed = number_from_environment("SEED", 1);
    let seeds = number_from_environment("SEEDS", 1);
    let minutes = number_from_environment("MINUTES", 10);
    let loud = number_from_environment("TRACE", 0) > 0;
    let mut bad = 0;
    for seed in seed..seed + seeds {
        let began = std::time::Instant::now();
        let order = Order { seed, minutes, loud, kinds: Kind::ALL.to_vec(), plan: None };
        let verdict = play(&order);
        let took = began.elapsed().as_secs_f64();
        println!(
            "seed {seed}: {} found, hash {:016x} of {} events, {:?} steps, calls, sends, {took:.1} s, {:.0} times",
            verdict.found.count,
            verdict.hash.0,
            verdict.hash.1,
            verdict.counts,
            minutes as f64 * 60.0 / took
        );
        for (name, what) in &verdict.found.told {
            println!("  {name}: {what}");
        }
        if loud {
            verdict.lines.iter().for_each(|line| println!("{line}"));
        }
        println!("  {:?}\n  {:?}", verdict.reached, verdict.faults);
        bad += usize::from(!verdict.found.is_clean());
    }
    if bad > 0 {
        std::process::exit(1);
    }
}
