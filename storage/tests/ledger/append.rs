//! Appending and reading.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use campanile_storage::{
    Trouble,
    ledger::{Head, Ledger, Position, chain_hash, verify_chain, verify_rows},
};

use super::*;

#[test]
fn what_is_appended_is_read_in_order_across_segments() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    fill(&mut ledger, 1..500);
    assert!(ledger.reader().segments().len() > 5);
    assert_eq!(told(&all_rows(&ledger)), expected(1..500));
}

#[test]
fn a_ledger_reopens_with_the_same_head_and_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 1..300);
    let head = ledger.head();
    drop(ledger);
    let ledger = open(&path);
    assert_eq!(ledger.head(), head);
    assert_eq!(ledger.cut_at_open(), None);
    assert_eq!(told(&all_rows(&ledger)), expected(1..300));
    assert_eq!(verify_rows(&ledger.reader()).unwrap(), head);
    assert_eq!(verify_chain(&path).unwrap(), head);
}

#[test]
fn equal_rows_make_equal_heads_however_they_were_batched_and_cut_into_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut one = open(&dir.path().join("one"));
    fill(&mut one, 1..200);
    let options = Options { segment_bytes: 300, upkeep: Upkeep::Inline };
    let mut other = Ledger::open(&dir.path().join("other"), options).unwrap();
    let entries: Vec<_> = (1..200).map(|index| (index, entry(index))).collect();
    for batch in entries.chunks(17) {
        other.append_entries(batch.iter().map(|(index, rows)| (*index, rows.as_slice()))).unwrap();
    }
    assert_eq!(one.head(), other.head());
    assert_ne!(one.reader().segments().len(), other.reader().segments().len());
}

#[test]
fn the_running_hash_can_be_computed_by_anyone() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    fill(&mut ledger, 1..50);
    let rows = all_rows(&ledger);
    let end = rows.iter().fold([0; 16], |hash, row| chain_hash(&hash, row.position, &row.body));
    assert_eq!(end, ledger.head().hash);
    assert_eq!(rows.len() as u64, ledger.head().rows);
}

#[test]
fn a_page_is_bounded_in_rows_and_bytes_but_never_empty_before_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    fill(&mut ledger, 1..100);
    let reader = ledger.reader();
    assert_eq!(reader.read(None, 7, usize::MAX).unwrap().len(), 7);
    let page = reader.read(None, 1000, 200).unwrap();
    assert!(page.iter().map(|row| row.body.len()).sum::<usize>() <= 200 && page.len() > 1);
    assert_eq!(reader.read(None, 10, 0).unwrap().len(), 1);
    assert_eq!(reader.read(ledger.head().position, 10, 1000).unwrap(), vec![]);
    assert_eq!(reader.read(Some(Position::end_of(1_000_000)), 10, 1000).unwrap(), vec![]);
    assert_eq!(reader.read(None, 0, 1000).unwrap(), vec![]);
}

#[test]
fn every_row_is_found_by_position_and_by_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 1..200);
    drop(ledger);
    // Reopened, so that older segments are read without having been walked.
    let reader = open(&path).reader();
    for (row, place) in reader.read_placed(None, usize::MAX, usize::MAX).unwrap() {
        assert_eq!(reader.get(row.position, place).unwrap().as_ref(), Some(&row));
        assert_eq!(reader.find(row.position).unwrap().as_ref(), Some(&row));
        let wrong = campanile_storage::ledger::Place { offset: place.offset + 1, ..place };
        assert_eq!(reader.fetch(row.position, wrong).unwrap(), Some(row));
    }
    assert_eq!(reader.find(Position::new(5, 0)).unwrap(), None);
    assert_eq!(reader.find(Position::new(7, 9)).unwrap(), None);
}

#[test]
fn a_long_row_is_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    let long = vec![7; 300_000];
    ledger.append(1, &[b"short".to_vec(), long.clone(), b"short".to_vec()]).unwrap();
    ledger.append(2, &[b"behind".to_vec()]).unwrap();
    let placed = ledger.reader().read_placed(None, 10, usize::MAX).unwrap();
    assert_eq!(placed[1].0.body, long);
    assert_eq!(ledger.reader().get(placed[1].0.position, placed[1].1).unwrap().unwrap().body, long);
    assert_eq!(placed.len(), 4);
}

#[test]
fn an_entry_without_rows_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    let head = ledger.append::<Vec<u8>>(9, &[]).unwrap();
    assert_eq!(head, Head::default());
    assert_eq!(ledger.append(9, &["row"]).unwrap().position, Some(Position::new(9, 0)));
}

#[test]
#[should_panic(expected = "an entry is applied twice")]
fn an_entry_that_is_applied_twice_stops_the_node() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    ledger.append(4, &["row"]).unwrap();
    let _never = ledger.append(4, &["row"]);
}

#[test]
fn a_second_opener_is_told_that_the_directory_is_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let ledger = open(&path);
    assert!(matches!(Ledger::open(&path, SMALL), Err(Trouble::Locked { .. })));
    drop(ledger);
    open(&path);
}

#[test]
fn a_reader_beside_the_writer_sees_every_row_once_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    let done = Arc::new(AtomicBool::new(false));
    let follow = |reader: campanile_storage::ledger::LedgerReader, done: Arc<AtomicBool>| {
        let mut seen: Vec<Row> = Vec::new();
        loop {
            let last = done.load(Ordering::Acquire);
            let page = reader.read(seen.last().map(|row| row.position), 37, 10_000).unwrap();
            if page.is_empty() && last {
                return seen;
            }
            seen.extend(page);
        }
    };
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (reader, done) = (ledger.reader(), Arc::clone(&done));
            std::thread::spawn(move || follow(reader, done))
        })
        .collect();
    fill(&mut ledger, 1..5_000);
    done.store(true, Ordering::Release);
    for reader in readers {
        assert_eq!(told(&reader.join().unwrap()), expected(1..5_000));
    }
}

#[test]
fn a_sync_answers_the_head_that_it_covers() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    let syncer = ledger.syncer();
    fill(&mut ledger, 1..300);
    assert_eq!(syncer.sync().unwrap(), ledger.head());
    assert_eq!(ledger.sync().unwrap(), ledger.head());
}

#[test]
fn a_head_reads_back_from_its_bytes() {
    let head = Head { position: Some(Position::new(9, 3)), hash: [4; 16], rows: 77, bytes: 5_000 };
    assert_eq!(Head::from_bytes(&head.to_bytes()), Some(head));
    assert_eq!(Head::from_bytes(&Head::default().to_bytes()), Some(Head::default()));
    assert_eq!(Head::from_bytes(&[9; Head::ENCODED]), None);
}
