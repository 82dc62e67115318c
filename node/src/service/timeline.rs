//! What came of the instants of a stretch of time, in buckets, and what is still to come of it.

mod planned;
pub(super) mod tally;

use std::sync::Arc;

use campanile_core::definition::ScheduleName;
use campanile_core::machine::Machine;
use campanile_core::time::{Span, Timestamp};

use super::Service;
use super::records::counted::Stretch;
use super::schedules::no_such;
use crate::problem::Problem;
use crate::wire::time::Instant;
use crate::wire::timeline::{Bucket, Timeline};
use tally::Tally;

/// The longest stretch.
const LONGEST: Span = Span::from_secs(400 * 86_400);
/// The stretch when nothing is said: up to now.
const USUAL: Span = Span::from_secs(86_400);

/// Which instants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// From here on; a day before the end when nothing is said.
    pub after: Option<Timestamp>,
    /// Up to, and without, this; now when nothing is said.
    pub before: Option<Timestamp>,
    /// Of schedules in this namespace.
    pub namespace: Option<String>,
    /// Of this schedule.
    pub schedule: Option<ScheduleName>,
    /// Behind what the answer before looked at.
    pub next: Option<String>,
}

impl Question {
    /// Both ends.
    ///
    /// # Errors
    /// `bad_request` when there is nothing between them, or too much.
    pub(super) fn ends(&self, now: Timestamp) -> Result<(Timestamp, Timestamp), Problem> {
        let before = self.before.unwrap_or_else(|| now.max(self.after.unwrap_or(now)).successor());
        let after = self.after.unwrap_or(before - USUAL);
        if after >= before {
            return Err(Problem::bad_request("\"after\" must be earlier than \"before\""));
        }
        if before.since(after) > LONGEST {
            return Err(Problem::bad_request("between \"after\" and \"before\" are at most 400 days"));
        }
        Ok((after, before))
    }
}

impl Service {
    /// The instants of a stretch, in so many buckets.
    ///
    /// # Errors
    /// `bad_request` for ends that are none; `not_found` for a schedule that there is none of.
    pub async fn timeline(
        self: &Arc<Self>,
        machine: Arc<Machine>,
        question: Question,
        buckets: usize,
    ) -> Result<Timeline, Problem> {
        self.think(move |service| service.timeline_now(&machine, &question, buckets)).await
    }

    fn timeline_now(
        &self,
        machine: &Machine,
        question: &Question,
        buckets: usize,
    ) -> Result<Timeline, Problem> {
        let now = self.now().max(machine.clock());
        let (from, to) = question.ends(now)?;
        let grid = Grid::of(from, to, buckets);
        let uid = match &question.schedule {
            Some(name) => Some(machine.named(name).ok_or_else(|| no_such(name))?.uid),
            None => None,
        };
        let stretch = Stretch {
            from,
            to,
            namespace: question.namespace.as_deref(),
            uid,
            next: question.next.as_deref(),
        };
        let mut tallies: Vec<Tally> = (0..grid.count).map(|_| Tally::default()).collect();
        let counted = self.records().count(machine, &stretch, &mut |seen| {
            if let Some(tally) = tallies.get_mut(grid.place(seen.nominal())) {
                tally.add(seen, machine);
            }
        })?;
        // What is to come belongs to the first answer only, so that the answers can be added up.
        let planned = match question.next {
            Some(_) => planned::Planned::nothing(grid.count),
            None => self.planned(machine, &grid, now, uid, question.namespace.as_deref()),
        };
        let buckets = tallies.into_iter().zip(planned.counts).enumerate().map(|(place, (tally, planned))| {
            Bucket { from: Instant(grid.start(place)), counts: tally.counts(), planned }
        });
        Ok(Timeline {
            after: Instant(from),
            before: Instant(to),
            bucket_ms: grid.width.as_millis(),
            buckets: buckets.collect(),
            complete: counted.complete,
            next: counted.next,
            planned_complete: planned.complete,
        })
    }
}

/// Buckets of one width over a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    from: Timestamp,
    to: Timestamp,
    width: Span,
    count: usize,
}

impl Grid {
    /// At most so many buckets, which hold the whole stretch.
    fn of(from: Timestamp, to: Timestamp, most: usize) -> Self {
        let length = to.since(from).as_millis();
        let width = length.div_ceil(most.max(1) as u64).max(1);
        let count = usize::try_from(length.div_ceil(width)).unwrap_or(most);
        Self { from, to, width: Span::from_millis(width), count }
    }

    /// The bucket of an instant of the stretch.
    fn place(&self, at: Timestamp) -> usize {
        usize::try_from(at.since(self.from).as_millis() / self.width.as_millis()).unwrap_or(usize::MAX)
    }

    /// The first instant of a bucket.
    fn start(&self, place: usize) -> Timestamp {
        self.from + Span::from_millis(self.width.as_millis().saturating_mul(place as u64))
    }

    /// The first instant behind a bucket.
    fn end(&self, place: usize) -> Timestamp {
        self.start(place + 1).min(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instant_of_a_stretch_has_its_bucket_and_no_bucket_is_empty_of_time() {
        for (length, most) in [(1, 1), (1, 500), (7, 3), (60_000, 60), (86_400_001, 500), (499, 500)] {
            let from = Timestamp::from_millis(-5);
            let grid = Grid::of(from, from + Span::from_millis(length), most);
            assert!(grid.count <= most && grid.count >= 1, "{length} in {most}: {grid:?}");
            for place in 0..grid.count {
                let (start, end) = (grid.start(place), grid.end(place));
                assert!(start < end, "{length} in {most}: {place}");
                let last = end - Span::from_millis(1);
                assert_eq!((grid.place(start), grid.place(last)), (place, place), "{length} in {most}");
            }
            assert_eq!(grid.end(grid.count - 1), grid.to);
        }
    }
}
