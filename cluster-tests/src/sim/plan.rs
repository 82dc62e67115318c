//! The plan of a world's faults, drawn from its seed before anything happens, so that it can be printed, cut down and played
//! again.

use std::fmt;
use std::str::FromStr;

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

/// A line for each fault, and one for what stays broken.
impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.faults.iter().try_for_each(|fault| writeln!(out, "{fault}"))?;
        self.lasting.iter().try_for_each(|lasting| writeln!(out, "{lasting}"))
    }
}

impl FromStr for Plan {
    type Err = String;

    /// Lines as they are printed; a semicolon ends one as well.
    fn from_str(text: &str) -> Result<Self, String> {
        let lines = text.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty());
        let mut plan = Self::default();
        for line in lines {
            match line.strip_prefix(Lasting::BEGINS) {
                Some(rest) => plan.lasting = Some(rest.parse()?),
                None => plan.faults.push(line.parse()?),
            }
        }
        plan.faults.sort_by_key(|fault| fault.at);
        Ok(plan)
    }
}

/// Half of the worlds begin with one or two nodes of the version before, which are upgraded some time.
fn older(dice: &mut Dice, until: u64) -> Vec<Fault> {
    let count = [0, 0, 1, 2][dice.below(4) as usize];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_of_a_plan_is_that_plan() {
        for seed in 0..60 {
            let plan = Plan::drawn(seed, 10, Kind::ALL);
            assert_eq!(plan.to_string().parse(), Ok(plan));
        }
        let short = "9, kill, leader, 0.2; 8.5, isolated, 1, 3; for good, machine dead for good, 2".parse();
        let kinds = |plan: Plan| plan.faults.iter().map(|fault| fault.kind).collect::<Vec<_>>();
        assert_eq!(short.map(kinds), Ok(vec![Kind::Isolate, Kind::Kill]));
    }

    #[test]
    fn what_is_no_plan_is_refused_with_an_example() {
        for text in
            ["kill", "x, kill, leader, 1", "1, murder, leader, 1", "1, kill, nobody, 1", "for good, 1"]
        {
            let refused = text.parse::<Plan>().expect_err(text);
            assert!(refused.contains("write \""), "{refused}");
        }
    }
}
