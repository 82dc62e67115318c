//! The options for time changes and day fields, and how each instant is marked.
#![allow(clippy::expect_used)]

use campanile_core::cron::{
    Class, Cron, CronText, DayMatch, DstGap, DstOverlap, Note, instant_text, parse_instant,
};
use campanile_core::cron::{known_zone, local_text, tzdb_version};
use campanile_core::time::Timestamp;

const BERLIN: CronText<'static> = CronText {
    text: "30 2 * * *",
    time_zone: "Europe/Berlin",
    day_match: DayMatch::Any,
    dst_gap: DstGap::RunAfter,
    dst_overlap: DstOverlap::First,
};

/// The instants after `after` as `instant note`, and the same walked backwards must agree.
fn walk(spec: &CronText<'_>, after: &str, count: usize) -> Vec<String> {
    let cron = Cron::parse(spec).expect("parses");
    let start = parse_instant(after).expect("an instant");
    let found: Vec<_> =
        std::iter::successors(cron.next(start), |found| cron.next(found.at)).take(count).collect();
    for pair in found.windows(2) {
        assert_eq!(cron.prev(pair[1].at), Some(pair[0]), "backwards from {}", instant_text(pair[1].at));
    }
    assert_eq!(cron.count(start, found[count - 1].at), count as u64);
    found.iter().map(|found| format!("{} {}", instant_text(found.at), found.note.as_str())).collect()
}

#[test]
fn a_gap_moves_a_fixed_instant_to_its_end_or_skips_it() {
    assert_eq!(
        walk(&BERLIN, "2026-03-28T12:00:00Z", 2),
        ["2026-03-29T01:00:00Z moved_from_gap", "2026-03-30T00:30:00Z normal"]
    );
    assert_eq!(
        walk(&CronText { dst_gap: DstGap::Skip, ..BERLIN }, "2026-03-28T12:00:00Z", 1),
        ["2026-03-30T00:30:00Z normal"]
    );
}

#[test]
fn an_overlap_gives_the_pass_that_was_asked_for() {
    let after = "2026-10-24T12:00:00Z";
    assert_eq!(walk(&BERLIN, after, 2), ["2026-10-25T00:30:00Z first_pass", "2026-10-26T01:30:00Z normal"]);
    assert_eq!(
        walk(&CronText { dst_overlap: DstOverlap::Second, ..BERLIN }, after, 2),
        ["2026-10-25T01:30:00Z second_pass", "2026-10-26T01:30:00Z normal"]
    );
    assert_eq!(
        walk(&CronText { dst_overlap: DstOverlap::Both, ..BERLIN }, after, 3),
        [
            "2026-10-25T00:30:00Z first_pass",
            "2026-10-25T01:30:00Z second_pass",
            "2026-10-26T01:30:00Z normal"
        ]
    );
}

#[test]
fn gaps_and_overlaps_end_where_they_end_to_the_second() {
    let after = "2026-10-24T12:00:00Z";
    let text = |text| CronText { text, ..BERLIN };
    assert_eq!(
        walk(&text("59 59 1,2 * * *"), after, 3),
        ["2026-10-24T23:59:59Z normal", "2026-10-25T00:59:59Z first_pass", "2026-10-26T00:59:59Z normal"]
    );
    assert_eq!(
        walk(&text("0 2,3 * * *"), after, 3),
        ["2026-10-25T00:00:00Z first_pass", "2026-10-25T02:00:00Z normal", "2026-10-26T01:00:00Z normal"]
    );
    let after = "2026-03-28T12:00:00Z";
    assert_eq!(
        walk(&text("59 59 1 * * *"), after, 2),
        ["2026-03-29T00:59:59Z normal", "2026-03-29T23:59:59Z normal"]
    );
    assert_eq!(walk(&text("59 59 2 * * *"), after, 1), ["2026-03-29T01:00:00Z moved_from_gap"]);
    assert_eq!(walk(&text("0 0 3 * * *"), after, 1), ["2026-03-29T01:00:00Z normal"]);
}

#[test]
fn an_instant_that_matches_after_the_gap_by_itself_is_normal_and_there_once() {
    assert_eq!(
        walk(&CronText { text: "0 2,3 * * *", ..BERLIN }, "2026-03-28T12:00:00Z", 2),
        ["2026-03-29T01:00:00Z normal", "2026-03-30T00:00:00Z normal"]
    );
}

#[test]
fn a_wildcard_runs_at_each_real_instant_whatever_the_options_say() {
    let spec = CronText { text: "*/30 2 * * *", dst_overlap: DstOverlap::Second, ..BERLIN };
    assert_eq!(
        walk(&spec, "2026-10-24T12:00:00Z", 5),
        [
            "2026-10-25T00:00:00Z first_pass",
            "2026-10-25T00:30:00Z first_pass",
            "2026-10-25T01:00:00Z second_pass",
            "2026-10-25T01:30:00Z second_pass",
            "2026-10-26T01:00:00Z normal",
        ]
    );
    assert_eq!(walk(&spec, "2026-03-28T12:00:00Z", 1), ["2026-03-30T00:00:00Z normal"]);
}

#[test]
fn the_class_is_that_of_the_text() {
    for (text, class) in [
        ("30 2 * * *", Class::Fixed),
        ("0 2,14 * * *", Class::Fixed),
        ("0-59 0-23 * * *", Class::Fixed),
        ("@daily", Class::Fixed),
        ("30 2 * * * *", Class::Wildcard),
        ("*/5 2 * * *", Class::Wildcard),
        ("0 */6 * * *", Class::Wildcard),
        ("* 0 2 * * *", Class::Wildcard),
        ("@hourly", Class::Wildcard),
    ] {
        assert_eq!(Cron::parse(&CronText { text, ..BERLIN }).expect(text).class(), class, "{text}");
    }
}

#[test]
fn a_date_that_a_zone_left_out_never_existed() {
    // Samoa went from the 29th to the 31st of December 2011: 24 hours, a change of calendar and no gap.
    let spec = CronText { text: "0 12 30 12 *", time_zone: "Pacific/Apia", ..BERLIN };
    assert_eq!(walk(&spec, "2011-01-01T00:00:00Z", 1), ["2012-12-29T22:00:00Z normal"]);
}

#[test]
fn both_day_fields_join_as_the_text_or_the_option_says() {
    let utc = CronText { time_zone: "UTC", ..BERLIN };
    let days = |text, day_match| {
        walk(&CronText { text, day_match, ..utc }, "2026-11-01T00:00:00Z", 3)
            .iter()
            .map(|line| line[5..10].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(days("0 9 13 * 5", DayMatch::Any), ["11-06", "11-13", "11-20"]);
    assert_eq!(days("0 9 13 * 5", DayMatch::All), ["11-13", "08-13", "10-13"].map(str::to_owned).as_slice());
    assert_eq!(days("0 9 13 * +5", DayMatch::Any), days("0 9 13 * 5", DayMatch::All));
    assert_eq!(days("0 9 */2 * 5", DayMatch::Any), ["11-13", "11-27", "12-11"]);
    assert_eq!(days("0 9 ? * 5", DayMatch::Any), ["11-06", "11-13", "11-20"]);
}

#[test]
fn searches_are_strict_below_the_second() {
    let cron = Cron::parse(&BERLIN).expect("parses");
    let nominal = parse_instant("2026-12-01T01:30:00Z").expect("an instant");
    let millis = |offset: i64| Timestamp::from_millis(nominal.as_millis() + offset);
    assert_eq!(cron.next(millis(-1)).map(|found| found.at), Some(nominal));
    assert_eq!(cron.prev(millis(1)).map(|found| found.at), Some(nominal));
    assert!(cron.next(nominal).is_some_and(|found| found.at > nominal));
    assert!(cron.prev(nominal).is_some_and(|found| found.at < nominal));
    assert_eq!(cron.count(millis(-1), nominal), 1);
    assert_eq!(cron.count(nominal, millis(1)), 0);
    assert_eq!(cron.count(nominal, millis(-1)), 0);
}

#[test]
fn the_ends_of_time_are_ends_and_no_panics() {
    let cron = Cron::parse(&CronText { text: "* * * * * *", ..BERLIN }).expect("parses");
    let (first, last) = (Timestamp::from_millis(i64::MIN), Timestamp::NEVER);
    assert_eq!(cron.next(last), None);
    assert_eq!(cron.prev(first), None);
    let earliest = cron.next(first).expect("an instant");
    let latest = cron.prev(last).expect("an instant");
    assert_eq!(instant_text(earliest.at), "0001-01-02T00:00:00Z");
    assert_eq!(instant_text(latest.at), "9999-12-30T21:59:59Z");
    assert_eq!(cron.next(latest.at), None);
    assert_eq!(cron.prev(earliest.at), None);
    let seconds = (latest.at.as_millis() - earliest.at.as_millis()) / 1000 + 1;
    assert_eq!(Some(cron.count(first, last)), u64::try_from(seconds).ok());
}

#[test]
fn zones_are_those_of_the_bundled_data_by_their_exact_names() {
    assert_eq!(tzdb_version().as_deref(), Some("2026f"));
    for name in
        ["UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Asia/Calcutta"]
    {
        assert!(known_zone(name), "{name}");
    }
    for name in
        ["utc", "europe/berlin", "Factory", "Etc/Unknown", "", "Europe/Berlin\0", "Z", "+02:00", "CET-1CEST"]
    {
        assert!(!known_zone(name), "{name}");
    }
    let at = parse_instant("2026-03-29T01:00:00Z").expect("an instant");
    assert_eq!(local_text(at, "Europe/Berlin").as_deref(), Some("2026-03-29T03:00:00+02:00"));
    assert_eq!(local_text(at, "UTC").as_deref(), Some("2026-03-29T01:00:00+00:00"));
    assert_eq!(local_text(at, "America/St_Johns").as_deref(), Some("2026-03-28T22:30:00-02:30"));
    assert_eq!(local_text(at, "Nowhere"), None);
    assert_eq!(local_text(Timestamp::NEVER, "UTC"), None);
}

#[test]
fn notes_have_the_names_of_the_api() {
    let names = [Note::Normal, Note::MovedFromGap, Note::FirstPass, Note::SecondPass].map(Note::as_str);
    assert_eq!(names, ["normal", "moved_from_gap", "first_pass", "second_pass"]);
}
