//! The nominal instants of a definition: the union of its specs, minus exclusions, inside its window. Equal instants merge.
//!
//! Every search is exclusive. Only the proposer calls this; it reads zones by way of [`crate::cron`].

mod count;
mod mask;
mod part;
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
use part::Part;
use source::Source;

/// How far every spec is looked at before any of them is looked at further. Where another one has an instant so near, a
/// spec that is excluded for years costs a tick a day of it and not all of them.
const NEAR: Span = Span::from_secs(86_400);

/// The instants of one definition, ready to be searched.
#[derive(Debug, Clone)]
pub struct Series {
    parts: Vec<Part>,
    window: Window,
    rules_at: LogIndex,
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
        let (after, last) = self.in_window(after, Timestamp::NEVER);
        self.first_up_to(after, last.min(after + NEAR)).or_else(|| self.first_up_to(after, last))
    }

    /// The last instant strictly before `before`.
    #[must_use]
    pub fn prev(&self, before: Timestamp) -> Option<Occurrence> {
        let until = before - Span::from_millis(1);
        self.last_in(until - NEAR, until).or_else(|| self.last_in(Timestamp::from_millis(i64::MIN), until))
    }

    /// The last instant in `(after, until]`. What lies before that is not looked at.
    #[must_use]
    pub fn last_in(&self, after: Timestamp, until: Timestamp) -> Option<Occurrence> {
        let (mut after, until) = self.in_window(after, until);
        let (before, mut last) = (until.successor(), None);
        for part in &self.parts {
            if let Some(found) = part.prev(before, after) {
                after = found.at;
                last = Some(found);
            }
        }
        last
    }

    /// The first and the last instant in `(after, until]`. What lies outside of that is not looked at.
    #[must_use]
    pub fn ends_in(&self, after: Timestamp, until: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let (after, until) = self.in_window(after, until);
        let (_, first) = self.first_up_to(after, until)?;
        Some((first.at, self.last_in(after, until)?.at))
    }

    /// As much of `(after, until]` as is in the window.
    fn in_window(&self, after: Timestamp, until: Timestamp) -> (Timestamp, Timestamp) {
        let after = self.window.start_at.map_or(after, |start| after.max(start - Span::from_millis(1)));
        (after, self.window.end_at.map_or(until, |end| until.min(end)))
    }

    /// The first instant in `(after, until]`, and the place of the first spec that makes it.
    fn first_up_to(&self, after: Timestamp, until: Timestamp) -> Option<(usize, Occurrence)> {
        let (mut until, mut first) = (until, None);
        for (place, part) in self.parts.iter().enumerate() {
            if let Some(found) = part.next(after, until) {
                until = found.at - Span::from_millis(1);
                first = Some((place, found));
            }
        }
        first
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
        let (after, until) = self.in_window(after, until);
        match &*self.parts {
            _ if until <= after => 0,
            [Part { source, masks }] if masks.is_empty() => source.count(after, until),
            parts => count::count(parts, after, until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cron::{DayMatch, DstGap, DstOverlap, SecondSet};
    use crate::spec::CronSpec;
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

    #[test]
    fn a_spec_that_is_excluded_for_ever_costs_those_beside_it_a_few_days_and_not_years() {
        let never = CronSpec {
            text: "*/3 * * * * *".into(),
            time_zone: "UTC".into(),
            day_match: DayMatch::Any,
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::First,
        };
        let (specs, exclude) = ([every(6, 0), every(7, 0)], [Exclusion::Cron(Box::new(never))]);
        let all = Window::default();
        let series = Series::of_specs(&specs, &exclude, all, &NoCalendars, &mut Texts::default());
        let series = series.expect("specs and an exclusion");
        let at = |secs: i64| Timestamp::from_millis(secs * 1000);
        // 700 s is left, 693 s is a multiple of 3.
        let before = SecondSet::made();
        assert_eq!(series.last_in(at(670), at(699)).map(|o| o.at), Some(at(686)));
        assert!(SecondSet::made() - before < 1_000, "{} seconds", SecondSet::made() - before);
        assert_eq!(series.prev(at(699)).map(|o| o.at), Some(at(686)));
        assert_eq!(series.next(at(686)).map(|o| o.at), Some(at(700)));
        assert!(SecondSet::made() - before < 10 * 86_400, "{} seconds", SecondSet::made() - before);
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
