//! Plans of what users do: each carries what the schedule was due for up to its own moment.

use std::sync::Arc;

use super::Planner;
use crate::command::{
    Body, Condition, Decision, DeleteSchedule, PauseSchedule, PutSchedule, Request, ResumeSchedule, Trigger,
};
use crate::definition::{Definition, Overlap, ScheduleName};
use crate::schedule::Schedule;
use crate::series::BadSpec;
use crate::spec::Spec;
use crate::state::State;
use crate::time::{Span, Timestamp};

/// A write as a user means it, addressed to a schedule.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Which schedule.
    pub name: ScheduleName,
    /// What must be so.
    pub condition: Condition,
    /// Who asks.
    pub request: Request,
}

/// How a pause is meant to end.
#[derive(Debug, Clone, Default)]
pub struct PauseUntil {
    /// Why, for people.
    pub note: Box<str>,
    /// By itself at this instant.
    pub until: Option<Timestamp>,
}

/// Where a resume goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResumeFrom {
    /// From now on: what fell into the pause is skipped.
    #[default]
    Now,
    /// From the mark, under the catch-up rule.
    Mark,
}

impl Planner {
    /// Create or replace.
    ///
    /// # Errors
    /// The spec that cannot be evaluated.
    pub fn put(
        &mut self,
        state: &State,
        at: Timestamp,
        wanted: Wanted,
        definition: Arc<Definition>,
    ) -> Result<Body, BadSpec> {
        self.put_schedule(state, at, wanted, definition).map(Body::PutSchedule)
    }

    pub(super) fn put_schedule(
        &mut self,
        state: &State,
        at: Timestamp,
        wanted: Wanted,
        definition: Arc<Definition>,
    ) -> Result<PutSchedule, BadSpec> {
        let schedule = state.named(&wanted.name);
        let since = match schedule {
            None => self.since(&definition, at),
            Some(schedule) => at.max(schedule.mark),
        };
        let next_at = self.series(state, &definition)?.next(since).map(|occurrence| occurrence.at);
        Ok(PutSchedule {
            seen: schedule.map(|schedule| schedule.seen()),
            before: schedule.and_then(|schedule| self.decide_before(state, schedule, at)),
            name: wanted.name,
            definition,
            condition: wanted.condition,
            since,
            next_at,
            rules_at: state.rules_at(),
            request: wanted.request,
        })
    }

    /// Remove.
    pub fn delete(&mut self, state: &State, at: Timestamp, wanted: Wanted) -> Body {
        Body::DeleteSchedule(self.delete_schedule(state, at, wanted))
    }

    pub(super) fn delete_schedule(&mut self, state: &State, at: Timestamp, wanted: Wanted) -> DeleteSchedule {
        let schedule = state.named(&wanted.name);
        DeleteSchedule {
            seen: schedule.map(|schedule| schedule.seen()),
            before: schedule.and_then(|schedule| self.decide_before(state, schedule, at)),
            name: wanted.name,
            condition: wanted.condition,
            request: wanted.request,
        }
    }

    /// Pause.
    pub fn pause(&mut self, state: &State, at: Timestamp, wanted: Wanted, until: PauseUntil) -> Body {
        let schedule = state.named(&wanted.name);
        Body::PauseSchedule(PauseSchedule {
            seen: schedule.map(|schedule| schedule.seen()),
            before: schedule.and_then(|schedule| self.decide_before(state, schedule, at)),
            name: wanted.name,
            note: until.note,
            until: until.until,
            request: wanted.request,
        })
    }

    /// Resume.
    pub fn resume(&mut self, state: &State, at: Timestamp, wanted: Wanted, from: ResumeFrom) -> Body {
        let schedule = state.named(&wanted.name);
        let decision = schedule.filter(|schedule| !schedule.is_active()).map(|schedule| match from {
            ResumeFrom::Now => self.skip_pause(state, schedule, at),
            ResumeFrom::Mark => self.decide(state, schedule, at),
        });
        Body::ResumeSchedule(ResumeSchedule {
            seen: schedule.map(|schedule| schedule.seen()),
            decision,
            name: wanted.name,
            request: wanted.request,
        })
    }

    /// Fire once, now. `None` when this very millisecond belongs to an instant of the schedule or to another trigger:
    /// ask again a millisecond later.
    pub fn trigger(
        &mut self,
        state: &State,
        at: Timestamp,
        wanted: Wanted,
        payload: Option<Box<str>>,
        overlap: Option<Overlap>,
    ) -> Option<Body> {
        let schedule = state.named(&wanted.name);
        if schedule.is_some_and(|schedule| self.is_taken(state, schedule, at)) {
            return None;
        }
        Some(Body::Trigger(Trigger {
            seen: schedule.map(|schedule| schedule.seen()),
            name: wanted.name,
            nominal: at,
            payload,
            overlap,
            request: wanted.request,
        }))
    }

    /// A spec that cannot be evaluated has no instants that a trigger could meet.
    pub(super) fn is_taken(&mut self, state: &State, schedule: &Schedule, at: Timestamp) -> bool {
        let nominal = self.guarded(schedule, |planner, schedule| {
            planner.series(state, &schedule.definition).map(|series| series.contains(at))
        });
        nominal.unwrap_or(false) || at <= schedule.free_after(at)
    }

    fn decide_before(&mut self, state: &State, schedule: &Schedule, at: Timestamp) -> Option<Decision> {
        schedule.is_active().then(|| self.decide(state, schedule, at))
    }

    /// A new schedule's search starts now; that of a single past instant which the catch-up window reaches, before it.
    fn since(&self, definition: &Definition, at: Timestamp) -> Timestamp {
        match &*definition.specs {
            [Spec::At(instant)] if *instant <= at && self.reaches(definition, *instant, at) => {
                *instant - Span::from_millis(1)
            }
            _ => at,
        }
    }

    /// Whether the instant of an `at` spec would still fire: it is to come, or it is all that the schedule has and the
    /// catch-up rule reaches back to it.
    #[must_use]
    pub fn reaches(&self, definition: &Definition, nominal: Timestamp, now: Timestamp) -> bool {
        let window = definition.policy.catch_up.window;
        let reached = nominal + self.options.failover_grace >= now
            || window.is_none_or(|window: Span| nominal + window >= now);
        nominal > now || (definition.specs.len() == 1 && reached)
    }
}
