//! The bytes of a segment, frozen: what one version wrote every later one reads.

use super::*;

/// A segment with two rows, as version 1 writes it.
const GOLDEN: &str = concat!(
    // magic, version, head before: none, zero hash, no rows, no bytes; checksum
    "434d504c4544470a",
    "0100",
    "00",
    "0000000000000000",
    "00000000",
    "00000000000000000000000000000000",
    "0000000000000000",
    "0000000000000000",
    "ece44ec4",
    // body length, checksum, schema, index, n, running hash, body
    "05000000",
    "7495fdac",
    "0100",
    "0700000000000000",
    "00000000",
    "603bba3c4d23f7e290c6dcce108647ed",
    "6669726564",
    "10000000",
    "a15c7df0",
    "0100",
    "0700000000000000",
    "01000000",
    "3e86878de861ee48317c54b4e8db4591",
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
