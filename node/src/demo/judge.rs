//! Whether every instant came, and came once: judged from what arrived alone, against the instants that the specs name.
//!
//! It knows nothing of nodes or of the ledger. An instant that has not come is *on its way* as long as the lease of a node
//! that was killed may still run; after that it is missing. The same attempt twice, or two firings of one instant, are
//! doubled. The same firing in a later attempt is *again*: at least once is what was promised.

use std::collections::BTreeMap;

use campanile_core::series::Series;
use campanile_core::time::{Span, Timestamp};

/// What arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) schedule: String,
    pub(super) nominal: Timestamp,
    pub(super) firing: String,
    pub(super) attempt: u32,
    pub(super) fencing_token: u64,
    pub(super) node: String,
    pub(super) at: Timestamp,
}

/// The judge of all schedules.
#[derive(Debug)]
pub(super) struct Judge {
    patience: Span,
    schedules: BTreeMap<String, Record>,
}

#[derive(Debug)]
struct Record {
    series: Series,
    seen: BTreeMap<Timestamp, (String, u32)>,
    doubled: u64,
    again: u64,
}

/// How one schedule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Score {
    pub(super) seen: u64,
    pub(super) missing: u64,
    pub(super) on_the_way: u64,
    pub(super) doubled: u64,
    pub(super) again: u64,
}

impl Score {
    pub(super) fn is_clean(self) -> bool {
        self.missing == 0 && self.doubled == 0
    }
}

impl Judge {
    pub(super) fn new(schedules: impl IntoIterator<Item = (String, Series)>, patience: Span) -> Self {
        let record = |series| Record { series, seen: BTreeMap::new(), doubled: 0, again: 0 };
        Self {
            patience,
            schedules: schedules.into_iter().map(|(name, series)| (name, record(series))).collect(),
        }
    }

    /// Takes an arrival in; one of a schedule that was not announced is not judged.
    pub(super) fn hear(&mut self, arrival: &Arrival) {
        let Some(record) = self.schedules.get_mut(&arrival.schedule) else { return };
        match record.seen.get_mut(&arrival.nominal) {
            Some((firing, attempt)) if *firing == arrival.firing && *attempt != arrival.attempt => {
                *attempt = arrival.attempt.max(*attempt);
                record.again += 1;
            }
            Some(_) => record.doubled += 1,
            None => {
                record.seen.insert(arrival.nominal, (arrival.firing.clone(), arrival.attempt));
            }
        }
    }

    /// How each schedule that has fired stands at `now`, its instants up to `until` counted.
    pub(super) fn scores(&self, until: Timestamp, now: Timestamp) -> impl Iterator<Item = (&str, Score)> {
        self.schedules
            .iter()
            .filter(|(_, record)| !record.seen.is_empty())
            .map(move |(name, record)| (name.as_str(), record.score(until, now, self.patience)))
    }
}

impl Record {
    /// From the first instant that came, whatever that was, every one of the series is due.
    fn score(&self, until: Timestamp, now: Timestamp, patience: Span) -> Score {
        let mut score = Score {
            seen: self.seen.len() as u64,
            doubled: self.doubled,
            again: self.again,
            ..Score::default()
        };
        let first = self.seen.keys().next().copied();
        let due = std::iter::successors(first, |at| self.series.next(*at).map(|occurrence| occurrence.at));
        for instant in due.take_while(|at| *at <= until).filter(|at| !self.seen.contains_key(at)) {
            if instant + patience < now { score.missing += 1 } else { score.on_the_way += 1 }
        }
        // What came although no spec names it was never due.
        score.doubled += self.seen.keys().filter(|at| !self.series.contains(**at)).count() as u64;
        score
    }
}

#[cfg(test)]
mod tests {
    use campanile_core::spec::{Spec, Window};

    use campanile_core::series::{NoCalendars, Texts};

    use super::*;

    fn judge() -> Judge {
        let spec = Spec::Every { every: Span::from_secs(1), anchor: Timestamp::EPOCH };
        let series = Series::of_specs(&[spec], &[], Window::default(), &NoCalendars, &mut Texts::default())
            .expect("a spec without cron");
        Judge::new([("s".to_owned(), series)], Span::from_secs(10))
    }

    fn arrival(second: i64, firing: &str, attempt: u32) -> Arrival {
        Arrival {
            schedule: "s".into(),
            nominal: Timestamp::from_millis(second * 1_000),
            firing: firing.into(),
            attempt,
            fencing_token: 1,
            node: "1".into(),
            at: Timestamp::from_millis(second * 1_000),
        }
    }

    fn score(arrivals: &[Arrival], now: i64) -> Score {
        let mut judge = judge();
        arrivals.iter().for_each(|arrival| judge.hear(arrival));
        let now = Timestamp::from_millis(now * 1_000);
        judge.scores(now, now).next().map(|(_, score)| score).unwrap_or_default()
    }

    #[test]
    fn a_hole_is_on_its_way_until_the_patience_is_over_and_then_missing() {
        let came = [arrival(1, "a", 1), arrival(2, "b", 1), arrival(4, "d", 1)];
        assert_eq!(score(&came, 4), Score { seen: 3, on_the_way: 1, ..Score::default() });
        assert_eq!(score(&came, 14), Score { seen: 3, on_the_way: 10, missing: 1, ..Score::default() });
    }

    #[test]
    fn a_later_attempt_is_again_and_everything_else_that_comes_twice_is_doubled() {
        let first = arrival(1, "a", 1);
        assert_eq!(
            score(&[first.clone(), arrival(1, "a", 2)], 1),
            Score { seen: 1, again: 1, ..Score::default() }
        );
        assert_eq!(
            score(&[first.clone(), first.clone()], 1),
            Score { seen: 1, doubled: 1, ..Score::default() }
        );
        assert_eq!(
            score(&[first, arrival(1, "other", 2)], 1),
            Score { seen: 1, doubled: 1, ..Score::default() }
        );
    }

    #[test]
    fn an_instant_that_no_spec_names_is_a_flaw() {
        let mut odd = arrival(1, "a", 1);
        odd.nominal = Timestamp::from_millis(1_500);
        assert!(!score(&[odd], 2).is_clean());
    }
}
