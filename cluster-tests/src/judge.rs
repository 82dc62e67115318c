//! Was every instant decided once, and delivered? Read from what everybody can see: what `campanile verify` says, the
//! ledger of every node, and what the receiver wrote down.
//!
//! One property a file. Which instants are nominal is the business of `verify`, which is held to it by planted faults of
//! its own; the receiver's record is the second witness, and owes nothing to it. The judge believes no counter, no status
//! and no metric of a node. It must not be told what the test did: a fault is no excuse.

mod proven;

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
use crate::proof::Said;
use crate::receiver::Call;

/// What the judge is given. Calls are taken before the ledgers are read: so the Begin of each must be in them.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// What each node has, by its number.
    pub ledgers: Vec<(usize, Ledger)>,
    /// Up to here every node was seen to be; what stands behind it is not judged.
    pub position: Position,
    /// What `campanile verify` said of each node's ledger and of an export, before the ledgers were read.
    pub said: Vec<Said>,
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
    /// A call came that no committed Begin allowed, or an attempt ended that had none.
    Unbegun,
    /// A fencing token did not grow, or time, an epoch or a place ran backwards.
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
    /// Two nodes do not have the same rows, or `verify` says two things of one ledger.
    Parted,
    /// The hash chain of a ledger is not whole.
    Broken,
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
    /// What `campanile verify` said, a line for each ledger.
    pub said: Vec<String>,
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
/// When there is no ledger, or `verify` was not asked.
#[must_use]
pub fn judge(evidence: &Evidence) -> Verdict {
    let (_, first) = evidence.ledgers.first().expect("a ledger to judge");
    let rows = first.up_to(evidence.position);
    let mut findings = Vec::new();
    proven::check(rows, &evidence.said, &mut findings);
    early::check(&evidence.calls, &mut findings);
    begun::check(rows, &evidence.calls, &mut findings);
    tokens::check(rows, &mut findings);
    fenced::check(&evidence.calls, &mut findings);
    at_most_once::check(rows, &evidence.calls, &mut findings);
    patient::check(&evidence.calls, &mut findings);
    astray::check(rows, &evidence.calls, &mut findings);
    check_kept(evidence, rows, &mut findings);
    equal::check(&evidence.ledgers, evidence.position, &mut findings);
    let (ledgers, schedules) = (evidence.ledgers.len(), tokens::names(rows).len());
    let counts = Counts { ledgers, schedules, ..count(rows, &evidence.calls) };
    Verdict { findings, counts, said: evidence.said.iter().map(proven::line).collect() }
}

/// Whether something that fired has not come to what was promised, by the first ledger and the receiver's record.
#[must_use]
pub fn is_open(evidence: &Evidence) -> bool {
    let mut findings = Vec::new();
    let rows = evidence.ledgers.first().map_or(&[][..], |(_, first)| first.up_to(evidence.position));
    check_kept(evidence, rows, &mut findings);
    !findings.is_empty()
}

fn check_kept(evidence: &Evidence, rows: &[Row], findings: &mut Vec<Finding>) {
    if evidence.promise == Promise::Settled {
        ended::check(rows, evidence.until, findings);
    }
    delivered::check(rows, &evidence.calls, (evidence.until, evidence.promise), findings);
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
        self.said.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out, "{} finding(s)", self.findings.len())?;
        self.findings.iter().take(SHOWN).try_for_each(|finding| writeln!(out, "  {finding}"))
    }
}
