//! The bytes of a segment, frozen: what one version wrote every later one reads.

use super::*;

/// A segment with two rows, as version 2 writes it.
const GOLDEN: &str = concat!(
    // magic, version, head before: none, zero hash, no rows, no bytes; checksum
    "434d504c4544470a",
    "0200",
    "00",
    "0000000000000000",
    "00000000",
    "00000000000000000000000000000000",
    "0000000000000000",
    "0000000000000000",
    "08ed5615",
    // checksum, length, schema, index, n, hash before; length and body of each row
    "47a6675b",
    "2a",
    "02",
    "07",
    "00",
    "00000000000000000000000000000000",
    "05",
    "6669726564",
    "10",
    "736b69707065643a206f7665726c6170",
);

#[test]
fn a_segment_has_the_bytes_it_always_had() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = open(&path);
    ledger.append(7, &["fired", "skipped: overlap"]).unwrap();
    drop(ledger);
    let bytes = std::fs::read(path.join("00000000000000000000.segment")).unwrap();
    assert_eq!(hex(&bytes), GOLDEN);
}

#[test]
fn the_bytes_of_an_older_binary_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("00000000000000000000.segment"), unhex(GOLDEN)).unwrap();
    let ledger = open(&path);
    let rows = told(&all_rows(&ledger));
    assert_eq!(rows, vec![(7, 0, b"fired".to_vec()), (7, 1, b"skipped: overlap".to_vec())]);
    drop(ledger);
    assert_eq!(hex(&std::fs::read(path.join("00000000000000000000.segment")).unwrap()), GOLDEN);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
