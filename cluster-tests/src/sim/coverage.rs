//! What a sweep has to have met: kinds of faults, and branches of the product by the traces that they leave.

use std::collections::BTreeMap;

use campanile_core::event::{Event, Row};

use super::story::{Outcome, Story};

/// What was met, by name.
pub type Reached = BTreeMap<&'static str, u64>;

/// What a world has met.
#[must_use]
pub fn reached(rows: &[(u64, Row)], story: &Story, refusals: &Reached) -> Reached {
    let mut reached = refusals.clone();
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
