//! The nominal instants of a definition: the union of its specs, minus exclusions, inside its window. Equal instants merge.
//!
//! Every search is exclusive. Only the proposer calls this; it reads zones by way of [`crate::cron`].

mod count;
mod mask;
mod source;

use std::sync::Arc;

use crate::calendar::Calendar;
use crate::cron::{CronCache, CronError, Occurrence};
use crate::definition::Definition;
use crate::id::LogIndex;
use crate::rrule::RuleCache;
use crate::spec::{Exclusion, Spec, Window};
use crate::time::{Span, Timestamp};

use mask::Mask;
use source::Source;

/// How many instants in a row of one spec a search passes over since they are excluded: of a daily spec almost three years,
/// and each jump goes to the end of what is excluded. More are taken to be excluded for ever, at create as well as at a
/// tick, so that no plan takes longer than a few milliseconds.
const MAX_JUMPS: usize = 1_000;

/// How often exclusions may take turns in covering what follows before a day is looked at as a whole.
const MAX_TURNS: usize = 16;

/// The instants of one definition, ready to be searched.
#[derive(Debug, Clone)]
pub struct Series {
    parts: Vec<Part>,
    window: Window,
    rules_at: LogIndex,
}

/// The instants of one spec, and what is taken out of them.
#[derive(Debug, Clone)]
struct Part {
    source: Source,
    masks: Vec<Mask>,
}

/// Parsed patterns and rules by their texts, bounded.
#[derive(Debug, Default)]
pub struct Texts {
    /// Of cron specs and exclusions.
    pub crons: CronCache,
    /// Of recurrence rules.
    pub rules: RuleCache,
}

/// The calendars that exclusions may name, at one place of the log.
pub trait Calendars {
    /// The calendar of that name.
    fn calendar(&self, name: &str) -> Option<Arc<Calendar>>;
    /// What it held before, each with the last instant for which it counts, the newest last: a change counts from its commit,
    /// as an edit does.
    fn before(&self, _name: &str) -> Vec<(Arc<Calendar>, Timestamp)> {
        Vec::new()
    }
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

/// What cannot be evaluated.
#[derive(Debug, Clone)]
pub struct BadSpec {
    /// Whether it is a spec or an exclusion.
    pub list: List,
    /// Its place in its list.
    pub place: usize,
    /// What is wrong with it.
    pub error: CronError,
}

/// The two lists of a definition that are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// When.
    Specs,
    /// When not.
    Exclude,
}

impl std::fmt::Display for BadSpec {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = match self.list {
            List::Specs => "specs",
            List::Exclude => "exclude",
        };
        write!(out, "/{list}/{} cannot be evaluated: {}", self.place, self.error)
    }
}

impl Series {
    /// The instants of a definition; parsed texts come from the cache.
    ///
    /// # Errors
    /// The first spec or exclusion that cannot be evaluated.
    pub fn of(
        definition: &Definition,
        calendars: &impl Calendars,
        texts: &mut Texts,
    ) -> Result<Self, BadSpec> {
        Self::of_specs(&definition.specs, &definition.exclude, definition.window, calendars, texts)
    }

    /// The instants of specs, minus exclusions, inside a window.
    ///
    /// # Errors
    /// The first spec or exclusion that cannot be evaluated.
    pub fn of_specs(
        specs: &[Spec],
        exclude: &[Exclusion],
        window: Window,
        calendars: &impl Calendars,
        texts: &mut Texts,
    ) -> Result<Self, BadSpec> {
        let mut parts = Vec::with_capacity(specs.len());
        for (place, spec) in specs.iter().enumerate() {
            let bad = |error| BadSpec { list: List::Specs, place, error };
            let source = Source::of(spec, texts).map_err(bad)?;
            let masks = Mask::all(exclude, spec.time_zone(), calendars, texts)?;
            parts.push(Part { source, masks });
        }
        Ok(Self { parts, window, rules_at: calendars.changed_at() })
    }

    /// The place of the last change of calendars and zones that it was made with.
    #[must_use]
    pub fn rules_at(&self) -> LogIndex {
        self.rules_at
    }

    /// The first instant strictly after `after`.
    #[must_use]
    pub fn next(&self, after: Timestamp) -> Option<Occurrence> {
        self.next_of(after).map(|(_, occurrence)| occurrence)
    }

    /// The first instant strictly after `after`, and the place of the first spec that makes it.
    #[must_use]
    pub fn next_of(&self, after: Timestamp) -> Option<(usize, Occurrence)> {
        let after = match self.window.start_at {
            Some(start) if start > after => start - Span::from_millis(1),
            _ => after,
        };
        let all = self.parts.iter().enumerate();
        let first = all
            .filter_map(|(place, part)| part.next(after).map(|occurrence| (place, occurrence)))
            .min_by_key(|(_, occurrence)| occurrence.at)?;
        self.window.end_at.is_none_or(|end| first.1.at <= end).then_some(first)
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
        self.next(at - Span::from_millis(1)).is_some_and(|occurrence| occurrence.at == at)
    }

    /// How many instants are in `(after, until]`: by arithmetic for one spec without exclusions, by sets of seconds, a day
    /// at a time, for others. No instant is visited.
    #[must_use]
    pub fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        let after = self.window.start_at.map_or(after, |start| after.max(start - Span::from_millis(1)));
        let until = self.window.end_at.map_or(until, |end| until.min(end));
        match &*self.parts {
            _ if until <= after => 0,
            [Part { source, masks }] if masks.is_empty() => source.count(after, until),
            parts => count::count(parts, after, until),
        }
    }
}

impl Part {
    fn next(&self, after: Timestamp) -> Option<Occurrence> {
        let mut after = after;
        for _ in 0..MAX_JUMPS {
            let found = self.source.next(after)?;
            if !self.covers(found.at) {
                return Some(found);
            }
            let free = match self.uncovered_from(found.at)? {
                Ok(free) => free,
                // Exclusions that take turns: the instants of a day at once.
                Err(_) => count::first_of_day(self, found.at).unwrap_or_else(|end| end),
            };
            after = free - Span::from_millis(1);
        }
        None
    }

    fn prev(&self, before: Timestamp) -> Option<Occurrence> {
        let mut before = before;
        for _ in 0..MAX_JUMPS {
            let found = self.source.prev(before)?;
            if !self.covers(found.at) {
                return Some(found);
            }
            // The instants of the day up to this one at once; then the one that is left, or the day before.
            before = count::last_of_day(self, found.at).map_or_else(|start| start, |last| last.successor());
        }
        None
    }

    fn covers(&self, at: Timestamp) -> bool {
        self.masks.iter().any(|mask| mask.covers(at))
    }

    /// The first instant at or after `at` that no exclusion covers; none when one of them covers all. `Err` when they take
    /// turns for so long that it is not worth while to go on.
    fn uncovered_from(&self, at: Timestamp) -> Option<Result<Timestamp, Timestamp>> {
        let mut free = at;
        for _ in 0..MAX_TURNS {
            let before = free;
            for mask in &self.masks {
                free = mask.uncovered_from(free)?;
            }
            if free == before {
                return Some(Ok(free));
            }
        }
        Some(Err(free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn every(secs: u64, anchor: i64) -> Spec {
        Spec::Every { every: Span::from_secs(secs), anchor: Timestamp::from_millis(anchor) }
    }

    fn series(specs: &[Spec], window: Window) -> Series {
        Series::of_specs(specs, &[], window, &NoCalendars, &mut Texts::default()).expect("specs without cron")
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
