//! One row as bytes: `len u32, crc32c u32, schema u16, index u64, n u32, running hash 16 bytes, body`, little endian.
//!
//! `len` counts the body; the checksum covers everything but itself. A run of zeros is never a record (its checksum would
//! have to be zero and is not), so space that was reserved and not yet written reads as the end.
//! Must not read files: it is given the bytes.

use super::position::{Hash, Position, chain_hash, u32_at, u64_at};

/// Bytes before the body.
pub(crate) const HEADER: usize = 38;
/// The only form of a record so far.
pub(crate) const SCHEMA: u16 = 1;
/// The longest body. A row carries a definition with its payload at most (256 KiB); a longer length is a torn one.
pub const MAX_BODY: usize = 4 << 20;

/// Why the bytes at a place are not the row that should be there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The bytes end before the record does.
    #[error("the record is cut off")]
    Short,
    /// The length cannot be one.
    #[error("a body of {0} bytes is impossible")]
    Length(u32),
    /// The bytes are not those that were written.
    #[error("the checksum differs")]
    Checksum,
    /// A later version wrote it.
    #[error("record schema {0} is newer than this version")]
    Schema(u16),
    /// It does not stand behind the row before it.
    #[error("position {0} is out of order")]
    Order(Position),
    /// It is a good record of another history.
    #[error("the running hash at {0} does not continue the one before it")]
    Hash(Position),
    /// The head of the file is not one.
    #[error("the segment header is not readable")]
    Header,
    /// The file is not the one that follows the file before it.
    #[error("the segment does not continue the one before it")]
    Gap,
}

/// A record that was read: its checksum holds, its place in the chain is not judged yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Raw<'a> {
    pub(crate) position: Position,
    pub(crate) hash: Hash,
    pub(crate) body: &'a [u8],
}

impl Raw<'_> {
    /// The bytes it takes in the file.
    pub(crate) fn len(&self) -> usize {
        HEADER + self.body.len()
    }

    /// Whether it is the row that follows one at `before` with the hash `hash`.
    pub(crate) fn follows(&self, before: Option<Position>, hash: &Hash) -> Result<(), Flaw> {
        if !self.position.may_follow(before) {
            return Err(Flaw::Order(self.position));
        }
        if chain_hash(hash, self.position, self.body) != self.hash {
            return Err(Flaw::Hash(self.position));
        }
        Ok(())
    }
}

/// Tells what rows weigh in `Head::bytes`, in the order of the ledger.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weigher {}

impl Weigher {
    /// The bytes that this row adds.
    pub(crate) fn weigh(&mut self, _position: Position, body: usize) -> usize {
        HEADER + body
    }
}

/// Writes a record behind what `out` holds and answers its running hash.
pub(crate) fn put(out: &mut Vec<u8>, before: &Hash, position: Position, body: &[u8]) -> Hash {
    assert!(body.len() <= MAX_BODY, "a ledger row of {} bytes is beyond the bound of {MAX_BODY}", body.len());
    let hash = chain_hash(before, position, body);
    let start = out.len();
    let len = u32::try_from(body.len()).expect("bounded above");
    out.reserve(HEADER + body.len());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&SCHEMA.to_le_bytes());
    out.extend_from_slice(&position.index.to_le_bytes());
    out.extend_from_slice(&position.n.to_le_bytes());
    out.extend_from_slice(&hash);
    out.extend_from_slice(body);
    let crc = checksum(&out[start..]);
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    hash
}

/// The bytes that the record at the head of `bytes` takes, as far as its length says; `Short` when even that is cut off.
pub(crate) fn length(bytes: &[u8]) -> Result<usize, Flaw> {
    if bytes.len() < HEADER {
        return Err(Flaw::Short);
    }
    let len = u32_at(bytes, 0);
    if len as usize > MAX_BODY {
        return Err(Flaw::Length(len));
    }
    Ok(HEADER + len as usize)
}

/// Reads the record at the head of `bytes`, which may go on behind it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Raw<'_>, Flaw> {
    let len = length(bytes)?;
    let record = bytes.get(..len).ok_or(Flaw::Short)?;
    if checksum(record) != u32_at(record, 4) {
        return Err(Flaw::Checksum);
    }
    let schema = u16::from_le_bytes([record[8], record[9]]);
    if schema != SCHEMA {
        return Err(Flaw::Schema(schema));
    }
    let mut hash = Hash::default();
    hash.copy_from_slice(&record[22..38]);
    let position = Position::new(u64_at(record, 10), u32_at(record, 18));
    Ok(Raw { position, hash, body: &record[HEADER..] })
}

/// The checksum of a whole record: its length and what stands behind the checksum itself.
fn checksum(record: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&record[..4]), &record[8..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_record_reads_back_and_says_its_length() {
        let mut bytes = Vec::new();
        let hash = put(&mut bytes, &[7; 16], Position::new(9, 0), b"fired");
        bytes.extend_from_slice(b"the next record");
        let raw = parse(&bytes).unwrap();
        assert_eq!(raw, Raw { position: Position::new(9, 0), hash, body: b"fired" });
        assert_eq!(raw.len(), HEADER + 5);
        assert_eq!(raw.follows(Some(Position::new(8, 3)), &[7; 16]), Ok(()));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let mut bytes = Vec::new();
        put(&mut bytes, &[0; 16], Position::new(1, 0), b"fired");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&flipped).is_err(), "bit {bit} went unnoticed");
        }
    }

    #[test]
    fn zeros_and_every_cut_off_record_are_the_end() {
        assert_eq!(parse(&[0; 200]), Err(Flaw::Checksum));
        let mut bytes = Vec::new();
        put(&mut bytes, &[0; 16], Position::new(1, 0), b"fired");
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), Err(Flaw::Short));
        }
    }

    #[test]
    fn a_row_follows_only_its_own_predecessor() {
        let mut bytes = Vec::new();
        put(&mut bytes, &[1; 16], Position::new(5, 1), b"x");
        let raw = parse(&bytes).unwrap();
        assert_eq!(raw.follows(Some(Position::new(5, 0)), &[1; 16]), Ok(()));
        assert_eq!(raw.follows(Some(Position::new(4, 0)), &[1; 16]), Err(Flaw::Order(Position::new(5, 1))));
        assert_eq!(raw.follows(Some(Position::new(5, 0)), &[2; 16]), Err(Flaw::Hash(Position::new(5, 1))));
    }
}
