//! Backfills: counted, created, listed, cancelled. What they fire is the leader's duty.

use std::sync::Arc;

use campanile_core::backfill::{Backfill, BackfillPlan};
use campanile_core::command::{Body, CancelBackfill, Condition};
use campanile_core::definition::{Overlap, ScheduleName};
use campanile_core::id::BackfillId;
use campanile_core::machine::Machine;
use campanile_core::plan::Wanted;
use campanile_core::query;
use campanile_core::reply::Reply;
use campanile_core::schedule::Schedule;
use campanile_core::time::Timestamp;

use super::Service;
use super::past::{Places, PlanWithPast, check_none_runs, find_backfill, refused};
use super::schedules::{no_such, unexpected};
use super::write::{Caller, Failure, PlanWrite, Planned};
use crate::problem::Problem;
use crate::wire::backfill::{
    Backfill as Shown, BackfillCounts, BackfillOrder, backfill_word, parse_backfill_id,
};
use crate::wire::page::{Page, parts, token};
use crate::wire::time::Instant;

/// Where the instants of a backfill stand in its body.
const PLACES: Places = Places { from: "/after", to: "/until" };
/// How many are looked at at once.
const BATCH: usize = 256;

/// Which backfills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of schedules of this name.
    pub name: Option<ScheduleName>,
    /// In this state, by its word.
    pub state: Option<&'static str>,
    /// At most so many.
    pub limit: usize,
    /// Behind the item that this names.
    pub page_token: Option<String>,
}

impl Service {
    /// Creates a backfill.
    ///
    /// # Errors
    /// As [`Service::write`]; why it cannot be created; `conflict` while another of the schedule runs.
    pub async fn create_backfill(
        self: &Arc<Self>,
        caller: &Caller,
        order: BackfillOrder,
    ) -> Result<Shown, Failure> {
        let wanted =
            Wanted { name: order.name.clone(), condition: Condition::None, request: caller.request() };
        let plan: PlanWithPast = Arc::new(move |planner, at, machine, past| {
            let planned = plan_of(machine, at, &order).and_then(|(schedule, plan)| {
                check_none_runs(machine, schedule)?;
                planner
                    .create_backfill(machine, at, wanted.clone(), plan, past)
                    .map_err(|refusal| refused(&refusal, &order.name, PLACES))
            });
            planned.map_or_else(Planned::Refuse, |body| Planned::Propose(Box::new(body)))
        });
        match self.write_with_past(caller, plan).await? {
            Reply::Backfill(id) => Ok(self.backfill(&self.quorum().view(), id)?),
            other => Err(unexpected(&other)),
        }
    }

    /// Counts what a backfill would do.
    ///
    /// # Errors
    /// Why it could not be created.
    pub async fn count_backfill(self: &Arc<Self>, order: BackfillOrder) -> Result<BackfillCounts, Problem> {
        self.planned_with_past(self.now(), move |planner, at, machine, past| {
            let (schedule, plan) = plan_of(machine, at, &order)?;
            let counts = planner
                .count_backfill(machine, at, &order.name, plan, past)
                .map_err(|refusal| refused(&refusal, &order.name, PLACES))?;
            Ok(BackfillCounts {
                dry_run: true,
                schedule: order.name.to_string(),
                after: Instant(plan.after),
                until: Instant(plan.until.min(schedule.mark).min(at)),
                instants: counts.instants,
                would_fire: counts.would_fire,
                passed: counts.passed,
            })
        })
        .await?
    }

    /// Ends a backfill. One that has ended stays as it ended.
    ///
    /// # Errors
    /// As [`Service::write`]; `not_found`.
    pub async fn cancel_backfill(
        self: &Arc<Self>,
        caller: &Caller,
        id: BackfillId,
    ) -> Result<Shown, Failure> {
        let request = caller.request();
        let plan: PlanWrite = Arc::new(move |_, _, machine| match find_backfill(machine, id) {
            Ok(_) => {
                let command = CancelBackfill { id, request: request.clone() };
                Planned::Propose(Box::new(Body::CancelBackfill(command)))
            }
            Err(problem) => Planned::Refuse(problem),
        });
        match self.write(caller, plan).await? {
            Reply::Cancelled => Ok(self.backfill(&self.quorum().view(), id)?),
            other => Err(unexpected(&other)),
        }
    }

    /// One backfill.
    ///
    /// # Errors
    /// `not_found`.
    pub fn backfill(&self, machine: &Machine, id: BackfillId) -> Result<Shown, Problem> {
        find_backfill(machine, id).map(|backfill| (&**backfill).into())
    }

    /// A page of backfills, the newest first. So few are known that all may be looked at.
    ///
    /// # Errors
    /// `bad_request` for a token that this list did not give.
    pub fn backfills(&self, machine: &Machine, filter: &Filter) -> Result<Page<Shown>, Problem> {
        let mut before = filter.page_token.as_deref().map(read_token).transpose()?;
        let mut found: Vec<Arc<Backfill>> = Vec::new();
        let wanted = |backfill: &&Arc<Backfill>| {
            filter.state.is_none_or(|state| backfill_word(&backfill.state) == state)
        };
        // One more than is asked for tells whether there is another page.
        while found.len() <= filter.limit {
            let batch = query::page_backfills(machine, filter.name.as_ref(), before, BATCH);
            let Some(last) = batch.last() else { break };
            before = Some(last.id);
            found.extend(batch.iter().filter(wanted).cloned());
        }
        let more = found.len() > filter.limit;
        found.truncate(filter.limit);
        let next_page_token = found.last().filter(|_| more).map(|last| token(&[&last.id.to_string()]));
        Ok(Page { items: found.iter().map(|backfill| (&**backfill).into()).collect(), next_page_token })
    }
}

/// The schedule of an order, and how its range is gone through.
fn plan_of<'a>(
    machine: &'a Machine,
    at: Timestamp,
    order: &BackfillOrder,
) -> Result<(&'a Arc<Schedule>, BackfillPlan), Problem> {
    let schedule = machine.named(&order.name).ok_or_else(|| no_such(&order.name))?;
    let overlap = order.overlap.unwrap_or(match schedule.definition.policy.overlap {
        Overlap::Allow => Overlap::Allow,
        // The schedule's own rule might skip most of the range, or cut short what it has just begun.
        _ => Overlap::QueueAll,
    });
    let plan = BackfillPlan {
        after: order.after,
        // A range that begins later than now is told from one that ends before it begins.
        until: order.until.unwrap_or_else(|| at.max(order.after.successor())),
        again: order.again,
        overlap,
        pace: order.pace,
        max_live: order.max_live,
    };
    Ok((schedule, plan))
}

fn read_token(given: &str) -> Result<BackfillId, Problem> {
    let [id] = parts::<1>(given)?;
    let id = parse_backfill_id(&format!("bkf_{id}"));
    id.ok_or_else(|| Problem::bad_request("page_token is not one that this list gave"))
}
