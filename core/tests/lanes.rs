//! Overlap under dice: edits of mode and key, removals, triggers, cancellations and dead holders in any order. Nobody waits
//! for nobody, nobody starts beside another that the rules keep apart, and once the world is calm all have had their turn.
//!
//! `SEEDS=5000 cargo test -p campanile-core --test lanes` runs more, `SEED=n` one alone; each failure names its seed.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, unreachable_pub, dead_code)]

mod transcript;

use std::collections::{BTreeMap, BTreeSet};

use campanile_core::cron::instant_text;
use campanile_core::firing::{Firing, FiringId, Lane, Phase};
use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::time::{Span, Timestamp};
use transcript::Stage;

/// Seeded randomness (SplitMix64), so that a run is its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

fn seeds() -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    match (number("SEED"), number("SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, count) => (1..=count.unwrap_or(100)).collect(),
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// Modes that keep firings apart.
const APART: [&str; 5] = ["skip", "queue_one", "queue_all", "replace", "terminate"];

#[test]
fn nobody_waits_for_nobody_and_those_that_are_kept_apart_never_run_together() {
    for seed in seeds() {
        println!("seed {seed}");
        let mut dice = Dice(seed);
        // Half of the worlds know no `allow`, so that two at once are a fault.
        let may_meet = dice.below(2) == 0;
        let mut stage = Stage::default();
        let mut now = Timestamp::from_millis(1_767_268_800_000);
        let mut told = vec![format!("clock {}", instant_text(now)), "leader node=1".to_owned()];
        told.iter().for_each(|line| drop(stage.play(line)));
        for _ in 0..150 {
            for line in turn(&mut dice, &stage.machine, &mut now, may_meet) {
                told.push(line);
                stage.play(&told[told.len() - 1]);
                let fault = fault(&stage.machine, may_meet);
                assert!(fault.is_none(), "seed {seed}: {}\n{}", fault.unwrap(), told.join("\n"));
            }
        }
        calm_down(&mut stage, now);
        let left: Vec<FiringId> = stage.machine.live().map(|firing| firing.id).collect();
        assert!(left.is_empty(), "seed {seed}: {left:?} never had their turn\n{}", told.join("\n"));
    }
}

/// What happens next.
fn turn(dice: &mut Dice, machine: &Machine, now: &mut Timestamp, may_meet: bool) -> Vec<String> {
    let mode = if may_meet && dice.below(4) == 0 { "allow" } else { dice.of(&APART) };
    let name = dice.of(&NAMES);
    let known = machine.named(&campanile_core::definition::ScheduleName::parse(name).unwrap()).is_some();
    match dice.below(12) {
        0 | 1 => {
            let lane = dice.of(&["", "", " lane=x", " lane=y"]);
            let done = dice.of(&["", "", " max-firings=3 delete-when-done"]);
            let every = dice.of(&["3s", "5s", "8s"]);
            vec![format!("put {name} every={every} overlap={mode} queue-limit=3 attempts=2{lane}{done}")]
        }
        2 if dice.below(3) == 0 => vec![format!("delete {name}")],
        3 if known => vec![format!("trigger {name} overlap={mode}")],
        4 if known => vec![format!("trigger {name}")],
        5 | 6 => vec![format!("begin lease={}s", 1 + dice.below(9))],
        7 | 8 => settle_one(dice, machine),
        9 => cancel_one(dice, machine),
        10 if known => vec![dice.of(&["pause ", "resume ", "park "]).to_owned() + name],
        _ => {
            *now = *now + Span::from_millis(1 + dice.below(6_000));
            vec![format!("clock {}", instant_text(*now)), "tick".to_owned()]
        }
    }
}

fn settle_one(dice: &mut Dice, machine: &Machine) -> Vec<String> {
    let running: Vec<_> =
        machine.live().filter(|firing| matches!(firing.phase, Phase::Running(_))).cloned().collect();
    let verdict = dice.of(&["ok", "retry", "refused", "stopped", "gone"]);
    let settle = |firing: &Firing| format!("settle {} attempt={} {verdict}", which(firing), firing.attempt);
    pick(dice, &running).map(|firing| settle(firing)).into_iter().collect()
}

fn cancel_one(dice: &mut Dice, machine: &Machine) -> Vec<String> {
    let live: Vec<_> = machine.live().cloned().collect();
    pick(dice, &live).map(|firing| format!("cancel {}", which(firing))).into_iter().collect()
}

fn pick<'a, T>(dice: &mut Dice, from: &'a [T]) -> Option<&'a T> {
    if from.is_empty() { None } else { from.get(dice.below(from.len() as u64) as usize) }
}

fn which(firing: &Firing) -> String {
    format!("it uid={} nominal={}", firing.id.uid, instant_text(firing.id.nominal))
}

/// A firing that waits and could begin, or two that should not run at once.
fn fault(machine: &Machine, may_meet: bool) -> Option<String> {
    let mut waiting: BTreeMap<Lane, Vec<&Firing>> = BTreeMap::new();
    let mut running: BTreeMap<Lane, u32> = BTreeMap::new();
    let mut busy: BTreeMap<Uid, u32> = BTreeMap::new();
    for firing in machine.live() {
        if firing.phase == Phase::Held {
            waiting.entry(firing.lane()).or_default().push(firing);
        } else {
            *running.entry(firing.lane()).or_default() += 1;
            *busy.entry(firing.id.uid).or_default() += 1;
        }
    }
    let two = running.values().chain(busy.values()).any(|count| *count > 1);
    if two && !may_meet {
        return Some(format!("two run at once: {running:?}, {busy:?}"));
    }
    let lanes_of = |uid| -> BTreeSet<Lane> {
        waiting.values().flatten().filter(|it| it.id.uid == uid).map(|it| it.lane()).collect()
    };
    // What one of a lane waits for may be in another lane, after an edit of its key; the others of the lane wait with it.
    let is_blocked = |firing: &&Firing| {
        let uid = firing.id.uid;
        busy.contains_key(&uid) || lanes_of(uid).iter().any(|other| running.contains_key(other))
    };
    waiting.iter().find_map(|(lane, held)| {
        let blocked = running.contains_key(lane) || held.iter().any(is_blocked);
        (!blocked).then(|| format!("{held:?} wait in {lane:?} for nobody"))
    })
}

/// Everything that begins succeeds from now on, and nothing new comes.
fn calm_down(stage: &mut Stage, now: Timestamp) {
    for name in NAMES {
        stage.play(&format!("put {name} every=24h overlap=skip"));
        stage.play(&format!("pause {name}"));
    }
    let mut now = now;
    for _ in 0..200 {
        now = now + Span::from_secs(15);
        stage.play(&format!("clock {}", instant_text(now)));
        stage.play("tick");
        stage.play("begin");
        let running: Vec<_> =
            stage.machine.live().filter(|it| matches!(it.phase, Phase::Running(_))).cloned().collect();
        for firing in running {
            stage.play(&format!("settle {} attempt={} ok", which(&firing), firing.attempt));
        }
    }
}
