//! Many worlds, one after the other on each thread: a line for each, then a table of what was met and what was found.
//!
//! A world lives wholly on its thread, so any number of threads gives the same worlds. One that panics is a finding of its
//! seed; one that does not end is told by the watchdog.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use campanile_core::mutant::Mutant;

use super::coverage::{self, Reached};
use super::fault::Kind;
use super::plan::Plan;
use super::watchdog::Watchdog;
use super::world::{Order, Verdict, play};

/// What is found of a world that panics.
pub const PANIC: &str = "a world panics";
/// How much of a finding stands in its line, in characters.
const TOLD: usize = 400;

/// Which worlds are played.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// The first seed,
    pub seed: u64,
    /// and how many.
    pub seeds: u64,
    /// How long each world lasts, in virtual minutes.
    pub minutes: u64,
    /// On how many threads.
    pub threads: usize,
    /// Whether events are written down.
    pub loud: bool,
    /// Only these kinds of faults.
    pub kinds: Vec<Kind>,
    /// These faults instead of those that each seed would draw.
    pub plan: Option<Plan>,
    /// How long one world may take of real time.
    pub patience: Duration,
    /// A bug that is put back: the sweep ends with the first finding.
    pub mutant: Option<Mutant>,
}

/// One that was played.
#[derive(Debug)]
pub struct Played {
    /// What was asked.
    pub order: Order,
    /// What came of it.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
}

/// What a sweep has met, and found.
#[derive(Debug, Default)]
pub struct Summary {
    /// How often each kind of fault has happened.
    pub faults: BTreeMap<Kind, u64>,
    /// How often each branch was reached.
    pub reached: Reached,
    /// The worlds in which something was found, in the order of their seeds.
    pub found: Vec<Played>,
    /// What they took together.
    pub took: Duration,
    /// Kinds of faults that were asked for, and branches that are wanted, which never happened. Empty in a small sweep.
    pub missing: Vec<&'static str>,
    worlds: u64,
    wall: Duration,
    minutes: u64,
}

impl Sweep {
    /// Plays all worlds; `tell` is told of each when it has ended.
    pub fn run(&self, mut tell: impl FnMut(&Played)) -> Summary {
        let (began, dog) = (Instant::now(), Watchdog::patient_for(self.patience));
        let (next, is_caught) = (AtomicU64::new(self.seed), AtomicBool::new(false));
        let (played, heard) = mpsc::sync_channel(self.threads.max(1));
        let mut summary = Summary { minutes: self.minutes, ..Summary::default() };
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                let (played, next, dog, is_caught) = (played.clone(), &next, &dog, &is_caught);
                scope.spawn(move || {
                    let taken = || Some(next.fetch_add(1, Ordering::Relaxed));
                    let seeds = std::iter::from_fn(taken).take_while(|seed| *seed < self.seed + self.seeds);
                    for seed in seeds.take_while(|_| !is_caught.load(Ordering::Relaxed)) {
                        let _begun = dog.begin(seed);
                        let world = timed(self.order(seed));
                        let is_last = self.mutant.is_some() && !world.verdict.found.is_clean();
                        is_caught.fetch_or(is_last, Ordering::Relaxed);
                        // Who hears it lives as long as this scope.
                        let _ = played.send(world);
                    }
                });
            }
            drop(played);
            for played in heard {
                tell(&played);
                summary.take(played);
            }
        });
        summary.wall = began.elapsed();
        summary.found.sort_by_key(|played| played.order.seed);
        if self.is_large() {
            summary.missing = coverage::missing(&summary.faults, &summary.reached, &self.kinds);
        }
        summary
    }

    /// The order of one seed.
    #[must_use]
    pub fn order(&self, seed: u64) -> Order {
        Order {
            seed,
            minutes: self.minutes,
            loud: self.loud,
            kinds: self.kinds.clone(),
            plan: self.plan.clone(),
            mutant: self.mutant,
        }
    }

    /// Whether it must have met everything: fifty worlds of ten minutes, with all kinds of faults.
    fn is_large(&self) -> bool {
        self.mutant.is_none()
            && self.plan.is_none()
            && self.seeds >= 50
            && self.minutes >= 10
            && self.kinds == Kind::ALL
    }
}

impl Summary {
    /// Whether nothing was found and nothing is missing.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.found.is_empty() && self.missing.is_empty()
    }

    /// The tables.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from("faults\n");
        for (kind, count) in &self.faults {
            text += &format!("  {count:>8}  {}\n", kind.name());
        }
        text += "branches\n";
        for (branch, count) in &self.reached {
            text += &format!("  {count:>8}  {branch}\n");
        }
        for missing in &self.missing {
            text += &format!("never happened: {missing}\n");
        }
        let virtually = (self.worlds * self.minutes * 60) as f64;
        let (wall, took) = (self.wall.as_secs_f64(), self.took.as_secs_f64());
        text += &format!(
            "{} worlds of {} min in {wall:.1} s: {:.0} times real time, {:.0} times on each thread\n",
            self.worlds,
            self.minutes,
            virtually / wall,
            virtually / took
        );
        let seeds: Vec<u64> = self.found.iter().map(|played| played.order.seed).collect();
        match seeds.is_empty() {
            true => text + "nothing was found\n",
            false => text + &format!("found: seeds {seeds:?}\n"),
        }
    }

    fn take(&mut self, played: Played) {
        self.worlds += 1;
        self.took += played.took;
        for (kind, count) in &played.verdict.faults {
            *self.faults.entry(*kind).or_default() += count;
        }
        for (branch, count) in &played.verdict.reached {
            *self.reached.entry(branch).or_default() += count;
        }
        if !played.verdict.found.is_clean() {
            self.found.push(played);
        }
    }
}

impl Played {
    /// In a line, and one for each finding.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { order, verdict, took } = self;
        let [steps, calls, sends] = verdict.counts;
        let took = took.as_secs_f64();
        let mut text = format!(
            "seed {}: {} found, hash {:016x} of {} events, {steps} commands, {calls} calls, {sends} webhooks, {} faults, \
             {took:.1} s, {:.0} times\n",
            order.seed,
            verdict.found.count,
            verdict.hash.0,
            verdict.hash.1,
            verdict.faults.values().sum::<u64>(),
            order.minutes as f64 * 60.0 / took
        );
        for (name, what) in &verdict.found.told {
            // The whole of an answer would bury the others; a replay has it.
            let told: String = what.chars().take(TOLD).collect();
            text += &format!("  {name}: {told}\n");
        }
        text
    }
}

/// Plays a world; one that panics has a finding.
#[must_use]
pub fn tried(order: &Order) -> Verdict {
    let played = catch_unwind(AssertUnwindSafe(|| play(order)));
    played.unwrap_or_else(|why| {
        let text = why.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| why.downcast_ref::<String>().cloned());
        let mut verdict = Verdict { plan: order.faults(), ..Verdict::default() };
        verdict.found.add(PANIC, || text.unwrap_or_else(|| "without words".into()));
        verdict
    })
}

fn timed(order: Order) -> Played {
    let began = Instant::now();
    let verdict = tried(&order);
    Played { order, verdict, took: began.elapsed() }
}
