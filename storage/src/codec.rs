//! Values to bytes and back: `[kind u8][schema u16 little endian][body]`.
//!
//! The only file that names bincode. Its body format is not self-describing, so everything that tells one thing from
//! another stands in the three bytes before it: *kind* says what it is, *schema* which frozen struct wrote it. A reader
//! chooses the type by the schema; an unknown one is an error and never a guess.
//!
//! The configuration is bincode's `legacy` (fixed-width little-endian integers): `wincode` writes the same bytes, which
//! is the way out should bincode stay unmaintained. Events alone have a form of their own, `compact`: the ledger keeps them
//! for as long as retention says, and they are most of what a node has on its disk. A struct that was written once is frozen: a new field means a new
//! struct under a new schema number. Golden bytes guard that, one test a format.

mod compact;
mod kind;

use bincode::{
    config::{Configuration, Fixint, LittleEndian},
    serde::decode_from_slice,
};
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
        Kind::Event => compact::write(bytes, value).map_err(|error| error.to_string()),
        _ => bincode::serde::encode_into_std_write(value, bytes, bincode::config::legacy())
            .map(drop)
            .map_err(|error| error.to_string()),
    };
    let size = bytes.len() - before - HEADER;
    let failure = match written {
        Ok(()) if size <= kind.limit() => return Ok(()),
        Ok(()) => CodecError::TooLarge { kind, bytes: size },
        Err(why) => CodecError::Unencodable { kind, why },
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
        let (value, read) = self.read().map_err(|why| CodecError::Malformed { kind: self.kind, why })?;
        if read == self.body.len() {
            return Ok(value);
        }
        Err(CodecError::Trailing { kind: self.kind, left: self.body.len() - read })
    }

    fn read<T: DeserializeOwned>(&self) -> Result<(T, usize), String> {
        const PLAIN: Configuration<LittleEndian, Fixint> = bincode::config::legacy();
        let decoded = match self.kind {
            Kind::Event => return compact::read(self.body).map_err(|error| error.to_string()),
            Kind::Image => decode_from_slice(self.body, PLAIN.with_limit::<IMAGE_LIMIT>()),
            _ => decode_from_slice(self.body, PLAIN.with_limit::<BODY_LIMIT>()),
        };
        decoded.map_err(|error| error.to_string())
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
mod tests;
