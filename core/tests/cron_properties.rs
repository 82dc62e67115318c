//! Properties of cron texts: an independent reading of every second around time changes agrees with the search, and
//! next, prev and count agree with each other anywhere.
//!
//! proptest prints the seed and the smallest failing case. PROPTEST_CASES=20000 looks further.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod cron_reference;

use campanile_core::cron::{Class, Cron, CronText, DayMatch, DstGap, DstOverlap, Note, Occurrence};
use campanile_core::time::Timestamp;
use cron_reference::{Reference, ZONES, changes, spec};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

fn parse(spec: &Reference) -> Option<Cron> {
    let text = spec.text();
    let cron = Cron::parse(&CronText {
        text: &text,
        time_zone: spec.zone,
        day_match: spec.day_match,
        dst_gap: spec.dst_gap,
        dst_overlap: spec.dst_overlap,
    });
    match cron {
        Ok(cron) => Some(cron),
        Err(error) if error.detail.contains("never fires") => None,
        Err(error) => panic!("{text}: {error:?}"),
    }
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn told(found: Occurrence) -> (i64, Note) {
    (found.at.as_millis() / 1000, found.note)
}

/// All seconds in (`after`, `until`], by next.
fn walk(cron: &Cron, after: i64, until: i64) -> Vec<(i64, Note)> {
    std::iter::successors(cron.next(second(after)), |found| cron.next(found.at))
        .map(told)
        .take_while(|(at, _)| *at <= until)
        .collect()
}

/// All seconds in (`after`, `until`], by prev from the end.
fn walk_back(cron: &Cron, after: i64, until: i64) -> Vec<(i64, Note)> {
    let mut found: Vec<_> = std::iter::successors(cron.prev(second(until + 1)), |found| cron.prev(found.at))
        .map(told)
        .take_while(|(at, _)| *at > after)
        .collect();
    found.reverse();
    found
}

/// A zone, one of its time changes since 1900, and how far from it a window begins and ends.
fn window() -> impl Strategy<Value = (&'static str, i64, i64)> {
    (0..ZONES.len(), any::<prop::sample::Index>(), -9_000_i64..6_000, 1_000_i64..14_000).prop_map(
        |(zone, index, offset, length)| {
            let changes = changes(ZONES[zone]);
            let change = changes[index.index(changes.len())];
            (ZONES[zone], change + offset, change + offset + length)
        },
    )
}

/// A failing seed is printed and kept beside this file.
fn config() -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(beside)), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_second_around_a_time_change_is_judged_right(spec in spec(), (zone, after, until) in window()) {
        let spec = Reference { zone, ..spec };
        let Some(cron) = parse(&spec) else { return Ok(()) };
        let expected = spec.judged(after, until);
        prop_assert_eq!(&walk(&cron, after, until), &expected, "next, {}", spec.text());
        prop_assert_eq!(&walk_back(&cron, after, until), &expected, "prev, {}", spec.text());
        prop_assert_eq!(cron.count(second(after), second(until)), expected.len() as u64, "count, {}", spec.text());
    }

    #[test]
    fn next_prev_and_count_agree_anywhere(spec in spec(), zone in 0..ZONES.len(), millis in -2_000_000_000_000_i64..8_000_000_000_000) {
        let spec = Reference { zone: ZONES[zone], ..spec };
        let Some(cron) = parse(&spec) else { return Ok(()) };
        let at = Timestamp::from_millis(millis);
        let next = cron.next(at).expect("something in the next 400 years");
        let prev = cron.prev(at).expect("something in the last 400 years");
        prop_assert!(prev.at < at && at < next.at);
        prop_assert_eq!(cron.prev(next.at.successor()), Some(next), "next is nominal");
        prop_assert_eq!(cron.next(Timestamp::from_millis(prev.at.as_millis() - 1)), Some(prev), "prev is nominal");
        prop_assert_eq!(cron.prev(next.at).and_then(|found| cron.next(found.at)), Some(next), "next(prev(x)) is x");
        prop_assert_eq!(cron.next(prev.at).and_then(|found| cron.prev(found.at)), Some(prev), "prev(next(x)) is x");
        prop_assert_eq!(cron.count(at, next.at), 1);
        // At a nominal `at` the two neighbours have it between them.
        let at_is_nominal = cron.next(prev.at).is_some_and(|found| found.at == at);
        prop_assert_eq!(cron.count(prev.at, next.at), 1 + u64::from(at_is_nominal));
    }

    #[test]
    fn what_is_found_matches_or_was_moved_out_of_a_gap(spec in spec(), (zone, after, _) in window(), far in -1_500_000_000_000_i64..1_500_000_000_000, near in any::<bool>()) {
        let spec = Reference { zone, ..spec };
        let Some(cron) = parse(&spec) else { return Ok(()) };
        let mut at = Timestamp::from_millis(if near { after * 1000 + far.rem_euclid(1000) } else { far });
        for _ in 0..20 {
            let found = cron.next(at).expect("something in the next 400 years");
            prop_assert!(found.at > at && found.at.as_millis() % 1000 == 0);
            let (second, note) = told(found);
            let before = Timestamp::from_millis(found.at.as_millis() - 1);
            prop_assert_eq!(cron.next(before), Some(found), "from just before, {}", spec.text());
            prop_assert_eq!(cron.prev(found.at.successor()), Some(found), "from just after, {}", spec.text());
            prop_assert_eq!(spec.matches_at(second), note != Note::MovedFromGap, "{} at {}", spec.text(), second);
            if note == Note::MovedFromGap {
                prop_assert_eq!((cron.class(), spec.dst_gap), (Class::Fixed, DstGap::RunAfter));
                prop_assert!(changes(zone).contains(&second), "{} is moved to {}", spec.text(), second);
            }
            at = found.at;
        }
    }

    #[test]
    fn counts_add_up_over_years(spec in spec(), zone in 0..ZONES.len(), mut cuts in prop::array::uniform3(-2_000_000_000_000_i64..8_000_000_000_000)) {
        let spec = Reference { zone: ZONES[zone], ..spec };
        let Some(cron) = parse(&spec) else { return Ok(()) };
        cuts.sort_unstable();
        let [first, middle, last] = cuts.map(Timestamp::from_millis);
        prop_assert_eq!(cron.count(first, middle) + cron.count(middle, last), cron.count(first, last));
    }

    #[test]
    fn no_text_and_no_instant_makes_it_panic(text in "[-*0-9/,LW#?+@a-zA-Z \\t\\PC]{0,40}", zone in "\\PC{0,20}", millis in any::<i64>()) {
        let spec = |text, time_zone| CronText {
            text,
            time_zone,
            day_match: DayMatch::Any,
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::First,
        };
        let at = Timestamp::from_millis(millis);
        prop_assert!(Cron::parse(&spec("0 0 * * *", &zone)).is_err());
        if let Ok(cron) = Cron::parse(&spec(&text, "Europe/Berlin")) {
            let _ = (cron.next(at), cron.prev(at), cron.warnings(at), cron.describe());
        }
    }
}
