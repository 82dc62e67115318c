//! Values to bytes and back: `[kind u8][schema u16 little endian][body]`.
//!
//! The only file that names bincode. Its body format is not self-describing, so everything that tells one thing from
//! another stands in the three bytes before it: *kind* says what it is, *schema* which frozen struct wrote it. A reader
//! chooses the type by the schema; an unknown one is an error and never a guess.
//!
//! The configuration is bincode's `legacy` (fixed-width little-endian integers): `wincode` writes the same bytes, which
//! is the way out should bincode stay unmaintained. Events alone are written in its `standard` form (integers in as few
//! bytes as they need): a ledger holds ten of them where a log holds one, for as long as retention says. A struct that was written once is frozen: a new field means a new
//! struct under a new schema number. Golden bytes guard that, one test a format.

mod kind;

use serde::{Serialize, de::DeserializeOwned};

pub use kind::Kind;

/// The largest body of every kind but [`Kind::Image`], in bytes. What decodes may not claim more, so a damaged length
/// cannot make a node allocate itself to death.
pub const BODY_LIMIT: usize = 64 << 20;

/// The largest body of a [`Kind::Image`], in bytes: a million schedules take about 200 MiB.
pub const IMAGE_LIMIT: usize = 4 << 30;

/// Bytes before the body: one of kind, two of schema.
pub const HEADER: usize = 3;

/// Why bytes could not be read or written. None of these is ever skipped over: unknown means stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// Fewer bytes than the header has.
    #[error("{bytes} bytes are too few for a {kind}")]
    Short {
        /// What was expected.
        kind: Kind,
        /// How many bytes there were.
        bytes: usize,
    },
    /// A kind that this version knows, but not the one expected here.
    #[error("expected a {expected}, found a {found}")]
    WrongKind {
        /// What was expected.
        expected: Kind,
        /// What stands in the first byte.
        found: Kind,
    },
    /// A kind that this version does not know: written by a newer one, or not by us.
    #[error("expected a {expected}, found the unknown kind {found}")]
    UnknownKind {
        /// What was expected.
        expected: Kind,
        /// The number in the first byte.
        found: u8,
    },
    /// A schema that this version does not know: written by a newer one.
    #[error("schema {schema} of a {kind} is unknown to this version")]
    UnknownSchema {
        /// What it is.
        kind: Kind,
        /// The number that was found.
        schema: u16,
    },
    /// The value ended before the bytes did.
    #[error("{left} bytes are left after a {kind}")]
    Trailing {
        /// What it is.
        kind: Kind,
        /// Bytes that nothing read.
        left: usize,
    },
    /// The body is larger than its kind may be.
    #[error("a {kind} of {bytes} bytes is larger than {}", kind.limit())]
    TooLarge {
        /// What it is.
        kind: Kind,
        /// The size of the body.
        bytes: usize,
    },
    /// The bytes are not a value of the type that the schema names.
    #[error("malformed {kind}: {why}")]
    Malformed {
        /// What it is.
        kind: Kind,
        /// What the decoder said.
        why: String,
    },
    /// The value has no byte form (a sequence of unknown length and the like).
    #[error("a {kind} cannot be encoded: {why}")]
    Unencodable {
        /// What it is.
        kind: Kind,
        /// What the encoder said.
        why: String,
    },
}

/// Encode a value under its kind and schema.
///
/// # Errors
/// [`CodecError::TooLarge`] when a reader would refuse the result, [`CodecError::Unencodable`] when the type has no byte
/// form.
pub fn encode<T: Serialize + ?Sized>(kind: Kind, schema: u16, value: &T) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::with_capacity(128);
    encode_into(&mut bytes, kind, schema, value)?;
    Ok(bytes)
}

/// Append an encoded value to `bytes`; leaves them as they were when it fails.
///
/// # Errors
/// As [`encode`].
pub fn encode_into<T: Serialize + ?Sized>(
    bytes: &mut Vec<u8>,
    kind: Kind,
    schema: u16,
    value: &T,
) -> Result<(), CodecError> {
    let before = bytes.len();
    bytes.push(kind as u8);
    bytes.extend_from_slice(&schema.to_le_bytes());
    let written = match kind {
        Kind::Event => bincode::serde::encode_into_std_write(value, bytes, bincode::config::standard()),
        _ => bincode::serde::encode_into_std_write(value, bytes, bincode::config::legacy()),
    };
    let failure = match written {
        Ok(size) if size <= kind.limit() => return Ok(()),
        Ok(size) => CodecError::TooLarge { kind, bytes: size },
        Err(error) => CodecError::Unencodable { kind, why: error.to_string() },
    };
    bytes.truncate(before);
    Err(failure)
}

/// Encoded bytes whose header has been read. The schema tells which type to [`Frame::decode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    kind: Kind,
    schema: u16,
    body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The schema that the writer used.
    #[must_use]
    pub const fn schema(&self) -> u16 {
        self.schema
    }

    /// The bytes after the header.
    #[must_use]
    pub const fn body(&self) -> &'a [u8] {
        self.body
    }

    /// The value, as the type that belongs to this schema. Every byte must be consumed: bincode would ignore what is
    /// left over, and with it a struct that grew without a new schema.
    ///
    /// # Errors
    /// [`CodecError::Malformed`], [`CodecError::Trailing`].
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, CodecError> {
        let decoded = match self.kind {
            Kind::Image => bincode::serde::decode_from_slice(
                self.body,
                bincode::config::legacy().with_limit::<IMAGE_LIMIT>(),
            ),
            Kind::Event => bincode::serde::decode_from_slice(
                self.body,
                bincode::config::standard().with_limit::<BODY_LIMIT>(),
            ),
            _ => bincode::serde::decode_from_slice(
                self.body,
                bincode::config::legacy().with_limit::<BODY_LIMIT>(),
            ),
        };
        match decoded {
            Ok((value, read)) if read == self.body.len() => Ok(value),
            Ok((_, read)) => Err(CodecError::Trailing { kind: self.kind, left: self.body.len() - read }),
            Err(error) => Err(CodecError::Malformed { kind: self.kind, why: error.to_string() }),
        }
    }

    /// The error for a schema that the reader does not know.
    #[must_use]
    pub const fn unknown_schema(&self) -> CodecError {
        CodecError::UnknownSchema { kind: self.kind, schema: self.schema }
    }
}

/// Read the header of encoded bytes, which must be of `kind`.
///
/// # Errors
/// [`CodecError::Short`], [`CodecError::WrongKind`], [`CodecError::UnknownKind`], [`CodecError::TooLarge`].
pub fn open(kind: Kind, bytes: &[u8]) -> Result<Frame<'_>, CodecError> {
    let Some((&[number, low, high], body)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(CodecError::Short { kind, bytes: bytes.len() });
    };
    match Kind::from_number(number) {
        Some(found) if found == kind => {}
        Some(found) => return Err(CodecError::WrongKind { expected: kind, found }),
        None => return Err(CodecError::UnknownKind { expected: kind, found: number }),
    }
    if body.len() > kind.limit() {
        return Err(CodecError::TooLarge { kind, bytes: body.len() });
    }
    Ok(Frame { kind, schema: u16::from_le_bytes([low, high]), body })
}

/// Decode a value of which exactly one schema exists.
///
/// # Errors
/// As [`open`] and [`Frame::decode`]; [`CodecError::UnknownSchema`] for any other schema.
pub fn decode<T: DeserializeOwned>(kind: Kind, schema: u16, bytes: &[u8]) -> Result<T, CodecError> {
    let frame = open(kind, bytes)?;
    if frame.schema != schema {
        return Err(frame.unknown_schema());
    }
    frame.decode()
}

#[cfg(test)]
mod tests {
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
        let hex: String = encode(Kind::Command, 0x0102, &everything())
            .unwrap()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
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
        assert_eq!(
            decode::<u64>(Kind::Vote, 1, &bytes),
            Err(CodecError::Trailing { kind: Kind::Vote, left: 1 })
        );
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
}
