//! One spec as a source of instants: next, previous, count, and the set of a day.

use crate::cron::{Cron, CronError, Note, Occurrence, SecondSet};
use crate::rrule::Rule;
use crate::spec::Spec;
use crate::time::{Span, Timestamp};

use super::Texts;

/// A spec, ready to be searched.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Cron(Cron),
    Rule(Rule),
    Every { every: Span, anchor: Timestamp },
    At(Timestamp),
}

impl Source {
    pub(super) fn of(spec: &Spec, texts: &mut Texts) -> Result<Self, CronError> {
        match spec {
            Spec::Cron(cron) => texts.crons.get(&cron.as_text()).map(Self::Cron),
            Spec::Rule(rule) => texts.rules.get(&rule.as_text()).map(Self::Rule),
            Spec::Every { every, anchor } => Ok(Self::Every { every: *every, anchor: *anchor }),
            Spec::At(at) => Ok(Self::At(*at)),
        }
    }

    pub(super) fn next(&self, after: Timestamp) -> Option<Occurrence> {
        match self {
            Self::Cron(cron) => cron.next(after),
            Self::Rule(rule) => rule.next(after),
            Self::Every { every, anchor } => {
                on_grid(*every, *anchor, steps_until(*every, *anchor, after) + 1).map(normal)
            }
            Self::At(at) => (*at > after).then_some(normal(*at)),
        }
    }

    pub(super) fn prev(&self, before: Timestamp) -> Option<Occurrence> {
        match self {
            Self::Cron(cron) => cron.prev(before),
            Self::Rule(rule) => rule.prev(before),
            Self::Every { every, anchor } => {
                let last = before - Span::from_millis(1);
                on_grid(*every, *anchor, steps_until(*every, *anchor, last)).map(normal)
            }
            Self::At(at) => (*at < before).then_some(normal(*at)),
        }
    }

    /// How many instants are in `(after, until]`.
    pub(super) fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        match self {
            Self::Cron(cron) => cron.count(after, until),
            Self::Rule(rule) => rule.count(after, until),
            Self::Every { every, anchor } => {
                let steps = |at| steps_until(*every, *anchor, at);
                (steps(until) - steps(after)).try_into().unwrap_or(0)
            }
            Self::At(at) => u64::from(*at > after && *at <= until),
        }
    }

    /// The milliseconds behind a whole second at which all its instants stand: cron and rules name whole seconds, and an
    /// interval is a whole number of them.
    pub(super) fn millis(&self) -> i64 {
        match self {
            Self::Cron(_) | Self::Rule(_) => 0,
            Self::Every { anchor: at, .. } | Self::At(at) => at.as_millis().rem_euclid(1000),
        }
    }

    /// Adds the second of each instant in the block.
    pub(super) fn mark(&self, into: &mut SecondSet) {
        match self {
            Self::Cron(cron) => cron.mark(into),
            Self::Every { every, anchor } => {
                let step = i64::try_from(every.as_millis() / 1000).unwrap_or(i64::MAX).max(1);
                into.insert_steps(anchor.as_millis().div_euclid(1000), step);
            }
            Self::Rule(_) | Self::At(_) => {
                let (first, end) = (into.first(), into.end());
                let mut after = Timestamp::from_millis(first.saturating_mul(1000)) - Span::from_millis(1);
                while let Some(found) = self.next(after) {
                    let second = found.at.as_millis().div_euclid(1000);
                    if second >= end {
                        break;
                    }
                    into.insert(second);
                    after = found.at;
                }
            }
        }
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
