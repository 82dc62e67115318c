//! The share of the simulation that every run of the tests plays; `make sim` plays more. See `docs/simulation.md`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use campanile_cluster_tests::seed::number_from_environment;
use campanile_cluster_tests::sim::fault::Kind;
use campanile_cluster_tests::sim::world::{Order, Verdict, play};

/// Seeds whose worlds are played twice.
const SAME_SEEDS: std::ops::RangeInclusive<u64> = 1..=10;
/// Seeds whose worlds are judged by every run of the tests,
const FIXED: std::ops::RangeInclusive<u64> = 11..=16;
/// and how many that nobody has played yet.
const FRESH: u64 = 8;
/// How long those last, in virtual minutes.
const MINUTES: u64 = 3;

fn world(seed: u64, minutes: u64) -> Verdict {
    play(&Order { seed, minutes, loud: false, kinds: Kind::ALL.to_vec(), plan: None, mutant: None })
}

/// On as many threads as there are cores; each world lives in one of them.
fn each<T: Send>(seeds: impl Iterator<Item = u64>, work: impl Fn(u64) -> T + Sync) -> Vec<(u64, T)> {
    let seeds: Vec<u64> = seeds.collect();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let done = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let result = work(*seed);
                    done.lock().unwrap().push((*seed, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(seed, _)| *seed);
    done
}

#[test]
fn the_same_seed_gives_the_same_world_bit_for_bit() {
    let hashes = each(SAME_SEEDS, |seed| (world(seed, 1).hash, world(seed, 1).hash));
    for (seed, (first, again)) in &hashes {
        println!("seed {seed}: {:016x} of {} events", first.0, first.1);
        assert_eq!(first, again, "seed {seed} gives another world the second time");
        assert!(first.1 > 1_000, "seed {seed}: nothing happens");
    }
    let mut different: Vec<u64> = hashes.iter().map(|(_, (first, _))| first.0).collect();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), hashes.len(), "two seeds give one world");
}

#[test]
fn worlds_of_bad_luck_keep_every_promise() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let first = number_from_environment("SEED", now.as_millis() as u64);
    println!("fresh seeds from {first} on (SEED={first} repeats them)");
    let verdicts = each(FIXED.chain(first..first + FRESH), |seed| world(seed, MINUTES));
    for (seed, verdict) in &verdicts {
        let [commands, calls, sends] = verdict.counts;
        println!("seed {seed}: {commands} commands, {calls} calls, {sends} webhooks");
        assert!(commands > 100 && calls > 100, "seed {seed}: nothing happens");
        let told = &verdict.found.told;
        assert!(
            told.is_empty(),
            "make sim FORMATS= SEED={seed} MINUTES={MINUTES} finds {told:#?}\n{}",
            verdict.plan
        );
    }
}
