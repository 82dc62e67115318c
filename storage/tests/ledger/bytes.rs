//! Every byte of a segment: flipped, missing, or made to look right again. And the scan that goes on behind what is wrong.

use campanile_storage::ledger::{Flaw, LedgerReader, Position, Scanned, Why, verify_chain};

use super::*;

/// A closed ledger in one segment with the entries 1 to 29, one of them of many rows; its file and all rows.
fn one_segment(dir: &Path) -> (std::path::PathBuf, Vec<Row>) {
    let path = dir.join("ledger");
    let options = Options { segment_bytes: 1 << 20, upkeep: Upkeep::Inline };
    let mut ledger = Ledger::open(&path, options).unwrap();
    fill(&mut ledger, 1..20);
    ledger.append(20, &(0..70).map(|n| body(20, n)).collect::<Vec<_>>()).unwrap();
    fill(&mut ledger, 21..30);
    let rows = all_rows(&ledger);
    (path.join("00000000000000000000.segment"), rows)
}

fn scanned(reader: &LedgerReader) -> Vec<Scanned> {
    let mut scan = reader.scan();
    std::iter::from_fn(move || scan.next_row().unwrap()).collect()
}

fn flaws(scanned: &[Scanned]) -> Vec<(Position, Flaw)> {
    let flawed = |item: &Scanned| Some((item.row.position, item.flaw.clone()?));
    scanned.iter().filter_map(flawed).collect()
}

#[test]
fn every_flipped_byte_of_a_segment_is_found_at_or_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let (file, _) = one_segment(dir.path());
    let clean = std::fs::read(&file).unwrap();
    for at in 0..clean.len() {
        let mut bytes = clean.clone();
        bytes[at] ^= 0x04;
        std::fs::write(&file, &bytes).unwrap();
        let broken = verify_chain(file.parent().unwrap()).expect_err(&format!("byte {at} went unnoticed"));
        assert!(broken.offset as usize <= at, "byte {at}: {broken}");
    }
}

#[test]
fn every_cut_of_a_tail_leaves_whole_records_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (file, rows) = one_segment(dir.path());
    let clean = std::fs::read(&file).unwrap();
    let options = Options { segment_bytes: 1 << 20, upkeep: Upkeep::Inline };
    let mut lengths = std::collections::BTreeSet::new();
    for len in (59..clean.len()).rev().step_by(7) {
        std::fs::write(&file, &clean[..len]).unwrap();
        let ledger = Ledger::open(file.parent().unwrap(), options).unwrap();
        let kept = all_rows(&ledger);
        assert!(rows.starts_with(&kept), "cut to {len} bytes");
        assert_eq!(ledger.cut_at_open().is_none(), ledger.reader().bytes_held() == len as u64);
        lengths.insert(kept.len());
    }
    // 25 entries with rows, one of them in two records: 26 records, of which all but the last may be kept, or none.
    assert!(lengths.len() > 20 && lengths.len() <= 26, "{lengths:?}");
}

#[test]
fn a_row_that_was_changed_under_a_right_checksum_is_named_once_and_all_rows_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let (file, rows) = one_segment(dir.path());
    let mut bytes = std::fs::read(&file).unwrap();
    let clean = bytes.clone();
    let (start, end) = record_with(&bytes, b"entry 8 row 0");
    let at = bytes.windows(13).position(|window| window == b"entry 8 row 0").unwrap();
    bytes[at] = b'E';
    let crc = crc32c::crc32c(&bytes[start + 4..end]);
    bytes[start..start + 4].copy_from_slice(&crc.to_le_bytes());

    std::fs::write(&file, &bytes).unwrap();
    let broken = verify_chain(file.parent().unwrap()).unwrap_err();
    let behind = Position::new(9, 0);
    assert_eq!(broken.after.map(|after| after.index), Some(8));
    assert!(matches!(&broken.why, Why::Flaw(Flaw::Hash(at)) if *at == behind), "{broken:?}");

    // A ledger that is open does not look again, and its scan does.
    std::fs::write(&file, &clean).unwrap();
    let ledger = Ledger::open(file.parent().unwrap(), SMALL).unwrap();
    std::fs::write(&file, &bytes).unwrap();
    let found = scanned(&ledger.reader());
    assert_eq!(found.len(), rows.len());
    assert_eq!(flaws(&found), [(behind, Flaw::Hash(behind))]);
}

#[test]
fn a_last_record_that_was_changed_is_found_by_the_head() {
    let dir = tempfile::tempdir().unwrap();
    let (file, _) = one_segment(dir.path());
    let ledger = Ledger::open(file.parent().unwrap(), SMALL).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let (start, end) = record_with(&bytes, b"entry 29 row 0");
    *bytes.last_mut().unwrap() ^= 1;
    let crc = crc32c::crc32c(&bytes[start + 4..end]);
    bytes[start..start + 4].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&file, &bytes).unwrap();
    let mut scan = ledger.reader().scan();
    let broken = loop {
        match scan.next_row() {
            Ok(row) => assert!(row.is_some(), "the end was reached"),
            Err(broken) => break broken,
        }
    };
    let end = ledger.head().position.unwrap();
    assert!(matches!(broken.why, Why::Flaw(Flaw::Hash(at)) if at == end), "{broken:?}");
    assert!(scan.next_row().unwrap().is_none(), "nothing comes behind an error");
}

/// The record that holds this text: records of these files have a length of one or two bytes at their fifth.
fn record_with(bytes: &[u8], text: &[u8]) -> (usize, usize) {
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    let mut start = 59;
    loop {
        let low = bytes[start + 4] as usize;
        let (wide, len) =
            if low < 128 { (1, low) } else { (2, (low & 127) | (bytes[start + 5] as usize) << 7) };
        let end = start + 4 + wide + len;
        if at < end {
            return (start, end);
        }
        start = end;
    }
}

#[test]
fn a_scan_reads_what_the_files_held_when_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir.path().join("ledger"));
    fill(&mut ledger, 1..300);
    let rows = all_rows(&ledger);
    let head = ledger.head();
    let mut scan = ledger.reader().scan();
    assert_eq!((scan.base(), scan.end()), (Default::default(), head));
    let mut read = vec![scan.next_row().unwrap().unwrap().row];
    fill(&mut ledger, 300..400);
    ledger.drop_prefix(350);
    while let Some(next) = scan.next_row().unwrap() {
        assert_eq!(next.flaw, None);
        read.push(next.row);
    }
    assert!(read == rows && scan.head() == head);

    // The next one begins at a segment, before the floor.
    let scan = ledger.reader().scan();
    assert!(scan.base().rows > 0 && scan.base().index() < 350 && scan.floor() == 350);
    let read = scanned(&ledger.reader());
    assert!(flaws(&read).is_empty() && read[0].row.position.index > scan.base().index());
    let held = ledger.reader().read_held(scan.base().position, usize::MAX, usize::MAX).unwrap();
    assert!(held.iter().eq(read.iter().map(|item| &item.row)));
}
