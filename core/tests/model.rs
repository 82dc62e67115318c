//! Model runs: the same users' history under different leaders, tick boundaries, restarts and clock steps decides the same
//! instants, and replicas fed from one log in different cuts are the same machine, bit for bit.
//!
//! `SEEDS=1000 cargo test -p campanile-core --release --test model -- --nocapture` runs more; each failure names its seed,
//! and `SEED=n` runs it alone.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, unreachable_pub)]

mod world;

use std::collections::BTreeMap;

use campanile_core::image::Image;
use campanile_core::invariant;
use campanile_core::machine::Machine;

use world::{Decided, Dice, World, history};

/// The seeds of this run: a fixed share, more by `SEEDS`, one by `SEED`.
fn seeds() -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    match (number("SEED"), number("SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, count) => (1..=count.unwrap_or(60)).collect(),
    }
}

#[test]
fn leaders_ticks_restarts_and_clock_steps_change_nothing_of_what_is_decided() {
    let mut steps = 0;
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in seeds() {
        println!("seed {seed}");
        let history = history(&mut Dice::of(seed));
        let calm = World::calm(seed).live_through(&history);
        let mut world = World::rough(seed);
        let rough = world.live_through(&history);
        steps += world.steps;
        world.told.iter().for_each(|(kind, count)| *told.entry(kind).or_default() += count);
        assert_decided_once(seed, &calm);
        assert_decided_once(seed, &rough);
        assert_eq!(
            by_instant(&calm),
            by_instant(&rough),
            "seed {seed}: the same history decided other instants"
        );
    }
    assert!(steps > 0 || seeds().len() < 10, "no backfill did anything in any of these lives");
    println!("{steps} steps of backfills; {told:?}");
    for kind in ["chained", "notice", "leased", "timed_out", "chain_dropped"] {
        assert!(told.contains_key(kind) || seeds().len() < 10, "nothing was {kind} in any of these lives");
    }
}

#[test]
fn replicas_of_one_log_are_one_machine() {
    for seed in seeds() {
        println!("seed {seed}");
        let mut world = World::rough(seed);
        world.live_through(&history(&mut Dice::of(seed)));
        let mut dice = Dice::of(seed ^ 0xcafe);
        let mut replica = Machine::default();
        let mut rows = Vec::new();
        for (index, command) in &world.log {
            rows.extend(replica.apply(*index, command).1);
            if dice.one_in(20) {
                replica = Image::of(&replica).into_machine().unwrap();
            }
        }
        invariant::check(&replica).unwrap();
        assert!(replica == world.machine, "seed {seed}: a replica that restarted now and then differs");
        assert!(rows == world.rows, "seed {seed}: its ledger differs");
    }
}

/// Promise 1: every decided instant is decided once.
fn assert_decided_once(seed: u64, decided: &[Decided]) {
    for (instant, times) in by_instant(decided) {
        assert_eq!(times, 1, "seed {seed}: {instant:?} was decided {times} times");
    }
}

fn by_instant(decided: &[Decided]) -> BTreeMap<Decided, usize> {
    let mut times = BTreeMap::new();
    decided.iter().for_each(|instant| *times.entry(instant.clone()).or_insert(0) += 1);
    times
}
