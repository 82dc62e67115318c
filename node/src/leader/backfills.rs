//! The backfill duty: goes on with every backfill that may fire more, a bounded step at a time.
//!
//! ```text
//!   sleep (until the next is due, or something is applied) -> view -> plan on a thread, with the past -> propose -> at once again
//! ```
//! What has fired is on the disk, so a step is planned outside of the runtime and of the proposal. It names what it was
//! planned with, and `apply` changes nothing when any of that has moved on; so a step that is lost, late or doubled is
//! harmless, and another leader goes on from where the machine says. It must not commit what was planned without knowing
//! the whole past.

use campanile_raft::runtime;
use std::sync::Arc;
use std::time::Duration;

use campanile_core::command::{Body, StepBackfill};
use campanile_core::firing::Kind;
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner};
use campanile_core::query;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use futures_util::future::join_all;

use super::duty::Duty;
use super::office::Office;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::service::records::Records;

/// The longest sleep: a wall clock that is set is noticed within this.
const SLICE: Duration = Duration::from_millis(250);
/// The wait after a step that was not committed, doubled with each that follows,
const PAUSE: Duration = Duration::from_millis(20);
/// up to so many (0.64 s); so many in a row are told.
const TROUBLE: u32 = 6;
/// So many backfills go on at once. They take turns, those that have waited longest first, so none waits for ever; and so
/// many entries of at most some kilobytes leave room for everybody else's proposals.
const AT_ONCE: usize = 16;

/// Goes on with backfills while its office lasts.
#[derive(Debug)]
pub struct Backfills<O> {
    office: O,
    clock: Clock,
    options: Options,
    /// Away while a thread plans with it.
    planner: Option<Planner>,
    records: Records,
    metrics: Arc<Metrics>,
    /// How many turns in a row have failed.
    failures: u32,
}

impl<O: Office> Backfills<O> {
    /// The duty of that office.
    pub fn new(office: O, clock: Clock, options: Options, records: Records, metrics: Arc<Metrics>) -> Self {
        Self { office, clock, options, planner: None, records, metrics, failures: 0 }
    }
}

impl<O: Office> Duty for Backfills<O> {
    /// One look: what may go on goes a step further, or the next instant is slept for.
    async fn turn(&mut self) {
        let view = self.office.view();
        let wall = self.clock.now();
        let now = wall.max(view.clock());
        if query::next_backfill(&view).is_none_or(|at| at > now) {
            return self.sleep(&view).await;
        }
        if !self.office.allows(wall) {
            return tokio::time::sleep(SLICE).await;
        }
        match self.plan(Arc::clone(&view), now).await {
            Err(why) => self.failed(&why).await,
            Ok(steps) => self.commit(&view, now, steps).await,
        }
    }
}

impl<O: Office> Backfills<O> {
    /// Plans on a thread. What went wrong there is in words for the log.
    async fn plan(&mut self, view: Arc<Machine>, now: Timestamp) -> Result<Vec<StepBackfill>, String> {
        let mut planner = self.planner.take().unwrap_or_else(|| Planner::new(self.options));
        let records = self.records.clone();
        let planned = runtime::blocking(move || {
            let steps = records.with_past(&view, |past| planner.step_backfills(&view, now, past, AT_ONCE));
            (planner, steps)
        });
        let (planner, steps) = planned.await.map_err(|error| error.to_string())?;
        self.planner = Some(planner);
        steps.map_err(|problem| problem.detail)
    }

    /// Proposes all steps at once: they are of different schedules, so none makes another stale.
    async fn commit(&mut self, view: &Machine, now: Timestamp, steps: Vec<StepBackfill>) {
        let committed = join_all(steps.into_iter().map(|step| self.propose(view, now, step))).await;
        match committed.into_iter().find_map(Result::err) {
            None => self.recovered(),
            Some(why) => self.failed(&why).await,
        }
    }

    async fn propose(&self, view: &Machine, now: Timestamp, step: StepBackfill) -> Result<(), String> {
        let id = step.id;
        let fired_before = view.backfill(id).map_or(0, |backfill| backfill.fired);
        tracing::debug!(
            backfill = id.0,
            fire = step.fire.len(),
            passed = step.passed,
            done = step.done,
            "step"
        );
        match self.office.propose(now, move |_, _| Some(Body::StepBackfill(step))).await {
            Ok(Some(Reply::Stepped(true))) => {
                // Only steps change it, and this office makes them one after another.
                let fired = self.office.view().backfill(id).map_or(fired_before, |backfill| backfill.fired);
                self.metrics.fired(Kind::Backfill(id), fired.saturating_sub(fired_before));
                Ok(())
            }
            Ok(Some(Reply::Stepped(false))) => Err(format!("a step of backfill {id} was overtaken")),
            Ok(reply) => Err(format!("{reply:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn recovered(&mut self) {
        if std::mem::take(&mut self.failures) >= TROUBLE {
            tracing::info!("backfills go on again");
        }
    }

    /// A step that is overtaken now and then is no trouble; one that never gets through must not keep the disk busy.
    async fn failed(&mut self, reason: &str) {
        self.failures = self.failures.saturating_add(1);
        if self.failures == TROUBLE {
            tracing::warn!(reason, "backfills do not go on; their steps are planned again");
        } else {
            tracing::debug!(reason, "a step is planned again");
        }
        let pause = PAUSE * 2_u32.pow(self.failures.min(TROUBLE) - 1);
        tokio::time::sleep(pause).await;
    }

    /// Sleeps until the next may go on; an apply may have brought an earlier one.
    async fn sleep(&self, view: &Machine) {
        let slice = runtime::between_looks(SLICE);
        let nap = query::next_backfill(view).map_or(slice, |at| self.clock.until(at).min(slice));
        tokio::select! {
            biased;
            () = self.office.applied_beyond(view.applied()) => {}
            () = tokio::time::sleep(nap) => {}
        }
    }
}
