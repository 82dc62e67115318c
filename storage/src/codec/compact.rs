//! The form of events: what bincode writes, with every integer in as few bytes as it needs.
//!
//! ```text
//!   u16 u32 u64 length variant char = varint        i16 i32 i64 = varint of the zigzag number
//!   u8 i8 = one byte    bool option = 0 or 1        text sequence map = length, then what is in it
//!   struct tuple newtype = its parts, nothing else
//! ```
//! A ledger is mostly instants in milliseconds: 6 bytes here, 9 in bincode's own short form, 8 in its fixed one. A firing has
//! nine of them. Numbers of 128 bits and floats have no form: facts hold none. Everything has one form only, and a length
//! beyond the bytes that are left is refused before anything is allocated.

mod read;
mod write;

use std::fmt::{self, Display};

use serde::{Serialize, de::DeserializeOwned};

/// Writes a value behind what `out` holds; a failure may leave a part of it there.
pub(super) fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<(), Error> {
    value.serialize(write::Writer(out))
}

/// Reads the value at the head of `bytes`, and how many bytes it took.
pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, usize), Error> {
    let mut reader = read::Reader(bytes);
    let value = T::deserialize(&mut reader)?;
    Ok((value, bytes.len() - reader.0.len()))
}

/// Why a value has no such form, or bytes are not one.
#[derive(Debug)]
pub(super) struct Error(String);

impl Error {
    fn because(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl serde::ser::Error for Error {
    fn custom<T: Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

impl serde::de::Error for Error {
    fn custom<T: Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

/// Small numbers of either sign become small ones without.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_and_text_reads_back(
            signed: (i8, i16, i32, i64),
            plain: (u8, u16, u32, u64),
            rest: (bool, char, Option<String>, Vec<i64>),
        ) {
            let value = (signed, plain, rest);
            let mut bytes = Vec::new();
            write(&mut bytes, &value).unwrap();
            prop_assert_eq!(read(&bytes).unwrap(), (value.clone(), bytes.len()));
            for cut in 0..bytes.len() {
                prop_assert!(read::<((i8, i16, i32, i64), (u8, u16, u32, u64), (bool, char, Option<String>, Vec<i64>))>(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn an_instant_takes_six_bytes() {
        let mut bytes = Vec::new();
        write(&mut bytes, &1_796_169_600_000_i64).unwrap();
        assert_eq!(bytes.len(), 6);
        for number in [i64::MIN, -1, 0, 1, i64::MAX] {
            assert_eq!(unzigzag(zigzag(number)), number);
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        assert!(read::<bool>(&[2]).is_err(), "neither true nor false");
        assert!(read::<Option<u8>>(&[2, 0]).is_err(), "neither there nor not");
        assert!(read::<u16>(&[0x80, 0x80, 4]).is_err(), "beyond 16 bits");
        assert!(read::<u64>(&[0x80, 0]).is_err(), "longer than it needs to be");
        assert!(read::<char>(&[0x80, 0xb0, 3]).is_err(), "half of a pair");
        assert!(read::<String>(&[1, 0xff]).is_err(), "not UTF-8");
        assert!(read::<Vec<u8>>(&[0xff, 0xff, 0xff, 0x7f, 1]).is_err(), "a length that lies");
        assert!(write(&mut Vec::new(), &1.5_f64).is_err(), "a float");
    }
}
