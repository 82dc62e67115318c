//! What fell between backup and restore, by the rule of each schedule.

use campanile_cluster_tests::ledger::{Fact, Row};
use campanile_core::time::Timestamp;

/// The decisions about one schedule behind the backup.
#[derive(Debug, Default)]
struct Decisions {
    caught_up: Vec<Timestamp>,
    scheduled: Vec<Timestamp>,
    skipped: Vec<(String, u64)>,
}

/// `rows` up to `kept` are the backup's; the old cluster was gone at `killed_at`.
pub(crate) fn follows_the_rules(rows: &[Row], kept: usize, killed_at: Timestamp) {
    let [none, latest, all] = ["none", "latest", "all"].map(|mode| of(rows, kept, &format!("gap/{mode}")));
    let reasons = |decisions: &Decisions| -> Vec<String> {
        decisions.skipped.iter().map(|(reason, _)| reason.clone()).collect()
    };

    assert_eq!((none.caught_up.len(), reasons(&none)), (0, vec!["too_late".to_owned()]), "{none:?}");
    assert_eq!((latest.caught_up.len(), reasons(&latest)), (1, vec!["coalesced".to_owned()]), "{latest:?}");
    assert_eq!(reasons(&all), Vec::<String>::new(), "{all:?}");
    let missed = none.skipped[0].1;
    // How many are older than the grace depends on how fast the restored one was there.
    assert!(missed > 0, "the gap is longer than the grace: {none:?}");
    assert_eq!(latest.skipped[0].1 + 1, missed);
    assert_eq!(all.caught_up.len() as u64, missed);
    // What the old cluster decided behind the backup is in it: the backup cannot know.
    assert!(all.caught_up[0] < killed_at, "{all:?}");
    for decisions in [none, latest, all] {
        assert!(decisions.scheduled.len() > 2, "it goes on: {decisions:?}");
    }
}

fn of(rows: &[Row], kept: usize, schedule: &str) -> Decisions {
    let defined = rows.iter().find_map(|row| match &row.fact {
        Fact::Defined { uid, schedule: name, .. } if name == schedule => Some(uid),
        _ => None,
    });
    let defined = defined.unwrap_or_else(|| panic!("{schedule} was never defined"));
    let mut decisions = Decisions::default();
    for row in &rows[kept..] {
        match &row.fact {
            Fact::Fired { firing, kind } if firing.uid == *defined => match kind.as_str() {
                "catch_up" => decisions.caught_up.push(firing.nominal),
                _ => decisions.scheduled.push(firing.nominal),
            },
            Fact::Skipped { uid, reason, count, .. } if uid == defined => {
                decisions.skipped.push((reason.clone(), *count));
            }
            _ => {}
        }
    }
    decisions
}
