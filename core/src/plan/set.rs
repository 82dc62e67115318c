//! The plan of a set: every part is planned as it would be alone, and all stand in one command.

use std::sync::Arc;

use super::{Planner, Wanted};
use crate::command::{Apply, Body, Condition, DeleteSchedule, PutSchedule, Request};
use crate::definition::{Definition, ScheduleName};
use crate::series::BadSpec;
use crate::state::State;
use crate::time::Timestamp;

/// A set of schedules as a user means it.
#[derive(Debug, Clone)]
pub struct WantedSet {
    /// What is put.
    pub puts: Vec<(ScheduleName, Arc<Definition>)>,
    /// What is removed.
    pub prunes: Vec<ScheduleName>,
    /// Who asks.
    pub request: Request,
}

impl Planner {
    /// Put and remove a set in one command.
    ///
    /// # Errors
    /// The place of the put whose definition cannot be evaluated, and why.
    pub fn apply(
        &mut self,
        state: &State,
        at: Timestamp,
        wanted: WantedSet,
    ) -> Result<Body, (usize, BadSpec)> {
        // The set has one key, and its parts have none: they are never asked for alone.
        let request = Request { by: wanted.request.by.clone(), key: None };
        let part = |name| Wanted { name, condition: Condition::None, request: request.clone() };
        let mut puts: Vec<PutSchedule> = Vec::with_capacity(wanted.puts.len());
        for (place, (name, definition)) in wanted.puts.into_iter().enumerate() {
            puts.push(self.put_schedule(state, at, part(name), definition).map_err(|bad| (place, bad))?);
        }
        let prunes: Vec<DeleteSchedule> =
            wanted.prunes.into_iter().map(|name| self.delete_schedule(state, at, part(name))).collect();
        Ok(Body::Apply(Apply { puts, prunes, request: wanted.request }))
    }
}
