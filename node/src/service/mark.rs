//! Rewind and skip ahead.

use std::sync::Arc;

use campanile_core::command::Condition;
use campanile_core::definition::ScheduleName;
use campanile_core::plan::Wanted;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;

use super::Service;
use super::past::{Places, PlanWithPast, check_none_runs, refused};
use super::schedules::{no_such, unexpected};
use super::write::{Caller, Failure, Planned};
use crate::problem::Problem;
use crate::wire::backfill::Backfill;
use crate::wire::mark::{Marked, direction_word};
use crate::wire::time::Instant;

/// There is one instant in the body.
const PLACES: Places = Places { from: "/to", to: "/to" };

impl Service {
    /// Moves the mark ahead, or fires what lies behind it again.
    ///
    /// # Errors
    /// As [`Service::write`]; why it cannot be done.
    pub async fn set_mark(
        self: &Arc<Self>,
        caller: &Caller,
        name: ScheduleName,
        to: Timestamp,
    ) -> Result<Marked, Failure> {
        let wanted = Wanted { name: name.clone(), condition: Condition::None, request: caller.request() };
        let plan: PlanWithPast = Arc::new(move |planner, at, machine, past| {
            if let Some(schedule) = machine.named(&wanted.name)
                && to < schedule.mark
                && let Err(problem) = check_none_runs(machine, schedule)
            {
                return Planned::Refuse(problem);
            }
            match planner.set_mark(machine, at, wanted.clone(), to, past) {
                Ok(body) => Planned::Propose(Box::new(body)),
                Err(refusal) => Planned::Refuse(refused(&refusal, &wanted.name, PLACES)),
            }
        });
        let backfill = match self.write_with_past(caller, plan).await? {
            Reply::Backfill(id) => Some(self.backfill(&self.quorum().view(), id)?),
            Reply::Schedule(_) => None,
            other => return Err(unexpected(&other)),
        };
        let marked = self.marked(&name, to, backfill.is_some())?;
        Ok(Marked { backfill, ..marked })
    }

    /// Counts what a change of the mark would fire and skip.
    ///
    /// # Errors
    /// Why it could not be done.
    pub async fn count_mark(self: &Arc<Self>, name: ScheduleName, to: Timestamp) -> Result<Marked, Problem> {
        let counted = name.clone();
        let counts = self.planned_with_past(self.now(), move |planner, at, machine, past| {
            let is_back = machine.named(&counted).is_some_and(|schedule| to < schedule.mark);
            planner.count_mark(machine, at, &counted, to, past).map(|counts| (counts, is_back))
        });
        let (counts, is_back) = counts.await?.map_err(|refusal| refused(&refusal, &name, PLACES))?;
        let marked = self.marked(&name, to, is_back)?;
        Ok(Marked { dry_run: true, fires: Some(counts.fires), skips: Some(counts.skips), ..marked })
    }

    fn marked(&self, name: &ScheduleName, to: Timestamp, is_back: bool) -> Result<Marked, Problem> {
        let machine = self.quorum().view();
        let schedule = machine.named(name).ok_or_else(|| no_such(name))?;
        Ok(Marked {
            schedule: name.to_string(),
            to: Instant(to),
            mark: Instant(schedule.mark),
            direction: direction_word(is_back).into(),
            dry_run: false,
            fires: None,
            skips: None,
            backfill: None::<Backfill>,
        })
    }
}
