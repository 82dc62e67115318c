//! Dropping a prefix.

use campanile_storage::ledger::{Position, verify_chain};

use super::*;

#[test]
fn a_dropped_prefix_is_hidden_at_once_and_its_whole_segments_are_unlinked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 1..400);
    let (head, held) = (ledger.head(), ledger.reader().bytes_held());
    let freed = ledger.drop_prefix(201);
    let reader = ledger.reader();
    assert!(freed > 0);
    assert_eq!(reader.bytes_held(), held - freed);
    assert_eq!(told(&all_rows(&ledger)), expected(201..400));
    assert_eq!(reader.first().unwrap(), Some(Position::new(201, 0)));
    assert_eq!(ledger.head(), head);

    assert!(!reader.reaches(None).unwrap());
    assert!(!reader.reaches(Some(Position::new(150, 0))).unwrap());
    assert!(!reader.reaches(Some(Position::new(198, 0))).unwrap());
    assert!(reader.reaches(Some(Position::end_of(200))).unwrap());
    assert!(reader.reaches(head.position).unwrap());
    assert_eq!(reader.find(Position::new(199, 0)).unwrap(), None);

    // Closing waits for the files to go.
    drop(ledger);
    let ledger = open(&path);
    assert_eq!(ledger.reader().bytes_held(), held - freed);
    assert!(ledger.reader().base().rows > 0);
    assert_eq!(ledger.head(), head);
    drop(ledger);
    assert_eq!(verify_chain(&path).unwrap(), head);
}

#[test]
fn nothing_is_dropped_twice_and_the_newest_segment_stays() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    assert_eq!(ledger.drop_prefix(10), 0);
    fill(&mut ledger, 10..400);
    assert!(ledger.drop_prefix(u64::MAX) > 0);
    assert_eq!(ledger.drop_prefix(u64::MAX), 0);
    assert_eq!(ledger.reader().segments().len(), 1);
    assert_eq!(all_rows(&ledger), vec![]);
    assert_eq!(ledger.reader().first().unwrap(), None);
    ledger.append(400, &["row"]).unwrap();
}

#[test]
fn a_ledger_cannot_be_cut_to_before_what_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    fill(&mut ledger, 1..400);
    ledger.drop_prefix(300);
    assert!(ledger.cut_to(100).is_err());
    let kept = ledger.cut_to(350).unwrap();
    assert_eq!(kept.position.map(|last| last.index), Some(349));
}

#[test]
fn segments_tell_what_they_hold() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    fill(&mut ledger, 1..400);
    let segments = ledger.reader().segments();
    assert_eq!(segments[0].id, 0);
    assert_eq!(segments.last().unwrap().last, ledger.head().position);
    for pair in segments.windows(2) {
        assert_eq!(pair[0].last, pair[1].before.position);
        assert_eq!(pair[1].id, pair[1].before.index() + 1);
        assert!(std::fs::metadata(&pair[0].path).is_ok());
    }
    let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
    assert_eq!(bytes, ledger.reader().bytes_held());
}
