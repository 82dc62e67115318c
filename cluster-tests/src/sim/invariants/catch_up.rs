//! What was missed is decided by the schedule's own catch-up rule: what is younger than the failover grace always fires, older
//! than the window nothing does, `latest` fires one and `none` fires none, and one decision fires a bounded number (SEMANTICS
//! §4, promise §2.4).
//!
//! A plan may be older than the entry that carries it, never newer: so an age that must be reached is exact, and one that
//! must not be exceeded has the time of a stall on top.

use std::collections::BTreeMap;

use campanile_core::definition::CatchUpMode;
use campanile_core::event::{Event, SkipReason};
use campanile_core::firing::Kind;
use campanile_core::id::Uid;
use campanile_core::time::{Span, Timestamp};

use super::{Bounds, Findings, Invariant, by_plan};
use crate::sim::story::Step;

/// The settings of the cluster.
#[derive(Debug)]
pub(super) struct CatchUps {
    bounds: Bounds,
}

impl CatchUps {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds }
    }
}

impl Invariant for CatchUps {
    fn name(&self) -> &'static str {
        "catch-up rule"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        let mut fired: BTreeMap<Uid, usize> = BTreeMap::new();
        for row in step.rows {
            if let Some((firing, _, Kind::CatchUp)) = by_plan(row) {
                *fired.entry(firing.uid).or_default() += 1;
                self.judge_age(step, firing.uid, firing.nominal, row.at, found);
            }
            // What is missed is older than the grace, whatever becomes of it.
            if let Event::Skipped { uid, reason: SkipReason::TooLate | SkipReason::Coalesced, to, .. } =
                row.event
                && row.at.since(to) < self.bounds.failover_grace
            {
                found.add(self.name(), || {
                    format!(
                        "entry {} at {:?} gave up {to:?} of {uid}, which was no older than the grace",
                        step.index, row.at
                    )
                });
            }
        }
        for (uid, count) in fired {
            self.judge_count(step, uid, count, found);
        }
    }
}

impl CatchUps {
    fn judge_age(&self, step: &Step<'_>, uid: Uid, nominal: Timestamp, at: Timestamp, found: &mut Findings) {
        let Some(schedule) = step.before.schedule(uid) else { return };
        let age = at.since(nominal);
        let window = schedule.definition.policy.catch_up.window;
        let grace = self.bounds.failover_grace;
        let stall = self.bounds.stall.as_millis();
        let oldest =
            window.map(|window| Span::from_millis(window.max(grace).as_millis().saturating_add(stall)));
        if age < grace || oldest.is_some_and(|oldest| age > oldest) {
            let window = window.unwrap_or(Span::from_millis(u64::MAX));
            found.add(self.name(), || {
                let (index, name) = (step.index, &schedule.name);
                format!(
                    "entry {index} caught up on {nominal:?} of {name}, {age} old, with a window of {window}"
                )
            });
        }
    }

    fn judge_count(&self, step: &Step<'_>, uid: Uid, count: usize, found: &mut Findings) {
        let Some(schedule) = step.before.schedule(uid) else { return };
        let mode = schedule.definition.policy.catch_up.mode;
        let most = match mode {
            CatchUpMode::All => self.bounds.max_catch_up,
            CatchUpMode::Latest => 1,
            CatchUpMode::None => 0,
        };
        if count > most {
            found.add(self.name(), || {
                format!("entry {} caught up on {count} of {} ({mode:?})", step.index, schedule.name)
            });
        }
    }
}
