//! One record as bytes: a run of rows of one entry, behind the running hash of the row before them.
//!
//! ```text
//!   record = [crc32c u32][length][schema u8][index][n of the first row][hash before 16 bytes] row+
//!   row    = [length][body]                                   numbers but the checksum are varints
//! ```
//! A firing is a row here, a row there: what stands around the bodies is kept below 30 bytes. `length` counts what stands
//! behind it, the checksum covers everything but itself. The running hashes of the rows are not stored: the hash before the
//! run and the bodies give them, and the next record states what came of them. A run of zeros is never a record (its
//! length would be zero), so space that was reserved and not yet written reads as the end.
//! Must not read files, and must not decide which rows share a record (see `run`): it is given the bytes.

use super::position::{Hash, Position, chain_hash, u32_at};
use crate::varint;

/// Bytes that tell the length of every record.
pub(crate) const PREFIX: usize = CHECKSUM + 5;
const CHECKSUM: usize = 4;
/// The least that stands behind the length: schema, index, n, hash, and an empty row.
const LEAST: usize = 1 + 1 + 1 + size_of::<Hash>() + 1;
/// The most: a row of the longest kind alone.
const MOST: usize = MAX_BODY + 64;
/// The only form of a record that is read; form 1 held one row.
pub(crate) const SCHEMA: u8 = 2;
/// The longest body. A row carries a definition with its payload at most (256 KiB); a longer length is a torn one.
pub const MAX_BODY: usize = 4 << 20;

/// Why the bytes at a place are not the row that should be there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The bytes end before the record does.
    #[error("the record is cut off")]
    Short,
    /// The length cannot be one.
    #[error("a record of {0} bytes is impossible")]
    Length(u32),
    /// The bytes are not those that were written.
    #[error("the checksum differs")]
    Checksum,
    /// The checksum holds and the rows do not fit into the record.
    #[error("the record holds no rows")]
    Malformed,
    /// A later version wrote it.
    #[error("record schema {0} is not known to this version")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw<'a> {
    /// Where its first row stands.
    pub(crate) first: Position,
    /// Where its last row stands.
    pub(crate) last: Position,
    /// The running hash of the row before the first.
    pub(crate) before: Hash,
    /// The bytes it takes in the file.
    pub(crate) len: usize,
    /// Its rows as they stand there, at its end.
    pub(crate) rows: &'a [u8],
}

impl<'a> Raw<'a> {
    /// Whether it stands behind a row at `before` with the hash `hash`.
    pub(crate) fn follows(&self, before: Option<Position>, hash: &Hash) -> Result<(), Flaw> {
        if !self.first.may_follow(before) {
            return Err(Flaw::Order(self.first));
        }
        if self.before != *hash {
            return Err(Flaw::Hash(self.first));
        }
        Ok(())
    }

    /// How many rows it has.
    pub(crate) fn count(&self) -> u32 {
        self.last.n - self.first.n + 1
    }

    /// Its rows with their running hashes.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (Position, Hash, &'a [u8])> {
        let (mut rest, mut next, mut hash) = (self.rows, self.first, self.before);
        std::iter::from_fn(move || {
            let body = take_body(&mut rest)?;
            let position = next;
            next.n = next.n.wrapping_add(1);
            hash = chain_hash(&hash, position, body);
            Some((position, hash, body))
        })
    }

    /// The running hash of its last row.
    pub(crate) fn hash(&self) -> Hash {
        self.rows().last().map_or(self.before, |(_, hash, _)| hash)
    }
}

/// Writes a record of rows (as `put_row` writes them) behind what `out` holds.
pub(crate) fn put(out: &mut Vec<u8>, before: &Hash, first: Position, rows: &[u8]) {
    let start = out.len();
    let len = fixed(first) + rows.len();
    assert!(rows.len() <= MOST, "a run of {} bytes is beyond the bound of {MOST}", rows.len());
    out.reserve(PREFIX + len);
    out.extend_from_slice(&[0; CHECKSUM]);
    varint::put(out, len as u64);
    out.push(SCHEMA);
    varint::put(out, first.index);
    varint::put(out, first.n.into());
    out.extend_from_slice(before);
    out.extend_from_slice(rows);
    let crc = crc32c::crc32c(&out[start + CHECKSUM..]);
    out[start..start + CHECKSUM].copy_from_slice(&crc.to_le_bytes());
}

/// Writes a row behind those before it in `rows`.
pub(crate) fn put_row(rows: &mut Vec<u8>, body: &[u8]) {
    assert!(body.len() <= MAX_BODY, "a ledger row of {} bytes is beyond the bound of {MAX_BODY}", body.len());
    varint::put(rows, body.len() as u64);
    rows.extend_from_slice(body);
}

/// The bytes of a row in its record.
pub(crate) fn row_len(body: usize) -> usize {
    varint::len(body as u64) + body
}

/// The bytes of a record whose rows take `rows` bytes.
pub(crate) fn len(first: Position, rows: usize) -> usize {
    let len = fixed(first) + rows;
    CHECKSUM + varint::len(len as u64) + len
}

/// The bytes between the length and the rows.
fn fixed(first: Position) -> usize {
    1 + varint::len(first.index) + varint::len(first.n.into()) + size_of::<Hash>()
}

/// The bytes that the record at the head of `bytes` takes, as far as its length says; `Short` when even that is cut off.
pub(crate) fn length(bytes: &[u8]) -> Result<usize, Flaw> {
    let mut rest = bytes.get(CHECKSUM..).ok_or(Flaw::Short)?;
    let after = rest.len();
    match varint::take(&mut rest) {
        Some(len) if (LEAST as u64..=MOST as u64).contains(&len) => {
            Ok(CHECKSUM + (after - rest.len()) + len as usize)
        }
        Some(len) => Err(Flaw::Length(len.try_into().unwrap_or(u32::MAX))),
        None if bytes.len() < PREFIX => Err(Flaw::Short),
        None => Err(Flaw::Length(u32::MAX)),
    }
}

/// Reads the record at the head of `bytes`, which may go on behind it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Raw<'_>, Flaw> {
    let len = length(bytes)?;
    let record = bytes.get(..len).ok_or(Flaw::Short)?;
    if crc32c::crc32c(&record[CHECKSUM..]) != u32_at(record, 0) {
        return Err(Flaw::Checksum);
    }
    let mut rest = &record[CHECKSUM..];
    varint::take(&mut rest).ok_or(Flaw::Malformed)?;
    let (schema, mut rest) = rest.split_first().ok_or(Flaw::Malformed)?;
    if *schema != SCHEMA {
        return Err(Flaw::Schema((*schema).into()));
    }
    let index = varint::take(&mut rest).ok_or(Flaw::Malformed)?;
    let n = varint::take(&mut rest).and_then(|n| n.try_into().ok()).ok_or(Flaw::Malformed)?;
    let (before, rows) = rest.split_first_chunk().ok_or(Flaw::Malformed)?;
    let first = Position::new(index, n);
    let last = last_of(first, rows).ok_or(Flaw::Malformed)?;
    Ok(Raw { first, last, before: *before, len, rows })
}

/// Where the last of these rows stands; `None` when there is none or they do not fit.
fn last_of(first: Position, mut rows: &[u8]) -> Option<Position> {
    let mut last = None;
    while !rows.is_empty() {
        take_body(&mut rows)?;
        last = Some(last.map_or(Some(first.n), |n: u32| n.checked_add(1))?);
    }
    last.map(|n| Position::new(first.index, n))
}

/// Takes the body of a row off the head of `rows`; `None` when none is there.
pub(crate) fn take_body<'a>(rows: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(varint::take(rows)?).ok()?;
    let (body, rest) = rows.split_at_checked(len)?;
    *rows = rest;
    Some(body)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn record(before: Hash, first: Position, bodies: &[&[u8]]) -> Vec<u8> {
        let (mut bytes, mut rows) = (Vec::new(), Vec::new());
        bodies.iter().for_each(|body| put_row(&mut rows, body));
        put(&mut bytes, &before, first, &rows);
        assert_eq!(bytes.len(), len(first, rows.len()));
        bytes
    }

    fn two() -> Vec<u8> {
        record([7; 16], Position::new(900, 0), &[b"fired", b"begun"])
    }

    #[test]
    fn a_record_reads_back_with_the_hashes_of_its_rows() {
        let mut bytes = two();
        let whole = bytes.len();
        bytes.extend_from_slice(b"the next record");
        let raw = parse(&bytes).unwrap();
        let (first, last) = (Position::new(900, 0), Position::new(900, 1));
        assert_eq!((raw.first, raw.last, raw.count(), raw.len), (first, last, 2, whole));
        let one = chain_hash(&[7; 16], first, b"fired");
        let two = chain_hash(&one, last, b"begun");
        let rows: Vec<_> = raw.rows().collect();
        assert_eq!(rows, [(first, one, &b"fired"[..]), (last, two, &b"begun"[..])]);
        assert_eq!(raw.hash(), two);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = two();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&flipped).is_err(), "bit {bit} went unnoticed");
        }
    }

    #[test]
    fn zeros_and_every_cut_off_record_are_the_end() {
        assert_eq!(parse(&[0; 200]), Err(Flaw::Length(0)));
        let bytes = two();
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), Err(Flaw::Short), "cut to {cut}");
        }
    }

    #[test]
    fn a_record_follows_only_its_own_predecessor() {
        let bytes = record([1; 16], Position::new(5, 1), &[b"x"]);
        let raw = parse(&bytes).unwrap();
        assert_eq!(raw.follows(Some(Position::new(5, 0)), &[1; 16]), Ok(()));
        assert_eq!(raw.follows(Some(Position::new(4, 0)), &[1; 16]), Err(Flaw::Order(Position::new(5, 1))));
        assert_eq!(raw.follows(Some(Position::new(5, 0)), &[2; 16]), Err(Flaw::Hash(Position::new(5, 1))));
    }

    #[test]
    fn a_row_alone_takes_less_than_thirty_bytes_more_than_its_body() {
        let bytes = record([1; 16], Position::new(1 << 27, 0), &[&[0; 60]]);
        assert!(bytes.len() - 60 < 30, "{} bytes around it", bytes.len() - 60);
    }
}
