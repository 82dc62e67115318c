//! The check of the checker: bugs that are put back one at a time, and what has caught each.
//!
//! ```text
//!   MUTANT=<name> sim, up to 200 seeds ── the first seed that ends with a finding ──> a line of KNOWN
//! ```
//! A mutant that no seed catches is a fault, a branch or a property that the simulation lacks. Where each is planted is told
//! at [`Mutant`]. A judge that applies the log by itself does so without any ([`rightly`]).

use campanile_core::mutant::Mutant;

/// How many seeds a mutant may need, at most.
pub const SEEDS: u64 = 200;

/// The variable that names the mutant of a run.
pub const VARIABLE: &str = "MUTANT";

/// Which seed has caught which mutant, by which property: the first of a sweep from seed 1 on. `make mutants` looks for
/// them anew, since a seed tells another story as soon as the world or the product draws once more.
pub const KNOWN: &[(Mutant, u64, &str)] = &[
    (Mutant::NoDuplicateRefusal, 1, "equal machines at equal index"),
    (Mutant::NoEpochCheck, 1, "equal machines at equal index"),
    (Mutant::MarkBeforeCommit, 1, "verify agrees"),
    (Mutant::AcknowledgedBeforeSync, 1, "one payload per log id"),
    (Mutant::LocalClockInApply, 1, "equal machines at equal index"),
    (Mutant::HashOrderInApply, 1, "a healed cluster works again"),
    (Mutant::LeaderRestore, 1, "one payload per log id"),
    (Mutant::SettleWithoutFencing, 1, "equal machines at equal index"),
    (Mutant::ImageWithoutRows, 2, "equal ledgers"),
    (Mutant::KeysForgottenAtFailover, 1, "equal machines at equal index"),
    (Mutant::RetryWaitInMemory, 1, "equal machines at equal index"),
];

/// The mutant that the environment asks for; none when it asks for none.
///
/// # Errors
/// The name that no mutant has, with those that there are; or that this build has none.
pub fn asked_for() -> Result<Option<Mutant>, String> {
    match std::env::var(VARIABLE) {
        Ok(_) if !cfg!(feature = "mutants") => Err("this build has no mutants: ask `make mutants`".into()),
        Ok(name) if !name.is_empty() => match Mutant::from_name(&name) {
            Some(mutant) => Ok(Some(mutant)),
            None => Err(format!("there is no mutant {name}: it is one of {}", names())),
        },
        _ => Ok(None),
    }
}

/// From here on the world of this thread has that bug, or none: to be said before its first node starts.
#[cfg(feature = "mutants")]
pub fn plant(mutant: Option<Mutant>) {
    campanile_core::mutant::set(mutant);
    campanile_storage::mutant::acknowledge_early(mutant == Some(Mutant::AcknowledgedBeforeSync));
}

/// A build without the feature has none to plant.
#[cfg(not(feature = "mutants"))]
pub const fn plant(_: Option<Mutant>) {}

/// Does something without any bug in between, as a judge must.
#[cfg(feature = "mutants")]
pub fn rightly<T>(judge: impl FnOnce() -> T) -> T {
    campanile_core::mutant::with(None, judge)
}

/// Does something without any bug in between, as a judge must: there is none.
#[cfg(not(feature = "mutants"))]
pub fn rightly<T>(judge: impl FnOnce() -> T) -> T {
    judge()
}

fn names() -> String {
    Mutant::ALL.map(Mutant::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_was_caught_and_the_page_says_by_which_seed() {
        let page = include_str!("../../../docs/simulation.md");
        for mutant in Mutant::ALL {
            let known = KNOWN.iter().find(|(known, ..)| *known == mutant).map(|(_, seed, by)| (*seed, *by));
            let (seed, by) = known.unwrap_or_else(|| panic!("nothing has caught {}", mutant.name()));
            assert!(seed <= SEEDS);
            let line = format!("| `{}` | {seed} | {by} |", mutant.name());
            assert!(page.contains(&line), "docs/simulation.md lacks {line}");
        }
    }

    #[test]
    fn the_makefile_runs_every_mutant() {
        let makefile = include_str!("../../../Makefile");
        let line = makefile.lines().find_map(|line| line.strip_prefix("MUTANTS ?= "));
        let named: Vec<&str> = line.into_iter().flat_map(str::split_whitespace).collect();
        assert_eq!(named, Mutant::ALL.map(Mutant::name));
    }
}
