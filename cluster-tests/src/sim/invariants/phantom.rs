//! What the plan fires or skips is a nominal instant of the definition in force, behind the mark (SEMANTICS §2.1, §3).
//!
//! The instants come from core's `series`, as the calendars stood before the entry: a plan made with others is stale.

use std::collections::BTreeMap;

use campanile_core::event::{Event, Row};
use campanile_core::id::{LogIndex, Revision, Uid};
use campanile_core::series::{Series, Texts};
use campanile_core::time::Timestamp;

use super::{Findings, Invariant, by_plan};
use crate::sim::story::Step;

/// The instants of the schedules that have decided something.
#[derive(Debug, Default)]
pub(super) struct Phantom {
    texts: Texts,
    known: BTreeMap<Uid, (Revision, LogIndex, Series)>,
}

/// What one row says was nominal: of which schedule, by which revision, the first and the last.
fn decided(row: &Row) -> Option<(Uid, Revision, Timestamp, Timestamp)> {
    if let Some((firing, revision, _)) = by_plan(row) {
        return Some((firing.uid, revision, firing.nominal, firing.nominal));
    }
    match row.event {
        Event::Skipped { uid, revision, from, to, .. } => Some((uid, revision, from, to)),
        _ => None,
    }
}

impl Invariant for Phantom {
    fn name(&self) -> &'static str {
        "no phantom"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        for row in step.rows {
            if let Some((uid, revision, from, to)) = decided(row)
                && let Some(wrong) = self.wrong(step, uid, revision, [from, to])
            {
                found.add(self.name(), || format!("entry {}: {wrong}", step.index));
            }
            if let Event::Deleted { uid, .. } = row.event {
                self.known.remove(&uid);
            }
        }
    }
}

impl Phantom {
    fn wrong(
        &mut self,
        step: &Step<'_>,
        uid: Uid,
        revision: Revision,
        ends: [Timestamp; 2],
    ) -> Option<String> {
        // A revision decides nothing in the entry that brings it, and the one before decides first.
        let Some(schedule) = step.before.schedule(uid) else {
            return Some(format!("decided {ends:?} of {uid}, which does not exist"));
        };
        if schedule.revision != revision {
            let current = schedule.revision;
            return Some(format!(
                "decided {ends:?} of {uid} by revision {revision}, and {current} is in force"
            ));
        }
        let name = &schedule.name;
        if ends[0] <= schedule.mark {
            return Some(format!("decided {:?} of {name} again, its mark is {:?}", ends[0], schedule.mark));
        }
        let series = self.series(step, uid, revision)?;
        let stranger = ends.into_iter().find(|at| !series.contains(*at))?;
        Some(format!("decided {stranger:?} of {name}, which is no instant of revision {revision}"))
    }

    /// None for what cannot be evaluated: such a schedule is parked.
    fn series(&mut self, step: &Step<'_>, uid: Uid, revision: Revision) -> Option<&Series> {
        let rules_at = step.before.rules_at();
        let is_known = self.known.get(&uid).is_some_and(|known| (known.0, known.1) == (revision, rules_at));
        if !is_known {
            let definition = &step.before.schedule(uid)?.definition;
            let series = Series::of(definition, &**step.before, &mut self.texts).ok()?;
            self.known.insert(uid, (revision, rules_at, series));
        }
        self.known.get(&uid).map(|known| &known.2)
    }
}
