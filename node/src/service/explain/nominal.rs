//! Whether an instant is one of a definition, and why not.

use campanile_core::cron::{DstGap, DstOverlap, Note, Occurrence, local_text};
use campanile_core::definition::Definition;
use campanile_core::english;
use campanile_core::plan::Planner;
use campanile_core::series::{Series, Texts};
use campanile_core::spec::{Exclusion, Spec, Window};
use campanile_core::state::State;
use campanile_core::time::{Span, Timestamp};

/// Gaps and overlaps of daylight saving are no longer than this.
const DST: Span = Span::from_secs(3 * 3600);
const MINUTE: i64 = 60_000;

/// What the specs say of an instant.
#[derive(Debug, Default)]
pub(super) struct Nominal {
    /// Whether it is one; `None` when that cannot be evaluated here.
    pub(super) is: Option<bool>,
    /// How it stands to daylight saving, when it is one.
    pub(super) note: Option<Note>,
    /// The last one before it.
    pub(super) before: Option<Occurrence>,
    /// The first one behind it.
    pub(super) after: Option<Occurrence>,
    /// One in the same minute, when it is none.
    pub(super) same_minute: Option<Timestamp>,
    /// The exclusion that takes it out: its place, and in English.
    pub(super) excluded: Option<(usize, String)>,
    /// The end of the window that it is outside of.
    pub(super) outside: Option<Outside>,
    /// What daylight saving made of it.
    pub(super) dst: Option<Dst>,
    /// What cannot be evaluated.
    pub(super) trouble: Option<String>,
    /// The instant on the wall clock of the first spec's zone.
    pub(super) local: Option<String>,
    /// That zone.
    pub(super) zone: String,
}

/// Outside of the window of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    /// Before `start_at`.
    Before(Timestamp),
    /// Behind `end_at`.
    Behind(Timestamp),
}

/// What daylight saving made of an instant that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dst {
    /// The wall time does not exist; it is due at the first instant after the gap.
    MovedTo(Timestamp),
    /// The wall time does not exist, and the spec leaves it out then.
    LeftOut,
    /// The wall time exists twice, and the spec takes the other pass.
    OtherPass {
        /// Whether the instant is the second of them.
        is_second: bool,
    },
}

impl Nominal {
    /// What a definition says of an instant, under the calendars as they stand.
    pub(super) fn of(definition: &Definition, state: &State, at: Timestamp, planner: &mut Planner) -> Self {
        let zone = definition.specs.first().map_or("UTC", Spec::time_zone).to_owned();
        let local = local_text(at, &zone);
        let series = match planner.series(state, definition) {
            Ok(series) => series,
            Err(bad) => return Self { trouble: Some(bad.to_string()), local, zone, ..Self::default() },
        };
        let own = series.next(at - Span::from_millis(1)).filter(|found| found.at == at);
        let mut nominal = Self {
            is: Some(own.is_some()),
            note: own.map(|found| found.note),
            before: series.prev(at),
            after: series.next(at),
            local,
            zone,
            ..Self::default()
        };
        if own.is_none() {
            nominal.same_minute = same_minute(&series, at);
            nominal.why_not(definition, state, at, planner.texts());
        }
        nominal
    }

    fn why_not(&mut self, definition: &Definition, state: &State, at: Timestamp, texts: &mut Texts) {
        let Definition { specs, exclude, window, .. } = definition;
        let has = |specs: &[Spec], exclude: &[Exclusion], texts: &mut Texts| {
            Series::of_specs(specs, exclude, Window::default(), state, texts)
                .ok()
                .and_then(|series| series.next(at - Span::from_millis(1)).filter(|found| found.at == at))
        };
        if has(specs, &[], texts).is_some() {
            let outside = match (window.start_at, window.end_at) {
                (Some(start), _) if at < start => Some(Outside::Before(start)),
                (_, Some(end)) if at > end => Some(Outside::Behind(end)),
                _ => None,
            };
            let place = exclude.iter().position(|it| has(specs, std::slice::from_ref(it), texts).is_none());
            self.outside = outside;
            self.excluded = place.map(|place| (place, in_english(&exclude[place], texts)));
            return;
        }
        let lenient: Vec<Spec> = specs.iter().map(lenient).collect();
        self.dst = match has(&lenient, &[], texts).map(|found| found.note) {
            Some(Note::MovedFromGap) => Some(Dst::LeftOut),
            Some(Note::FirstPass) => Some(Dst::OtherPass { is_second: false }),
            Some(Note::SecondPass) => Some(Dst::OtherPass { is_second: true }),
            _ => self.moved_near(at),
        };
    }

    /// An instant that was moved out of a gap close by is the one that was meant.
    fn moved_near(&self, at: Timestamp) -> Option<Dst> {
        let is_near = |found: &&Occurrence| {
            found.note == Note::MovedFromGap && at.since(found.at).max(found.at.since(at)) <= DST
        };
        [self.before, self.after].iter().flatten().find(is_near).map(|found| Dst::MovedTo(found.at))
    }
}

/// The first instant of the same minute.
fn same_minute(series: &Series, at: Timestamp) -> Option<Timestamp> {
    let start = at.as_millis().div_euclid(MINUTE) * MINUTE;
    let next = series.next(Timestamp::from_millis(start - 1))?;
    (next.at.as_millis() < start + MINUTE).then_some(next.at)
}

/// The same spec, leaving nothing out for daylight saving.
fn lenient(spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    match &mut spec {
        Spec::Cron(cron) => (cron.dst_gap, cron.dst_overlap) = (DstGap::RunAfter, DstOverlap::Both),
        Spec::Rule(rule) => (rule.dst_gap, rule.dst_overlap) = (DstGap::RunAfter, DstOverlap::Both),
        Spec::Every { .. } | Spec::At(_) => {}
    }
    spec
}

/// An exclusion as the text of a schedule has it: what stands behind "but not".
fn in_english(exclusion: &Exclusion, texts: &mut Texts) -> String {
    let text = english::describe(&[], std::slice::from_ref(exclusion), texts);
    text.strip_prefix(", but not ").unwrap_or(&text).to_owned()
}
