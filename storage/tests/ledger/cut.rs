//! Cutting to an image after a restart.

use campanile_storage::{
    Trouble,
    ledger::{Head, Ledger, verify_chain},
};

use super::*;

#[test]
fn rows_behind_the_image_are_cut_and_the_replay_appends_the_same() {
    for index in [0, 1, 4, 5, 57, 100, 101, 198, 199, 500] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        let mut ledger = open(&path);
        fill(&mut ledger, 1..200);
        let full = ledger.head();
        ledger.sync().unwrap();
        drop(ledger);

        let mut ledger = open(&path);
        let kept = ledger.cut_to(index).unwrap();
        assert_eq!(told(&all_rows(&ledger)), expected(1..200.min(index + 1)), "cut to {index}");
        assert_eq!(kept, verify_chain(&path).unwrap());
        if index < 200 {
            fill(&mut ledger, index + 1..200);
        }
        assert_eq!(ledger.head(), full, "cut to {index}");
        drop(ledger);
        assert_eq!(verify_chain(&path).unwrap(), full);
        assert_eq!(open(&path).cut_at_open(), None);
    }
}

#[test]
fn a_ledger_opens_at_the_head_that_the_image_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 1..100);
    let image = ledger.sync().unwrap();
    fill(&mut ledger, 100..200);
    drop(ledger);
    let ledger = Ledger::open_at(&path, SMALL, &image).unwrap();
    assert_eq!(ledger.head(), image);
    assert_eq!(told(&all_rows(&ledger)), expected(1..100));
}

#[test]
fn without_an_image_everything_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 0..100);
    drop(ledger);
    let mut ledger = Ledger::open_at(&path, SMALL, &Head::default()).unwrap();
    assert_eq!(all_rows(&ledger), vec![]);
    fill(&mut ledger, 0..100);
    assert_eq!(told(&all_rows(&ledger)), expected(0..100));
}

#[test]
fn a_ledger_that_lacks_what_the_image_was_taken_with_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 1..100);
    let head = ledger.head();
    drop(ledger);
    let wanted = [
        Head { hash: [1; 16], ..head },
        Head { rows: head.rows + 1, ..head },
        Head { position: Some(campanile_storage::ledger::Position::new(150, 0)), ..head },
    ];
    for wanted in wanted {
        let refused = Ledger::open_at(&path, SMALL, &wanted).unwrap_err();
        assert!(matches!(refused, Trouble::Damaged { .. }), "{refused}");
    }
    assert_eq!(open(&path).head(), head);
}

#[test]
fn a_reader_outlives_a_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    let reader = ledger.reader();
    fill(&mut ledger, 1..300);
    let before = reader.read_placed(None, usize::MAX, usize::MAX).unwrap();
    ledger.cut_to(150).unwrap();
    assert_eq!(told(&reader.read(None, usize::MAX, usize::MAX).unwrap()), expected(1..151));
    let (row, place) = before.last().unwrap();
    assert_eq!(reader.fetch(row.position, *place).unwrap(), None);
    fill(&mut ledger, 151..300);
    assert_eq!(reader.fetch(row.position, *place).unwrap().as_ref(), Some(row));
}
