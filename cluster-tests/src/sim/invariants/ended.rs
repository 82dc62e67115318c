//! A firing that was decided stays in the machine until it ends, and ends once; once calm has come back, a lease or a deadline
//! that is over ends it in time (SEMANTICS §2.3, §6: retried until settled).

use std::collections::BTreeSet;

use campanile_core::event::{Event, Outcome};
use campanile_core::firing::FiringId;
use campanile_core::time::Timestamp;

use super::{Bounds, Findings, Invariant};
use crate::sim::story::{End, Step};

/// What has fired and not ended.
#[derive(Debug)]
pub(super) struct Ended {
    bounds: Bounds,
    live: BTreeSet<FiringId>,
}

impl Ended {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds, live: BTreeSet::new() }
    }

    /// What had to be over by now; none when it has not been calm for long enough.
    fn overdue_before(&self, end: &End<'_>) -> Option<Timestamp> {
        let Bounds { lateness, clocks, failover, .. } = self.bounds;
        let trouble = end.story.outages.iter().map(|(_, to)| *to).chain([end.story.healed]).max();
        let calm = end.moment.saturating_sub(trouble.unwrap_or(0));
        let needed: u64 = [lateness, clocks, failover].iter().map(|span| span.as_millis()).sum();
        (calm > needed).then(|| end.now - lateness - clocks)
    }
}

impl Invariant for Ended {
    fn name(&self) -> &'static str {
        "every firing ends once"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        for row in step.rows {
            match &row.event {
                Event::Fired { firing, .. } => drop(self.live.insert(*firing)),
                Event::Settled { firing, outcome, .. } => {
                    if !self.live.contains(firing) {
                        found.add(self.name(), || {
                            format!("entry {} ended {firing:?}, which is not live", step.index)
                        });
                    }
                    if matches!(outcome, Outcome::End { .. }) {
                        self.live.remove(firing);
                    }
                }
                _ => {}
            }
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        for firing in self.live.iter().filter(|firing| end.machine.firing(**firing).is_none()) {
            found.add(self.name(), || format!("{firing:?} fired, did not end, and the machine has lost it"));
        }
        for firing in end.machine.live().filter(|firing| !self.live.contains(&firing.id)) {
            found.add(self.name(), || format!("{:?} is live, and never fired or has ended", firing.id));
        }
        let Some(overdue) = self.overdue_before(end) else { return };
        let due = end.machine.due();
        for (at, firing) in due.leases().chain(due.deadlines()).filter(|(at, _)| *at < overdue) {
            found.add(self.name(), || format!("{firing:?} had until {at:?}, and it is {:?}", end.now));
        }
    }
}
