//! What a row is and where it stands: its key in the ledger, its place in a file, and the head that sums up all before it.
//!
//! Must not know what a row means: bodies are bytes.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::record::Raw;

/// The running hash of a row: SHA-256 over the hash before it, its position and its body, cut to 16 bytes.
pub type Hash = [u8; 16];

/// The key of a row: the log index of the entry that made it, and its number within that entry, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The log index of the entry.
    pub index: u64,
    /// The number of the row within the entry.
    pub n: u32,
}

impl Position {
    /// The position of row `n` of the entry at `index`.
    pub fn new(index: u64, n: u32) -> Self {
        Self { index, n }
    }

    /// The position behind every row of the entry at `index`, whether it has rows or not.
    pub fn end_of(index: u64) -> Self {
        Self { index, n: u32::MAX }
    }

    /// Whether a row here may stand directly behind one at `before`: the next of its entry, or the first of a later one.
    pub(crate) fn may_follow(self, before: Option<Position>) -> bool {
        match before {
            Some(last) if last.index == self.index => last.n.checked_add(1) == Some(self.n),
            Some(last) => last.index < self.index && self.n == 0,
            None => self.n == 0,
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.index, self.n)
    }
}

/// Where the record of a row lies: a hint that makes reading it one `pread`. It holds for one node only and only until the ledger is
/// cut or replaced, so whoever keeps places must compare the position of what they read (see `LedgerReader::fetch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The segment, named by the lowest log index it may hold.
    pub segment: u64,
    /// The first byte of the record in the segment's file.
    pub offset: u32,
}

/// One fact of the ledger, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its key.
    pub position: Position,
    /// The running hash up to and with this row.
    pub hash: Hash,
    /// What happened, in the caller's encoding.
    pub body: Bytes,
}

/// The end of the ledger, summed up. Every field counts from the first row ever, so two replicas that agree have equal
/// heads at an index whatever each has already dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The last row; `None` before the first one.
    pub position: Option<Position>,
    /// The running hash there; zeros before the first row.
    pub hash: Hash,
    /// Rows ever appended.
    pub rows: u64,
    /// Bytes of records ever appended, without segment headers; within an entry, as if its last row were the last.
    pub bytes: u64,
}

impl Head {
    /// How many bytes `to_bytes` makes.
    pub const ENCODED: usize = 45;

    /// A fixed form for segment headers and for the caller's image: `[has position u8][index u64][n u32][hash][rows
    /// u64][bytes u64]`, little endian.
    pub fn to_bytes(&self) -> [u8; Self::ENCODED] {
        let at = self.position.unwrap_or(Position::new(0, 0));
        let mut out = [0; Self::ENCODED];
        out[0] = u8::from(self.position.is_some());
        out[1..9].copy_from_slice(&at.index.to_le_bytes());
        out[9..13].copy_from_slice(&at.n.to_le_bytes());
        out[13..29].copy_from_slice(&self.hash);
        out[29..37].copy_from_slice(&self.rows.to_le_bytes());
        out[37..45].copy_from_slice(&self.bytes.to_le_bytes());
        out
    }

    /// Reads what `to_bytes` wrote; `None` when the first byte is neither 0 nor 1.
    pub fn from_bytes(bytes: &[u8; Self::ENCODED]) -> Option<Self> {
        let position = Position::new(u64_at(bytes, 1), u32_at(bytes, 9));
        let position = match bytes[0] {
            0 => None,
            1 => Some(position),
            _ => return None,
        };
        let mut hash = Hash::default();
        hash.copy_from_slice(&bytes[13..29]);
        Some(Self { position, hash, rows: u64_at(bytes, 29), bytes: u64_at(bytes, 37) })
    }

    /// The log index of the last row, 0 before the first.
    pub fn index(&self) -> u64 {
        self.position.map_or(0, |position| position.index)
    }

    /// The lowest index that a later entry may have.
    pub(crate) fn next_index(&self) -> u64 {
        self.position.map_or(0, |position| position.index + 1)
    }

    /// The head after a whole record.
    pub(crate) fn behind(&self, record: &Raw<'_>) -> Self {
        Self {
            position: Some(record.last),
            hash: record.hash(),
            rows: self.rows + u64::from(record.count()),
            bytes: self.bytes + record.len as u64,
        }
    }

    /// The head after one more row, which adds `bytes` to the records.
    pub(crate) fn advanced(&self, position: Position, hash: Hash, bytes: usize) -> Self {
        Self { position: Some(position), hash, rows: self.rows + 1, bytes: self.bytes + bytes as u64 }
    }
}

/// The running hash of the row at `position` that stands behind one with the hash `before`.
pub fn chain_hash(before: &Hash, position: Position, body: &[u8]) -> Hash {
    // One update for the fixed part: a ledger row is two SHA blocks, and each call costs about as much as a quarter block.
    let mut fixed = [0_u8; 28];
    fixed[..16].copy_from_slice(before);
    fixed[16..24].copy_from_slice(&position.index.to_le_bytes());
    fixed[24..28].copy_from_slice(&position.n.to_le_bytes());
    let digest = Sha256::new().chain_update(fixed).chain_update(body).finalize();
    let mut hash = Hash::default();
    hash.copy_from_slice(&digest[..16]);
    hash
}

/// Eight bytes at `at`, little endian; the caller has checked the length.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Four bytes at `at`, little endian; the caller has checked the length.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
