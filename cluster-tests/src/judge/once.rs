//! Every nominal instant is decided exactly once: it fired, or it was skipped with a reason.

use std::collections::BTreeMap;

use campanile_core::cron::instant_text;
use campanile_core::time::Timestamp;

use super::lives::{Life, Lives};
use super::{Fault, Finding};
use crate::ledger::{Fact, Row};

/// What was decided about one schedule.
#[derive(Default)]
struct Decided<'a> {
    fired: BTreeMap<Timestamp, usize>,
    skipped: Vec<Skip<'a>>,
    /// The last instant that anything was decided about.
    last: Option<Timestamp>,
}

struct Skip<'a> {
    from: Timestamp,
    to: Timestamp,
    count: u64,
    reason: &'a str,
}

pub(super) fn check(rows: &[Row], lives: &Lives, until: Timestamp, findings: &mut Vec<Finding>) {
    let mut decided = gather(rows);
    for (uid, life) in lives.iter() {
        let of_it = decided.remove(uid.as_str()).unwrap_or_default();
        check_life(life, &of_it, until, findings);
    }
    for uid in decided.keys() {
        findings.push(Finding {
            fault: Fault::Phantom,
            detail: format!("something fired for {uid}, which no row defines"),
        });
    }
    check_ends(rows, lives, findings);
}

fn gather(rows: &[Row]) -> BTreeMap<&str, Decided<'_>> {
    let mut decided: BTreeMap<&str, Decided<'_>> = BTreeMap::new();
    for row in rows {
        match &row.fact {
            // What users and backfills ask for has been decided before, or is no nominal instant of the definition.
            Fact::Fired { firing, kind } if kind == "scheduled" || kind == "catch_up" => {
                let of_it = decided.entry(&firing.uid).or_default();
                *of_it.fired.entry(firing.nominal).or_default() += 1;
                of_it.last = of_it.last.max(Some(firing.nominal));
            }
            Fact::Skipped { uid, reason, from, to, count } => {
                let of_it = decided.entry(uid).or_default();
                of_it.skipped.push(Skip { from: *from, to: *to, count: *count, reason });
                of_it.last = of_it.last.max(Some(*to));
            }
            _ => {}
        }
    }
    decided
}

fn check_life(life: &Life, decided: &Decided<'_>, until: Timestamp, findings: &mut Vec<Finding>) {
    let mut find = |fault, at: Timestamp, what: &str| {
        findings.push(Finding { fault, detail: format!("{} at {} {what}", life.name, instant_text(at)) });
    };
    let instants = life.instants(decided.last.unwrap_or(until).max(until));
    for at in &instants {
        let fired = decided.fired.get(at).copied().unwrap_or_default();
        let skipped = decided.skipped.iter().filter(|skip| skip.covers(*at)).count();
        match fired + skipped {
            0 if *at <= until => find(Fault::Missing, *at, "was never decided"),
            0 | 1 => {}
            _ => find(Fault::Doubled, *at, &format!("fired {fired} times and was skipped {skipped} times")),
        }
    }
    for at in decided.fired.keys().filter(|at| !instants.contains(at)) {
        find(Fault::Phantom, *at, "fired and is no nominal instant");
    }
    for skip in &decided.skipped {
        let counted = instants.range(skip.from..=skip.to).count() as u64;
        // While it was paused nothing was nominal; those rows count what the definition would have had.
        if counted != skip.count && skip.reason != "paused_gap" {
            find(
                Fault::Phantom,
                skip.from,
                &format!("begins a skip of {} that are {counted} by count", skip.count),
            );
        }
    }
}

impl Skip<'_> {
    fn covers(&self, at: Timestamp) -> bool {
        self.from <= at && at <= self.to
    }
}

/// A firing ends once.
fn check_ends(rows: &[Row], lives: &Lives, findings: &mut Vec<Finding>) {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        if let Fact::Settled { firing, state: Some(_), .. } = &row.fact {
            let count = ends.entry(&firing.firing).or_default();
            *count += 1;
            if *count == 2 {
                let (name, nominal) = (lives.name(&firing.uid), instant_text(firing.nominal));
                let detail = format!("the firing of {name} at {nominal} ended twice");
                findings.push(Finding { fault: Fault::Doubled, detail });
            }
        }
    }
}
