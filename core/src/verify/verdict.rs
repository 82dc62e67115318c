//! What a verifier comes to: counts, and the offenders that it names.
//!
//! Counts are whole; offenders are bounded, so that a ledger in ruins is still a short answer.

use std::collections::BTreeMap;

use crate::definition::ScheduleName;
use crate::event::SkipReason;
use crate::id::{LogIndex, Uid};
use crate::time::Timestamp;

/// How many offenders of one kind are named; all are counted.
pub const MAX_OFFENDERS: usize = 100;

/// A row's key in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// Its entry.
    pub index: LogIndex,
    /// Its number in the entry.
    pub n: u32,
}

/// What can be wrong with a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A nominal instant was never decided.
    Missing,
    /// Something was decided, or ended, more than once.
    Doubled,
    /// Something was decided, or begun, that nothing asked for.
    Phantom,
    /// Something happened before its time.
    Early,
    /// An attempt ended that had never begun.
    Unbegun,
    /// What only grows ran backwards (places, times, epochs, tokens, attempts), or one lease lies inside another.
    Disorder,
}

impl Fault {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Missing, Self::Doubled, Self::Phantom, Self::Early, Self::Unbegun, Self::Disorder];

    /// Its name in API and CLI.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Doubled => "doubled",
            Self::Phantom => "phantom",
            Self::Early => "early",
            Self::Unbegun => "unbegun",
            Self::Disorder => "disorder",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offender {
    /// What kind of thing.
    pub fault: Fault,
    /// The row that shows it; none when the end of the ledger does.
    pub place: Option<Place>,
    /// Of which schedule, by name, if a row tells it.
    pub schedule: Option<ScheduleName>,
    /// Of which incarnation.
    pub uid: Option<Uid>,
    /// Which instant; the first of several.
    pub nominal: Option<Timestamp>,
    /// A sentence: what is so, and what was expected.
    pub detail: String,
}

/// How much there was of everything. Instants and firings out of scope are in none of them but `rows`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Incarnations of schedules.
    pub schedules: u64,
    /// Rows that were heard, of every scope.
    pub rows: u64,
    /// Nominal instants that were decided: `fired` and all of `skipped`.
    pub decided: u64,
    /// Nominal instants that fired.
    pub fired: u64,
    /// Nominal instants that were skipped.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Firings that no instant asked for: triggers, backfills, re-runs, what follows others, notices.
    pub asked: u64,
    /// Instants that were never decided.
    pub missing: u64,
    /// Instants that were decided again, and firings that ended again.
    pub doubled: u64,
    /// What nothing asked for.
    pub phantom: u64,
    /// What happened before its time.
    pub early: u64,
    /// Attempts that ended and had never begun.
    pub unbegun: u64,
    /// What ran backwards.
    pub disorder: u64,
    /// Instants that have come and need not be decided yet, see [`super::Scope::patience`].
    pub pending: u64,
    /// Firings that had not ended when the ledger did.
    pub undelivered: u64,
    /// Rows that could not be judged, since what they rest on was dropped or cannot be evaluated here.
    pub unverified: u64,
}

impl Counts {
    /// How many of one fault.
    #[must_use]
    pub const fn of(&self, fault: Fault) -> u64 {
        match fault {
            Fault::Missing => self.missing,
            Fault::Doubled => self.doubled,
            Fault::Phantom => self.phantom,
            Fault::Early => self.early,
            Fault::Unbegun => self.unbegun,
            Fault::Disorder => self.disorder,
        }
    }

    pub(super) const fn of_mut(&mut self, fault: Fault) -> &mut u64 {
        match fault {
            Fault::Missing => &mut self.missing,
            Fault::Doubled => &mut self.doubled,
            Fault::Phantom => &mut self.phantom,
            Fault::Early => &mut self.early,
            Fault::Unbegun => &mut self.unbegun,
            Fault::Disorder => &mut self.disorder,
        }
    }
}

/// What the verifier says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How much of everything.
    pub counts: Counts,
    /// What is wrong, in the order of the log, at most [`MAX_OFFENDERS`] of each kind; then what only the end shows.
    pub offenders: Vec<Offender>,
    /// Every instant up to here had to be decided.
    pub until: Timestamp,
    /// Leaders planned with other time-zone data than this program has: instants of zones whose rules changed may differ.
    /// A sentence that names the versions.
    pub zones_differ: Option<String>,
}

impl Verdict {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        Fault::ALL.iter().all(|fault| self.counts.of(*fault) == 0)
    }
}

/// Counts and offenders as they come.
#[derive(Debug, Default)]
pub(super) struct Docket {
    pub(super) counts: Counts,
    offenders: Vec<Offender>,
    named: BTreeMap<Fault, usize>,
}

impl Docket {
    /// Enters an offender that counts for so many; its sentence is made only when there is room for it.
    pub(super) fn enter(&mut self, fault: Fault, times: u64, offender: impl FnOnce() -> Offender) {
        *self.counts.of_mut(fault) += times;
        let named = self.named.entry(fault).or_default();
        if *named < MAX_OFFENDERS {
            *named += 1;
            self.offenders.push(offender());
        }
    }

    pub(super) fn close(mut self, until: Timestamp, zones_differ: Option<String>) -> Verdict {
        // Decisions are judged when their entry is over, after its other rows.
        self.offenders.sort_by_key(|offender| (offender.place.is_none(), offender.place));
        Verdict { counts: self.counts, offenders: self.offenders, until, zones_differ }
    }
}
