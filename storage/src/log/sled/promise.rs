//! The file `promised`: how many syncs of the log have answered.
//!
//! sled cuts a damaged log short at the first flaw, without a word, and what is left is a whole log that lacks what was
//! promised. So every sync is numbered inside the log, before it, and noted beside it, after it: a log whose own number is
//! smaller than the note has lost something. The note is not synced, so after a power cut it can only say too little, which
//! is safe. What sled recovers is a prefix of its writes, so the number speaks for entries, votes and cuts alike.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

const NAME: &str = "promised";
const MAGIC: [u8; 4] = *b"CMPP";
const VERSION: u16 = 1;
/// `magic 4, version u16, syncs u64, crc32c u32`: small enough that a disk writes it whole.
const LEN: usize = 18;

/// The open file.
#[derive(Debug)]
pub(super) struct Promise(File);

impl Promise {
    /// Opens or creates the file in `dir` and reads it; 0 when it says nothing, as in a log of an earlier version.
    pub(super) fn open(dir: &Path) -> io::Result<(Self, u64)> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(dir.join(NAME))?;
        let mut bytes = [0; LEN];
        let syncs = file.read_exact_at(&mut bytes, 0).ok().and_then(|()| decode(&bytes));
        Ok((Self(file), syncs.unwrap_or(0)))
    }

    /// So many syncs have answered.
    pub(super) fn note(&self, syncs: u64) -> io::Result<()> {
        self.0.write_all_at(&encode(syncs), 0)
    }
}

fn encode(syncs: u64) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
    bytes[6..14].copy_from_slice(&syncs.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..14]);
    bytes[14..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The number in a note of this form that is whole.
fn decode(bytes: &[u8; LEN]) -> Option<u64> {
    let syncs = u64::from_le_bytes(bytes[6..14].try_into().ok()?);
    (*bytes == encode(syncs)).then_some(syncs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_number_survives_and_a_damaged_file_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (file, none) = Promise::open(dir.path()).unwrap();
        assert_eq!(none, 0);
        file.note(900).unwrap();
        assert_eq!(Promise::open(dir.path()).unwrap().1, 900);
        file.0.write_all_at(&[0xff], 8).unwrap();
        assert_eq!(Promise::open(dir.path()).unwrap().1, 0);
    }

    #[test]
    fn its_bytes_are_frozen() {
        let hex: String = encode(0x0102_0304)[..14].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "434d505001000403020100000000");
    }
}
