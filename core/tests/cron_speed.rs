//! What a question about a cron text may cost. Bounds are wide, for a busy machine; `--nocapture` prints what it was.
#![allow(clippy::expect_used, clippy::print_stderr)]
#![allow(
    clippy::disallowed_types,
    reason = "a measurement needs a clock; nothing that decides is measured by it"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use campanile_core::cron::{Cron, CronCache, CronText, DayMatch, DstGap, DstOverlap, parse_instant};
use campanile_core::time::{Span, Timestamp};

const YEAR: Span = Span::from_secs(365 * 86_400);

fn spec<'a>(text: &'a str, time_zone: &'a str) -> CronText<'a> {
    CronText {
        text,
        time_zone,
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }
}

fn start() -> Timestamp {
    parse_instant("2026-12-01T00:00:00Z").expect("an instant")
}

/// How long one of `times` runs takes.
fn each(times: u32, mut run: impl FnMut()) -> Duration {
    let begun = Instant::now();
    (0..times).for_each(|_| run());
    begun.elapsed() / times
}

#[test]
fn a_year_of_every_second_is_counted_and_not_walked() {
    for (text, zone) in [("* * * * * *", "Europe/Berlin"), ("0-59 0-59 0-23 * * *", "Africa/Casablanca")] {
        let cron = Cron::parse(&spec(text, zone)).expect("parses");
        let took = each(10, || {
            black_box(cron.count(start(), start() + YEAR));
        });
        eprintln!("count of a year, {text} in {zone}: {took:?}");
        assert!(took < Duration::from_millis(50), "{text}: {took:?}");
    }
}

#[test]
fn the_next_instant_is_found_in_microseconds() {
    for text in ["*/5 * * * *", "30 2 * * *", "* * * * * *", "0 9 15W * *", "0 0 29 2 *"] {
        let cron = Cron::parse(&spec(text, "Europe/Berlin")).expect("parses");
        let mut at = start();
        let took = each(1_000, || at = cron.next(at).map_or(start(), |found| found.at));
        eprintln!("next of {text}: {took:?}");
        assert!(took < Duration::from_millis(2), "{text}: {took:?}");
    }
}

#[test]
fn the_rarest_texts_are_searched_in_milliseconds() {
    for text in ["0 0 29 2 +6#5", "0 0 29 2 +1L", "30 2 29 2,3 +0", "0 0 29W 2 +5#4", "59 59 23 29W 2 +MONL"]
    {
        let spec = CronText { dst_gap: DstGap::Skip, ..spec(text, "Europe/Berlin") };
        let cron = Cron::parse(&spec).expect("parses");
        // The longest way from one to the next: forty years, where 2100, 2200, … have no leap day.
        let walked = std::iter::successors(cron.next(start()), |found| cron.next(found.at));
        let found: Vec<Timestamp> = walked.take(40).map(|found| found.at).collect();
        let longest = found.windows(2).max_by_key(|pair| pair[1].since(pair[0])).expect("a pair");
        let forwards = each(10, || {
            black_box(cron.next(longest[0]));
        });
        let backwards = each(10, || {
            black_box(cron.prev(longest[1]));
        });
        let years = longest[1].since(longest[0]).as_millis() / YEAR.as_millis();
        eprintln!("{text}: next {forwards:?}, prev {backwards:?} over {years} years");
        assert!(forwards.max(backwards) < Duration::from_millis(50), "{text}: {forwards:?}, {backwards:?}");
    }
    let rare = Cron::parse(&spec("0 0 29 2 +6#5", "Europe/Berlin")).expect("parses");
    let found = rare.next(parse_instant("2076-03-01T00:00:00Z").expect("an instant"));
    assert_eq!(found.map(|found| found.at), parse_instant("2116-02-28T23:00:00Z"));
}

#[test]
fn what_never_fires_is_refused_in_milliseconds() {
    for text in [
        "0 0 30 2 *",
        "0 0 31 2,4,6,9,11 *",
        "0 0 30,31 2 +MON",
        "0 0 30W 2 *",
        "0 0 1-7 * +1#2",
        "0 0 1-21 * +FRIL",
        "0 0 1-28 2 +1#5",
        "0 0 8-31 * +0#1",
        "30 2 * 3 0L",
        "*/30 2 25-31 3 +0",
        "* * 2 29 3 +SUN",
    ] {
        let spec = CronText { dst_gap: DstGap::Skip, ..spec(text, "Europe/Berlin") };
        let error = Cron::parse(&spec).expect_err(text);
        assert!(error.detail.contains("never fires"), "{text}: {error:?}");
        let took = each(10, || {
            black_box(Cron::parse(&spec).is_err());
        });
        eprintln!("refusing {text}: {took:?}");
        assert!(took < Duration::from_millis(20), "{text}: {took:?}");
    }
}

#[test]
fn a_text_is_read_in_microseconds_and_found_in_the_cache_faster() {
    let read = each(1_000, || {
        black_box(Cron::parse(&spec("30 2 * * 1-5", "Europe/Berlin")).expect("parses"));
    });
    let mut cache = CronCache::default();
    let cached = each(1_000, || {
        black_box(cache.get(&spec("30 2 * * 1-5", "Europe/Berlin")).expect("parses"));
    });
    eprintln!("parse: {read:?}, cached: {cached:?}");
    assert!(read < Duration::from_millis(2), "{read:?}");
}

#[test]
fn the_english_that_looks_at_all_time_changes_is_told_in_milliseconds() {
    for (text, zone) in [
        ("30 2 * * *", "Europe/Berlin"),
        ("0,30 9-17 * * *", "Europe/Berlin"),
        ("0,30 9-17 * * *", "Africa/Casablanca"),
    ] {
        let cron = Cron::parse(&spec(text, zone)).expect("parses");
        let took = each(10, || {
            black_box(cron.describe());
        });
        eprintln!("english of {text} in {zone}: {took:?}");
        assert!(took < Duration::from_millis(50), "{text}: {took:?}");
    }
}
