//! `campanile verify` agrees: core's verifier, which finds every instant by its own path, calls the committed log clean (DESIGN,
//! first paragraph: a command that proves it).

use campanile_core::id::LogIndex;
use campanile_core::verify::{Place, Scope, Verdict, Verifier};

use super::{Findings, Invariant, by_plan};
use crate::sim::story::End;

/// Holds nothing: it reads the rows once, at the end.
#[derive(Debug)]
pub(super) struct Verified;

impl Invariant for Verified {
    fn name(&self) -> &'static str {
        "verify agrees"
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        let verdict = verdict(end);
        for offender in &verdict.offenders {
            found.add(self.name(), || format!("{offender:?}"));
        }
        let fired = end.rows.iter().filter(|(_, row)| by_plan(row).is_some()).count() as u64;
        let Verdict { counts, .. } = &verdict;
        if counts.fired != fired || counts.unverified > 0 {
            found.add(self.name(), || {
                format!(
                    "of {fired} instants that fired it counts {}, {} unverified",
                    counts.fired, counts.unverified
                )
            });
        }
    }
}

fn verdict(end: &End<'_>) -> Verdict {
    let mut verifier = Verifier::new(Scope::default());
    let mut place = Place::default();
    for (index, row) in end.rows {
        let n = if place.index == LogIndex(*index) { place.n + 1 } else { 0 };
        place = Place { index: LogIndex(*index), n };
        verifier.hear(place, row);
    }
    verifier.finish()
}
