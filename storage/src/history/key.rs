//! The keys of the index: bytes that sort as uid, nominal, run, position do.

use std::ops::Bound;

use crate::ledger::{Hash, Place, Position};

/// Where a row belongs in the history of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The schedule.
    pub uid: u64,
    /// When it should have happened, in the caller's unit since the epoch; before it is negative.
    pub nominal: i64,
    /// The run of that nominal.
    pub run: u32,
    /// The row.
    pub position: Position,
}

/// One row of a history and where to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: Key,
    /// Where it lay when it was indexed: for `LedgerReader::fetch` together with the position in the key.
    pub place: Place,
}

/// How far the ledger is indexed: the last row, and its hash, by which a ledger is told from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The last row that was looked at.
    pub position: Position,
    /// Its running hash.
    pub hash: Hash,
}

/// Rows are under this prefix, what the index knows about itself under others.
const ROW: u8 = b'r';
/// The key of the progress.
pub(crate) const PROGRESS: &[u8] = b"progress";
/// Under this prefix, by position, the hashes of some rows on the way.
pub(crate) const CHECKPOINT: u8 = b'c';

/// `r, uid, nominal, run, index, n`.
pub(crate) const KEY_LEN: usize = 1 + 2 * WIDE + NARROW + POSITION_LEN;
const POSITION_LEN: usize = WIDE + NARROW;

/// Numbers in keys have seven bits a byte, high ones first, so that no byte of a key is above 0x7f. sled 0.34.7 walks
/// backwards by looking for "the last byte less one, then four times 0xff" and never ends when a key lies behind that, as
/// big-endian numbers with long runs of 0xff do (nominals before the epoch, for example).
const WIDE: usize = 10;
const NARROW: usize = 5;

impl Key {
    /// Before every row of a firing at `nominal` or later.
    pub(crate) fn first_at(uid: u64, nominal: i64) -> Self {
        Self { uid, nominal, run: 0, position: Position::new(0, 0) }
    }

    /// At or behind every row of a firing at `nominal`.
    pub(crate) fn last_at(uid: u64, nominal: i64) -> Self {
        Self { uid, nominal, run: u32::MAX, position: Position::end_of(u64::MAX) }
    }

    pub(crate) fn to_bytes(self) -> [u8; KEY_LEN] {
        let mut bytes = [ROW; KEY_LEN];
        put(&mut bytes[1..11], self.uid);
        // With the sign turned over, negative nominals sort before positive ones.
        put(&mut bytes[11..21], (self.nominal ^ i64::MIN).cast_unsigned());
        put(&mut bytes[21..26], self.run.into());
        put_position(&mut bytes[26..], self.position);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != KEY_LEN || bytes[0] != ROW {
            return None;
        }
        Some(Self {
            uid: get(&bytes[1..11])?,
            nominal: get(&bytes[11..21])?.cast_signed() ^ i64::MIN,
            run: get(&bytes[21..26])?.try_into().ok()?,
            position: get_position(&bytes[26..])?,
        })
    }
}

/// Writes a number into all of `bytes`.
fn put(bytes: &mut [u8], mut number: u64) {
    for byte in bytes.iter_mut().rev() {
        *byte = (number & 0x7f) as u8;
        number >>= 7;
    }
}

/// The number that `put` wrote; `None` for bytes that it does not write.
fn get(bytes: &[u8]) -> Option<u64> {
    let shifted = |number: u64, byte: &u8| {
        let fits = *byte <= 0x7f && number >> 57 == 0;
        fits.then(|| number << 7 | u64::from(*byte))
    };
    bytes.iter().try_fold(0, shifted)
}

fn put_position(bytes: &mut [u8], position: Position) {
    put(&mut bytes[..WIDE], position.index);
    put(&mut bytes[WIDE..], position.n.into());
}

fn get_position(bytes: &[u8]) -> Option<Position> {
    let (index, n) = bytes.split_at_checked(WIDE)?;
    Some(Position::new(get(index)?, get(n)?.try_into().ok()?))
}

/// The bounds of a scan as bytes.
pub(crate) fn bound_bytes(bound: Bound<Key>) -> Bound<[u8; KEY_LEN]> {
    bound.map(Key::to_bytes)
}

pub(crate) fn place_bytes(place: Place) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&place.segment.to_be_bytes());
    bytes[8..].copy_from_slice(&place.offset.to_be_bytes());
    bytes
}

pub(crate) fn read_place(bytes: &[u8]) -> Option<Place> {
    let (segment, offset) = bytes.split_first_chunk()?;
    let offset = offset.try_into().ok()?;
    Some(Place { segment: u64::from_be_bytes(*segment), offset: u32::from_be_bytes(offset) })
}

/// The key of the checkpoint at a position.
pub(crate) fn checkpoint_key(position: Position) -> [u8; 1 + POSITION_LEN] {
    let mut bytes = [CHECKPOINT; 1 + POSITION_LEN];
    put_position(&mut bytes[1..], position);
    bytes
}

/// `index, n, hash`, big endian.
pub(crate) fn progress_bytes(progress: Progress) -> [u8; 28] {
    let mut bytes = [0; 28];
    bytes[..8].copy_from_slice(&progress.position.index.to_be_bytes());
    bytes[8..12].copy_from_slice(&progress.position.n.to_be_bytes());
    bytes[12..].copy_from_slice(&progress.hash);
    bytes
}

pub(crate) fn read_progress(bytes: &[u8]) -> Option<Progress> {
    let (index, rest) = bytes.split_first_chunk()?;
    let (n, hash) = rest.split_first_chunk()?;
    let position = Position::new(u64::from_be_bytes(*index), u32::from_be_bytes(*n));
    Some(Progress { position, hash: hash.try_into().ok()? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = Key> {
        let nominal = prop_oneof![any::<i64>(), -2..3_i64];
        (0..3_u64, nominal, 0..3_u32, any::<u64>(), 0..3_u32).prop_map(|(uid, nominal, run, index, n)| Key {
            uid,
            nominal,
            run,
            position: Position::new(index, n),
        })
    }

    proptest! {
        #[test]
        fn keys_sort_as_their_bytes_and_read_back(one in key(), other in key()) {
            prop_assert_eq!(one.cmp(&other), one.to_bytes().cmp(&other.to_bytes()));
            prop_assert_eq!(Key::from_bytes(&one.to_bytes()), Some(one));
            prop_assert!(one.to_bytes().iter().all(|byte| *byte <= 0x7f));
        }

        #[test]
        fn places_and_progress_read_back(segment: u64, offset: u32, hash: [u8; 16]) {
            let place = Place { segment, offset };
            prop_assert_eq!(read_place(&place_bytes(place)), Some(place));
            let progress = Progress { position: Position::new(segment, offset), hash };
            prop_assert_eq!(read_progress(&progress_bytes(progress)), Some(progress));
        }
    }

    #[test]
    fn bytes_of_another_shape_are_no_key() {
        assert_eq!(Key::from_bytes(b"progress"), None);
        assert_eq!(Key::from_bytes(&checkpoint_key(Position::new(1, 0))), None);
        assert_eq!(read_place(b"short"), None);
        assert_eq!(read_progress(b"short"), None);
    }
}
