//! The file `synced`: how far the ledger is known to be on the disk.
//!
//! It tells a torn tail from damage. What lies before this point was promised and must read back; what lies behind it
//! may have reached the disk in any order or not at all, and is made again from the log. The file is written *after* the
//! sync it speaks of and is not synced itself, so after a power cut it can only say too little, which is safe.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use super::position::{u32_at, u64_at};
use crate::Trouble;

const NAME: &str = "synced";
const MAGIC: [u8; 4] = *b"CMPS";
const VERSION: u16 = 1;
/// `magic 4, version u16, segment u64, offset u32, crc32c u32`: small enough that a disk writes it whole.
const LEN: usize = 22;

/// A point in the segments up to which everything is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Synced {
    pub(crate) segment: u64,
    pub(crate) offset: u32,
}

/// The open file.
#[derive(Debug)]
pub(crate) struct SyncedFile {
    file: File,
}

impl SyncedFile {
    /// Opens or creates the file in `dir` and reads it; `None` when there was nothing that reads.
    pub(crate) fn open(dir: &Path) -> Result<(Self, Option<Synced>), Trouble> {
        let path = dir.join(NAME);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|source| Trouble::while_opening(&path, source))?;
        let mut bytes = [0; LEN];
        let synced = file.read_exact_at(&mut bytes, 0).ok().and_then(|()| decode(&bytes));
        Ok((Self { file }, synced))
    }

    /// Moves the point forward, after a sync.
    pub(crate) fn advance(&self, to: Synced) -> Result<(), Trouble> {
        self.file
            .write_all_at(&encode(to), 0)
            .map_err(|source| Trouble::while_doing("noting how far the ledger is synced", source))
    }

    /// Moves the point back, durably, before the rows behind it are cut: a crash in between must not find a promise that
    /// nothing keeps any more.
    pub(crate) fn withdraw(&self, to: Synced) -> Result<(), Trouble> {
        self.advance(to)?;
        self.file
            .sync_all()
            .map_err(|source| Trouble::while_doing("noting how far the ledger is synced", source))
    }
}

fn encode(synced: Synced) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
    bytes[6..14].copy_from_slice(&synced.segment.to_le_bytes());
    bytes[14..18].copy_from_slice(&synced.offset.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..18]);
    bytes[18..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8; LEN]) -> Option<Synced> {
    let good = bytes[..4] == MAGIC
        && bytes[4..6] == VERSION.to_le_bytes()
        && crc32c::crc32c(&bytes[..18]) == u32_at(bytes, 18);
    good.then(|| Synced { segment: u64_at(bytes, 6), offset: u32_at(bytes, 14) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_point_survives_and_a_damaged_file_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (file, none) = SyncedFile::open(dir.path()).unwrap();
        assert_eq!(none, None);
        let point = Synced { segment: 7, offset: 900 };
        file.advance(point).unwrap();
        assert_eq!(SyncedFile::open(dir.path()).unwrap().1, Some(point));
        file.file.write_all_at(&[0xff], 8).unwrap();
        assert_eq!(SyncedFile::open(dir.path()).unwrap().1, None);
    }

    #[test]
    fn its_bytes_are_frozen() {
        let bytes = encode(Synced { segment: 0x0102_0304, offset: 0x0506 });
        let hex: String = bytes[..18].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "434d5053010004030201000000000605 0000".replace(' ', ""));
    }
}
