//! Archives: what is written reads back, and whatever happens to the bytes on the way is found and named.
#![allow(clippy::unwrap_used)]

use std::io::{self, Write};

use campanile_storage::{
    Trouble,
    archive::{ArchiveReader, ArchiveWriter, Fault, Flawed},
    ledger::{Flaw, Hash, Head, Position, Row, chain_hash},
};

/// Rows that continue `before`, two an entry.
fn rows(before: Hash, indexes: std::ops::Range<u64>) -> Vec<Row> {
    let mut hash = before;
    let positions = indexes.flat_map(|index| [Position::new(index, 0), Position::new(index, 1)]);
    let chained = positions.map(|position| {
        let body = format!("row {position}").into_bytes();
        hash = chain_hash(&hash, position, &body);
        Row { position, hash, body: body.into() }
    });
    chained.collect()
}

/// An archive with an image and two rows, as version 1 writes it.
const GOLDEN: &[&str] = &[
    // magic, version
    "434d50415243480a",
    "0100",
    // note: kind, length, checksum, payload
    "01040000003a1520ef",
    "6e6f7465",
    // covered: kind, length, checksum, payload
    "02020000005ded8895",
    "6174",
    // image: kind, length, checksum, payload
    "03050000008594b341",
    "696d616765",
    // base: kind, length, checksum, payload
    "042d0000001fa7270c",
    "01060000000000000003000000090909090909090909090909090909092800000000000000a00f000000000000",
    // rows: kind, length, checksum, payload
    "053a000000023dfc25",
    "ac02",
    "00",
    "f23327b4f67452aad2e7fec3d6a34438",
    "09",
    "726f77203330302e30",
    "ac02",
    "01",
    "d004874509b38ced048e0cbb7361adcb",
    "09",
    "726f77203330302e31",
    // end (head, sum): kind, length, checksum, payload
    "064d000000015b7477",
    "012c0100000000000001000000d004874509b38ced048e0cbb7361adcb2a00000000000000cd0f000000000000",
    "6883c22cfb708e4757707a2fb98ee1cfeca4471e1da7e5129489c7a909f2b854",
];

fn base() -> Head {
    Head { position: Some(Position::new(6, 3)), hash: [9; 16], rows: 40, bytes: 4_000 }
}

/// A small archive with everything in it.
fn small() -> Vec<u8> {
    written(&rows([9; 16], 7..12))
}

fn written(rows: &[Row]) -> Vec<u8> {
    let mut archive = ArchiveWriter::begin(Vec::new(), b"{\"from\":\"a test\"}").unwrap();
    archive.image(b"covered", b"the image").unwrap();
    archive.base(base()).unwrap();
    rows.chunks(3).for_each(|page| archive.rows(page).unwrap());
    archive.end().unwrap()
}

fn read(bytes: &[u8]) -> Result<Vec<Row>, Flawed> {
    let mut archive = ArchiveReader::open(bytes)?;
    let mut rows = Vec::new();
    while let Some(row) = archive.next_row()? {
        rows.push(row);
    }
    Ok(rows)
}

/// Every row, and the flaws on the way.
fn read_on(bytes: &[u8]) -> (usize, Vec<Flaw>) {
    let mut archive = ArchiveReader::open(bytes).unwrap();
    let (mut read, mut flaws) = (0, Vec::new());
    while let Some(item) = archive.next_item().unwrap() {
        read += 1;
        flaws.extend(item.flaw);
    }
    (read, flaws)
}

#[test]
fn what_was_written_reads_back() {
    let rows = rows([9; 16], 7..12);
    let bytes = small();
    let mut archive = ArchiveReader::open(&bytes[..]).unwrap();
    assert_eq!(archive.note(), b"{\"from\":\"a test\"}");
    assert_eq!(archive.image(), Some(("covered".into(), "the image".into())));
    assert_eq!(archive.base(), base());
    for row in &rows {
        assert_eq!(archive.next_row().unwrap().as_ref(), Some(row));
    }
    assert_eq!(archive.next_row().unwrap(), None);
    assert_eq!(archive.next_row().unwrap(), None);
    let head = archive.head();
    assert_eq!((head.position, head.rows), (Some(Position::new(11, 1)), 50));
    assert_eq!(archive.offset(), bytes.len() as u64);
}

#[test]
fn an_archive_has_the_bytes_it_always_had() {
    let mut archive = ArchiveWriter::begin(Vec::new(), b"note").unwrap();
    archive.image(b"at", b"image").unwrap();
    archive.base(base()).unwrap();
    archive.rows(&rows([9; 16], 300..301)).unwrap();
    let bytes = archive.end().unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, GOLDEN.concat());
}

#[test]
fn an_archive_may_have_no_image_no_base_and_no_rows() {
    let bytes = ArchiveWriter::begin(Vec::new(), b"").unwrap().end().unwrap();
    let archive = ArchiveReader::open(&bytes[..]).unwrap();
    assert_eq!((archive.image(), archive.base()), (None, Head::default()));
    assert_eq!(read(&bytes).unwrap(), []);
}

#[test]
fn long_notes_images_and_rows_go_in_pieces() {
    let long = vec![7; 3 << 20];
    let body = vec![8; 2 << 20];
    let position = Position::new(1, 0);
    let hash = chain_hash(&Hash::default(), position, &body);
    let row = Row { position, hash, body: body.into() };
    let mut archive = ArchiveWriter::begin(Vec::new(), &long).unwrap();
    archive.image(&long, &long).unwrap();
    archive.rows(std::slice::from_ref(&row)).unwrap();
    let bytes = archive.end().unwrap();
    let archive = ArchiveReader::open(&bytes[..]).unwrap();
    let (covered, image) = archive.image().unwrap();
    assert!(archive.note() == long && covered == long && image == long);
    assert!(read(&bytes).unwrap() == [row]);
}

#[test]
fn every_cut_is_found() {
    let bytes = small();
    for length in 0..bytes.len() {
        let flawed = read(&bytes[..length]).unwrap_err();
        assert!(matches!(flawed.fault, Fault::CutOff), "cut to {length}: {flawed}");
        assert!(flawed.offset <= length as u64, "cut to {length}: {flawed}");
    }
}

#[test]
fn every_changed_bit_is_found() {
    let bytes = small();
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let flawed = read(&changed).expect_err(&format!("bit {bit} went unnoticed"));
        assert!(flawed.offset <= bit as u64 / 8, "bit {bit}: {flawed}");
    }
}

#[test]
fn what_stands_behind_the_end_is_found() {
    let mut bytes = small();
    bytes.push(0);
    assert!(matches!(read(&bytes).unwrap_err().fault, Fault::Trailing));
}

#[test]
fn a_row_that_was_taken_out_put_twice_swapped_or_changed_is_named_once_and_reading_goes_on() {
    let good = rows([9; 16], 7..12);
    type Plant = (&'static str, fn(&mut Vec<Row>), Flaw);
    let plants: [Plant; 5] = [
        ("taken out", |rows| drop(rows.remove(2)), Flaw::Order(Position::new(8, 1))),
        ("whole entry taken out", |rows| drop(rows.drain(2..4)), Flaw::Hash(Position::new(9, 0))),
        ("put twice", |rows| rows.insert(3, rows[3].clone()), Flaw::Order(Position::new(8, 1))),
        ("swapped", |rows| rows.swap(4, 5), Flaw::Order(Position::new(9, 1))),
        ("changed", |rows| rows[3].body = "another".into(), Flaw::Hash(Position::new(8, 1))),
    ];
    for (name, plant, flaw) in plants {
        let mut planted = good.clone();
        plant(&mut planted);
        let bytes = written(&planted);
        let flawed = read(&bytes).unwrap_err();
        assert!(matches!(&flawed.fault, Fault::Row(found) if *found == flaw), "{name}: {flawed}");
        let (read, flaws) = read_on(&bytes);
        assert_eq!((read, &flaws[0]), (planted.len(), &flaw), "{name}");
        assert!(flaws.len() <= 3, "{name}: {flaws:?}");
    }
}

#[test]
fn an_end_that_is_not_that_of_its_rows_is_found() {
    let good = rows([9; 16], 7..12);
    let whole = written(&good);
    let fewer = written(&good[..8]);
    // The frames of fewer rows under the end of all of them; an end is 9 + 45 + 32 bytes.
    let end = 9 + 45 + 32;
    let joined = [&fewer[..fewer.len() - end], &whole[whole.len() - end..]].concat();
    let flawed = read(&joined).unwrap_err();
    assert!(matches!(flawed.fault, Fault::Sum), "{flawed}");
}

#[test]
fn another_file_and_a_newer_archive_are_told_apart() {
    let mut bytes = small();
    assert!(matches!(read(b"what is this?").unwrap_err().fault, Fault::Foreign));
    bytes[8] = 2;
    assert!(matches!(read(&bytes).unwrap_err().fault, Fault::TooNew { found: 2, known: 1 }));
}

#[test]
fn a_fault_is_said_again_to_whoever_asks_again() {
    let bytes = small();
    let mut archive = ArchiveReader::open(&bytes[..bytes.len() - 1]).unwrap();
    while let Ok(Some(_)) = archive.next_row() {}
    assert!(archive.next_row().is_err() && archive.next_item().is_err());
}

/// A disk with room for so many bytes.
struct Filling(usize);

impl Write for Filling {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::from_raw_os_error(28));
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_said_wherever_it_comes() {
    let write = |room| -> Result<(), Trouble> {
        let mut archive = ArchiveWriter::begin(Filling(room), b"note")?;
        archive.image(b"covered", b"the image")?;
        archive.base(base())?;
        archive.rows(&rows([9; 16], 7..12))?;
        archive.end().map(drop)
    };
    let needed = (0..).find(|room| write(*room).is_ok()).unwrap();
    for room in 0..needed {
        assert!(matches!(write(room), Err(Trouble::Full { .. })), "room for {room} bytes");
    }
}
