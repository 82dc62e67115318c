//! The tables of right values: next instants of reported and of random texts, and texts that are refused.
//!
//! The rows are data (`tests/data`), so that a new report is one more line and no code.
#![allow(clippy::expect_used)]

use campanile_core::cron::{Cron, CronError, CronErrorKind, CronText, instant_text, parse_instant};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use campanile_core::time::Timestamp;

fn spec<'a>(text: &'a str, time_zone: &'a str) -> CronText<'a> {
    CronText {
        text,
        time_zone,
        day_match: DayMatch::default(),
        dst_gap: DstGap::default(),
        dst_overlap: DstOverlap::default(),
    }
}

/// One row: id, text, zone, the instant to search from, and the instants that follow.
struct Row<'a> {
    id: &'a str,
    cron: Cron,
    after: Timestamp,
    instants: Vec<Timestamp>,
}

fn rows(table: &str) -> Vec<Row<'_>> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [id, text, time_zone, after, instants] = cells[..] else { panic!("five cells in {line:?}") };
            Row {
                id,
                cron: Cron::parse(&spec(text, time_zone)).unwrap_or_else(|error| panic!("{id}: {error:?}")),
                after: parse_instant(after).expect(after),
                instants: instants.split(' ').map(|text| parse_instant(text).expect(text)).collect(),
            }
        })
        .collect()
}

/// Walks a row forwards, backwards and by counting; tells what is wrong with it.
fn fault(row: &Row<'_>) -> Option<String> {
    let mut at = row.after;
    for expected in &row.instants {
        let found = row.cron.next(at).map(|occurrence| occurrence.at);
        if found != Some(*expected) {
            let found = found.map_or("none".to_owned(), instant_text);
            return Some(format!("next({}) is {found}, not {}", instant_text(at), instant_text(*expected)));
        }
        at = *expected;
    }
    let last = *row.instants.last()?;
    let counted = row.cron.count(row.after, last);
    if counted != row.instants.len() as u64 {
        return Some(format!("counts {counted} instead of {}", row.instants.len()));
    }
    let backwards: Vec<Timestamp> =
        std::iter::successors(row.cron.prev(last.successor()), |found| row.cron.prev(found.at))
            .map(|occurrence| occurrence.at)
            .take_while(|at| *at > row.after)
            .collect();
    let mut expected = row.instants.clone();
    expected.reverse();
    (backwards != expected).then(|| format!("walked back {backwards:?} instead of {expected:?}"))
}

fn assert_table(table: &str, expected_rows: usize) {
    let rows = rows(table);
    assert_eq!(rows.len(), expected_rows, "the table was cut");
    let faults: Vec<String> =
        rows.iter().filter_map(|row| Some(format!("{} {:?}: {}", row.id, row.cron, fault(row)?))).collect();
    assert!(faults.is_empty(), "{} of {} rows:\n{}", faults.len(), rows.len(), faults.join("\n"));
}

#[test]
fn every_reported_text_is_due_when_it_should_be() {
    assert_table(include_str!("data/next.tsv"), NEXT_ROWS);
}

#[test]
fn every_random_text_is_due_when_it_should_be() {
    assert_table(include_str!("data/random.tsv"), RANDOM_ROWS);
}

#[test]
fn every_other_report_and_edge_of_ours_is_due_when_it_should_be() {
    assert_table(include_str!("data/reports.tsv"), REPORT_ROWS);
}

const REPORT_ROWS: usize = 56;
const NEXT_ROWS: usize = 103;
const RANDOM_ROWS: usize = 2441;

/// Every row of the reject table, refused: what was written, and the error.
fn refused() -> Vec<(String, CronError)> {
    let lines = include_str!("data/reject.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [kind, text, _why] = cells[..] else { panic!("three cells in {line:?}") };
            let text = text.replace("\\n", "\n").replace("\\t", "\t");
            let (cron, zone) =
                if kind == "zone" { ("0 0 * * *", text.as_str()) } else { (text.as_str(), "UTC") };
            let error = Cron::parse(&spec(cron, zone)).expect_err(line);
            let expected = if kind == "zone" { CronErrorKind::Zone } else { CronErrorKind::Cron };
            assert_eq!(error.kind, expected, "{line}");
            (text, error)
        })
        .collect()
}

#[test]
fn every_refused_text_says_where_and_what_to_write_instead() {
    let refused = refused();
    assert_eq!(refused.len(), REJECT_ROWS, "the table was cut");
    for (text, error) in refused {
        assert!(!error.detail.is_empty() && !error.hint.is_empty(), "{text:?}: {error:?}");
        let length = u32::try_from(text.chars().count()).expect("short");
        match error.column {
            Some(column) => assert!((1..=length + 1).contains(&column), "{text:?}: column {column}"),
            None => assert_eq!(error.kind, CronErrorKind::Zone, "{text:?}"),
        }
    }
}

const REJECT_ROWS: usize = 67;
