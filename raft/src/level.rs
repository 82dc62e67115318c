//! Core's commands, facts and images as bytes: written at the level of a machine, read at any level this program knows.
//!
//! The level is the schema of the frame. All levels of this program have one layout; the first that differs gets its own
//! struct and an arm here. Must not know a constant to write with: [`campanile_core::format`] says why. The structs of
//! [`crate::format`] and of the wire are not core's, and keep numbers of their own.

use campanile_core::format::FormatLevel;
use campanile_storage::codec::{self, CodecError, Kind};
use serde::{Serialize, de::DeserializeOwned};

/// Why a node must not go on with what the log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// This program is too old for the cluster.
    #[error(
        "the cluster writes format level {level}, and this version of campanile reads up to {}: start a version that reads {level}",
        FormatLevel::NEWEST
    )]
    Ahead {
        /// What the cluster writes.
        level: FormatLevel,
    },
    /// Whoever wrote it broke the rule: a defect.
    #[error("written at format level {level} while the log is at {allowed}: this node must stop")]
    Early {
        /// At which it was written.
        level: FormatLevel,
        /// What the log has agreed on.
        allowed: FormatLevel,
    },
}

/// Whether this program may be part of a cluster that writes `level`.
///
/// # Errors
/// [`Unfit::Ahead`].
pub const fn readable(level: FormatLevel) -> Result<(), Unfit> {
    match level.0 <= FormatLevel::NEWEST.0 {
        true => Ok(()),
        false => Err(Unfit::Ahead { level }),
    }
}

/// As [`readable`], of a program that reads up to `speaks`.
///
/// # Errors
/// [`Unfit::Ahead`].
pub const fn readable_by(speaks: FormatLevel, level: FormatLevel) -> Result<(), Unfit> {
    match level.0 <= speaks.0 {
        true => readable(level),
        false => Err(Unfit::Ahead { level }),
    }
}

/// Whether something at `level` may stand on the log where it has agreed on `allowed`.
///
/// # Errors
/// As [`Unfit`] tells apart.
pub fn in_order(level: FormatLevel, allowed: FormatLevel) -> Result<(), Unfit> {
    readable(level)?;
    match level <= allowed {
        true => Ok(()),
        false => Err(Unfit::Early { level, allowed }),
    }
}

/// The bytes of a value of core at that level.
///
/// # Errors
/// When it is larger than a reader would accept.
pub fn write<T: Serialize + ?Sized>(
    kind: Kind,
    level: FormatLevel,
    value: &T,
) -> Result<Vec<u8>, CodecError> {
    codec::encode(kind, level.0, value)
}

/// The level at which bytes were written, known or not.
///
/// # Errors
/// When they are something else.
pub fn of(kind: Kind, bytes: &[u8]) -> Result<FormatLevel, CodecError> {
    codec::open(kind, bytes).map(|frame| FormatLevel(frame.schema()))
}

/// A value of core, whatever known level it was written at.
///
/// # Errors
/// When the bytes are something else, or of a level that this program does not know.
pub fn read<T: DeserializeOwned>(kind: Kind, bytes: &[u8]) -> Result<T, CodecError> {
    read_with_level(kind, bytes).map(|(_, value)| value)
}

/// The same, with the level.
///
/// # Errors
/// As [`read`].
pub fn read_with_level<T: DeserializeOwned>(
    kind: Kind,
    bytes: &[u8],
) -> Result<(FormatLevel, T), CodecError> {
    let frame = codec::open(kind, bytes)?;
    let level = FormatLevel(frame.schema());
    match level.is_known() {
        true => frame.decode().map(|value| (level, value)),
        false => Err(frame.unknown_schema()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: FormatLevel = FormatLevel(FormatLevel::NEWEST.0 + 1);

    #[test]
    fn what_is_newer_than_this_program_is_told_apart_from_what_was_written_too_early() {
        assert_eq!(in_order(FormatLevel::OLDEST, FormatLevel::OLDEST), Ok(()));
        assert_eq!(in_order(NEXT, NEXT), Err(Unfit::Ahead { level: NEXT }));
        let before = FormatLevel(FormatLevel::NEWEST.0 - 1);
        let early = Unfit::Early { level: FormatLevel::NEWEST, allowed: before };
        assert_eq!(in_order(FormatLevel::NEWEST, before), Err(early));
    }

    #[test]
    fn a_value_is_read_at_every_known_level_and_at_no_other() {
        for level in FormatLevel::OLDEST.0..=FormatLevel::NEWEST.0 {
            let bytes = write(Kind::Work, FormatLevel(level), &7_u64).expect("a number has a byte form");
            assert_eq!(
                (of(Kind::Work, &bytes), read(Kind::Work, &bytes)),
                (Ok(FormatLevel(level)), Ok(7_u64))
            );
        }
        for level in [FormatLevel(FormatLevel::OLDEST.0 - 1), NEXT] {
            let bytes = write(Kind::Work, level, &7_u64).expect("a number has a byte form");
            assert!(read::<u64>(Kind::Work, &bytes).is_err(), "{level}");
        }
    }
}
