//! Small quiet runs; `make quiet` is the long one.

use super::account::{MISSING, UNASKED};
use super::habit::Rhythm;
use super::*;

fn order(days: u64) -> Order {
    // At a pace for a build without optimisation. The day before the hands are put forward in New York.
    Order { seed: 1, begins: 7, days, schedules: 30, heartbeat: Duration::from_secs(60) }
}

#[test]
fn two_quiet_days_across_a_change_of_clocks_are_whole() {
    let report = play(&order(2), |_| ());
    assert!(report.found.is_clean(), "{report}");
    assert_eq!(report.changes, ["America/New_York"]);
    assert!(report.counted[0].fired > 500, "{report}");
    assert_eq!(report.counted[0].fired, report.sent);
}

#[test]
fn a_judge_that_expects_other_minutes_finds_them_missing_and_those_of_the_cluster_unasked() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let report = runtime.expect("a runtime").block_on(async {
        let mut quiet = Quiet::begin(&order(1));
        // What the cluster is told of, and the judge not.
        let told = quiet.team.iter_mut().find(|habit| habit.rhythm == Rhythm::Each(15));
        told.expect("a team has one").rhythm = Rhythm::Hourly(7);
        quiet.live(|_| ()).await
    });
    let mut names: Vec<&str> = report.found.told.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, [MISSING, UNASKED], "{report}");
}
