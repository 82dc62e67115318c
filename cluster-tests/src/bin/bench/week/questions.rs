//! What `explain` is asked about the week: instants of every kind, picked by the dice while the rows pass, as many of each.
//!
//! A kind says how an instant was picked, not what the answer must be: an edited schedule may be paused too.

use std::collections::BTreeMap;

use campanile_cluster_tests::seed::Dice;
use campanile_core::event::{Event, Row, SkipReason};
use campanile_core::firing::Kind;
use campanile_core::id::Uid;
use campanile_core::time::{Span, Timestamp};

use super::schedules;

/// So many of each kind.
const EACH: usize = 40;
/// Seconds from the start of the week, half past a minute, to the next whole one.
const PAST_MINUTE: u64 = 30;

/// How an instant was picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Picked {
    Fired,
    JustAfter,
    Overlap,
    PausedGap,
    OtherSkip,
    BeforeAnEdit,
    Backfilled,
    BeforeTheWeek,
    Excluded,
    Anywhere,
}

/// One question: the schedule and the instant.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) name: String,
    pub(super) at: Timestamp,
}

/// A sample of what was met, each as likely as the other.
#[derive(Debug, Default)]
struct Sample {
    met: u64,
    kept: Vec<(Uid, Timestamp)>,
}

/// Picks while the rows pass.
#[derive(Debug)]
pub(super) struct Questions {
    dice: Dice,
    names: BTreeMap<Uid, String>,
    samples: BTreeMap<Picked, Sample>,
}

impl Questions {
    pub(super) fn new(dice: Dice) -> Self {
        Self { dice, names: BTreeMap::new(), samples: BTreeMap::new() }
    }

    /// Looks at a row that was told.
    pub(super) fn see(&mut self, row: &Row) {
        match &row.event {
            Event::Defined { uid, name, revision, .. } => {
                self.names.insert(*uid, name.to_string());
                if revision.0 > 1 {
                    self.meet(Picked::BeforeAnEdit, *uid, row.at - Span::from_secs(3_600));
                }
            }
            Event::Fired { firing, kind: Kind::Backfill(_), .. } => {
                self.meet(Picked::Backfilled, firing.uid, firing.nominal);
            }
            Event::Fired { firing, .. } => {
                self.meet(Picked::Fired, firing.uid, firing.nominal);
                self.meet(Picked::JustAfter, firing.uid, firing.nominal + Span::from_secs(1));
            }
            Event::Skipped { uid, reason, to, .. } => {
                let picked = match reason {
                    SkipReason::Overlap => Picked::Overlap,
                    SkipReason::PausedGap => Picked::PausedGap,
                    _ => Picked::OtherSkip,
                };
                self.meet(picked, *uid, *to);
            }
            _ => {}
        }
    }

    /// Keeps each that was met with the same chance.
    fn meet(&mut self, picked: Picked, uid: Uid, at: Timestamp) {
        let sample = self.samples.entry(picked).or_default();
        sample.met += 1;
        if sample.kept.len() < EACH {
            sample.kept.push((uid, at));
            return;
        }
        let place = self.dice.below(sample.met) as usize;
        if let Some(kept) = sample.kept.get_mut(place) {
            *kept = (uid, at);
        }
    }

    /// All of them, in an order that the dice make: neighbours would warm each other's pages.
    pub(super) fn all(mut self, schedules: usize, start: Timestamp, week: Span) -> Vec<(Picked, Question)> {
        let samples = std::mem::take(&mut self.samples);
        let mut all = Vec::new();
        for (picked, sample) in samples {
            let named = |(uid, at): &(Uid, Timestamp)| Some((picked, self.names.get(uid)?.clone(), *at));
            all.extend(sample.kept.iter().filter_map(named));
        }
        for _ in 0..EACH {
            all.push(self.somewhere(Picked::Anywhere, schedules, start, week));
            all.push(self.somewhere(Picked::BeforeTheWeek, schedules, start - week, week));
            all.push(self.excluded(schedules, start, week));
        }
        for last in (1..all.len()).rev() {
            all.swap(last, self.dice.below(last as u64 + 1) as usize);
        }
        all.into_iter().map(|(picked, name, at)| (picked, Question { name, at })).collect()
    }

    /// Any minute of a span.
    fn somewhere(
        &mut self,
        picked: Picked,
        schedules: usize,
        from: Timestamp,
        span: Span,
    ) -> (Picked, String, Timestamp) {
        let minute = self.dice.below(span.as_millis() / 60_000);
        let n = self.dice.below(schedules as u64) as usize;
        (picked, schedules::name(n), from + Span::from_secs(PAST_MINUTE + 60 * minute))
    }

    /// An instant at noon of a schedule in UTC that leaves noon out.
    fn excluded(&mut self, schedules: usize, start: Timestamp, week: Span) -> (Picked, String, Timestamp) {
        let n = schedules::without_noon(self.dice.below(schedules as u64) as usize, schedules);
        let day = self.dice.below(week.as_millis() / 86_400_000);
        let at = start + Span::from_secs(PAST_MINUTE + 86_400 * day + 12 * 3_600 + 6 * 60);
        (Picked::Excluded, schedules::name(n), at)
    }
}
