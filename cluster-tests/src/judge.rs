//! Was every instant decided once, and delivered? Read from what everybody can see: the ledger of every node, and what
//! the receiver wrote down.
//!
//! One property a file. The judge derives the nominal instants anew from the definitions in the ledger; it believes no
//! counter, no status and no metric. It must not be told what the test did: a fault is no excuse.

mod lives;

mod once;

mod early;

mod begun;

mod tokens;

mod fenced;

mod at_most_once;

mod patient;

mod astray;

mod ended;

mod delivered;

mod equal;

#[cfg(test)]
mod planted;

use std::collections::BTreeSet;
use std::fmt;

use campanile_core::time::Timestamp;

use crate::ledger::{Fact, Ledger, Position, Row};
use crate::receiver::Call;
use lives::Lives;

/// What the judge is given. Calls are taken before the ledgers are read: so the Begin of each must be in them.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// What each node has, by its number.
    pub ledgers: Vec<(usize, Ledger)>,
    /// Up to here every node was seen to be; what stands behind it is not judged.
    pub position: Position,
    /// What the receiver wrote down.
    pub calls: Vec<Call>,
    /// Every instant up to here must be decided, and what it fired must have come to what was promised.
    pub until: Timestamp,
    /// What was promised.
    pub promise: Promise,
}

/// What must become of every firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// It is delivered: its receiver takes it in the end.
    Delivered,
    /// It ends: its receiver may refuse it for good. What ended well was delivered.
    Settled,
}

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A nominal instant was not decided.
    Missing,
    /// One was decided, or one firing ended, more than once.
    Doubled,
    /// Something fired or was skipped that is no nominal instant.
    Phantom,
    /// Something happened before its instant.
    Early,
    /// A call came that no committed Begin allowed.
    Unbegun,
    /// A fencing token did not grow.
    Backward,
    /// A receiver that compares tokens accepted an older one.
    Stale,
    /// A firing that was to be sent at most once came twice.
    Resent,
    /// An attempt came before the receiver wanted one.
    Hasty,
    /// A call went where no definition sends it.
    Astray,
    /// A firing did not end.
    Unsettled,
    /// Something fired and no receiver took it.
    Undelivered,
    /// Two nodes do not have the same rows.
    Parted,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of wrong.
    pub fault: Fault,
    /// In words, with names and instants.
    pub detail: String,
}

/// What came out.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// How much was looked at.
    pub counts: Counts,
}

/// How much was looked at; a clean verdict on nothing is worth nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Ledgers compared.
    pub ledgers: usize,
    /// Rows of each.
    pub rows: usize,
    /// Leaders that took office.
    pub offices: usize,
    /// Schedules that were ever defined.
    pub schedules: usize,
    /// Instants that fired.
    pub fired: usize,
    /// Instants that were skipped with a reason.
    pub skipped: u64,
    /// Attempts that got a lease.
    pub begun: usize,
    /// Calls that arrived.
    pub calls: usize,
    /// Calls beyond the first of their firing: allowed by "at least once", and told.
    pub repeated: usize,
    /// Calls that a receiver refused since their token was older than one that it had seen.
    pub refused: usize,
    /// Attempts whose lease ended before their holder said anything.
    pub leases_ended: usize,
    /// Firings of which nobody knows whether their receiver took them.
    pub unknown: usize,
}

/// Judges.
///
/// # Panics
/// When there is no ledger, or a definition in it cannot be read.
#[must_use]
pub fn judge(evidence: &Evidence) -> Verdict {
    let (_, first) = evidence.ledgers.first().expect("a ledger to judge");
    let rows = first.up_to(evidence.position);
    let lives = Lives::of(rows);
    let mut findings = Vec::new();
    once::check(rows, &lives, evidence.until, &mut findings);
    early::check(rows, &evidence.calls, &mut findings);
    begun::check(rows, &evidence.calls, &mut findings);
    tokens::check(rows, &lives, &mut findings);
    fenced::check(&evidence.calls, &mut findings);
    at_most_once::check(rows, &evidence.calls, &mut findings);
    patient::check(&evidence.calls, &mut findings);
    astray::check(rows, &evidence.calls, &mut findings);
    if evidence.promise == Promise::Settled {
        ended::check(rows, evidence.until, &mut findings);
    }
    delivered::check(rows, &evidence.calls, (evidence.until, evidence.promise), &mut findings);
    equal::check(&evidence.ledgers, evidence.position, &mut findings);
    let counts =
        Counts { ledgers: evidence.ledgers.len(), schedules: lives.count(), ..count(rows, &evidence.calls) };
    Verdict { findings, counts }
}

fn count(rows: &[Row], calls: &[Call]) -> Counts {
    let mut counts = Counts { rows: rows.len(), calls: calls.len(), ..Counts::default() };
    for row in rows {
        match &row.fact {
            Fact::LeaderEpoch { .. } => counts.offices += 1,
            Fact::Fired { .. } => counts.fired += 1,
            Fact::Skipped { count, .. } => counts.skipped += count,
            Fact::Begun { .. } => counts.begun += 1,
            Fact::Settled { outcome, state, .. } => {
                counts.leases_ended += usize::from(outcome == "lease_ended");
                counts.unknown += usize::from(state.as_deref() == Some("unknown"));
            }
            _ => {}
        }
    }
    let firings: BTreeSet<&str> = calls.iter().map(|call| call.firing.as_str()).collect();
    counts.repeated = calls.len() - firings.len();
    counts.refused = fenced::count_refused(calls);
    counts
}

impl Verdict {
    /// Whether a fault of this kind was found.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.findings.iter().any(|finding| finding.fault == fault)
    }

    /// Fails the test unless nothing is wrong.
    ///
    /// # Panics
    /// When something is.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.findings.is_empty(), "{self}");
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}: {}", self.fault, self.detail)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 20;
        let Counts { ledgers, rows, offices, schedules, fired, skipped, begun, calls, .. } = self.counts;
        let Counts { repeated, refused, leases_ended, unknown, .. } = self.counts;
        writeln!(out, "{ledgers} ledgers of {rows} rows, {offices} offices, {schedules} schedules")?;
        writeln!(
            out,
            "{fired} fired, {skipped} skipped, {begun} attempts, {calls} calls ({repeated} repeated, {refused} refused by their token)"
        )?;
        writeln!(out, "{leases_ended} leases ended by themselves, {unknown} firings ended as unknown")?;
        writeln!(out, "{} finding(s)", self.findings.len())?;
        self.findings.iter().take(SHOWN).try_for_each(|finding| writeln!(out, "  {finding}"))
    }
}
