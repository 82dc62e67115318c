//! What a rule is told as, what is refused and where, what is warned of, what ends it, and what a question costs.
#![allow(clippy::expect_used)]

use campanile_core::cron::{CronErrorKind, DstGap, DstOverlap, instant_text, parse_instant};
use campanile_core::rrule::{Rule, RuleText};
use campanile_core::time::Timestamp;

const BERLIN: RuleText<'static> = RuleText {
    rule: "FREQ=DAILY",
    start: "2026-01-30T09:00:00",
    time_zone: "Europe/Berlin",
    dst_gap: DstGap::RunAfter,
    dst_overlap: DstOverlap::First,
};

fn rule(text: &str) -> RuleText<'_> {
    RuleText { rule: text, ..BERLIN }
}

fn parse(spec: &RuleText<'_>) -> Rule {
    Rule::parse(spec).unwrap_or_else(|error| panic!("{}: {error}", spec.rule))
}

fn at(text: &str) -> Timestamp {
    parse_instant(text).expect("an instant")
}

fn walk(spec: &RuleText<'_>, after: &str, most: usize) -> Vec<String> {
    let rule = parse(spec);
    std::iter::successors(rule.next(at(after)), |found| rule.next(found.at))
        .take(most)
        .map(|found| format!("{} {}", instant_text(found.at), found.note.as_str()))
        .collect()
}

#[test]
fn rules_are_told_in_english() {
    for (text, told) in [
        ("FREQ=DAILY", "Every day at 09:00"),
        ("freq=daily;interval=3", "Every 3 days at 09:00"),
        ("RRULE:FREQ=WEEKLY", "Every Friday at 09:00"),
        ("FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR", "Every Monday to Friday at 09:00"),
        ("FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=9,17", "Every Monday and Friday at 09:00 and 17:00"),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU",
            "Every 2 weeks on Tuesday and Sunday at 09:00, with weeks that begin on Sunday",
        ),
        ("FREQ=MONTHLY", "On day 30 of every month at 09:00"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "On the last Friday of every month at 09:00"),
        (
            "FREQ=MONTHLY;BYDAY=1MO,-2MO",
            "On the first Monday and the second to last Monday of every month at 09:00",
        ),
        ("FREQ=MONTHLY;BYDAY=FR", "On every Friday of every month at 09:00"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,-1", "On day 1 and the last day of every month at 09:00"),
        (
            "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
            "On day 13 of every month, but only when that is Friday at 09:00",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1,2,3,15",
            "Every 3 months on days 1 to 3 and 15 of the month at 09:00",
        ),
        (
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "On every Monday to Friday of every month at 09:00, of these only the last of each month",
        ),
        ("FREQ=YEARLY", "On day 30 of January every year at 09:00"),
        (
            "FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU",
            "On the last Sunday of March and October every year at 09:00",
        ),
        (
            "FREQ=YEARLY;INTERVAL=4;BYMONTH=12;BYMONTHDAY=24",
            "Every 4 years in December on day 24 of the month at 09:00",
        ),
        ("FREQ=YEARLY;BYDAY=20MO", "Every year on the 20th Monday of the year at 09:00"),
        (
            "FREQ=YEARLY;BYWEEKNO=1,20;BYDAY=MO",
            "Every year in weeks 1 and 20 of the year on every Monday at 09:00, with weeks that begin on Monday",
        ),
        ("FREQ=YEARLY;BYYEARDAY=100,-1", "Every year on day 100 and the last day of the year at 09:00"),
        (
            "FREQ=YEARLY;BYYEARDAY=100,101;BYDAY=MO,TU",
            "Every year on days 100 and 101 of the year, but only on every Monday and every Tuesday at 09:00",
        ),
        ("FREQ=DAILY;BYMONTHDAY=13", "On day 13 of every month at 09:00"),
        ("FREQ=DAILY;BYMONTH=7;BYDAY=MO", "Every Monday in July at 09:00"),
        (
            "FREQ=DAILY;INTERVAL=3;BYMONTH=7;BYDAY=MO",
            "Every 3 days, but only in July, but only on Monday at 09:00",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=3;BYMONTH=1,4;BYDAY=1MO",
            "Every 3 months, but only in January and April, on the first Monday of the month at 09:00",
        ),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYMONTH=7;BYDAY=MO",
            "Every 2 weeks, but only in July, on Monday at 09:00, with weeks that begin on Monday",
        ),
        (
            "FREQ=YEARLY;BYMONTHDAY=13;BYDAY=20MO,FR",
            "Every year on day 13 of the month, but only when that is Friday or the 20th Monday of the year at 09:00",
        ),
        (
            "FREQ=YEARLY;INTERVAL=2;BYMONTH=5;BYMONTHDAY=13;BYDAY=FR",
            "Every 2 years in May on day 13 of the month, but only when that is Friday at 09:00",
        ),
        (
            "FREQ=YEARLY;BYYEARDAY=100,-1;BYMONTH=12",
            "Every year in December on day 100 and the last day of the year at 09:00",
        ),
        ("FREQ=DAILY;BYMONTH=7,8", "Every day in July and August at 09:00"),
        (
            "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
            "Every day at minutes 0, 20 and 40 of hours 9 to 16",
        ),
        ("FREQ=DAILY;BYSECOND=30", "Every day at 09:00:30"),
    ] {
        assert_eq!(parse(&rule(text)).describe(), format!("{told}, Berlin time, from 2026-01-30"), "{text}");
    }
    for (text, told) in [
        ("FREQ=DAILY;COUNT=10", "from 2026-01-30, 10 times"),
        ("FREQ=DAILY;COUNT=1", "from 2026-01-30, once"),
        ("FREQ=DAILY;UNTIL=20261224", "from 2026-01-30, until the end of 2026-12-24"),
        ("FREQ=DAILY;UNTIL=20261224T120000", "from 2026-01-30, until 2026-12-24 12:00"),
        ("FREQ=DAILY;UNTIL=20261224T120000Z", "from 2026-01-30, until 2026-12-24T12:00:00Z"),
    ] {
        assert_eq!(
            parse(&rule(text)).describe(),
            format!("Every day at 09:00, Berlin time, {told}"),
            "{text}"
        );
    }
    let told = parse(&rule("FREQ=DAILY;BYHOUR=8,10")).describe();
    assert_eq!(told, "Every day at 08:00 and 10:00, Berlin time, from 2026-01-30 09:00");
}

#[test]
fn what_is_no_rule_is_refused_with_its_column_and_a_hint() {
    for (text, column, part) in [
        ("", Some(1), "the rule is empty"),
        ("RRULE:", Some(1), "the rule is empty"),
        ("BYDAY=MO", Some(1), "no FREQ"),
        ("RRULE:BYDAY=MO", Some(7), "no FREQ"),
        ("FREQ=HOURLY", Some(6), "finer than a day"),
        ("FREQ=MINUTELY;INTERVAL=5", Some(6), "finer than a day"),
        ("FREQ=FORTNIGHTLY", Some(6), "unknown FREQ"),
        ("FREQ=DAILY;", Some(12), "an empty part"),
        ("FREQ=DAILY;;COUNT=1", Some(12), "an empty part"),
        ("FREQ=DAILY;COUNT", Some(12), "`COUNT` is no part"),
        ("FREQ=DAILY;COUNT=", Some(18), "COUNT has no value"),
        ("FREQ=DAILY;COUNT=0", Some(18), "`0` is no value of COUNT"),
        ("FREQ=DAILY;COUNT=10001", Some(18), "`10001` is no value of COUNT"),
        ("FREQ=DAILY;COUNT=5;UNTIL=20261224", Some(20), "both there"),
        ("FREQ=DAILY;FREQ=DAILY", Some(12), "FREQ is there twice"),
        ("FREQ=DAILY;INTERVAL=0", Some(21), "`0` is no value of INTERVAL"),
        ("FREQ=DAILY;INTERVAL=1001", Some(21), "`1001` is no value of INTERVAL"),
        ("FREQ=DAILY;INTERVAL=-1", Some(21), "`-1` is no value of INTERVAL"),
        ("FREQ=DAILY;BYMONTH=1,13", Some(22), "`13` is no value of BYMONTH"),
        ("FREQ=DAILY;BYMONTH=1,,2", Some(22), "`` is no value of BYMONTH"),
        ("FREQ=DAILY;BYMONTHDAY=0", Some(23), "`0` is no value of BYMONTHDAY"),
        ("FREQ=DAILY;BYMONTHDAY=+-1", Some(23), "`+-1` is no value of BYMONTHDAY"),
        ("FREQ=DAILY;BYHOUR=24", Some(19), "`24` is no value of BYHOUR"),
        ("FREQ=DAILY;BYSECOND=60", Some(21), "`60` is no value of BYSECOND"),
        ("FREQ=DAILY;BYDAY=XX", Some(18), "`XX` is no weekday"),
        ("FREQ=MONTHLY;BYDAY=MO,0TU", Some(23), "`0` is no value of BYDAY"),
        ("FREQ=MONTHLY;BYDAY=", Some(20), "BYDAY has no value"),
        ("FREQ=WEEKLY;BYDAY=1MO", Some(13), "a numbered weekday"),
        ("FREQ=DAILY;BYDAY=-1MO", Some(12), "a numbered weekday"),
        ("FREQ=MONTHLY;BYDAY=6MO", Some(14), "6 is no number of a weekday in a month"),
        ("FREQ=MONTHLY;BYDAY=-5MO", Some(14), "-5 is no number of a weekday in a month"),
        ("FREQ=YEARLY;BYWEEKNO=5;BYDAY=1MO", Some(24), "does not go with BYWEEKNO"),
        ("FREQ=WEEKLY;BYMONTHDAY=13", Some(13), "BYMONTHDAY does not go with FREQ=WEEKLY"),
        ("FREQ=MONTHLY;BYYEARDAY=100", Some(14), "BYYEARDAY does not go with FREQ=MONTHLY"),
        ("FREQ=MONTHLY;BYWEEKNO=10", Some(14), "BYWEEKNO does not go with FREQ=MONTHLY"),
        ("FREQ=MONTHLY;BYSETPOS=-1", Some(14), "BYSETPOS has nothing to count"),
        ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=32", Some(23), "BYSETPOS goes to 31"),
        ("FREQ=DAILY;BYDAY=MO;BYHOUR=1,2;BYSETPOS=3,-4", Some(32), "fewer times than BYSETPOS"),
        ("FREQ=DAILY;WKST=1", Some(17), "`1` is no weekday"),
        ("FREQ=DAILY;UNTIL=2026-12-24", Some(18), "no value of UNTIL"),
        ("FREQ=DAILY;UNTIL=20260230", Some(18), "no value of UNTIL"),
        ("FREQ=DAILY;UNTIL=20261224Z", Some(18), "no value of UNTIL"),
        ("FREQ=DAILY;UNTIL=20261224T250000", Some(18), "no value of UNTIL"),
        ("FREQ=DAILY;BYEASTER=1", Some(12), "unknown part `BYEASTER`"),
        ("FREQ=DAILY;X-NAME=1", Some(12), "unknown part `X-NAME`"),
        ("FREQ=DAILY;DTSTART=20260101", Some(12), "DTSTART is not part of a rule"),
        ("DTSTART:20260101T090000", Some(1), "DTSTART is not part of a rule"),
        ("EXDATE:20260101T090000", Some(1), "EXDATE is not part of a rule"),
        ("DTSTART:20260101T090000\nRRULE:FREQ=DAILY", Some(24), "more than one line"),
        ("FREQ=DAILY\t", Some(11), "unexpected character `\\t`"),
        ("FREQ=DAILÝ", Some(10), "unexpected character"),
        ("FREQ=DAILY;BYMONTH=2,4;BYMONTHDAY=31", Some(24), "no month of BYMONTH has a day 31"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", Some(23), "no month of BYMONTH has a day 30"),
        ("FREQ=MONTHLY;BYMONTH=2;BYDAY=MO,TU;BYSETPOS=20", None, "never matches"),
        ("FREQ=DAILY;UNTIL=20260129", None, "never matches"),
        ("FREQ=DAILY;UNTIL=20260130T075959Z", None, "never matches"),
        ("FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29", None, "never matches"),
        (
            "FREQ=DAILY;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11,12;BYMINUTE=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22",
            Some(48),
            "more than 288 times a day",
        ),
    ] {
        let error = Rule::parse(&rule(text)).expect_err(text);
        assert_eq!((error.kind, error.column), (CronErrorKind::Cron, column), "{text}: {error}");
        assert!(error.detail.contains(part), "{text}: {error}");
        assert!(!error.hint.is_empty(), "{text}");
    }
    let long = format!("FREQ=DAILY;BYMONTH={}1", "1,".repeat(300));
    assert!(Rule::parse(&rule(&long)).expect_err("long").detail.contains("longer than 512"));
}

#[test]
fn a_start_is_a_local_date_and_time_of_the_years_1970_to_9999() {
    for start in [
        "",
        "2026-01-30",
        "2026-01-30T09:00:00Z",
        "2026-02-30T09:00:00",
        "1969-12-31T23:59:59",
        "2026-01-30T24:00:00",
        "2026-01-30 09:00:00",
        "20260130T090000",
        "2026-01-3öT09:00:0",
    ] {
        let error = Rule::parse(&RuleText { start, ..BERLIN }).expect_err(start);
        assert_eq!(error.kind, CronErrorKind::Start, "{start}");
        assert!(error.hint.contains("2026-01-30T09:00:00"));
    }
    for start in ["1970-01-01T00:00:00", "9999-12-30T00:00:00"] {
        assert!(Rule::parse(&RuleText { start, time_zone: "UTC", ..BERLIN }).is_ok(), "{start}");
    }
    let error = Rule::parse(&RuleText { time_zone: "Berlin", ..BERLIN }).expect_err("no zone");
    assert_eq!(error.kind, CronErrorKind::Zone);
}

#[test]
fn a_gap_moves_an_occurrence_to_its_end_and_several_merge() {
    let after = "2026-03-28T12:00:00Z";
    let text = "FREQ=DAILY;BYHOUR=2;BYMINUTE=15,45";
    assert_eq!(
        walk(&rule(text), after, 2),
        ["2026-03-29T01:00:00Z moved_from_gap", "2026-03-30T00:15:00Z normal"]
    );
    assert_eq!(
        walk(&RuleText { dst_gap: DstGap::Skip, ..rule(text) }, after, 1),
        ["2026-03-30T00:15:00Z normal"]
    );
}

#[test]
fn an_overlap_gives_the_pass_that_was_asked_for_also_to_the_last_occurrence() {
    let after = "2026-10-24T12:00:00Z";
    let text = "FREQ=DAILY;BYHOUR=2;BYMINUTE=30;UNTIL=20261025T023000";
    assert_eq!(walk(&rule(text), after, 9), ["2026-10-25T00:30:00Z first_pass"]);
    assert_eq!(
        walk(&RuleText { dst_overlap: DstOverlap::Second, ..rule(text) }, after, 9),
        ["2026-10-25T01:30:00Z second_pass"]
    );
    let both = RuleText { dst_overlap: DstOverlap::Both, ..rule(text) };
    assert_eq!(
        walk(&both, after, 9),
        ["2026-10-25T00:30:00Z first_pass", "2026-10-25T01:30:00Z second_pass"]
    );
    assert_eq!(parse(&both).count(at(after), Timestamp::NEVER), 2);
    // An instant cuts between the passes.
    let cut = RuleText { rule: "FREQ=DAILY;BYHOUR=2;BYMINUTE=30;UNTIL=20261025T010000Z", ..both };
    assert_eq!(walk(&cut, after, 9), ["2026-10-25T00:30:00Z first_pass"]);
    assert_eq!(parse(&cut).count(at(after), Timestamp::NEVER), 1);
    assert_eq!(
        parse(&cut).prev(Timestamp::NEVER).map(|found| instant_text(found.at)),
        Some("2026-10-25T00:30:00Z".to_owned())
    );
}

#[test]
fn surprises_have_warnings_and_ordinary_rules_have_none() {
    let codes = |text: &str| -> Vec<&str> {
        parse(&rule(text))
            .warnings(at("2026-12-01T00:00:00Z"))
            .into_iter()
            .map(|warning| warning.code)
            .collect()
    };
    for (text, expected) in [
        ("FREQ=DAILY", vec![]),
        ("FREQ=MONTHLY;BYDAY=-1FR", vec![]),
        ("FREQ=WEEKLY;BYDAY=MO", vec!["start_not_matched"]),
        ("FREQ=MONTHLY", vec!["short_months"]),
        ("FREQ=MONTHLY;BYMONTHDAY=30,31", vec!["short_months"]),
        ("FREQ=MONTHLY;BYMONTHDAY=30,-1", vec![]),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", vec!["start_not_matched", "short_months"]),
        ("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", vec!["start_not_matched", "dst_gap", "dst_overlap"]),
        ("FREQ=DAILY;BYHOUR=2;COUNT=3", vec!["start_not_matched"]),
    ] {
        assert_eq!(codes(text), expected, "{text}");
    }
    let messages: Vec<String> = parse(&rule("FREQ=WEEKLY;BYDAY=SU;BYHOUR=2;BYMINUTE=30"))
        .warnings(at("2026-12-01T00:00:00Z"))
        .into_iter()
        .map(|warning| warning.message)
        .collect();
    assert_eq!(
        messages,
        [
            "the start 2026-01-30 09:00 does not match the rule and is no occurrence: the first is 2026-02-01 02:30",
            "2027-03-28 02:30 does not exist in Europe/Berlin because clocks are moved: it runs at 03:00 instead",
            "2027-10-31 02:30 comes twice in Europe/Berlin because clocks are moved: it runs in the first pass only",
        ]
    );
}

#[test]
fn a_leap_day_every_thousand_years_and_the_last_second_are_found() {
    let far = RuleText { rule: "FREQ=YEARLY;INTERVAL=1000", start: "2000-02-29T00:00:00", ..BERLIN };
    assert_eq!(
        walk(&far, "2026-01-01T00:00:00Z", 9),
        ["4000-02-28T23:00:00Z normal", "6000-02-28T23:00:00Z normal", "8000-02-28T23:00:00Z normal"]
    );
}
