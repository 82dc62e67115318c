//! Every kind and every way to be wrong.
#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Dot,
    Line(u16),
    Box { wide: u32, high: u32 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    small: u8,
    word: u16,
    wide: u64,
    signed: i64,
    flag: bool,
    text: String,
    none: Option<u32>,
    some: Option<u32>,
    list: Vec<u16>,
    map: BTreeMap<String, u8>,
    shapes: (Shape, Shape, Shape),
}

fn everything() -> Everything {
    Everything {
        small: 1,
        word: 0x0203,
        wide: 4,
        signed: -2,
        flag: true,
        text: "hé".into(),
        none: None,
        some: Some(5),
        list: vec![6, 7],
        map: BTreeMap::from([("k".into(), 8)]),
        shapes: (Shape::Dot, Shape::Line(9), Shape::Box { wide: 10, high: 11 }),
    }
}

#[test]
fn every_type_has_its_golden_bytes() {
    let hex: String =
        encode(Kind::Command, 0x0102, &everything()).unwrap().iter().map(|b| format!("{b:02x}")).collect();
    let golden = concat!(
        "04",
        "0201",
        "01",
        "0302",
        "0400000000000000",
        "feffffffffffffff",
        "01",
        "0300000000000000",
        "68c3a9",
        "00",
        "0105000000",
        "0200000000000000",
        "0600",
        "0700",
        "0100000000000000",
        "0100000000000000",
        "6b",
        "08",
        "00000000",
        "01000000",
        "0900",
        "02000000",
        "0a000000",
        "0b000000",
    );
    assert_eq!(hex, golden);
}

#[test]
fn every_type_of_an_event_has_its_golden_bytes() {
    let bytes = encode(Kind::Event, 0x0102, &everything()).unwrap();
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let golden = concat!(
        "05", "0201", "01", "8304", "04", "03", "01", "03", "68c3a9", "00", "0105", "02", "06", "07", "01",
        "01", "6b", "08", "00", "01", "09", "02", "0a", "0b",
    );
    assert_eq!(hex, golden);
}

#[test]
fn the_numbers_of_the_kinds_never_change() {
    let numbers: Vec<u8> = Kind::ALL.iter().map(|kind| *kind as u8).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(Kind::from_number(7), Some(Kind::Wire));
    assert_eq!(Kind::from_number(0), None);
}

#[test]
fn what_was_encoded_decodes() {
    let bytes = encode(Kind::Event, 7, &everything()).unwrap();
    let frame = open(Kind::Event, &bytes).unwrap();
    assert_eq!(frame.schema(), 7);
    assert_eq!(frame.decode::<Everything>().unwrap(), everything());
}

#[test]
fn a_wrong_kind_and_an_unknown_one_and_an_unknown_schema_are_told_apart() {
    let mut bytes = encode(Kind::Vote, 1, &5_u64).unwrap();
    assert_eq!(
        decode::<u64>(Kind::Image, 1, &bytes),
        Err(CodecError::WrongKind { expected: Kind::Image, found: Kind::Vote })
    );
    assert_eq!(
        decode::<u64>(Kind::Vote, 2, &bytes),
        Err(CodecError::UnknownSchema { kind: Kind::Vote, schema: 1 })
    );
    bytes[0] = 200;
    assert_eq!(
        decode::<u64>(Kind::Vote, 1, &bytes),
        Err(CodecError::UnknownKind { expected: Kind::Vote, found: 200 })
    );
    assert_eq!(open(Kind::Vote, &bytes[..2]), Err(CodecError::Short { kind: Kind::Vote, bytes: 2 }));
}

#[test]
fn bytes_left_over_or_missing_are_errors() {
    let mut bytes = encode(Kind::Vote, 1, &5_u64).unwrap();
    bytes.push(0);
    assert_eq!(decode::<u64>(Kind::Vote, 1, &bytes), Err(CodecError::Trailing { kind: Kind::Vote, left: 1 }));
    bytes.truncate(9);
    assert!(matches!(decode::<u64>(Kind::Vote, 1, &bytes), Err(CodecError::Malformed { .. })));
}

#[test]
fn a_length_that_lies_is_refused_before_anything_is_allocated() {
    let mut bytes = encode(Kind::Command, 1, "text").unwrap();
    bytes[HEADER..HEADER + 8].copy_from_slice(&(1_u64 << 62).to_le_bytes());
    assert!(matches!(decode::<String>(Kind::Command, 1, &bytes), Err(CodecError::Malformed { .. })));
}

#[test]
fn a_value_that_no_reader_would_accept_is_not_written() {
    let mut bytes = b"before".to_vec();
    let failed = encode_into(&mut bytes, Kind::Wire, 1, &vec![0_u8; BODY_LIMIT]);
    assert_eq!(failed, Err(CodecError::TooLarge { kind: Kind::Wire, bytes: BODY_LIMIT + 8 }));
    assert_eq!(bytes, b"before");
}
