//! iCalendar texts in the shapes that programs write them, damaged ones, and any bytes at all.
#![allow(clippy::expect_used)]

use campanile_core::calendar::{Calendar, date_text};
use campanile_core::cron::{instant_text, parse_instant};
use campanile_core::ical::{BadIcal, Remark, read};
use campanile_core::time::Timestamp;
use proptest::prelude::*;

const GOOGLE: &str = include_str!("data/ical/google_holidays.ics");
const OUTLOOK: &str = include_str!("data/ical/outlook.ics");
const APPLE: &str = include_str!("data/ical/apple.ics");

fn now() -> Timestamp {
    parse_instant("2026-12-02T00:00:00Z").expect("an instant")
}

fn taken(text: &str) -> (Calendar, Vec<Remark>) {
    let (calendar, remarks) = read(text, now()).expect("a calendar");
    assert_eq!(calendar.check(), Ok(()));
    (calendar, remarks)
}

fn dates(calendar: &Calendar) -> Vec<String> {
    calendar.dates.iter().map(|date| date_text(*date)).collect()
}

fn spans(calendar: &Calendar) -> Vec<String> {
    calendar
        .spans
        .iter()
        .map(|(start, end)| format!("{} {}", instant_text(*start), instant_text(*end)))
        .collect()
}

fn told(remarks: &[Remark]) -> Vec<String> {
    remarks.iter().map(|remark| format!("{}: {}", remark.line, remark.message)).collect()
}

/// One event in a calendar of Berlin; its lines begin in line 3.
fn event(lines: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\nX-WR-TIMEZONE:Europe/Berlin\nBEGIN:VEVENT\nSUMMARY:Event\n{lines}\nEND:VEVENT\nEND:VCALENDAR\n"
    )
}

#[test]
fn a_google_holiday_calendar_gives_its_dates_without_a_remark() {
    let (calendar, remarks) = taken(GOOGLE);
    assert_eq!(dates(&calendar), ["2026-12-25", "2026-12-26", "2027-01-01"]);
    assert_eq!(
        (&*calendar.description, &calendar.time_zone, calendar.spans.len()),
        ("Holidays in Germany", &None, 0)
    );
    assert_eq!(told(&remarks), [""; 0]);
}

#[test]
fn an_outlook_export_with_its_own_zone_names_gives_spans_and_says_what_it_left_out() {
    let crlf = OUTLOOK.replace('\n', "\r\n");
    let (calendar, remarks) = taken(&crlf);
    assert_eq!((calendar, remarks), taken(OUTLOOK));
    let (calendar, remarks) = taken(&crlf);
    assert_eq!(
        spans(&calendar),
        [
            "2026-11-27T17:00:00Z 2026-11-27T21:00:00Z",
            "2026-12-22T17:00:00Z 2026-12-22T18:00:00Z",
            "2027-02-26T17:00:00Z 2027-02-26T21:00:00Z",
            "2027-03-26T17:00:00Z 2027-03-26T21:00:00Z",
        ]
    );
    assert_eq!(
        told(&remarks),
        [
            "51: “Lunch” is marked as free and was left out",
            "58: “Abgesagt” is cancelled and was left out",
            "68: unknown time zone `Customized Time Zone`: “Odd zone” was left out",
            "71: 1 VTODO left out: only events exclude anything",
        ]
    );
}

#[test]
fn an_apple_calendar_gives_rules_durations_added_dates_and_times_without_a_zone() {
    let (calendar, remarks) = taken(APPLE);
    let christmas: Vec<String> = (2024..=2036).map(|year| format!("{year}-12-24")).collect();
    let offsite: Vec<String> = (8..=14).map(|day| format!("2027-03-{day:02}")).collect();
    let expected = [&christmas[..3], &offsite, &christmas[3..]].concat();
    assert_eq!(dates(&calendar), expected);
    assert_eq!(
        spans(&calendar),
        [
            "2027-03-28T00:30:00Z 2027-03-28T02:30:00Z",
            "2027-04-03T23:30:00Z 2027-04-04T01:30:00Z",
            "2027-04-10T23:30:00Z 2027-04-11T01:30:00Z",
            "2027-05-01T10:00:00Z 2027-05-01T11:00:00Z",
        ]
    );
    assert_eq!(
        told(&remarks),
        [
            "34: rules are expanded until 2037-01-01T00:00:00Z: import again before then",
            "34: occurrences of rules before 2025-01-01T00:00:00Z were left out",
        ]
    );
}

#[test]
fn what_is_written_in_an_unusual_way_is_taken_as_it_is_meant() {
    for (lines, expected) in [
        ("DTSTART:20261225", "2026-12-25"),
        ("DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261225", "2026-12-25"),
        ("DTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227", "2026-12-24 2026-12-25 2026-12-26"),
        ("DTSTART;VALUE=DATE:20261224\nDURATION:PT36H", "2026-12-24 2026-12-25"),
        (
            "DTSTART;VALUE=DATE:20261224\nRDATE;VALUE=DATE:20261231,20270106",
            "2026-12-24 2026-12-31 2027-01-06",
        ),
        (
            "DTSTART;VALUE=DATE:20261224\nRRULE:FREQ=DAILY;COUNT=4\nEXDATE;VALUE=DATE:20261225,20261226",
            "2026-12-24 2026-12-27",
        ),
        (
            "DTSTART;VALUE=DATE:20261224\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20261225T000000",
            "2026-12-24 2026-12-26",
        ),
        // The first occurrence counts even where the rule does not match it.
        (
            "DTSTART;VALUE=DATE:20261224\nRRULE:FREQ=WEEKLY;BYDAY=MO;UNTIL=20270105",
            "2026-12-24 2026-12-28 2027-01-04",
        ),
        ("DTSTART;VAL\n UE=DATE:2026\n\t1225", "2026-12-25"),
        ("dtstart;value=date:20261225", "2026-12-25"),
    ] {
        let (calendar, remarks) = taken(&event(lines));
        assert_eq!(
            (dates(&calendar).join(" "), told(&remarks)),
            (expected.to_owned(), Vec::new()),
            "{lines}"
        );
    }
    for (lines, expected) in [
        // Days of a duration are days of the calendar, hours are elapsed time.
        (
            "DTSTART;TZID=Europe/Berlin:20270327T120000\nDURATION:P1D",
            "2027-03-27T11:00:00Z 2027-03-28T10:00:00Z",
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20270327T120000\nDURATION:PT24H",
            "2027-03-27T11:00:00Z 2027-03-28T11:00:00Z",
        ),
        (
            "DTSTART;TZID=/mozilla.org/20070129_1/Europe/Berlin:20261225T090000\nDTEND:20261225T100000Z",
            "2026-12-25T08:00:00Z 2026-12-25T10:00:00Z",
        ),
        (
            "DTSTART:20261225T090000Z\nDURATION:PT1H\nRDATE;VALUE=PERIOD:20261226T090000Z/PT2H,20261227T090000Z/20261227T093000Z",
            "2026-12-25T09:00:00Z 2026-12-25T10:00:00Z 2026-12-26T09:00:00Z 2026-12-26T11:00:00Z 2026-12-27T09:00:00Z 2026-12-27T09:30:00Z",
        ),
        (
            "DTSTART:20261225T230000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20261226",
            "2026-12-25T23:00:00Z 2026-12-26T00:00:00Z 2026-12-27T23:00:00Z 2026-12-28T00:00:00Z",
        ),
    ] {
        let (calendar, remarks) = taken(&event(lines));
        assert_eq!(
            (spans(&calendar).join(" "), told(&remarks)),
            (expected.to_owned(), Vec::new()),
            "{lines}"
        );
    }
}

#[test]
fn what_is_not_understood_becomes_a_remark_with_its_line() {
    for (lines, expected) in [
        ("UID:1", "3: “Event” has no DTSTART and was left out"),
        ("DTSTART:2026-12-25", "5: `2026-12-25` is no date or time of DTSTART: “Event” was left out"),
        ("DTSTART:20261225T090000Z", "3: “Event” has no duration and excludes nothing"),
        (
            "DTSTART:20261225T090000Z\nDTEND:20261225T080000Z",
            "6: DTEND is before DTSTART: “Event” was left out",
        ),
        (
            "DTSTART:20261225T090000Z\nDTEND:20261225",
            "6: DTSTART and DTEND are not of one kind: “Event” was left out",
        ),
        ("DTSTART:20261225T090000Z\nDURATION:1H", "6: `1H` is no DURATION: “Event” was left out"),
        (
            "DTSTART;TZID=Mars/Base:20261225T090000\nDURATION:PT1H",
            "5: unknown time zone `Mars/Base`: “Event” was left out",
        ),
    ] {
        let (calendar, remarks) = taken(&event(lines));
        let expected = ["0: nothing is excluded: no event was taken".to_owned(), expected.to_owned()];
        assert_eq!(
            (told(&remarks), calendar.dates.len() + calendar.spans.len()),
            (expected.to_vec(), 0),
            "{lines}"
        );
    }
    for (lines, expected) in [
        ("EXRULE:FREQ=DAILY", "6: EXRULE is not understood and was left out"),
        ("DTSTART:20270101", "6: DTSTART is there twice: the first is taken"),
        ("no property", "6: this line is no property and was left out"),
        ("DTEND:nonsense", "6: `nonsense` is no date or time of DTEND: one day of “Event” is taken"),
        ("RDATE:20261226T090000Z", "6: `20261226T090000Z` is a time among dates: left out of “Event”"),
        ("RDATE:20261226X", "6: `20261226X` is no date or time of RDATE: left out of “Event”"),
        ("EXDATE:x", "6: `x` is no date or time of EXDATE: not left out of “Event”"),
        (
            "RRULE:FREQ=HOURLY",
            "6: the rule of “Event” was left out, its first occurrence is kept: FREQ=HOURLY is finer than a day",
        ),
    ] {
        let (calendar, remarks) = taken(&event(&format!("DTSTART:20261225\n{lines}")));
        assert_eq!(
            (told(&remarks), dates(&calendar)),
            (vec![expected.to_owned()], vec!["2026-12-25".to_owned()]),
            "{lines}"
        );
    }
    let floating =
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261225T090000\nDURATION:PT1H\nEND:VEVENT\nEND:VCALENDAR";
    let (_, remarks) = taken(floating);
    assert!(remarks[1].message.starts_with("a time without a zone"), "{remarks:?}");
}

#[test]
fn a_damaged_text_is_refused_as_a_whole() {
    let refused = |text: &str| -> BadIcal { read(text, now()).expect_err(text) };
    let cut = &GOOGLE[..GOOGLE.len() / 2];
    for (text, line, part) in [
        ("", None, "no iCalendar text"),
        ("<html>not found</html>", Some(1), "no iCalendar text"),
        ("2026-12-25\n", Some(1), "no iCalendar text"),
        ("BEGIN:VCARD\nEND:VCARD", Some(1), "no iCalendar text"),
        ("SUMMARY:x", Some(1), "no iCalendar text"),
        (cut, Some(9), "the text ends inside the VEVENT that begins in line 9"),
        ("BEGIN:VCALENDAR\n", Some(1), "the text ends inside the VCALENDAR"),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR", Some(3), "where the VEVENT of line 2 is open"),
        ("BEGIN:VCALENDAR\nEND:VCALENDAR\nEND:VCALENDAR", Some(3), "where nothing is open"),
    ] {
        let error = refused(text);
        assert!(error.detail.contains(part) && !error.hint.is_empty(), "{text}: {error:?}");
        assert_eq!(error.line, line, "{text}");
    }
    let nested = "BEGIN:VCALENDAR\n".to_owned() + &"BEGIN:VEVENT\n".repeat(100);
    assert!(refused(&nested).detail.contains("nest deeper"));
    assert!(refused(&" ".repeat(1024 * 1024 + 1)).detail.contains("longer than"));
}

#[test]
fn what_would_be_endless_or_very_large_is_bounded() {
    let endless = event("DTSTART;VALUE=DATE:19700101\nRRULE:FREQ=DAILY");
    let (calendar, remarks) = taken(&endless);
    assert_eq!(calendar.dates.len(), 1 + 12 * 365 + 3, "1970, and 2025 to 2036");
    assert_eq!(remarks.len(), 2);

    let many = |rule: &str, events: usize| {
        let one = format!("BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260101\nRRULE:{rule}\nEND:VEVENT\n");
        format!("BEGIN:VCALENDAR\n{}END:VCALENDAR\n", one.repeat(events))
    };
    for (text, part) in [
        (many("FREQ=DAILY", 12_000), "more than 20000"),
        (many("FREQ=WEEKLY;BYDAY=MO;BYHOUR=1;BYSETPOS=2", 10_000), "too many"),
        (many("FREQ=YEARLY;COUNT=1", 10_000), "too many"),
        (many("FREQ=DAILY;COUNT=10000;INTERVAL=290", 10_000), "too many"),
        (
            event(&format!(
                "DTSTART:20260101\nRDATE:{}",
                (0..100_000).map(|n| format!("{:04}0101,", 1970 + n % 8000)).collect::<String>()
            )),
            "more than",
        ),
        (event("DTSTART:20260101\nDURATION:P3000D\nRRULE:FREQ=WEEKLY"), "more than"),
        (
            event(&format!("DTSTART:20260101T000000Z\nDURATION:PT1S\nRRULE:FREQ=DAILY;BYHOUR={}", hours())),
            "more than",
        ),
    ] {
        let error = read(&text, now()).expect_err(part);
        assert!(error.detail.contains(part), "{error:?}");
    }
    let folds = event(&format!("DTSTART:20261225\nDESCRIPTION:x{}", "\n y".repeat(300_000)));
    assert_eq!(dates(&taken(&folds).0), ["2026-12-25"]);
    let (_, remarks) = taken(&event(&format!("DTSTART:20261225\n{}", "nonsense\n".repeat(50_000))));
    assert_eq!((remarks.len(), remarks[200].message.as_str()), (201, "and 49800 more remarks"));
    let exceptions = event(&format!(
        "DTSTART:20260101\nRRULE:FREQ=DAILY;COUNT=4000\nEXDATE:{}20260101",
        "20270101,".repeat(100_000)
    ));
    assert_eq!(taken(&exceptions).0.dates.len(), 3998);
}

fn hours() -> String {
    (0..24).map(|hour| hour.to_string()).collect::<Vec<_>>().join(",")
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let _ = read(&text, now());
        let _ = read(&event(&text), now());
    }

    #[test]
    fn no_order_of_lines_makes_it_panic(lines in proptest::collection::vec(line(), 0..12), now in any::<i64>()) {
        let text = lines.join("\n");
        let _ = read(&event(&text), Timestamp::from_millis(now));
        let _ = read(&format!("BEGIN:VCALENDAR\n{text}\nEND:VCALENDAR"), Timestamp::from_millis(now));
        if let Ok((calendar, _)) = read(&event(&format!("DTSTART:20261225\n{text}")), self::now()) {
            prop_assert_eq!(calendar.check(), Ok(()));
        }
    }

    #[test]
    fn a_text_cut_anywhere_is_refused_or_read(at in 0..OUTLOOK.len()) {
        let cut: String = OUTLOOK.chars().take(at).collect();
        let _ = read(&cut, now());
    }
}

fn line() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("DTSTART"),
        Just("DTEND"),
        Just("DURATION"),
        Just("RRULE"),
        Just("RDATE"),
        Just("EXDATE"),
        Just("RECURRENCE-ID"),
        Just("UID"),
        Just("BEGIN"),
        Just("END"),
        Just("TZID"),
        Just("X-LIC-LOCATION"),
    ];
    let parameter = prop_oneof![
        4 => Just(""), 1 => Just(";VALUE=DATE"), 1 => Just(";TZID=Europe/Berlin"), 1 => Just(";TZID=\"W. Europe Standard Time\""), 1 => Just(";TZID"),
    ];
    let value = prop_oneof![
        3 => "(19|20|99)[0-9]{2}(0[1-9]|1[0-2])[0-3][0-9](T[0-2][0-9][0-5][0-9]00)?Z?(/PT?[0-9]{1,9}[DHMSW])?(,20261231)?",
        2 => "P?T?[0-9]{0,19}[DHMSWT]{1,2}",
        2 => "FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;COUNT=[0-9]{1,5}|;UNTIL=20301231)?(;INTERVAL=[0-9]{1,3})?(;BYDAY=-?[0-9]?(MO|SU))?",
        1 => prop_oneof![Just("VEVENT"), Just("VTIMEZONE"), Just("VALARM"), Just("VCALENDAR")].prop_map(str::to_owned),
        1 => "\\PC{0,20}",
    ];
    (name, parameter, value).prop_map(|(name, parameter, value)| format!("{name}{parameter}:{value}"))
}
