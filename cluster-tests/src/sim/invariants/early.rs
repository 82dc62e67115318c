//! Nothing fires, is skipped, begins or leaves before its nominal, by the log's time and, within what clocks may be ahead, by
//! true time (SEMANTICS §7).

use campanile_core::event::{Event, Row, SkipReason};
use campanile_core::firing::FiringId;
use campanile_core::time::Timestamp;

use super::{Bounds, Findings, Invariant, is_admitted, moment_of};
use crate::sim::story::{End, Step};

/// How far ahead a clock may be.
#[derive(Debug)]
pub(super) struct Early {
    bounds: Bounds,
}

impl Early {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds }
    }
}

/// The instant that had to have come for this row. What a user skips ahead of is to come.
fn had_to_come(row: &Row) -> Option<Timestamp> {
    match &row.event {
        Event::Fired { firing, .. } | Event::Begun { firing, .. } => Some(firing.nominal),
        Event::Skipped { to, reason, .. } if *reason != SkipReason::Superseded => Some(*to),
        _ => None,
    }
}

impl Invariant for Early {
    fn name(&self) -> &'static str {
        "never early"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        let ahead = step.now + self.bounds.clocks;
        if is_admitted(step) && step.command.at > ahead {
            found.add(self.name(), || {
                format!("entry {} is of {:?}, and it is {:?}", step.index, step.command.at, step.now)
            });
        }
        for row in step.rows {
            let Some(nominal) = had_to_come(row) else { continue };
            if nominal > row.at || nominal > ahead {
                found.add(self.name(), || {
                    let (at, now) = (row.at, step.now);
                    format!("entry {} at {at:?}, which is {now:?} in truth: {:?}", step.index, row.event)
                });
            }
        }
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        for send in &end.story.sends {
            let FiringId { nominal, .. } = send.firing;
            let due = moment_of(nominal, end.now, end.moment);
            if send.sent + self.bounds.clocks.as_millis() < due {
                found.add(self.name(), || format!("{:?} left at {} and is of {due}", send.firing, send.sent));
            }
        }
    }
}
