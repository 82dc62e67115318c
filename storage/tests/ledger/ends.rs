//! The end at an entry of the past, and where a copy may begin.

use campanile_storage::ledger::{End, Head};

use super::*;

/// The end after each entry, as the writer saw it.
fn heads(path: &Path) -> (Ledger, Vec<Head>) {
    let mut ledger = open(path);
    let mut heads = vec![ledger.head()];
    for index in 1..400 {
        fill(&mut ledger, index..index + 1);
        heads.push(ledger.head());
    }
    (ledger, heads)
}

#[test]
fn the_end_at_every_entry_is_the_one_that_the_writer_saw() {
    let dir = tempfile::tempdir().unwrap();
    let (ledger, heads) = heads(&dir.path().join("ledger"));
    let reader = ledger.reader();
    for (index, head) in heads.iter().enumerate() {
        assert_eq!(reader.end_at(index as u64).unwrap(), Some(End::from(*head)), "entry {index}");
        assert_eq!(reader.head_before(index as u64 + 1).unwrap(), *head, "entry {index}");
    }
    assert_eq!(reader.head_before(0).unwrap(), Head::default());
    assert_eq!(reader.end_at(u64::MAX).unwrap(), Some(End::from(ledger.head())));
}

#[test]
fn what_is_hidden_still_counts_and_what_is_dropped_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, heads) = heads(&dir.path().join("ledger"));
    let (reader, held) = (ledger.reader(), ledger.reader().bytes_held());
    ledger.hide_prefix(201);
    assert_eq!(told(&all_rows(&ledger)), expected(201..400));
    assert_eq!(reader.bytes_held(), held, "hidden rows keep their files");
    assert_eq!(reader.end_at(100).unwrap(), Some(End::from(heads[100])));
    let copy = reader.read_held(heads[100].position, usize::MAX, usize::MAX).unwrap();
    assert_eq!(told(&copy), expected(101..400));
    assert!(ledger.drop_prefix(201) > 0);
    assert_eq!(reader.end_at(1).unwrap(), None);
    assert_eq!(reader.head_before(201).unwrap(), heads[200]);
    assert_eq!(reader.head_before(1).unwrap(), reader.base());
}
