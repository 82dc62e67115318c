//! The ticker: decides what is due, one batched Tick in flight. It is the tick loop of every schedule.
//!
//! ```text
//!   sleep (short slices, or until something is applied) -> may this clock decide? -> now = max(clock, log time) -> plan -> propose -> reply -> at once again
//! ```
//! It trusts no wake-up: each turn looks at the due index. A tick that is lost, late or doubled is harmless, since the mark
//! in the machine decides; so after any failure it plans again from what is applied. It must not send anything.

use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::command::{Body, Tick};
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner};
use campanile_core::query;
use campanile_core::reply::{Reply, Ticked};
use campanile_core::time::Timestamp;
use campanile_raft::runtime;

use super::duty::Duty;
use super::office::{NoReply, Office};
use super::plan_aside;
use crate::clock::Clock;
use crate::metrics::Metrics;

/// The longest sleep: a wall clock that is set is noticed within this (`SEMANTICS` §7).
const SLICE: Duration = Duration::from_millis(250);
/// The wait after a failed proposal: shorter than an election, longer than a busy loop.
const PAUSE: Duration = Duration::from_millis(20);
/// Planning so many entries is done in under a millisecond; more would hold up a worker of the runtime, and with it the
/// heartbeats of Raft.
const INLINE: usize = 64;

/// Decides what is due while its office lasts.
#[derive(Debug)]
pub struct Ticker<O> {
    office: O,
    clock: Clock,
    options: Options,
    planner: Planner,
    /// At most so many instants in one tick: fewer than the options say while larger ones outgrow an entry of the log.
    most: usize,
    metrics: Arc<Metrics>,
    /// Whether the last proposal failed, so that a long outage is one line in the log.
    failing: bool,
}

impl<O: Office> Ticker<O> {
    /// A ticker of that office.
    pub fn new(office: O, clock: Clock, options: Options, metrics: Arc<Metrics>) -> Self {
        let (planner, most) = (Planner::new(options), options.instants_per_tick);
        Self { office, clock, options, planner, most, metrics, failing: false }
    }
}

impl<O: Office> Duty for Ticker<O> {
    async fn turn(&mut self) {
        let view = self.office.view();
        let wall = self.clock.now();
        if !self.office.allows(wall) {
            return tokio::time::sleep(SLICE).await;
        }
        let now = wall.max(view.clock());
        let started = Instant::now();
        match self.plan(&view, now) {
            Some(tick) => {
                self.metrics.planned(started.elapsed());
                self.commit(now, tick).await;
            }
            None => {
                self.limit_to(self.options.instants_per_tick);
                self.sleep(&view, now).await;
            }
        }
    }
}

impl<O: Office> Ticker<O> {
    /// Plans outside of the proposal, so that nobody else waits for it: what has moved on by the time it is applied is
    /// stale there, and due again here.
    fn plan(&mut self, view: &Machine, now: Timestamp) -> Option<Tick> {
        let many = view.due().schedules().take_while(|(at, _)| *at <= now).nth(INLINE).is_some();
        plan_aside(many, || self.planner.tick(view, now))
    }

    async fn commit(&mut self, now: Timestamp, tick: Tick) {
        let _under_way = self.metrics.ticking();
        let body = Body::Tick(tick.clone());
        // The clock may have been found ahead since it was read; then the entry carries an earlier moment than this was
        // planned for, and what is due only later must not be in it.
        match self.office.propose(now, move |at, _| (at >= now).then_some(body)).await {
            Ok(None) => {}
            Ok(Some(Reply::Ticked(ticked))) => self.ticked(&tick, ticked),
            Ok(reply) => self.failed(&format!("{reply:?}")).await,
            // How many bytes an instant takes depends on what becomes of it: a skipped one takes three times a fired one.
            Err(NoReply::TooLarge(why)) if self.most > 1 => {
                tracing::debug!(why, most = self.most, "a tick is planned again in halves");
                self.limit_to(self.most / 2);
            }
            Err(error) => self.failed(&error.to_string()).await,
        }
    }

    /// Plans at most so many instants at once from here on.
    fn limit_to(&mut self, most: usize) {
        if most != self.most {
            self.most = most;
            self.planner = Planner::new(Options { instants_per_tick: most, ..self.options });
        }
    }

    fn ticked(&mut self, tick: &Tick, ticked: Ticked) {
        if std::mem::take(&mut self.failing) {
            tracing::info!("ticks are committed again");
        }
        let committed_at = self.clock.now();
        self.metrics.ticked(tick, ticked, committed_at);
        tracing::debug!(fired = ticked.fired, skipped = ticked.skipped, stale = ticked.stale, "tick");
    }

    async fn failed(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(reason, "a tick was not committed; it is planned again");
        }
        tokio::time::sleep(PAUSE).await;
    }

    /// Sleeps until the next entry of the due index, in slices; an apply may have brought an earlier one. What is due
    /// already and was not planned at `now` waits for something else than time.
    async fn sleep(&self, view: &Machine, now: Timestamp) {
        let next = query::next_due(view).filter(|at| *at > now);
        let slice = runtime::between_looks(SLICE);
        let nap = next.map_or(slice, |at| self.clock.until(at).min(slice));
        tokio::select! {
            biased;
            () = self.office.applied_beyond(view.applied()) => {}
            () = tokio::time::sleep(nap) => {}
        }
    }
}
