//! Missing, damaged, stale, ahead, or another ledger's: the index is made right without being asked.

use std::path::PathBuf;

use campanile_storage::{
    Trouble,
    history::Standing,
    ledger::{Head, Install},
};

use super::*;

fn index_dir(dir: &Path) -> PathBuf {
    let mut found: Vec<_> = std::fs::read_dir(dir.join("history"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.pop().unwrap()
}

#[test]
fn an_index_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = ledger(dir.path(), 200);
    drop(caught_up(dir.path(), &ledger));
    let before = index_dir(dir.path());
    fill(&mut ledger, 200..300);
    let history = History::open(&dir.path().join("history")).unwrap();
    assert_eq!(history.standing(&ledger.reader()).unwrap(), Standing::Current);
    assert_eq!(history.progress().unwrap().position.index, 199);
    drop(history);
    assert_whole(&caught_up(dir.path(), &ledger), &ledger, 300);
    assert_eq!(index_dir(dir.path()), before);
}

/// sled's own threads may hold a closed database for a moment; that is no reason to build the index again.
#[test]
fn an_index_that_was_closed_a_moment_ago_is_opened_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(dir.path(), 200);
    drop(caught_up(dir.path(), &ledger));
    for _ in 0..50 {
        let history = History::open(&dir.path().join("history")).unwrap();
        assert_eq!(history.progress().unwrap().position.index, 199);
    }
}

#[test]
fn an_index_that_was_closed_is_believed_by_the_next_boot() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(dir.path(), 50);
    let indexer = caught_up(dir.path(), &ledger);
    assert!(dir.path().join("history/opened-under").exists());
    drop(indexer);
    assert!(!dir.path().join("history/opened-under").exists());
}

#[test]
fn a_missing_or_damaged_index_is_built_again() {
    type Harm = (&'static str, fn(&Path));
    let harms: [Harm; 5] = [
        ("gone", |dir| std::fs::remove_dir_all(dir.join("history")).unwrap()),
        ("no data file", |dir| std::fs::remove_file(index_dir(dir).join("db")).unwrap()),
        ("zeros", |dir| {
            let file = index_dir(dir).join("db");
            let len = std::fs::metadata(&file).unwrap().len() as usize;
            std::fs::write(file, vec![0; len]).unwrap();
        }),
        ("no configuration", |dir| std::fs::write(index_dir(dir).join("conf"), b"noise").unwrap()),
        ("another boot", |dir| std::fs::write(dir.join("history/opened-under"), "another").unwrap()),
    ];
    for (name, harm) in harms {
        let dir = tempfile::tempdir().unwrap();
        let ledger = ledger(dir.path(), 300);
        drop(caught_up(dir.path(), &ledger));
        harm(dir.path());
        let indexer = caught_up(dir.path(), &ledger);
        assert_whole(&indexer, &ledger, 300);
        eprintln!("{name}: whole again");
    }
}

#[test]
fn an_index_ahead_of_a_ledger_that_was_cut_follows_the_replay() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = ledger(dir.path(), 300);
    let image = first.sync().unwrap();
    fill(&mut first, 300..400);
    drop(caught_up(dir.path(), &first));
    drop(first);
    // The replay makes other batches and so other places.
    let options = Options { segment_bytes: 1 << 10, ..SMALL };
    let mut second = Ledger::open_at(&dir.path().join("ledger"), options, &image).unwrap();
    let indexer = caught_up(dir.path(), &second);
    fill(&mut second, 300..500);
    indexer.wake();
    assert!(indexer.wait_for(499, PATIENCE));
    assert_whole(&indexer, &second, 500);
}

#[test]
fn a_long_index_ahead_of_a_ledger_is_not_built_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = ledger(dir.path(), 15_000);
    fill(&mut ledger, 15_000..16_000);
    drop(caught_up(dir.path(), &ledger));
    let before = index_dir(dir.path());
    let head = ledger.cut_to(14_000).unwrap();
    let history = History::open(&dir.path().join("history")).unwrap();
    let standing = history.standing(&ledger.reader()).unwrap();
    assert!(matches!(standing, Standing::Rewound(to) if Some(to.position) == head.position), "{standing:?}");
    drop(history);
    fill(&mut ledger, 14_001..16_000);
    assert_whole(&caught_up(dir.path(), &ledger), &ledger, 16_000);
    assert_eq!(index_dir(dir.path()), before);
}

#[test]
fn the_index_of_another_ledger_is_thrown_away() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Ledger::open(&dir.path().join("other"), SMALL).unwrap();
    for index in 1..300 {
        other.append(index, &[format!("9 {index} 0")]).unwrap();
    }
    drop(caught_up(dir.path(), &other));
    let ledger = ledger(dir.path(), 400);
    let history = History::open(&dir.path().join("history")).unwrap();
    assert!(history.rebuild_needed(&ledger.reader()).unwrap());
    drop(history);
    let indexer = caught_up(dir.path(), &ledger);
    assert_whole(&indexer, &ledger, 400);
    let strange = indexer.history().scan_firing(9, 1, 0).unwrap();
    assert_eq!(strange, vec![]);
}

#[test]
fn an_installed_ledger_is_indexed_in_the_place_of_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut ours = Ledger::open(&dir.path().join("ours"), SMALL).unwrap();
    for index in 1..300 {
        ours.append(index, &[format!("9 {index} 0")]).unwrap();
    }
    let indexer = caught_up(dir.path(), &ours);
    let peer = ledger(dir.path(), 500);
    let mut install = Install::begin(&dir.path().join("ours"), SMALL, Head::default()).unwrap();
    install.push(&peer.reader().read(None, usize::MAX, usize::MAX).unwrap()).unwrap();
    ours.adopt(install.stage().unwrap()).unwrap();
    fill(&mut ours, 500..501);
    indexer.wake();
    assert!(indexer.wait_for(500, PATIENCE));
    assert_whole(&indexer, &ours, 501);
    assert_eq!(indexer.history().scan_firing(9, 1, 0).unwrap(), vec![]);
}

#[test]
fn a_second_opener_of_an_index_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let _first = History::open(&dir.path().join("history")).unwrap();
    assert!(matches!(History::open(&dir.path().join("history")), Err(Trouble::Locked { .. })));
}
