//! What a sweep has to have met: kinds of faults, and branches of the product by the traces that they leave.

use std::collections::BTreeMap;

use campanile_core::event::{Event, Row};

use super::fault::Kind;
use super::story::{Outcome, Story};

/// What was met, by name.
pub type Reached = BTreeMap<&'static str, u64>;

/// What a world has met.
#[must_use]
pub fn reached(rows: &[(u64, Row)], story: &Story, met: &Reached) -> Reached {
    let mut reached = met.clone();
    let mut note = |name| *reached.entry(name).or_default() += 1;
    for (_, row) in rows {
        match &row.event {
            Event::Fired { kind, .. } => note(match kind.as_str() {
                "catch_up" => "fired to catch up",
                "manual" => "fired by hand",
                "backfill" => "fired by a backfill",
                "rerun" => "fired again",
                "chained" | "notice" => "fired by a chain",
                _ => "fired",
            }),
            Event::Skipped { .. } => note("skipped"),
            Event::Settled { report: None, .. } => note("lease ended"),
            Event::Outage { .. } => note("outage told"),
            Event::LeaderEpoch { .. } => note("office taken"),
            Event::MembersChanged { .. } => note("members changed"),
            Event::LedgerDropped { .. } => note("rows dropped"),
            Event::Restated { .. } => note("what stands told again"),
            Event::Parked { .. } => note("parked"),
            _ => {}
        }
    }
    for call in &story.calls {
        match &call.ended {
            Some((_, Outcome::Unknown)) => note("outcome unknown"),
            Some((_, Outcome::Fail(_, code))) if code == "lease_lost" => note("lease lost"),
            Some((_, Outcome::Fail(_, code))) if code == "no_quorum" => note("no quorum told"),
            _ => {}
        }
    }
    super::workload::met::met(story).into_iter().for_each(note);
    reached
}

/// Branches that a large sweep must have reached.
pub const WANTED: &[&str] = &[
    "asked to join",
    "clock guard held",
    "election lost",
    "fired",
    "fired to catch up",
    "forward refused",
    "image made",
    "joined with an empty disk",
    "leader killed with a change of members",
    "leadership handed on",
    "lease ended",
    "lease lost",
    "link cut for good",
    "link cut one way for good",
    "log purged",
    "log time held",
    "machine dead for good",
    "members changed",
    "no quorum told",
    "office given away",
    "office taken",
    "outcome unknown",
    "packet outlives its sender",
    "parked",
    "plan overtaken",
    "restart from image",
    "rows dropped",
    "snapshot installed",
    "stale office refused",
    "tail torn",
];

/// What a sweep with all these kinds of faults should have met and has not.
#[must_use]
pub fn missing(faults: &BTreeMap<Kind, u64>, reached: &Reached, kinds: &[Kind]) -> Vec<&'static str> {
    let absent = kinds.iter().filter(|kind| !faults.contains_key(kind));
    let wanted = WANTED.iter().chain(super::workload::WANTED);
    let unmet = wanted.filter(|branch| reached.get(*branch).is_none_or(|count| *count == 0));
    absent.map(|kind| kind.name()).chain(unmet.copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_tells_every_kind_of_fault_and_every_branch() {
        let page = include_str!("../../../docs/simulation.md").replace('\n', " ");
        let kinds = Kind::ALL.iter().map(|kind| format!("| `{}` |", kind.name()));
        let branches = WANTED.iter().map(|branch| format!("| {branch} |"));
        let of_workload = crate::sim::workload::WANTED.iter().map(|branch| (*branch).to_owned());
        for told in kinds.chain(branches).chain(of_workload) {
            assert!(page.contains(&told), "docs/simulation.md lacks {told}");
        }
    }
}
