//! What a put would do: everything that the real one checks, and nothing of what it stores.

use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::command::{Command, Condition, Request};
use campanile_core::definition::{Definition, ScheduleName};
use campanile_core::english;
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::plan::Wanted;
use campanile_core::reply::{Change, Reply};
use campanile_core::schedule::{Schedule, State};

use super::diff::{self, Bounds, Side};
use super::judge::{cannot_evaluate, without_exclusions};
use super::lint;
use super::schedules::absent;
use super::show::upcoming;
use super::write::{Failure, refused};
use super::{Consistency, Service};
use crate::problem::Problem;
use crate::wire::diff::{DryRun, fields};
use crate::wire::preview::DEFAULT_COUNT;
use crate::wire::schedule::Warning;

/// How long instants are looked for.
const WITHIN: Duration = Duration::from_secs(3);

impl Service {
    /// What [`Service::put`] would do.
    ///
    /// # Errors
    /// Those of the put, but for a race.
    pub async fn put_dry(
        self: &Arc<Self>,
        name: ScheduleName,
        condition: Condition,
        definition: Definition,
    ) -> Result<DryRun, Failure> {
        let machine = self.read(Consistency::Linearizable).await?;
        let current = machine.named(&name).cloned();
        condition
            .judge(current.as_ref().map(|current| current.updated_index))
            .map_err(|rejection| absent(&name, refused(rejection)))?;
        let told = self.think(move |service| {
            service.judge_one(&machine, current.as_deref(), &definition)?;
            service.try_out(&machine, &name, &definition)?;
            service.would(&machine, current.as_deref(), &definition)
        });
        Ok(told.await?)
    }

    /// What only the log refuses is asked of a copy of the machine, so that the rule stands in one place.
    fn try_out(
        &self,
        machine: &Machine,
        name: &ScheduleName,
        definition: &Definition,
    ) -> Result<(), Problem> {
        let at = self.now().max(machine.clock());
        let request = Request { by: "campanile".into(), key: None };
        let wanted = Wanted { name: name.clone(), condition: Condition::None, request };
        let body = self
            .planner()
            .put(machine, at, wanted, Arc::new(definition.clone()))
            .map_err(|bad| cannot_evaluate(&bad, &definition.specs, &definition.exclude))?;
        let command = Command { at, epoch: machine.epoch(), body };
        match machine.clone().apply(LogIndex(machine.applied().0 + 1), &command).0 {
            Reply::Rejected(rejection) => match refused(rejection) {
                Failure::Problem(problem) => Err(*problem),
                // Another leader has taken office: what it says of the schedule is the same.
                Failure::Undone(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// What `definition` would change. Slow.
    fn would(
        &self,
        machine: &Machine,
        current: Option<&Schedule>,
        definition: &Definition,
    ) -> Result<DryRun, Problem> {
        let now = self.now().max(machine.clock());
        let series = self.series(machine, definition)?;
        let before = current.and_then(|current| self.series(machine, &current.definition).ok());
        let bounds = Bounds { now, most: diff::MOST, deadline: Instant::now() + WITHIN };
        let fired = current.map_or(0, |current| current.fired);
        let new = Side { series: &series, definition, fired };
        let old = current.zip(before.as_ref()).map(|(current, series)| Side {
            series,
            definition: &current.definition,
            fired,
        });
        let (next, cut) = upcoming(&series, &definition.specs, now, DEFAULT_COUNT, bounds.deadline);
        let mut warnings = self.warnings(machine, current, definition)?;
        warnings.extend(lint::of_change(current));
        warnings.extend(lint::of_actions(machine, definition));
        warnings.extend(cut.then(|| lint::cut_short(next.len())));
        Ok(DryRun {
            change: change_word(change(current, definition)).into(),
            fields: fields(current.map(|current| &*current.definition), definition),
            ticks: diff::ticks(old.as_ref(), Some(&new), bounds),
            text: english::describe(&definition.specs, &definition.exclude, self.planner().texts()),
            next,
            warnings,
        })
    }

    /// What is allowed and often not meant of a definition that follows `current`. Slow.
    ///
    /// # Errors
    /// `invalid_schedule` when it cannot be evaluated.
    pub(super) fn warnings(
        &self,
        machine: &Machine,
        current: Option<&Schedule>,
        definition: &Definition,
    ) -> Result<Vec<Warning>, Problem> {
        let now = self.now().max(machine.clock());
        let series = self
            .planner()
            .series(machine, definition)
            .map_err(|bad| cannot_evaluate(&bad, &definition.specs, &definition.exclude))?;
        let bare =
            (!definition.exclude.is_empty()).then(|| without_exclusions(machine, definition)).flatten();
        let mut found = lint::of_specs(&definition.specs, self.planner().texts(), now);
        found.extend(lint::of_parts(definition, current, &series, bare.as_ref(), now));
        Ok(found)
    }
}

/// What a put of this definition does.
pub(super) fn change(current: Option<&Schedule>, definition: &Definition) -> Change {
    match current {
        None => Change::Created,
        // An edit releases what is parked, even one that says the same again.
        Some(current) if matches!(current.state, State::Parked { .. }) => Change::Changed,
        Some(current) if *current.definition == *definition => Change::Unchanged,
        Some(_) => Change::Changed,
    }
}

/// The word for what a write does.
pub(super) const fn change_word(change: Change) -> &'static str {
    match change {
        Change::Created => "created",
        Change::Changed => "changed",
        Change::Unchanged => "unchanged",
    }
}
