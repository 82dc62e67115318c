//! Blocks against the search, and exclusions against a clock that is read second by second.
//!
//! proptest prints the seed and the smallest failing case. PROPTEST_CASES=20000 looks further.

use proptest::prelude::*;

use super::SecondSet;
use crate::cron::{Cron, CronText, DayMatch, DstGap, DstOverlap, parse_instant};
use crate::time::Timestamp;

/// Zones, and the instant of one of their time changes.
const CHANGES: [(&str, &str); 14] = [
    ("Europe/Berlin", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-10-25T01:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
    ("Antarctica/Troll", "2026-03-29T01:00:00Z"),
    ("Antarctica/Troll", "2026-10-25T01:00:00Z"),
    ("America/Nuuk", "2026-03-29T01:00:00Z"),
    ("America/Nuuk", "2026-10-25T01:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Africa/Casablanca", "2026-02-15T02:00:00Z"),
    ("Asia/Kathmandu", "2026-07-01T00:00:00Z"),
    ("UTC", "2026-12-31T23:59:59Z"),
];

fn texts() -> impl Strategy<Value = String> {
    let second = prop::sample::select(vec!["", "", "", "0 ", "59 ", "0-29 ", "* ", "*/7 ", "0,30,59 "]);
    let minute = prop::sample::select(vec!["*", "*/15", "0", "30", "59", "0-58", "15-45", "*/7", "0,59"]);
    let hour = prop::sample::select(vec!["*", "*/2", "0", "1", "2", "0-3", "1-22", "23", "0,2,12", "0-23"]);
    let date = prop::sample::select(vec!["*", "*", "*/2", "1", "L", "29-31", "15W", "1-30", "25"]);
    let month = prop::sample::select(vec!["*", "*", "*", "1-11", "3,10", "12"]);
    let weekday = prop::sample::select(vec!["*", "*", "*", "0", "6", "+0", "1-5", "0#1", "0L", "6,0"]);
    (second, minute, hour, date, month, weekday)
        .prop_map(|(s, m, h, date, month, weekday)| format!("{s}{m} {h} {date} {month} {weekday}"))
}

fn options() -> impl Strategy<Value = (DstGap, DstOverlap)> {
    (
        prop::sample::select(vec![DstGap::RunAfter, DstGap::Skip]),
        prop::sample::select(vec![DstOverlap::First, DstOverlap::Second, DstOverlap::Both]),
    )
}

/// A zone and a second near one of its time changes.
fn near_a_change() -> impl Strategy<Value = (&'static str, i64)> {
    (prop::sample::select(&CHANGES[..]), -100_000_i64..100_000)
        .prop_map(|((zone, change), distance)| (zone, second_of(change) + distance))
}

fn second_of(text: &str) -> i64 {
    parse_instant(text).expect("an instant").as_millis() / 1000
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn cron(text: &str, time_zone: &str, (dst_gap, dst_overlap): (DstGap, DstOverlap)) -> Option<Cron> {
    Cron::parse(&CronText { text, time_zone, day_match: DayMatch::Any, dst_gap, dst_overlap }).ok()
}

/// The default options.
const USUAL: (DstGap, DstOverlap) = (DstGap::RunAfter, DstOverlap::First);

/// What an exclusion covers, as nominal instants: nothing is moved, both passes run, five fields name each second.
fn as_nominals(text: &str, time_zone: &str) -> Option<Cron> {
    let six = if text.split(' ').count() == 5 { format!("* {text}") } else { text.to_owned() };
    cron(&six, time_zone, (DstGap::Skip, DstOverlap::Both))
}

proptest! {
    #[test]
    fn blocks_hold_what_the_search_finds(text in texts(), options in options(), (zone, first) in near_a_change(), lengths in prop::collection::vec(0_u32..=SecondSet::MAX_LEN, 1..4)) {
        let Some(cron) = cron(&text, zone, options) else { return Ok(()) };
        let mut first = first;
        for length in lengths {
            let mut block = SecondSet::new(first, length);
            cron.mark(&mut block);
            let end = first + i64::from(length);
            prop_assert_eq!(block.count(), cron.count(second(first - 1), second(end - 1)), "count of {}", text);
            let mut walked = SecondSet::new(first, length);
            let mut next = cron.next(second(first - 1));
            // Sixty thousand steps of a search are too many for each case; counts cover the rest.
            for _ in 0..3_000 {
                let Some(found) = next.filter(|found| found.at < second(end)) else { break };
                let at = found.at.as_millis() / 1000;
                walked.insert(at);
                prop_assert!(block.contains(at), "{} lacks {}", text, at);
                next = cron.next(found.at);
            }
            if next.is_none_or(|found| found.at >= second(end)) {
                prop_assert_eq!(&block, &walked, "{}", text);
            }
            first = end;
        }
    }

    #[test]
    fn exclusions_cover_what_the_wall_clock_shows(text in texts(), (zone, first) in near_a_change(), length in 1_u32..20_000, from in 0.0..1.0, millis in 0_i64..1000) {
        let (Some(cron), Some(nominals)) = (cron(&text, zone, USUAL), as_nominals(&text, zone)) else { return Ok(()) };
        let mut covered = SecondSet::new(first, length);
        let mut expected = covered.clone();
        cron.cover(&mut covered);
        nominals.mark(&mut expected);
        prop_assert_eq!(&covered, &expected, "{}", text);
        let end = first + i64::from(length);
        for at in first..end {
            prop_assert_eq!(cron.covers(second(at)), covered.contains(at), "{} at {}", text, at);
        }
        let from = first + (f64::from(length) * from) as i64;
        let at = Timestamp::from_millis(from * 1000 + millis);
        let found = cron.uncovered_from(at);
        match (from..end).find(|second| !covered.contains(*second)) {
            Some(hole) if hole == from => prop_assert_eq!(found, Some(at), "{}", text),
            Some(hole) => prop_assert_eq!(found, Some(second(hole)), "{}", text),
            None => prop_assert!(found.is_none_or(|found| found >= second(end)), "{}: {:?}", text, found),
        }
    }

    #[test]
    fn sets_are_sets(seconds in prop::collection::btree_set(0_i64..500, 0..60), others in prop::collection::btree_set(0_i64..500, 0..60), length in 0_u32..500) {
        let set = |seconds: &std::collections::BTreeSet<i64>| {
            let mut set = SecondSet::new(-7, length);
            seconds.iter().for_each(|second| set.insert(*second - 20));
            set
        };
        let inside = |second: &i64| (13..13 + i64::from(length)).contains(second);
        let (mut union, mut less, other) = (set(&seconds), set(&seconds), set(&others));
        union.union(&other);
        less.subtract(&other);
        prop_assert_eq!(union.count(), seconds.union(&others).filter(|second| inside(second)).count() as u64);
        prop_assert_eq!(less.count(), seconds.difference(&others).filter(|second| inside(second)).count() as u64);
        prop_assert!((0..500).all(|second| other.contains(second - 20) == (inside(&second) && others.contains(&second))));
    }
}

#[test]
fn the_end_of_what_an_exclusion_covers_is_told() {
    for (text, zone, from, to) in [
        ("* * 25 12 *", "UTC", "2026-12-25T10:00:00.500Z", Some("2026-12-26T00:00:00Z")),
        ("* * 25 12 *", "UTC", "2026-12-24T23:59:59.999Z", Some("2026-12-24T23:59:59.999Z")),
        ("* * 25 12 *", "America/New_York", "2026-12-25T05:00:00Z", Some("2026-12-26T05:00:00Z")),
        ("* * * 1-11 *", "UTC", "2026-02-03T04:05:06Z", Some("2026-12-01T00:00:00Z")),
        ("* * * * *", "Europe/Berlin", "2026-12-01T00:00:00Z", None),
        ("* * 1-31 * MON", "Europe/Berlin", "2026-12-01T00:00:00Z", None),
        ("* * * * * *", "Africa/Casablanca", "2026-12-01T00:00:00.001Z", None),
        ("0-58 * * * *", "UTC", "2026-12-01T10:00:00Z", Some("2026-12-01T10:59:00Z")),
        ("* 0-22 * * *", "UTC", "2026-12-01T10:00:00Z", Some("2026-12-01T23:00:00Z")),
        ("* 9-23 * * *", "UTC", "2026-12-01T10:00:00Z", Some("2026-12-02T00:00:00Z")),
        ("30 10 * * *", "UTC", "2026-12-01T10:30:59.999Z", Some("2026-12-01T10:31:00Z")),
        ("30 30 10 * * *", "UTC", "2026-12-01T10:30:30.999Z", Some("2026-12-01T10:30:31Z")),
        // The hour from two to three comes twice, and both are covered.
        ("* 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", Some("2026-10-25T02:00:00Z")),
        // What fell into the gap is judged by the wall that it has: 03:00.
        ("* 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", Some("2026-03-29T01:00:00Z")),
        ("* 1,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", Some("2026-03-29T02:00:00Z")),
        // Everything but each 29th that is a Saturday.
        (
            "* * 1-28,30,31 * SUN,MON,TUE,WED,THU,FRI",
            "UTC",
            "2076-03-01T12:00:00Z",
            Some("2076-08-29T00:00:00Z"),
        ),
    ] {
        let cron = cron(text, zone, USUAL).expect(text);
        let from = parse_instant(from).expect(from);
        assert_eq!(cron.uncovered_from(from), to.and_then(parse_instant), "{text}");
    }
}

#[test]
fn instants_outside_the_calendar_are_not_covered() {
    let cron = cron("* * * * *", "Asia/Tokyo", USUAL).expect("parses");
    for at in [Timestamp::NEVER, Timestamp::from_millis(i64::MIN)] {
        assert!(!cron.covers(at));
        assert_eq!(cron.uncovered_from(at), Some(at));
        let mut block = SecondSet::new(at.as_millis() / 1000, 10);
        cron.cover(&mut block);
        cron.mark(&mut block);
        assert_eq!(block.count(), 0);
    }
}

/// Bounds are wide, for a busy machine; `--nocapture` prints what it was.
#[test]
#[allow(clippy::print_stderr, clippy::disallowed_types, reason = "a measurement needs a clock")]
fn a_year_of_blocks_is_marked_in_milliseconds() {
    let start = second_of("2026-01-01T00:00:00Z");
    for text in ["* * * * * *", "* * * * *", "30 2 * * *", "0 0 29 2 *"] {
        let cron = cron(text, "Europe/Berlin", USUAL).expect(text);
        let begun = std::time::Instant::now();
        let mut total = 0;
        for day in 0..365 {
            let mut block = SecondSet::new(start + day * 86_400, SecondSet::MAX_LEN);
            cron.mark(&mut block);
            total += block.count();
        }
        let took = begun.elapsed();
        eprintln!("a year of {text}: {took:?}, {total} instants");
        assert_eq!(total, cron.count(second(start - 1), second(start + 365 * 86_400 - 1)));
        assert!(took < std::time::Duration::from_millis(200), "{text}: {took:?}");
    }
    let always = cron("* * * * *", "Africa/Casablanca", USUAL).expect("parses");
    let rare = cron("* * 1-28,30,31 * SUN,MON,TUE,WED,THU,FRI", "Europe/Berlin", USUAL).expect("parses");
    for cron in [always, rare] {
        let begun = std::time::Instant::now();
        let found = cron.uncovered_from(second(start));
        eprintln!("the end of {cron:?}: {:?} {found:?}", begun.elapsed());
        assert!(begun.elapsed() < std::time::Duration::from_millis(200));
    }
}
