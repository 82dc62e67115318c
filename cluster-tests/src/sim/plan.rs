//! The plan of a world's faults, drawn from its seed before anything happens, so that it can be printed, cut down and played
//! again.

use std::fmt;

use super::fault::{Fault, Kind, Whom};
use super::lasting::Lasting;
use crate::seed::{Dice, Seed};

/// How many machines found the cluster,
pub const FOUNDERS: usize = 3;
/// and how many there are.
pub const MACHINES: usize = 5;
/// Nothing goes wrong before, so that there is a cluster to hurt.
const CALM: u64 = 8_000;

/// What goes wrong in a world.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// In the order in which they begin.
    pub faults: Vec<Fault>,
    /// What stays broken after the healing.
    pub lasting: Option<Lasting>,
}

/// When a world of so many minutes is healed, in milliseconds.
#[must_use]
pub const fn healed_at(minutes: u64) -> u64 {
    minutes * 60_000 * 7 / 10
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn drawn(seed: u64, minutes: u64, kinds: &[Kind]) -> Self {
        let (seed, until) = (Seed(seed), healed_at(minutes));
        let mut faults = drawn(&mut seed.dice("faults"), until, kinds);
        if kinds.contains(&Kind::Older) {
            let old = older(&mut seed.dice("older"), until);
            faults.splice(0..0, old);
        }
        Self { faults, lasting: Lasting::drawn(&mut seed.dice("lasting"), FOUNDERS, kinds) }
    }

    /// The part of it that a world of so many minutes can have.
    #[must_use]
    pub fn within(mut self, minutes: u64) -> Self {
        let until = healed_at(minutes);
        self.faults.retain(|fault| fault.at < until);
        self.faults.iter_mut().for_each(|fault| fault.lasts = fault.lasts.min(until - fault.at));
        self
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.faults.iter().try_for_each(|fault| writeln!(out, "{fault}"))?;
        match self.lasting {
            Some(lasting) => writeln!(out, "  at last  {}: {lasting:?}", lasting.name()),
            None => Ok(()),
        }
    }
}

/// Half of the worlds begin with one or two nodes of the version before, which are upgraded some time.
fn older(dice: &mut Dice, until: u64) -> Vec<Fault> {
    let count = [0, 0, 1, 2][dice.below(4) as usize];
    if !Kind::Older.is_possible() {
        return Vec::new();
    }
    let first = dice.below(FOUNDERS as u64) as usize;
    let old = (0..count).map(|n| {
        let whom = Whom::Place((first + n) % FOUNDERS);
        Fault { at: 0, lasts: (5_000 + dice.below(until)).min(until), kind: Kind::Older, whom }
    });
    old.collect()
}

fn drawn(dice: &mut Dice, until: u64, kinds: &[Kind]) -> Vec<Fault> {
    let total: u64 = kinds.iter().map(|kind| kind.weight()).sum();
    let (mut plan, mut at) = (Vec::new(), CALM);
    if total == 0 {
        return plan;
    }
    // Some worlds are busy, some are calm, so that both what overlaps and what comes alone is met.
    let pace = 1_500 + dice.below(12_000);
    loop {
        at += 200 + dice.below(pace);
        if at >= until {
            return plan;
        }
        let mut drawn = dice.below(total);
        let kind = kinds.iter().copied().find(|kind| match drawn.checked_sub(kind.weight()) {
            Some(left) => {
                drawn = left;
                false
            }
            None => true,
        });
        let kind = kind.unwrap_or(kinds[0]);
        let whom = match dice.below(10) {
            0..6 => Whom::Leader,
            _ => Whom::Place(dice.below(MACHINES as u64) as usize),
        };
        let lasts = (100 + dice.below(kind.longest())).min(until.saturating_sub(at));
        plan.push(Fault { at, lasts, kind, whom });
    }
}
