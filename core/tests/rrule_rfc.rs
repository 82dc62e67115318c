//! The examples of RFC 5545 section 3.8.5.3 that are daily or coarser, with the dates that it prints (America/New_York).
#![allow(clippy::expect_used)]

use campanile_core::cron::{DstGap, DstOverlap, local_text};
use campanile_core::rrule::{Rule, RuleText};
use campanile_core::time::Timestamp;

const ZONE: &str = "America/New_York";

/// How a row ends: with these dates, or with more after them.
enum Then {
    End,
    More,
}
use Then::{End, More};

/// Rule, date of the start (at 09:00), the dates as `month day day, month day`, grouped by `year:`.
const EXAMPLES: &[(&str, &str, &str, Then)] = &[
    ("FREQ=DAILY;COUNT=10", "1997-09-02", "1997: 9 2 3 4 5 6 7 8 9 10 11", End),
    (
        "FREQ=DAILY;INTERVAL=2",
        "1997-09-02",
        "1997: 9 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30, 10 2 4 6",
        More,
    ),
    ("FREQ=DAILY;INTERVAL=10;COUNT=5", "1997-09-02", "1997: 9 2 12 22, 10 2 12", End),
    ("FREQ=WEEKLY;COUNT=10", "1997-09-02", "1997: 9 2 9 16 23 30, 10 7 14 21 28, 11 4", End),
    (
        "FREQ=WEEKLY;UNTIL=19971224T000000Z",
        "1997-09-02",
        "1997: 9 2 9 16 23 30, 10 7 14 21 28, 11 4 11 18 25, 12 2 9 16 23",
        End,
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;WKST=SU",
        "1997-09-02",
        "1997: 9 2 16 30, 10 14 28, 11 11 25, 12 9 23 1998: 1 6 20, 2 3 17",
        More,
    ),
    (
        "FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH",
        "1997-09-02",
        "1997: 9 2 4 9 11 16 18 23 25 30, 10 2",
        End,
    ),
    ("FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH", "1997-09-02", "1997: 9 2 4 9 11 16 18 23 25 30, 10 2", End),
    (
        "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
        "1997-09-01",
        "1997: 9 1 3 5 15 17 19 29, 10 1 3 13 15 17 27 29 31, 11 10 12 14 24 26 28, 12 8 10 12 22",
        End,
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH",
        "1997-09-02",
        "1997: 9 2 4 16 18 30, 10 2 14 16",
        End,
    ),
    (
        "FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
        "1997-09-05",
        "1997: 9 5, 10 3, 11 7, 12 5 1998: 1 2, 2 6, 3 6, 4 3, 5 1, 6 5",
        End,
    ),
    ("FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", "1997-09-05", "1997: 9 5, 10 3, 11 7, 12 5", End),
    (
        "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
        "1997-09-07",
        "1997: 9 7 28, 11 2 30 1998: 1 4 25, 3 1 29, 5 3 31",
        End,
    ),
    (
        "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO",
        "1997-09-22",
        "1997: 9 22, 10 20, 11 17, 12 22 1998: 1 19, 2 16",
        End,
    ),
    ("FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28", "1997: 9 28, 10 29, 11 28, 12 29 1998: 1 29, 2 26", More),
    (
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
        "1997-09-02",
        "1997: 9 2 15, 10 2 15, 11 2 15, 12 2 15 1998: 1 2 15",
        End,
    ),
    (
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
        "1997-09-30",
        "1997: 9 30, 10 1 31, 11 1 30, 12 1 31 1998: 1 1 31, 2 1",
        End,
    ),
    (
        "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
        "1997-09-10",
        "1997: 9 10 11 12 13 14 15 1999: 3 10 11 12 13",
        End,
    ),
    (
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU",
        "1997-09-02",
        "1997: 9 2 9 16 23 30, 11 4 11 18 25 1998: 1 6 13 20 27, 3 3 10 17 24 31",
        More,
    ),
    (
        "FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
        "1997-06-10",
        "1997: 6 10, 7 10 1998: 6 10, 7 10 1999: 6 10, 7 10 2000: 6 10, 7 10 2001: 6 10, 7 10",
        End,
    ),
    (
        "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
        "1997-03-10",
        "1997: 3 10 1999: 1 10, 2 10, 3 10 2001: 1 10, 2 10, 3 10 2003: 1 10, 2 10, 3 10",
        End,
    ),
    (
        "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
        "1997-01-01",
        "1997: 1 1, 4 10, 7 19 2000: 1 1, 4 9, 7 18 2003: 1 1, 4 10, 7 19 2006: 1 1",
        End,
    ),
    ("FREQ=YEARLY;BYDAY=20MO", "1997-05-19", "1997: 5 19 1998: 5 18 1999: 5 17", More),
    ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12", "1997: 5 12 1998: 5 11 1999: 5 17", More),
    (
        "FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
        "1997-03-13",
        "1997: 3 13 20 27 1998: 3 5 12 19 26 1999: 3 4 11 18 25",
        More,
    ),
    (
        "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8",
        "1997-06-05",
        "1997: 6 5 12 19 26, 7 3 10 17 24 31, 8 7 14 21 28 1998: 6 4 11 18 25, 7 2 9 16 23 30, 8 6 13 20 27",
        More,
    ),
    // The RFC leaves its start out by EXDATE; here a start that does not match is no occurrence.
    (
        "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        "1997-09-02",
        "1998: 2 13, 3 13, 11 13 1999: 8 13 2000: 10 13",
        More,
    ),
    (
        "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
        "1997-09-13",
        "1997: 9 13, 10 11, 11 8, 12 13 1998: 1 10, 2 7, 3 7, 4 11, 5 9, 6 13",
        More,
    ),
    (
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        "1996-11-05",
        "1996: 11 5 2000: 11 7 2004: 11 2",
        More,
    ),
    ("FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04", "1997: 9 4, 10 7, 11 6", End),
    (
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
        "1997-09-29",
        "1997: 9 29, 10 30, 11 27, 12 30 1998: 1 29, 2 26, 3 30",
        More,
    ),
    ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05", "1997: 8 5 10 19 24", End),
    ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05", "1997: 8 5 17 19 31", End),
    ("FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15", "2007: 1 15 30, 2 15, 3 15 30", End),
];

fn spec<'a>(rule: &'a str, start: &'a str) -> RuleText<'a> {
    RuleText { rule, start, time_zone: ZONE, dst_gap: DstGap::RunAfter, dst_overlap: DstOverlap::First }
}

/// `1997: 9 2 3, 10 1` as `1997-09-02T09:00:00`, ….
fn dates(text: &str) -> Vec<String> {
    let mut dates = Vec::new();
    let (mut year, mut month) = ("", None);
    for word in text.split(' ') {
        if let Some(number) = word.strip_suffix(':') {
            (year, month) = (number, None);
            continue;
        }
        let number: u32 = word.trim_end_matches(',').parse().expect("a number");
        match month {
            None => month = Some(number),
            Some(of) => {
                dates.push(format!("{year}-{of:02}-{number:02}T09:00:00"));
                if word.ends_with(',') {
                    month = None;
                }
            }
        }
    }
    dates
}

#[test]
fn the_examples_of_the_rfc_fall_on_its_dates() {
    for (text, start, listed, then) in EXAMPLES {
        let start = format!("{start}T09:00:00");
        let rule = Rule::parse(&spec(text, &start)).expect(text);
        let expected = dates(listed);
        let take = match then {
            End => usize::MAX,
            More => expected.len(),
        };
        let found: Vec<String> =
            std::iter::successors(rule.next(Timestamp::EPOCH), |found| rule.next(found.at))
                .take(take)
                .map(|found| local_text(found.at, ZONE).expect("a zone")[..19].to_owned())
                .collect();
        assert_eq!(found, expected, "{text}");
    }
}

/// Every day in January, for 3 years: two spellings of the RFC with 93 dates.
#[test]
fn every_day_of_three_januaries_in_both_spellings() {
    let walk = |text: &str| -> Vec<String> {
        let rule = Rule::parse(&spec(text, "1998-01-01T09:00:00")).expect(text);
        std::iter::successors(rule.next(Timestamp::EPOCH), |found| rule.next(found.at))
            .map(|found| local_text(found.at, ZONE).expect("a zone")[..19].to_owned())
            .collect()
    };
    let yearly = walk("FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA");
    assert_eq!(yearly, walk("FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1"));
    let day = |year: i32| (1..=31).map(move |day| format!("{year}-01-{day:02}T09:00:00"));
    assert_eq!(yearly, (1998..=2000).flat_map(day).collect::<Vec<_>>());
}

#[test]
fn twenty_minutes_apart_from_nine_to_five_as_the_rfc_writes_it_for_daily() {
    let text = "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40";
    let rule = Rule::parse(&spec(text, "1997-09-02T09:00:00")).expect("parses");
    let found: Vec<String> = std::iter::successors(rule.next(Timestamp::EPOCH), |found| rule.next(found.at))
        .take(26)
        .map(|found| local_text(found.at, ZONE).expect("a zone")[5..16].to_owned())
        .collect();
    assert_eq!(found[..4], ["09-02T09:00", "09-02T09:20", "09-02T09:40", "09-02T10:00"]);
    assert_eq!(found[22..], ["09-02T16:20", "09-02T16:40", "09-03T09:00", "09-03T09:20"]);
}
