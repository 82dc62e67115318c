//! While a schedule is paused, parked or finished nothing of it is nominal: no instant of it fires, and a pause that ends by
//! itself fires none from before its end (SEMANTICS §4).
//!
//! A resume that is asked to catch up, and `automatic_backfill`, are the exceptions that the documents make.

use campanile_core::command::Body;
use campanile_core::definition::CatchUp;
use campanile_core::event::Event;
use campanile_core::id::Uid;
use campanile_core::schedule::State;
use campanile_core::time::Timestamp;

use super::{Findings, Invariant, by_plan};
use crate::sim::story::Step;

/// Holds nothing: the machine says what is paused, and the rows of an entry when that changed.
#[derive(Debug)]
pub(super) struct Paused;

impl Invariant for Paused {
    fn name(&self) -> &'static str {
        "nothing fires in a pause"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        for (place, row) in step.rows.iter().enumerate() {
            let Some((firing, ..)) = by_plan(row) else { continue };
            let uid = firing.uid;
            if !is_active(step, uid, place) {
                found.add(self.name(), || {
                    format!("entry {} fired {firing:?}, which is not active", step.index)
                });
            } else if let Some(until) = pause_end(step, uid)
                && firing.nominal < until
            {
                found.add(self.name(), || {
                    format!("entry {} fired {firing:?}, in a pause that ended at {until:?}", step.index)
                });
            }
        }
    }
}

/// Whether the schedule's instants were decided when that row was told.
fn is_active(step: &Step<'_>, uid: Uid, place: usize) -> bool {
    let mut active = step.before.schedule(uid).is_some_and(|schedule| schedule.is_active());
    for row in &step.rows[..place] {
        match row.event {
            Event::Resumed { uid: of, .. } if of == uid => active = true,
            Event::Paused { uid: of, .. } | Event::Parked { uid: of, .. } | Event::Finished { uid: of }
                if of == uid =>
            {
                active = false;
            }
            _ => {}
        }
    }
    active
}

/// The end of the pause that this tick ended, of a schedule that does not catch up on everything.
fn pause_end(step: &Step<'_>, uid: Uid) -> Option<Timestamp> {
    let Body::Tick(_) = step.command.body else { return None };
    let schedule = step.before.schedule(uid)?;
    match schedule.state {
        State::Paused { until, .. } if schedule.definition.policy.catch_up != CatchUp::UNLIMITED => until,
        _ => None,
    }
}
