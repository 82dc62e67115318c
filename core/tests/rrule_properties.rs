//! Rules against a reading that judges every day by itself, and against themselves in both directions.
#![allow(clippy::expect_used, clippy::cast_possible_truncation)]

mod rrule_reference;

use campanile_core::cron::{DstGap, DstOverlap};
use campanile_core::rrule::{Rule, RuleText};
use campanile_core::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use rrule_reference::{Every, Plain, instants};

/// Zones with half hours, changes at midnight, changes on other days, and none at all; no change of calendar.
const ZONES: &[&str] = &[
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Beirut",
    "America/Santiago",
    "Antarctica/Troll",
    "Asia/Kathmandu",
];
/// How many years the reading walks.
const YEARS: i16 = 6;

fn parse(text: &str, plain: &Plain, zone: &str) -> Result<Rule, String> {
    let start = plain.start.to_string();
    let spec = RuleText {
        rule: text,
        start: &start,
        time_zone: zone,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    };
    Rule::parse(&spec).map_err(|error| error.detail)
}

/// None of them three times out of four, else up to three.
fn some(values: Vec<i64>) -> impl Strategy<Value = Vec<i64>> {
    let most = values.len().min(3);
    prop_oneof![3 => Just(Vec::new()), 1 => subsequence(values, 1..=most).prop_shuffle()]
}

fn signed(low: i64, high: i64) -> Vec<i64> {
    (-high..=-low).chain(low..=high).collect()
}

fn weekdays() -> impl Strategy<Value = Vec<(i64, usize)>> {
    let plain = subsequence((0..7).map(|day| (0, day)).collect::<Vec<_>>(), 1..=4);
    let nth = proptest::collection::vec((select(vec![1, 2, 3, 4, 5, -1, -2, -3, -4, 0]), 0..7_usize), 1..4);
    prop_oneof![2 => Just(Vec::new()), 2 => plain, 2 => nth]
}

fn start() -> impl Strategy<Value = jiff::civil::DateTime> {
    let clock = (select(vec![0_i8, 1, 2, 3, 9, 23]), select(vec![0_i8, 15, 30]));
    (1970_i16..2060, 1_i8..=12, 1_i8..=31, clock).prop_map(|(year, month, day, (hour, minute))| {
        let month = jiff::civil::Date::constant(year, month, 1);
        month.with().day(day.min(month.days_in_month())).build().expect("a day").at(hour, minute, 0, 0)
    })
}

fn plain() -> impl Strategy<Value = Plain> {
    let every = select(vec![Every::Day, Every::Week, Every::Month, Every::Year]);
    let size = (
        prop_oneof![3 => Just(1), 2 => 2..6_i64, 1 => 1..40_i64],
        0..7_usize,
        proptest::option::weighted(0.2, 1..40_usize),
    );
    let coarse = (some((1..=12).collect()), some(signed(1, 53)), some(signed(1, 366)));
    let fine = (some(signed(1, 31)), weekdays(), some((0..24).collect()), some(signed(1, 12)));
    (every, size, coarse, fine, start()).prop_map(|(every, size, coarse, fine, start)| {
        let (interval, week_start, count) = size;
        let (months, weeks, year_days) = coarse;
        let (month_days, mut days, hours, positions) = fine;
        let yearly = every == Every::Year;
        let numbered = every == Every::Month || yearly && weeks.is_empty();
        if !numbered {
            days.iter_mut().for_each(|day| day.0 = 0);
        }
        Plain {
            every,
            interval,
            week_start,
            months,
            weeks: if yearly { weeks } else { Vec::new() },
            year_days: if yearly { year_days } else { Vec::new() },
            month_days: if every == Every::Week { Vec::new() } else { month_days },
            days,
            hours,
            positions,
            count,
            start,
        }
    })
}

/// The first rule with one part of the second, or with what the first leaves to its start written out.
fn mixed(one: &Plain, other: &Plain, part: usize) -> Plain {
    let mut mixed = one.clone();
    match part {
        0 => mixed.every = other.every,
        1 => mixed.interval = other.interval,
        2 => mixed.week_start = other.week_start,
        3 => mixed.months.clone_from(&other.months),
        4 => mixed.weeks.clone_from(&other.weeks),
        5 => mixed.year_days.clone_from(&other.year_days),
        6 => mixed.month_days.clone_from(&other.month_days),
        7 => mixed.days.clone_from(&other.days),
        8 => mixed.hours.clone_from(&other.hours),
        9 => mixed.positions.clone_from(&other.positions),
        10 => mixed.count = other.count,
        11 => mixed.start = mixed.start.with().hour(other.start.hour()).build().expect("a time"),
        12 => mixed.hours = vec![i64::from(mixed.start.hour())],
        _ => mixed.month_days = vec![i64::from(mixed.start.day())],
    }
    mixed
}

/// All instants up to the end of what the reading walked.
fn forwards(rule: &Rule, until: i64) -> Vec<i64> {
    std::iter::successors(rule.next(Timestamp::from_millis(i64::MIN)), |found| rule.next(found.at))
        .map(|found| found.at.as_millis())
        .take_while(|at| *at <= until)
        .collect()
}

// PROPTEST_CASES=20000 looks further.
proptest! {
    #[test]
    fn a_rule_falls_on_the_days_that_a_plain_reading_finds(plain in plain(), zone in select(ZONES)) {
        let text = plain.text();
        let walls = plain.walls(YEARS);
        let rule = match parse(&text, &plain, zone) {
            Ok(rule) => rule,
            Err(detail) => {
                prop_assert!(walls.is_empty() || detail.contains("BYSETPOS has nothing"), "{} {}: {}", text, plain.start, detail);
                return Ok(());
            }
        };
        let expected = instants(&walls, zone);
        // Two days short of the end, whose offset may still move something across it.
        let end = jiff::civil::Date::constant(plain.start.year() + YEARS, 1, 1).at(0, 0, 0, 0);
        let until = jiff::tz::Offset::UTC.to_timestamp(end).expect("in range").as_millisecond() - 2 * 86_400_000;
        let expected: Vec<i64> = expected.into_iter().filter(|at| *at <= until).collect();
        prop_assert_eq!(forwards(&rule, until), expected, "{} from {} in {}", text, plain.start, zone);
    }

    #[test]
    fn next_prev_and_count_agree(
        plain in plain(),
        zone in select(ZONES),
        gap in select(vec![DstGap::RunAfter, DstGap::Skip]),
        overlap in select(vec![DstOverlap::First, DstOverlap::Second, DstOverlap::Both]),
        after in 0_i64..3_000_000_000_000,
    ) {
        let (text, start) = (plain.text(), plain.start.to_string());
        let spec = RuleText { rule: &text, start: &start, time_zone: zone, dst_gap: gap, dst_overlap: overlap };
        let Ok(rule) = Rule::parse(&spec) else { return Ok(()) };
        let after = Timestamp::from_millis(after);
        let mut last = after;
        for step in 1..40_u64 {
            let Some(found) = rule.next(last) else {
                prop_assert_eq!(rule.count(after, Timestamp::NEVER), step - 1);
                break;
            };
            prop_assert!(found.at > last);
            prop_assert_eq!(rule.prev(found.at.successor()), Some(found), "{} in {}", text, zone);
            prop_assert_eq!(rule.count(after, found.at), step, "{} in {}", text, zone);
            if step > 1 {
                prop_assert_eq!(rule.prev(found.at).map(|before| before.at), Some(last));
            }
            last = found.at;
        }
    }

    #[test]
    fn two_rules_that_are_told_alike_have_the_same_instants(one in plain(), other in plain(), part in 0..14_usize) {
        let (text, changed) = (one.text(), mixed(&one, &other, part));
        let (Ok(one), Ok(other)) = (parse(&text, &one, "UTC"), parse(&changed.text(), &changed, "UTC")) else { return Ok(()) };
        if one.describe() == other.describe() {
            let first = |rule: &Rule| -> Vec<_> {
                std::iter::successors(rule.next(Timestamp::EPOCH), |found| rule.next(found.at)).take(1000).collect()
            };
            prop_assert_eq!(first(&one), first(&other), "{} and {}: {}", text, changed.text(), one.describe());
        }
    }

    #[test]
    fn any_text_is_read_or_refused_and_never_panics(text in "(RRULE:)?(FREQ|BYDAY|UNTIL|COUNT|INTERVAL|BYSETPOS|;|=|,|[A-Z]{2}|-?[0-9]{1,9}|\\PC){0,12}", start in "\\PC{0,24}") {
        for start in [start.as_str(), "2026-01-30T09:00:00"] {
            let spec = RuleText { rule: &text, start, time_zone: "UTC", dst_gap: DstGap::RunAfter, dst_overlap: DstOverlap::First };
            if let Err(error) = Rule::parse(&spec) {
                prop_assert!(!error.hint.is_empty() && !error.detail.is_empty());
            }
        }
    }
}
