//! The nominal instants of a definition: the union of its specs inside its window. Equal instants merge.
//!
//! Every search is exclusive. Only the proposer calls this; it reads zones by way of [`crate::cron`].

use std::sync::Arc;

use crate::calendar::Calendar;
use crate::cron::{Cron, CronCache, CronError, Note, Occurrence};
use crate::definition::Definition;
use crate::id::LogIndex;
use crate::spec::{Spec, Window};
use crate::time::{Span, Timestamp};

/// The instants of one definition, ready to be searched.
#[derive(Debug, Clone)]
pub struct Series {
    parts: Vec<Part>,
    window: Window,
    rules_at: LogIndex,
}

/// The calendars that exclusions may name, at one place of the log.
pub trait Calendars {
    /// The calendar of that name.
    fn calendar(&self, name: &str) -> Option<Arc<Calendar>>;
    /// Where calendars or zones were last changed.
    fn changed_at(&self) -> LogIndex;
}

/// No calendars at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCalendars;

impl Calendars for NoCalendars {
    fn calendar(&self, _: &str) -> Option<Arc<Calendar>> {
        None
    }

    fn changed_at(&self) -> LogIndex {
        LogIndex(0)
    }
}

#[derive(Debug, Clone)]
enum Part {
    Cron(Cron),
    Every { every: Span, anchor: Timestamp },
    At(Timestamp),
}

/// A spec that cannot be evaluated.
#[derive(Debug, Clone)]
pub struct BadSpec {
    /// Its place in the definition.
    pub place: usize,
    /// What is wrong with it.
    pub error: CronError,
}

impl Series {
    /// The instants of a definition; parsed patterns come from the cache.
    ///
    /// # Errors
    /// The first spec that cannot be evaluated.
    pub fn of(
        definition: &Definition,
        calendars: &impl Calendars,
        crons: &mut CronCache,
    ) -> Result<Self, BadSpec> {
        let series = Self::of_specs(&definition.specs, definition.window, crons)?;
        Ok(Self { rules_at: calendars.changed_at(), ..series })
    }

    /// The place of the last change of calendars and zones that it was made with.
    #[must_use]
    pub fn rules_at(&self) -> LogIndex {
        self.rules_at
    }

    /// The instants of specs inside a window.
    ///
    /// # Errors
    /// The first spec that cannot be evaluated.
    pub fn of_specs(specs: &[Spec], window: Window, crons: &mut CronCache) -> Result<Self, BadSpec> {
        let part = |(place, spec): (usize, &Spec)| match spec {
            Spec::Cron(cron) => {
                crons.get(&cron.as_text()).map(Part::Cron).map_err(|error| BadSpec { place, error })
            }
            Spec::Every { every, anchor } => Ok(Part::Every { every: *every, anchor: *anchor }),
            Spec::At(at) => Ok(Part::At(*at)),
            Spec::Rule(_) => Err(BadSpec { place, error: no_rules_yet() }),
        };
        let parts = specs.iter().enumerate().map(part).collect::<Result<_, _>>()?;
        Ok(Self { parts, window, rules_at: LogIndex(0) })
    }

    /// The first instant strictly after `after`.
    #[must_use]
    pub fn next(&self, after: Timestamp) -> Option<Occurrence> {
        let after = match self.window.start_at {
            Some(start) if start > after => Timestamp::from_millis(start.as_millis() - 1),
            _ => after,
        };
        let first =
            self.parts.iter().filter_map(|part| part.next(after)).min_by_key(|occurrence| occurrence.at)?;
        self.window.end_at.is_none_or(|end| first.at <= end).then_some(first)
    }

    /// The last instant strictly before `before`.
    #[must_use]
    pub fn prev(&self, before: Timestamp) -> Option<Occurrence> {
        let before = match self.window.end_at {
            Some(end) if end < before => end.successor(),
            _ => before,
        };
        let last =
            self.parts.iter().filter_map(|part| part.prev(before)).max_by_key(|occurrence| occurrence.at)?;
        self.window.start_at.is_none_or(|start| last.at >= start).then_some(last)
    }

    /// Whether this is a nominal instant.
    #[must_use]
    pub fn contains(&self, at: Timestamp) -> bool {
        self.next(Timestamp::from_millis(at.as_millis() - 1)).is_some_and(|occurrence| occurrence.at == at)
    }

    /// How many instants are in `(after, until]`: by arithmetic for one spec. A union of several is walked, since equal
    /// instants of two specs count once.
    #[must_use]
    pub fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        let after = self.window.start_at.map_or(after, |start| after.max(start - Span::from_millis(1)));
        let until = self.window.end_at.map_or(until, |end| until.min(end));
        if until <= after {
            return 0;
        }
        match &*self.parts {
            [part] => part.count(after, until),
            _ => {
                let instants = std::iter::successors(self.next(after), |occurrence| self.next(occurrence.at));
                instants.take_while(|occurrence| occurrence.at <= until).count() as u64
            }
        }
    }
}

impl Part {
    fn next(&self, after: Timestamp) -> Option<Occurrence> {
        match self {
            Self::Cron(cron) => cron.next(after),
            Self::Every { every, anchor } => {
                let steps = steps_until(*every, *anchor, after) + 1;
                on_grid(*every, *anchor, steps).map(normal)
            }
            Self::At(at) => (*at > after).then_some(normal(*at)),
        }
    }

    fn prev(&self, before: Timestamp) -> Option<Occurrence> {
        match self {
            Self::Cron(cron) => cron.prev(before),
            Self::Every { every, anchor } => {
                let last = Timestamp::from_millis(before.as_millis() - 1);
                on_grid(*every, *anchor, steps_until(*every, *anchor, last)).map(normal)
            }
            Self::At(at) => (*at < before).then_some(normal(*at)),
        }
    }

    fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        match self {
            Self::Cron(cron) => cron.count(after, until),
            Self::Every { every, anchor } => {
                let steps = |at| steps_until(*every, *anchor, at);
                (steps(until) - steps(after)).try_into().unwrap_or(0)
            }
            Self::At(at) => u64::from(*at > after && *at <= until),
        }
    }
}

fn no_rules_yet() -> CronError {
    CronError {
        kind: crate::cron::CronErrorKind::Cron,
        column: None,
        detail: "recurrence rules are not known yet".into(),
        hint: String::new(),
    }
}

fn normal(at: Timestamp) -> Occurrence {
    Occurrence { at, note: Note::Normal }
}

/// The number of the last grid instant at or before `at`; instants before the anchor have negative numbers.
fn steps_until(every: Span, anchor: Timestamp, at: Timestamp) -> i128 {
    let distance = i128::from(at.as_millis()) - i128::from(anchor.as_millis());
    distance.div_euclid(i128::from(every.as_millis().max(1)))
}

/// The grid instant of that number, if a timestamp can name it.
fn on_grid(every: Span, anchor: Timestamp, steps: i128) -> Option<Timestamp> {
    let at = i128::from(anchor.as_millis()) + steps * i128::from(every.as_millis().max(1));
    i64::try_from(at).ok().map(Timestamp::from_millis).filter(|at| *at < Timestamp::NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn every(secs: u64, anchor: i64) -> Spec {
        Spec::Every { every: Span::from_secs(secs), anchor: Timestamp::from_millis(anchor) }
    }

    fn series(specs: &[Spec], window: Window) -> Series {
        Series::of_specs(specs, window, &mut CronCache::default()).expect("specs without cron")
    }

    #[test]
    fn the_phase_of_every_comes_from_its_anchor_alone() {
        let series = series(&[every(604_800, 5_000)], Window::default());
        let week = 604_800_000;
        assert_eq!(
            series.next(Timestamp::from_millis(5_000 + 3 * week)).map(|o| o.at.as_millis()),
            Some(5_000 + 4 * week)
        );
        assert_eq!(series.next(Timestamp::from_millis(4_999)).map(|o| o.at.as_millis()), Some(5_000));
        assert_eq!(series.prev(Timestamp::from_millis(5_000)).map(|o| o.at.as_millis()), Some(5_000 - week));
    }

    #[test]
    fn a_window_is_inclusive_at_both_ends() {
        let at = Timestamp::from_millis;
        let series = series(&[every(1, 0)], Window { start_at: Some(at(2_000)), end_at: Some(at(4_000)) });
        assert_eq!(series.next(at(0)).map(|o| o.at), Some(at(2_000)));
        assert_eq!(series.next(at(3_000)).map(|o| o.at), Some(at(4_000)));
        assert_eq!(series.next(at(4_000)), None);
        assert_eq!(series.prev(at(9_000)).map(|o| o.at), Some(at(4_000)));
        assert_eq!(series.prev(at(2_000)), None);
        assert_eq!(series.count(at(0), at(60_000)), 3);
    }

    proptest! {
        #[test]
        fn a_union_merges_equal_instants_and_its_count_is_its_walk(
            a in 1u64..30, b in 1u64..30, anchor in -10_000i64..10_000, from in -100_000i64..100_000, length in 0i64..300_000
        ) {
            let series = series(&[every(a, anchor), every(b, 0)], Window::default());
            let (from, until) = (Timestamp::from_millis(from), Timestamp::from_millis(from + length));
            let mut walked = Vec::new();
            let mut at = from;
            while let Some(occurrence) = series.next(at).filter(|occurrence| occurrence.at <= until) {
                prop_assert!(occurrence.at > at);
                prop_assert!(series.contains(occurrence.at));
                prop_assert_eq!(series.prev(occurrence.at.successor()).map(|o| o.at), Some(occurrence.at));
                walked.push(occurrence.at);
                at = occurrence.at;
            }
            prop_assert_eq!(series.count(from, until), walked.len() as u64);
        }
    }
}
