//! Public reports about other schedulers, each a test named after its id: a transcript under `testscripts/reports/`.
//!
//! Only those that the machine alone can show are here. `docs/reports.md` says for every id what is right and which test
//! shows it, here or in another room; that table is checked here too.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

mod transcript;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use campanile_core::cron::{Cron, CronText, DayMatch, DstGap, DstOverlap};
use transcript::script;

/// A test for each name, which begins with the id of its report; the transcript is the file of that id.
macro_rules! reports {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                play(stringify!($name));
            }
        )*

        const PLAYED: &[&str] = &[$(stringify!($name)),*];
    };
}

reports! {
    b046_a_new_leader_does_not_run_again_what_ran
    b047_every_is_elapsed_time_whatever_clocks_do
    b068_a_leap_second_makes_one_record_and_nothing_early
    b070_an_instant_is_decided_once_however_often_it_is_looked_at
    b071_an_edit_fires_nothing_at_once
    b073_a_clock_that_was_set_back_repeats_nothing
    b074_a_clock_a_day_ahead_and_back_repeats_nothing
    b076_what_was_committed_ahead_is_visible_and_can_be_voided
    b077_a_step_back_fires_nothing_before_its_nominal
    b079_an_instant_before_which_the_clock_goes_back_has_one_record
    b080_after_a_sleep_the_next_is_after_now_and_the_missed_follow_the_policy
    b082_an_overloaded_host_runs_late_and_once_each_day
    b083_no_minute_is_missing_after_a_failover
    b085_of_two_leaders_proposals_of_one_instant_one_counts
    b086_one_broken_row_keeps_no_other_schedule_from_its_leader
    b088_the_proposals_of_a_lost_office_are_refused
    b091_two_readers_of_one_due_list_make_one_record
    b094_restarts_do_not_begin_an_interval_anew
    b097_a_job_missed_within_its_window_runs_once_and_late
    b098_a_new_leader_behind_the_old_ones_clock_goes_on_from_the_mark
    b100_missed_minutes_follow_the_policy
    b101_a_hundred_missed_minutes_stop_nothing_for_good
    b103_a_quarter_million_missed_instants_are_one_row
    b104_a_policy_that_skips_fires_nothing_of_what_was_missed
    b106_what_is_older_than_the_window_is_recorded_as_dropped
    b107_a_second_late_is_not_missed
    b109_a_run_that_never_comes_up_ends_by_the_log_and_the_next_may_run
    b110_a_dead_worker_blocks_nobody_and_can_be_cleared
    b115_more_than_a_tick_can_hold_is_late_and_not_lost
    b151_retries_grow_and_end
    b152_retry_after_is_honoured_up_to_an_hour
    b154_a_second_run_is_attempt_2_of_the_same_firing
    b155_a_lost_lease_settles_nothing
    b169_an_instant_has_a_record_whatever_happens
    b170_what_was_committed_before_an_edit_is_still_delivered
}

#[test]
fn b061_a_date_that_never_comes_is_refused() {
    assert_refused(&["0 0 31 2 *", "* * 31 11 *"]);
}

#[test]
fn b062_months_without_that_day_are_refused() {
    assert_refused(&["0 0 0 31 4,6 *"]);
}

fn assert_refused(texts: &[&str]) {
    for text in texts {
        let text = CronText {
            text,
            time_zone: "UTC",
            day_match: DayMatch::default(),
            dst_gap: DstGap::default(),
            dst_overlap: DstOverlap::default(),
        };
        assert!(Cron::parse(&text).is_err(), "{}", text.text);
    }
}

fn play(name: &str) {
    let fault = script::fault(&folder().join(format!("{}.txt", id_of(name))));
    let updated = std::env::var_os("UPDATE").is_some();
    assert!(fault.is_none() || updated, "{}", fault.unwrap_or_default());
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts/reports")
}

fn id_of(name: &str) -> String {
    name[..4].to_uppercase()
}

#[test]
fn every_script_of_a_report_is_played() {
    let mut files: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    assert_eq!(files, PLAYED.iter().map(|name| id_of(name)).collect::<Vec<_>>());
}

/// The rows of `docs/reports.md`: id, and what shows it.
fn table() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reports.md");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| B"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
        let [id, _right, shown] = cells[..] else { panic!("three cells in B{row}") };
        (format!("B{id}"), shown.to_owned())
    })
    .collect()
}

/// The ids of all reports, of events and of the calendar.
fn ids() -> Vec<&'static str> {
    include_str!("data/report_ids.txt").lines().filter(|line| line.starts_with('B')).collect()
}

#[test]
fn the_table_of_reports_has_every_report_and_no_other() {
    assert_eq!(table().keys().map(String::as_str).collect::<Vec<_>>(), ids());
}

#[test]
fn every_report_is_shown_by_a_test_that_exists_or_waits_for_an_issue() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut faults = Vec::new();
    for (id, shown) in table() {
        let pointers: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        if pointers.is_empty() && !shown.contains("issue ") {
            faults.push(format!("{id} names neither a test nor an issue: {shown}"));
        }
        for pointer in pointers {
            let (path, test) = pointer.split_once("::").unwrap_or((pointer, ""));
            let text = fs::read_to_string(root.join(path)).unwrap_or_default();
            let is_folder = pointer.ends_with('/') && root.join(path).is_dir();
            let is_there =
                if test.is_empty() { !text.is_empty() } else { text.contains(&format!("fn {test}(")) };
            let is_there = is_there || is_folder;
            if !is_there {
                faults.push(format!("{id}: {pointer} does not exist"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
