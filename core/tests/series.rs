//! Properties of unions with exclusions inside windows: what a walk finds is what is counted, and what is excluded is
//! found by no search.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::sync::Arc;

use campanile_core::calendar::{Calendar, parse_date};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap, parse_instant};
use campanile_core::id::LogIndex;
use campanile_core::series::{Calendars, NoCalendars, Series, Texts};
use campanile_core::spec::{CronSpec, Exclusion, RuleSpec, Spec, Window};
use campanile_core::time::{Span, Timestamp};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

fn cron(text: &str, time_zone: &str) -> CronSpec {
    CronSpec {
        text: text.into(),
        time_zone: time_zone.into(),
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }
}

fn specs() -> impl Strategy<Value = Vec<Spec>> {
    let spec = |text, zone| Spec::Cron(Box::new(cron(text, zone)));
    let every =
        |secs, anchor| Spec::Every { every: Span::from_secs(secs), anchor: Timestamp::from_millis(anchor) };
    let rule = Spec::Rule(Box::new(RuleSpec {
        rule: "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,30".into(),
        start: "2026-01-01T00:00:00".into(),
        time_zone: "Europe/Berlin".into(),
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::Both,
    }));
    let all = vec![
        spec("*/7 * * * *", "UTC"),
        spec("30 2 * * *", "Europe/Berlin"),
        spec("0 * * * * *", "America/New_York"),
        spec("*/5 1-3 * * *", "Europe/Berlin"),
        spec("15 */2 * * SUN", "Australia/Lord_Howe"),
        every(90, 0),
        every(3_600, 250),
        every(1, 500),
        Spec::At(parse_instant("2026-03-29T01:00:00Z").unwrap()),
        Spec::At(parse_instant("2026-03-29T01:00:00.250Z").unwrap()),
        rule,
    ];
    subsequence(all, 1..=4)
}

fn exclusions() -> impl Strategy<Value = Vec<Exclusion>> {
    let dates: Box<[i32]> = [parse_date("2026-03-28").unwrap(), parse_date("2026-03-29").unwrap()].into();
    let all = vec![
        Exclusion::Cron(Box::new(cron("* 2 * * *", "Europe/Berlin"))),
        Exclusion::Cron(Box::new(cron("0-29 * * * * *", "UTC"))),
        Exclusion::Cron(Box::new(cron("* * 28 3 *", "America/New_York"))),
        Exclusion::Dates { dates: dates.clone(), time_zone: None },
        Exclusion::Dates { dates, time_zone: Some("Asia/Tokyo".into()) },
        Exclusion::Calendar { name: "spans".into(), time_zone: None },
    ];
    subsequence(all, 0..=3)
}

/// One calendar, of two hours around the change in Berlin.
struct Spans;

impl Calendars for Spans {
    fn calendar(&self, name: &str) -> Option<Arc<Calendar>> {
        let at = |text| parse_instant(text).unwrap();
        (name == "spans").then(|| {
            Arc::new(Calendar {
                spans: vec![(at("2026-03-29T00:10:00Z"), at("2026-03-29T02:10:00Z"))],
                ..Calendar::default()
            })
        })
    }

    /// It was changed twice in the hours that the first span covers; before, it covered the day before, and then nothing.
    fn before(&self, _: &str) -> Vec<(Arc<Calendar>, Timestamp)> {
        let first = Calendar { dates: vec![parse_date("2026-03-28").unwrap()], ..Calendar::default() };
        let until = |text| parse_instant(text).unwrap();
        vec![
            (Arc::new(first), until("2026-03-28T12:10:00.300Z")),
            (Arc::new(Calendar::default()), until("2026-03-29T00:40:00Z")),
        ]
    }

    fn changed_at(&self) -> LogIndex {
        LogIndex(7)
    }
}

/// Three days around the change in Berlin.
fn instant() -> impl Strategy<Value = Timestamp> {
    let first = parse_instant("2026-03-27T22:00:00Z").unwrap().as_millis();
    (0..3 * 86_400_000_i64).prop_map(move |millis| Timestamp::from_millis(first + millis))
}

fn series(specs: &[Spec], exclude: &[Exclusion], window: Window) -> Series {
    Series::of_specs(specs, exclude, window, &Spans, &mut Texts::default()).unwrap()
}

/// All instants of `(after, until]` by the searches, one after the other.
fn walk(series: &Series, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let all = std::iter::successors(series.next(after), |found| series.next(found.at));
    all.map(|found| found.at).take_while(|at| *at <= until).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn what_is_counted_is_what_a_walk_finds(
        specs in specs(), exclude in exclusions(), after in instant(), millis in 0..2_400_000_i64,
        windowed in any::<bool>()
    ) {
        let until = Timestamp::from_millis(after.as_millis() + millis);
        let start_at = Some(parse_instant("2026-03-29T00:30:00Z").unwrap());
        let window = if windowed { Window { start_at, end_at: None } } else { Window::default() };
        let series = series(&specs, &exclude, window);
        let found = walk(&series, after, until);
        prop_assert!(found.is_sorted() && found.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(series.count(after, until), found.len() as u64);
        for cut in found.iter().step_by(97) {
            prop_assert_eq!(series.count(after, *cut) + series.count(*cut, until), found.len() as u64);
        }
    }

    #[test]
    fn the_union_holds_what_any_spec_makes_and_no_exclusion_covers(
        specs in specs(), exclude in exclusions(), after in instant()
    ) {
        let until = after + Span::from_secs(1_800);
        let left = walk(&series(&specs, &exclude, Window::default()), after, until);
        let mut each: Vec<Timestamp> = specs
            .iter()
            .flat_map(|spec| walk(&series(std::slice::from_ref(spec), &exclude, Window::default()), after, until))
            .collect();
        each.sort_unstable();
        each.dedup();
        prop_assert_eq!(&left, &each);
        let all = walk(&series(&specs, &[], Window::default()), after, until);
        prop_assert!(left.iter().all(|at| all.binary_search(at).is_ok()));
    }

    #[test]
    fn prev_is_strictly_before_and_next_comes_back(
        specs in specs(), exclude in exclusions(), before in instant()
    ) {
        let series = series(&specs, &exclude, Window::default());
        if let Some(last) = series.prev(before) {
            prop_assert!(last.at < before);
            prop_assert!(series.contains(last.at));
            let again = series.next(last.at - Span::from_millis(1)).map(|found| found.at);
            prop_assert_eq!(again, Some(last.at));
            prop_assert!(series.next(last.at).is_none_or(|next| next.at >= before));
        }
        if let Some(first) = series.next(before) {
            prop_assert!(first.at > before);
            prop_assert_eq!(series.prev(first.at.successor()).map(|found| found.at), Some(first.at));
        }
    }

    #[test]
    fn a_year_of_a_busy_union_is_counted_in_two_halves_as_in_one(
        exclude in exclusions(), cut in instant(), text in select(vec!["* * * * * *", "*/3 */2 * * *"])
    ) {
        let specs = [Spec::Cron(Box::new(cron(text, "Europe/Berlin"))), Spec::Cron(Box::new(cron("0 0 * * *", "UTC")))];
        let series = series(&specs, &exclude, Window::default());
        let (after, until) = (cut - Span::from_secs(15_552_000), cut + Span::from_secs(15_552_000));
        prop_assert_eq!(series.count(after, cut) + series.count(cut, until), series.count(after, until));
    }
}

#[test]
fn an_exclusion_of_five_fields_covers_the_whole_minute_and_of_six_the_second() {
    let every_second = [Spec::Every { every: Span::from_secs(1), anchor: Timestamp::EPOCH }];
    let after = parse_instant("2026-12-24T22:59:58Z").unwrap();
    for (text, next) in [
        ("* * 25 12 *", "2026-12-25T23:00:00Z"),
        ("0 0 25 12 *", "2026-12-24T23:01:00Z"),
        ("0 0 0 25 12 *", "2026-12-24T23:00:01Z"),
    ] {
        let exclude = [Exclusion::Cron(Box::new(cron(text, "Europe/Berlin")))];
        let series = series(&every_second, &exclude, Window::default());
        let last = series.next(after).unwrap().at;
        assert_eq!(last, parse_instant("2026-12-24T22:59:59Z").unwrap(), "{text}");
        assert_eq!(series.next(last).map(|found| found.at), parse_instant(next), "{text}");
        assert_eq!(series.prev(parse_instant(next).unwrap()).map(|found| found.at), Some(last), "{text}");
    }
}

#[test]
fn a_date_is_one_of_the_zone_of_the_spec_unless_the_exclusion_names_another() {
    let daily = [Spec::Cron(Box::new(cron("30 0 * * *", "Europe/Berlin")))];
    let date: Box<[i32]> = [parse_date("2026-12-25").unwrap()].into();
    let after = parse_instant("2026-12-24T12:00:00Z").unwrap();
    for (time_zone, next) in [
        (None, "2026-12-25T23:30:00Z"),
        (Some("Europe/Berlin"), "2026-12-25T23:30:00Z"),
        (Some("UTC"), "2026-12-24T23:30:00Z"),
    ] {
        let exclude = [Exclusion::Dates { dates: date.clone(), time_zone: time_zone.map(Into::into) }];
        let series = series(&daily, &exclude, Window::default());
        assert_eq!(series.next(after).map(|found| found.at), parse_instant(next), "{time_zone:?}");
    }
}

#[test]
fn what_is_excluded_for_ever_is_found_out_in_bounded_work() {
    let specs = [Spec::Cron(Box::new(cron("0 12 * * *", "UTC")))];
    let exclude = [Exclusion::Cron(Box::new(cron("* 12 * * *", "UTC")))];
    let series =
        Series::of_specs(&specs, &exclude, Window::default(), &NoCalendars, &mut Texts::default()).unwrap();
    let now = parse_instant("2026-01-01T00:00:00Z").unwrap();
    assert_eq!(series.next(now), None);
    assert_eq!(series.prev(now), None);
    assert_eq!(series.count(now, now + Span::from_secs(86_400 * 365)), 0);
}

#[test]
fn what_is_excluded_second_by_second_for_most_of_a_day_is_found_behind_it() {
    let specs = [Spec::Every { every: Span::from_secs(6), anchor: Timestamp::EPOCH }];
    let series =
        series(&specs, &[Exclusion::Cron(Box::new(cron("*/3 * 0-22 * * *", "UTC")))], Window::default());
    let first = parse_instant("2026-03-27T23:00:00Z").unwrap();
    let midnight = parse_instant("2026-03-27T00:00:00Z").unwrap();
    assert_eq!(series.next(midnight).map(|found| found.at), Some(first));
    assert_eq!(series.prev(first).map(|found| found.at), parse_instant("2026-03-26T23:59:54Z"));
    assert_eq!(series.last_in(midnight, first - Span::from_millis(1)), None);
}

#[test]
fn exclusions_that_take_turns_leave_what_they_leave() {
    let every_second = [Spec::Cron(Box::new(cron("* * * * * *", "UTC")))];
    let exclude =
        ["*/2 * 0-22 * * *", "1-59/2 * 0-22 * * *"].map(|text| Exclusion::Cron(Box::new(cron(text, "UTC"))));
    let series = series(&every_second, &exclude, Window::default());
    let midnight = parse_instant("2026-03-27T00:00:00Z").unwrap();
    let first = parse_instant("2026-03-27T23:00:00Z").unwrap();
    assert_eq!(series.next(midnight).map(|found| found.at), Some(first));
    assert_eq!(series.prev(first).map(|found| found.at), parse_instant("2026-03-26T23:59:59Z"));
    assert_eq!(series.count(midnight, midnight + Span::from_secs(86_400)), 3_600);
}

#[test]
fn an_exclusion_by_a_calendar_that_is_not_there_is_told_with_its_place() {
    let specs = [Spec::Cron(Box::new(cron("0 12 * * *", "UTC")))];
    let missing = Exclusion::Calendar { name: "nowhere".into(), time_zone: None };
    let bad =
        Series::of_specs(&specs, &[missing], Window::default(), &Spans, &mut Texts::default()).unwrap_err();
    assert_eq!(bad.to_string(), "/exclude/0 cannot be evaluated: there is no calendar \"nowhere\"");
}
