//! What a calendar covers, against a reading of the wall clock at every second asked, and what it may hold.
#![allow(clippy::expect_used)]

use campanile_core::calendar::{BadCalendar, Calendar, MAX_ENTRIES, date_text, parse_date};
use campanile_core::cron::{instant_text, local_text, parse_instant};
use campanile_core::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;

/// Zones whose days begin at one, end twice, or are left out.
const ZONES: &[&str] = &[
    "UTC",
    "Europe/Berlin",
    "America/Santiago",
    "Asia/Beirut",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Pacific/Kwajalein",
    "Australia/Lord_Howe",
];

fn at(text: &str) -> Timestamp {
    parse_instant(text).expect("an instant")
}

fn of(dates: &[&str], spans: &[(&str, &str)]) -> Calendar {
    Calendar {
        dates: dates.iter().map(|date| parse_date(date).expect("a date")).collect(),
        spans: spans.iter().map(|(start, end)| (at(start), at(end))).collect(),
        ..Calendar::default()
    }
}

fn ranges(calendar: &Calendar, zone: &str, from: &str, to: &str) -> Vec<String> {
    let second = |text| at(text).as_millis() / 1000;
    let text = |second: i64| instant_text(Timestamp::from_millis(second * 1000));
    let cover = calendar.cover(zone).expect("a zone");
    let found = cover.ranges(second(from), second(to));
    found.map(|range| format!("{} {}", text(range.start), text(range.end))).collect()
}

#[test]
fn a_date_runs_from_its_first_to_its_last_instant_in_the_zone() {
    let christmas = of(&["2026-12-25"], &[]);
    for (zone, start, end) in [
        ("UTC", "2026-12-25T00:00:00Z", "2026-12-26T00:00:00Z"),
        ("Europe/Berlin", "2026-12-24T23:00:00Z", "2026-12-25T23:00:00Z"),
        ("Pacific/Kiritimati", "2026-12-24T10:00:00Z", "2026-12-25T10:00:00Z"),
        ("America/New_York", "2026-12-25T05:00:00Z", "2026-12-26T05:00:00Z"),
    ] {
        let (start, end) = (at(start), at(end));
        let before = Timestamp::from_millis(start.as_millis() - 1);
        let last = Timestamp::from_millis(end.as_millis() - 1);
        let covered = [before, start, last, end].map(|at| covers(&christmas, at, zone));
        assert_eq!(covered, [false, true, true, false], "{zone}");
        assert_eq!(uncovered_from(&christmas, start, zone), end, "{zone}");
        assert_eq!(uncovered_from(&christmas, before, zone), before, "{zone}");
    }
    let own = Calendar { time_zone: Some("Asia/Tokyo".into()), ..christmas };
    assert_eq!(uncovered_from(&own, at("2026-12-25T00:00:00Z"), "Europe/Berlin"), at("2026-12-25T15:00:00Z"));
}

#[test]
fn a_date_whose_midnight_does_not_exist_or_comes_twice_is_covered_whole() {
    let (from, to) = ("2018-01-01T00:00:00Z", "2019-12-31T00:00:00Z");
    // Sao Paulo went from 2018-11-04 00:00 to 01:00, and from 2018-02-18 00:00 back to 2018-02-17 23:00.
    assert_eq!(
        ranges(&of(&["2018-11-04"], &[]), "America/Sao_Paulo", from, to),
        ["2018-11-04T03:00:00Z 2018-11-05T02:00:00Z"]
    );
    assert_eq!(
        ranges(&of(&["2018-02-17"], &[]), "America/Sao_Paulo", from, to),
        ["2018-02-17T02:00:00Z 2018-02-18T03:00:00Z"]
    );
    // St. John's went from 2010-11-07 00:01 back to 2010-11-06 23:01: one minute of Sunday within Saturday.
    let (from, to) = ("2010-11-05T00:00:00Z", "2010-11-10T00:00:00Z");
    assert_eq!(
        ranges(&of(&["2010-11-06"], &[]), "America/St_Johns", from, to),
        ["2010-11-06T02:30:00Z 2010-11-07T02:30:00Z", "2010-11-07T02:31:00Z 2010-11-07T03:30:00Z"]
    );
    assert_eq!(
        ranges(&of(&["2010-11-06", "2010-11-07"], &[]), "America/St_Johns", from, to),
        ["2010-11-06T02:30:00Z 2010-11-08T03:30:00Z"]
    );
    assert_eq!(
        ranges(&of(&["2010-11-07", "2010-11-08"], &[]), "America/St_Johns", from, to),
        ["2010-11-07T02:30:00Z 2010-11-07T02:31:00Z", "2010-11-07T03:30:00Z 2010-11-09T03:30:00Z"]
    );
    // Apia had no 2011-12-30.
    let (from, to) = ("2011-12-25T00:00:00Z", "2012-01-05T00:00:00Z");
    assert_eq!(ranges(&of(&["2011-12-30"], &[]), "Pacific/Apia", from, to), [""; 0]);
    assert_eq!(
        ranges(&of(&["2011-12-29", "2011-12-30"], &[]), "Pacific/Apia", from, to),
        ["2011-12-29T10:00:00Z 2011-12-30T10:00:00Z"]
    );
    assert_eq!(
        ranges(&of(&["2011-12-29", "2011-12-30", "2011-12-31"], &[]), "Pacific/Apia", from, to),
        ["2011-12-29T10:00:00Z 2011-12-31T10:00:00Z"]
    );
}

#[test]
fn dates_and_spans_that_touch_make_one_range_and_part_of_a_second_covers_its_beginning_only() {
    let calendar = of(
        &["2026-12-25", "2026-12-26"],
        &[
            ("2026-12-24T12:00:00Z", "2026-12-25T00:00:00Z"),
            ("2026-12-26T20:00:00Z", "2026-12-27T06:00:00.500Z"),
            ("2026-12-28T00:00:00.250Z", "2026-12-28T00:00:00.750Z"),
            ("2026-12-28T01:00:00Z", "2026-12-28T01:00:00.001Z"),
        ],
    );
    assert_eq!(
        ranges(&calendar, "UTC", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ["2026-12-24T12:00:00Z 2026-12-27T06:00:01Z", "2026-12-28T01:00:00Z 2026-12-28T01:00:01Z"]
    );
    assert_eq!(uncovered_from(&calendar, at("2026-12-24T13:00:00Z"), "UTC"), at("2026-12-27T06:00:00.500Z"));
    assert!(covers(&calendar, at("2026-12-28T00:00:00.300Z"), "UTC"));
    assert_eq!(
        ranges(&calendar, "UTC", "2026-12-26T00:00:00Z", "2026-12-26T00:00:10Z"),
        ["2026-12-26T00:00:00Z 2026-12-26T00:00:10Z"]
    );
    assert_eq!(ranges(&calendar, "UTC", "2026-12-26T00:00:10Z", "2026-12-26T00:00:00Z"), [""; 0]);
    assert!(calendar.cover("Mars/Base").is_err());
}

#[test]
fn what_a_calendar_may_hold_is_checked_without_a_zone() {
    let day = |day: i64| Timestamp::from_millis(day * 86_400_000);
    let check = |calendar: Calendar| calendar.check();
    assert_eq!(check(Calendar::default()), Ok(()));
    let dates = |dates: Vec<i32>| Calendar { dates, ..Calendar::default() };
    let spans = |spans: Vec<(Timestamp, Timestamp)>| Calendar { spans, ..Calendar::default() };
    assert_eq!(check(dates((0..5_000).collect())), Ok(()));
    assert_eq!(check(dates((0..5_001).collect())), Err(BadCalendar::TooMany));
    assert_eq!(check(dates(vec![1, 3, 3])), Err(BadCalendar::DateOrder(2)));
    assert_eq!(check(dates(vec![-1, 3])), Err(BadCalendar::DateRange(0)));
    assert_eq!(check(dates(vec![3, 2_932_896])), Err(BadCalendar::DateRange(1)));
    assert_eq!(check(spans(vec![(day(1), day(1))])), Err(BadCalendar::SpanOrder(0)));
    assert_eq!(check(spans(vec![(day(1), day(2)), (day(2), day(3))])), Err(BadCalendar::SpanOrder(1)));
    assert_eq!(check(spans(vec![(day(-1), day(2))])), Err(BadCalendar::SpanRange(0)));
    assert_eq!(check(spans(vec![(day(1).successor(), day(2))])), Err(BadCalendar::SpanParts(0)));
    assert_eq!(
        check(spans((0..4_000).map(|n| (day(2 * n), day(2 * n + 1))).collect())),
        Err(BadCalendar::TooLarge)
    );
    assert_eq!(check(spans((0..3_800).map(|n| (day(2 * n), day(2 * n + 1))).collect())), Ok(()));
    assert_eq!(
        check(Calendar { description: "x".repeat(1_001).into(), ..Calendar::default() }),
        Err(BadCalendar::LongDescription)
    );
    let zone = |zone: &str| Calendar { time_zone: Some(zone.into()), ..Calendar::default() }.check_zone();
    assert_eq!((zone("Europe/Berlin"), zone("Berlin")), (Ok(()), Err(BadCalendar::UnknownZone)));
    assert!(check(Calendar { time_zone: Some("x".repeat(70_000).into()), ..Calendar::default() }).is_err());
    assert_eq!(MAX_ENTRIES, 5_000);
}

fn covers(calendar: &Calendar, at: Timestamp, zone: &str) -> bool {
    calendar.cover(zone).expect("a zone").covers(at)
}

fn uncovered_from(calendar: &Calendar, at: Timestamp, zone: &str) -> Timestamp {
    calendar.cover(zone).expect("a zone").uncovered_from(at)
}

/// Whether a plain reading covers an instant.
fn plainly(calendar: &Calendar, at: Timestamp, zone: &str) -> bool {
    let date = local_text(at, zone).expect("a zone")[..10].to_owned();
    calendar.dates.iter().any(|day| date_text(*day) == date)
        || calendar.spans.iter().any(|(start, end)| (*start..*end).contains(&at))
}

/// Where something changes: the bounds of spans, and every minute around every local midnight and hour of the days.
fn calendars() -> impl Strategy<Value = (Calendar, &'static str, i64)> {
    let around = select(vec![
        "2010-11-06",
        "2011-12-30",
        "2018-02-17",
        "2018-11-04",
        "2026-03-29",
        "1993-08-21",
        "2026-12-25",
    ]);
    (
        around,
        select(ZONES),
        proptest::collection::vec(-3..4_i32, 0..5),
        proptest::collection::vec((-200..200_i64, 1..3000_i64), 0..4),
    )
        .prop_map(|(around, zone, days, spans)| {
            let middle = parse_date(around).expect("a date");
            let noon = i64::from(middle) * 86_400_000 + 43_200_000;
            let spans = spans.into_iter().map(|(start, minutes)| {
                let start = noon + start * 1_234_567;
                let start = start - start.rem_euclid(1_000);
                (Timestamp::from_millis(start), Timestamp::from_millis(start + minutes * 60_000))
            });
            let dates = days.into_iter().map(|day| middle + day).collect();
            (
                Calendar { dates, spans: spans.collect(), ..Calendar::default() }.normalised(),
                zone,
                noon / 1000,
            )
        })
}

// PROPTEST_CASES=20000 looks further.
proptest! {
    #[test]
    fn ranges_hold_exactly_the_covered_seconds((calendar, zone, noon) in calendars(), step in 1..59_i64) {
        prop_assert_eq!(calendar.check(), Ok(()));
        let (from, to) = (noon - 5 * 86_400 + step, noon + 5 * 86_400);
        let found: Vec<_> = calendar.cover(zone).expect("a zone").ranges(from, to).collect();
        prop_assert!(found.windows(2).all(|pair| pair[0].end < pair[1].start), "{found:?}");
        prop_assert!(found.iter().all(|range| from <= range.start && range.start < range.end && range.end <= to));
        let edges = found.iter().flat_map(|range| [range.start - 1, range.start, range.end - 1, range.end]);
        for second in (from..to).step_by(600).chain(edges.filter(|second| (from..to).contains(second))) {
            let at = Timestamp::from_millis(second * 1000);
            let expected = plainly(&calendar, at, zone);
            prop_assert_eq!(covers(&calendar, at, zone), expected, "{} in {}", instant_text(at), zone);
            prop_assert_eq!(found.iter().any(|range| range.contains(&second)), expected, "{} in {}", instant_text(at), zone);
        }
    }

    #[test]
    fn the_first_instant_that_is_not_covered_is_not_and_all_before_it_are((calendar, zone, noon) in calendars(), offset in -300_000_000..300_000_000_i64) {
        let at = Timestamp::from_millis(noon * 1000 + offset);
        let free = uncovered_from(&calendar, at, zone);
        prop_assert!(free >= at && !plainly(&calendar, free, zone));
        for covered in (at.as_millis()..free.as_millis()).step_by(599_999).chain((free > at).then(|| free.as_millis() - 1)) {
            let covered = Timestamp::from_millis(covered);
            prop_assert!(plainly(&calendar, covered, zone), "{} in {}", instant_text(covered), zone);
        }
    }

    #[test]
    fn dates_are_read_and_printed_back(date in 0..2_932_896_i32, text in "\\PC{0,12}") {
        prop_assert_eq!(parse_date(&date_text(date)), Some(date));
        prop_assert!(parse_date(&text).is_none_or(|date| date_text(date) == text));
    }
}
