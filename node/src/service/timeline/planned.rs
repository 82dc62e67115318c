//! Nominal instants to come, counted by bucket: as the definitions and calendars stand, by this node's zone data.
//!
//! Bounded by the number of schedules, by the instants that are walked through, and by time.

use std::time::Duration;
use tokio::time::Instant;

use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::schedule::Schedule;
use campanile_core::series::Series;
use campanile_core::time::{Span, Timestamp};

use super::Grid;
use crate::service::Service;

/// The most schedules that are looked at, those that are due first.
const SCHEDULES: usize = 10_000;
/// So many instants of one schedule are walked through; of more, each bucket is counted.
const WALKED: u64 = 500;
/// No longer than this.
const WITHIN: Duration = Duration::from_millis(500);

/// What is to come.
#[derive(Debug)]
pub(super) struct Planned {
    /// How many instants, by bucket.
    pub(super) counts: Vec<u64>,
    /// Whether every schedule is in it.
    pub(super) complete: bool,
}

impl Planned {
    /// In so many buckets.
    pub(super) fn nothing(buckets: usize) -> Self {
        Self { counts: vec![0; buckets], complete: true }
    }

    fn add(&mut self, grid: &Grid, series: &Series, after: Timestamp, left: u64) {
        let until = grid.to - Span::from_millis(1);
        let all = series.count(after, until).min(left);
        if all <= WALKED {
            let mut last = after;
            for _ in 0..all {
                let Some(next) = series.next(last) else { break };
                last = next.at;
                if let Some(count) = self.counts.get_mut(grid.place(last)) {
                    *count += 1;
                }
            }
            return;
        }
        let mut left = all;
        for place in 0..grid.count {
            let end = grid.end(place) - Span::from_millis(1);
            let start = (grid.start(place) - Span::from_millis(1)).max(after);
            if end > start && left > 0 {
                let some = series.count(start, end).min(left);
                self.counts[place] += some;
                left -= some;
            }
        }
    }
}

impl Service {
    /// What is to come after `now` in the buckets.
    pub(super) fn planned(
        &self,
        machine: &Machine,
        grid: &Grid,
        now: Timestamp,
        uid: Option<Uid>,
        namespace: Option<&str>,
    ) -> Planned {
        let mut planned = Planned::nothing(grid.count);
        if grid.to <= now {
            return planned;
        }
        let deadline = Instant::now() + WITHIN;
        let due = machine.due().schedules().take_while(|(at, _)| *at < grid.to).map(|(_, uid)| uid);
        let chosen: Box<dyn Iterator<Item = Uid>> = match uid {
            Some(uid) => Box::new(std::iter::once(uid)),
            None => Box::new(due),
        };
        for (looked_at, schedule) in chosen.filter_map(|uid| machine.schedule(uid)).enumerate() {
            if looked_at == SCHEDULES || Instant::now() >= deadline {
                planned.complete = false;
                break;
            }
            if schedule.is_active() && namespace.is_none_or(|wanted| schedule.name.namespace() == wanted) {
                // What cannot be evaluated here has nothing to show.
                if let Ok(series) = self.series(machine, &schedule.definition) {
                    let after = schedule.mark.max(now).max(grid.from - Span::from_millis(1));
                    planned.add(grid, &series, after, left(schedule));
                }
            }
        }
        planned
    }
}

/// How often a schedule may still fire.
fn left(schedule: &Schedule) -> u64 {
    schedule.definition.max_firings.map_or(u64::MAX, |most| most.saturating_sub(schedule.fired))
}
