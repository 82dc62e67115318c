//! The refresh duty: after calendars or zones changed, schedules are looked at again, a bounded part at a time.
//!
//! It must not decide anything: it corrects when the ticker looks (`SEMANTICS` §3, zones and nodes). What has been looked at
//! stands in the machine, so another leader goes on where this one stopped.

use std::time::Duration;

use campanile_core::command::Body;
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner};
use campanile_core::reply::Reply;

use super::duty::Duty;
use super::office::Office;
use super::plan_aside;
use crate::clock::Clock;

/// The wait after a failed proposal, and before looking whether there is anything to do.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks at schedules again while its office lasts.
#[derive(Debug)]
pub(super) struct Refresher<O> {
    office: O,
    clock: Clock,
    planner: Planner,
    moved: usize,
}

impl<O: Office> Refresher<O> {
    /// A refresher of that office.
    pub(super) fn new(office: O, clock: Clock, options: Options) -> Self {
        Self { office, clock, planner: Planner::new(options), moved: 0 }
    }
}

impl<O: Office> Duty for Refresher<O> {
    async fn turn(&mut self) {
        let view = self.office.view();
        let Some(body) = self.plan(&view) else {
            if self.moved > 0 {
                tracing::info!(
                    moved = self.moved,
                    "schedules were looked at again: so many are next due at another time"
                );
                self.moved = 0;
            }
            // Not at each apply: rules change once in a while.
            tokio::time::sleep(PAUSE).await;
            self.office.applied_beyond(view.applied()).await;
            return;
        };
        let moved = match &body {
            Body::Refresh(refresh) => refresh.moved.len(),
            _ => 0,
        };
        match self.office.propose(self.clock.now(), move |_, _| Some(body)).await {
            Ok(Some(Reply::Refreshed(true))) => self.moved += moved,
            // Another command came between; the next look plans anew.
            Ok(Some(Reply::Refreshed(false))) => {}
            Ok(_) | Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

impl<O: Office> Refresher<O> {
    /// Looking at two thousand schedules takes milliseconds, which heartbeats must not wait for.
    fn plan(&mut self, view: &Machine) -> Option<Body> {
        plan_aside(view.rules().refreshing.is_some(), || self.planner.refresh(view))
    }
}
