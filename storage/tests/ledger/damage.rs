//! Torn tails are cut, damage is named. The line between them is what `sync` answered for.

use std::path::PathBuf;

use campanile_storage::{
    Trouble,
    ledger::{Flaw, Head, Why, verify_chain},
};

use super::*;

/// A closed ledger with the entries 1 to 199, of which those below `synced` were synced; its directory and head.
fn closed(dir: &Path, synced: u64) -> (PathBuf, Head) {
    let path = dir.join("ledger");
    let mut ledger = Ledger::open(&path, Options { upkeep: Upkeep::Inline, ..SMALL }).unwrap();
    fill(&mut ledger, 1..synced);
    if synced > 1 {
        ledger.sync().unwrap();
    }
    let options = Options { segment_bytes: u32::MAX / 2, upkeep: Upkeep::Inline };
    let promised = ledger.head();
    drop(ledger);
    // No segment is finished after the sync: that would sync it.
    let mut ledger = Ledger::open(&path, options).unwrap();
    fill(&mut ledger, synced..200);
    (path, promised)
}

/// The bytes of the one record that the rows of an entry from 128 on make: checksum 4, length 2, schema 1, index 2, n 1,
/// hash 16, and a byte of length before each body.
fn record(index: u64) -> usize {
    4 + 2 + 1 + 2 + 1 + 16 + entry(index).iter().map(|body| 1 + body.len()).sum::<usize>()
}

fn newest(path: &Path) -> PathBuf {
    segments(path).pop().unwrap()
}

fn segments(path: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|ext| ext == "segment")).collect();
    found.sort();
    found
}

fn change(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(file).unwrap();
    change(&mut bytes);
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_torn_tail_is_cut_at_the_first_bad_record() {
    type Tear = (&'static str, fn(&mut Vec<u8>), u64);
    let tears: [Tear; 5] = [
        ("one byte short", |bytes| bytes.truncate(bytes.len() - 1), 1),
        ("a header cut off", |bytes| bytes.truncate(bytes.len() - body(199, 0).len() - 10), 1),
        ("zeros behind", |bytes| bytes.extend([0; 5000]), 0),
        ("noise behind", |bytes| bytes.extend([0xa5; 100]), 0),
        ("the last byte flipped", |bytes| *bytes.last_mut().unwrap() ^= 1, 1),
    ];
    for (name, tear, lost) in tears {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = closed(dir.path(), 150);
        change(&newest(&path), tear);
        let ledger = open(&path);
        let all = expected(1..200);
        let kept = told(&all_rows(&ledger));
        assert!(all.starts_with(&kept) && all.len() - kept.len() >= lost as usize, "{name}");
        assert!(all.len() - kept.len() <= entry(199).len(), "{name}");
        assert_eq!(ledger.cut_at_open().map(|cut| cut.offset > 0), Some(true), "{name}");
        drop(ledger);
        assert_eq!(open(&path).cut_at_open(), None, "{name}: cut twice");
    }
}

#[test]
fn a_hole_behind_the_last_sync_cuts_what_follows_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, promised) = closed(dir.path(), 100);
    // A power cut may lose a page in the middle and keep later ones.
    let offset = std::fs::metadata(newest(&path)).unwrap().len() as usize / 2;
    change(&newest(&path), |bytes| bytes[offset..offset + 40].fill(0));
    let ledger = open(&path);
    assert!(ledger.head().rows >= promised.rows);
    let kept = told(&all_rows(&ledger));
    assert!(expected(1..200).starts_with(&kept) && kept.len() < expected(1..200).len());
}

#[test]
fn a_flipped_byte_before_the_last_sync_is_refused_with_file_and_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 1..200);
    ledger.sync().unwrap();
    drop(ledger);
    let file = newest(&path);
    let clean = std::fs::read(&file).unwrap();
    let options = Options { upkeep: Upkeep::Inline, ..SMALL };
    for at in (0..clean.len()).step_by(7) {
        change(&file, |bytes| bytes[at] ^= 0x10);
        match Ledger::open(&path, options) {
            Err(Trouble::Damaged { path, .. }) => assert_eq!(path, file),
            other => panic!("byte {at}: {other:?}"),
        }
        std::fs::write(&file, &clean).unwrap();
    }
    change(&file, |bytes| bytes[300] ^= 1);
    let said = Ledger::open(&path, SMALL).unwrap_err().to_string();
    assert!(said.contains(".segment is damaged (at byte "), "{said}");
}

#[test]
fn a_synced_file_that_lost_its_end_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 1..200);
    ledger.sync().unwrap();
    drop(ledger);
    // Exactly the last record: what is left is a good chain that is too short.
    change(&newest(&path), |bytes| bytes.truncate(bytes.len() - record(199)));
    assert!(matches!(Ledger::open(&path, SMALL), Err(Trouble::Damaged { .. })));
}

#[test]
fn an_older_segment_is_checked_by_size_at_open_and_by_content_when_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 1..400);
    ledger.sync().unwrap();
    drop(ledger);
    let old = segments(&path)[1].clone();
    let clean = std::fs::read(&old).unwrap();

    change(&old, |bytes| bytes.truncate(bytes.len() - 10));
    assert!(matches!(Ledger::open(&path, SMALL), Err(Trouble::Damaged { .. })));

    std::fs::write(&old, &clean).unwrap();
    change(&old, |bytes| bytes[1000] ^= 4);
    let ledger = open(&path);
    match ledger.reader().read(None, usize::MAX, usize::MAX) {
        Err(Trouble::Damaged { path, .. }) => assert_eq!(path, old),
        other => panic!("{other:?}"),
    }
    let broken = verify_chain(&path).unwrap_err();
    assert_eq!(broken.path, old);
    assert!(broken.offset <= 1000 && broken.after.is_some(), "{broken:?}");
    assert!(
        matches!(broken.why, Why::Flaw(Flaw::Checksum | Flaw::Length(_) | Flaw::Short | Flaw::Hash(_))),
        "{broken:?}"
    );
}

#[test]
fn damage_that_a_reader_meets_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    fill(&mut ledger, 1..400);
    drop(ledger);
    let old = segments(&path)[1].clone();
    change(&old, |bytes| bytes[1000] ^= 4);
    let ledger = open(&path);
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let hear = std::sync::Arc::clone(&heard);
    ledger.on_damage(move |trouble| hear.lock().unwrap().push(trouble.to_string()));
    let mut scan = ledger.reader().scan();
    while let Ok(Some(_)) = scan.next_row() {}
    ledger.reader().read(None, usize::MAX, usize::MAX).unwrap_err();
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains(&format!("{} is damaged (at byte ", old.display())), "{heard:?}");
}

#[test]
fn a_missing_segment_is_refused() {
    for gone in [1, 3] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        let mut ledger = open(&path);
        fill(&mut ledger, 1..400);
        ledger.sync().unwrap();
        drop(ledger);
        std::fs::remove_file(&segments(&path)[gone]).unwrap();
        assert!(matches!(Ledger::open(&path, SMALL), Err(Trouble::Damaged { .. })));
        assert!(matches!(verify_chain(&path).unwrap_err().why, Why::Flaw(Flaw::Gap)));
    }
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = closed(dir.path(), 200);
    segments(&path).iter().for_each(|file| std::fs::remove_file(file).unwrap());
    assert!(matches!(Ledger::open(&path, SMALL), Err(Trouble::Damaged { .. })));
}

#[test]
fn unsynced_segments_after_a_power_cut_are_cut_from_the_first_hole_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let options = Options { upkeep: Upkeep::Inline, ..SMALL };
    let mut ledger = Ledger::open(&path, options).unwrap();
    fill(&mut ledger, 1..100);
    let promised = ledger.sync().unwrap();
    let note = std::fs::read(path.join("synced")).unwrap();
    fill(&mut ledger, 100..400);
    drop(ledger);
    // The disk kept the note of the first sync, and of the later files it lost one header.
    std::fs::write(path.join("synced"), note).unwrap();
    let files = segments(&path);
    change(&files[files.len() - 2], |bytes| bytes.fill(0));
    let ledger = open(&path);
    let kept = told(&all_rows(&ledger));
    assert!(ledger.head().rows > promised.rows && expected(1..400).starts_with(&kept));
    assert_eq!(segments(&path).len(), files.len() - 2);
    let end = ledger.head();
    drop(ledger);
    assert_eq!(verify_chain(&path).unwrap(), end);
}

#[test]
fn a_start_that_did_not_get_far_is_made_again_but_rows_are_never_thrown_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    drop(open(&path));
    std::fs::remove_file(path.join("synced")).unwrap();
    change(&newest(&path), |bytes| bytes.fill(0));
    let mut ledger = open(&path);
    fill(&mut ledger, 1..10);
    drop(ledger);
    std::fs::remove_file(path.join("synced")).unwrap();
    change(&newest(&path), |bytes| bytes[20] ^= 1);
    assert!(matches!(Ledger::open(&path, SMALL), Err(Trouble::Damaged { .. })));
}

#[test]
fn a_record_or_a_file_of_a_newer_version_stops_the_node_and_is_not_cut() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = closed(dir.path(), 150);
    let file = newest(&path);
    let before = std::fs::read(&file).unwrap();
    change(&file, |bytes| {
        let at = bytes.len() - record(199);
        bytes[at + 6] = 3;
        let crc = crc32c::crc32c(&bytes[at + 4..]);
        bytes[at..at + 4].copy_from_slice(&crc.to_le_bytes());
    });
    assert!(matches!(Ledger::open(&path, SMALL), Err(Trouble::TooNew { found: 3, known: 2, .. })));
    assert_eq!(std::fs::metadata(&file).unwrap().len(), before.len() as u64);

    change(&file, |bytes| {
        *bytes = before;
        bytes[8] = 3;
        let crc = crc32c::crc32c(&bytes[..55]);
        bytes[55..59].copy_from_slice(&crc.to_le_bytes());
    });
    assert!(matches!(Ledger::open(&path, SMALL), Err(Trouble::TooNew { found: 3, known: 2, .. })));
}
