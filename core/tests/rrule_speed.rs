//! What a question about a rule may cost. Bounds are wide, for a busy machine; `--nocapture` prints what it was.
#![allow(clippy::expect_used, clippy::print_stderr)]
#![allow(
    clippy::disallowed_types,
    reason = "a measurement needs a clock; nothing that decides is measured by it"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use campanile_core::cron::{DstGap, DstOverlap, parse_instant};
use campanile_core::rrule::{Rule, RuleText};
use campanile_core::time::Timestamp;

fn spec(rule: &str) -> RuleText<'_> {
    RuleText {
        rule,
        start: "1970-01-01T00:00:00",
        time_zone: "Europe/Berlin",
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }
}

fn took(run: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    run();
    begun.elapsed()
}

/// The first question about a far year finds it anew; the second finds it kept.
#[test]
fn no_question_walks_from_the_start() {
    let far = parse_instant("9990-01-01T00:00:00Z").expect("an instant");
    for text in [
        "FREQ=DAILY",
        "FREQ=DAILY;BYHOUR=0,6,12,18",
        "FREQ=DAILY;INTERVAL=7;BYMONTHDAY=31",
        "FREQ=DAILY;INTERVAL=1000",
        "FREQ=WEEKLY;INTERVAL=5;BYDAY=MO,WE;BYSETPOS=1",
        "FREQ=MONTHLY;INTERVAL=7;BYDAY=-1FR",
        "FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU",
        "FREQ=YEARLY;INTERVAL=999",
        "FREQ=DAILY;COUNT=10000;INTERVAL=290",
    ] {
        let mut rule = None;
        let parse = took(|| rule = Some(Rule::parse(&spec(text)).expect(text)));
        let rule = rule.expect("parsed");
        let next = took(|| {
            black_box(rule.next(far));
        });
        let again = took(|| {
            black_box(rule.next(far));
        });
        let prev = took(|| {
            black_box(rule.prev(far));
        });
        let count = took(|| {
            black_box(rule.count(Timestamp::EPOCH, far));
        });
        eprintln!(
            "{text}: parse {parse:?}, next {next:?} then {again:?}, prev {prev:?}, count of 8,020 years {count:?}"
        );
        assert!(parse < Duration::from_secs(1), "{text}: {parse:?}");
        assert!(next + prev < Duration::from_millis(500), "{text}: {next:?}, {prev:?}");
        assert!(count < Duration::from_secs(2), "{text}: {count:?}");
    }
}

#[test]
fn a_rule_that_never_matches_is_refused_in_time() {
    for text in [
        "FREQ=DAILY;BYMONTHDAY=31;BYMONTH=4,2;INTERVAL=1",
        "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
        "FREQ=WEEKLY;BYDAY=MO;BYHOUR=1;BYSETPOS=2",
        "FREQ=MONTHLY;INTERVAL=2;BYMONTH=2,4;BYDAY=5MO;BYMONTHDAY=1",
        "FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1",
    ] {
        let spent = took(|| drop(Rule::parse(&spec(text)).expect_err(text)));
        eprintln!("{text}: refused after {spent:?}");
        assert!(spent < Duration::from_secs(1), "{text}: {spent:?}");
    }
}
