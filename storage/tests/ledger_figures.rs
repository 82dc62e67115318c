//! What a ledger costs: `ROWS=3000000 cargo test --release -p campanile-storage --test ledger_figures -- --nocapture`.
//!
//! Without `ROWS` a small run, which keeps the measurement itself working.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::time::{Duration, Instant};

use campanile_storage::{
    archive::{ArchiveReader, ArchiveWriter},
    history::{History, Indexer, Key, Order, Window},
    image::Images,
    ledger::{Ledger, Options, Row, verify_chain},
};

/// Rows of about 60 bytes an entry, as a tick of many schedules makes them.
const ENTRY: u64 = 500;
const SCHEDULES: u64 = 10_000;

fn extract(row: &Row) -> Option<Key> {
    let (uid, nominal) = row.body.split_first_chunk::<8>()?;
    let uid = u64::from_le_bytes(*uid);
    let nominal = i64::from_le_bytes(*nominal.first_chunk()?);
    Some(Key { uid, nominal, run: 0, position: row.position })
}

fn body(row: u64) -> Vec<u8> {
    let mut body = vec![0x5a; 60];
    body[..8].copy_from_slice(&(row % SCHEDULES).to_le_bytes());
    body[8..16].copy_from_slice(&(1_764_547_200_000 + row / SCHEDULES * 1_000).to_le_bytes());
    body
}

fn rate(what: &str, count: u64, since: Instant) {
    let each = since.elapsed().as_secs_f64();
    eprintln!("{what}: {:.0} a second ({count} in {each:.2} s)", count as f64 / each);
}

#[test]
fn appending_reading_and_indexing_are_measured() {
    let rows = std::env::var("ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(20_000);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let mut ledger = Ledger::open(&path, Options::default()).unwrap();
    let entries: Vec<Vec<Vec<u8>>> = (0..rows)
        .collect::<Vec<_>>()
        .chunks(ENTRY as usize)
        .map(|rows| rows.iter().map(|row| body(*row)).collect())
        .collect();

    let start = Instant::now();
    let mut slowest = Duration::ZERO;
    for (index, entry) in (1..).zip(&entries) {
        let before = Instant::now();
        ledger.append(index, entry).unwrap();
        slowest = slowest.max(before.elapsed());
    }
    rate("rows appended", rows, start);
    eprintln!("slowest append of {ENTRY} rows: {slowest:?}");
    let start = Instant::now();
    let head = ledger.sync().unwrap();
    eprintln!("sync after all: {:?}, {} bytes a row", start.elapsed(), head.bytes / head.rows);

    let reader = ledger.reader();
    let start = Instant::now();
    let mut after = None;
    let mut read = 0;
    while let Some(last) = reader.read(after, 1_000, 1 << 20).unwrap().last() {
        after = Some(last.position);
        read += 1_000;
    }
    rate("rows read in pages of 1,000", rows, start);
    assert!(read >= rows);
    let start = Instant::now();
    let (mut scan, mut scanned) = (reader.scan(), 0);
    while let Some(next) = scan.next_row().unwrap() {
        scanned += u64::from(next.flaw.is_none());
    }
    assert_eq!(scanned, rows);
    rate("rows scanned and checked", rows, start);
    let start = Instant::now();
    let mut archive = ArchiveWriter::begin(Vec::new(), b"").unwrap();
    let mut scan = reader.scan();
    archive.base(scan.base()).unwrap();
    while let Some(next) = scan.next_row().unwrap() {
        archive.rows(std::slice::from_ref(&next.row)).unwrap();
    }
    let archived = archive.end().unwrap();
    rate("rows put into an archive", rows, start);
    let start = Instant::now();
    let mut archive = ArchiveReader::open(&archived[..]).unwrap();
    while archive.next_row().unwrap().is_some() {}
    assert_eq!(archive.head(), head);
    rate("rows of an archive checked", rows, start);
    let start = Instant::now();
    let placed = reader.read_placed(None, 10_000, usize::MAX).unwrap();
    placed.iter().for_each(|(row, place)| assert!(reader.get(row.position, *place).unwrap().is_some()));
    rate("rows got by place, after a page of them", placed.len() as u64, start);

    let history = History::open(&dir.path().join("history")).unwrap();
    let start = Instant::now();
    let indexer = Indexer::spawn(history, ledger.reader(), |row, keys| keys.extend(extract(row))).unwrap();
    assert!(indexer.wait_for(u64::MAX, Duration::from_secs(3_600)));
    rate("rows indexed", rows, start);
    let start = Instant::now();
    for uid in 0..1_000 {
        let page = indexer.history().scan(uid, Window::default(), 100, Order::Descending).unwrap();
        assert!(page.iter().all(|entry| reader.fetch(entry.key.position, entry.place).unwrap().is_some()));
    }
    rate("history pages of up to 100 rows, rows fetched", 1_000, start);
    drop(indexer);
    drop(ledger);

    let start = Instant::now();
    drop(Ledger::open(&path, Options::default()).unwrap());
    eprintln!("open: {:?}", start.elapsed());
    let start = Instant::now();
    assert_eq!(verify_chain(&path).unwrap(), head);
    rate("rows verified", rows, start);
    let start = Instant::now();
    let images = Images::open(&dir.path().join("images")).unwrap();
    images.save(1, b"meta", &vec![7; 64 << 20]).unwrap();
    eprintln!("image of 64 MiB saved: {:?}", start.elapsed());
}
