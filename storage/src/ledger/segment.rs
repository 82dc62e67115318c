//! One file of the ledger: its name, its header, and the walk over its records.
//!
//! A file is named by the lowest log index it may hold, and its header carries the head of everything before it, so each
//! file can be checked alone and the next one can be checked to continue it. A segment ends between two log entries.
//! Must not decide what a flaw means (a torn tail or damage): that depends on what was synced, which `recover` knows.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;

use super::{
    cursor::Cursor,
    position::{Head, Position, Row, u32_at},
    record::{self, Flaw},
    sparse::Sparse,
};
use crate::Trouble;

/// `magic 8, version u16, head before 45 bytes, crc32c u32`.
pub(crate) const HEADER: u32 = 8 + 2 + Head::ENCODED as u32 + 4;
const MAGIC: [u8; 8] = *b"CMPLEDG\n";
/// The only form of a segment that is read; form 1 held records of one row.
pub(crate) const VERSION: u16 = 2;
const SUFFIX: &str = ".segment";
/// Bytes that are read of a record before its length is known: few have more.
const GUESS: usize = 4 << 10;

/// An open segment. Readers share it; its length grows only by the one writer.
#[derive(Debug)]
pub(crate) struct Segment {
    /// The lowest log index it may hold.
    pub(crate) id: u64,
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// The head of everything before it.
    pub(crate) before: Head,
    /// Bytes of whole records and the header; what lies behind is not there for readers.
    len: AtomicU32,
    /// `None` until the segment was walked once: an older one is only checked when somebody reads it.
    sparse: Mutex<Option<Sparse>>,
}

impl Segment {
    /// Makes the segment that continues `before` out of an empty file (reserved ahead or new) at `path`.
    pub(crate) fn start(path: PathBuf, file: File, before: Head) -> Result<Self, Trouble> {
        file.write_all_at(&header(&before), 0)
            .map_err(|source| Trouble::while_doing("starting a ledger segment", source))?;
        Ok(Self::with(path, file, before, HEADER, Some(Sparse::default())))
    }

    /// Opens a file and reads its header only. The inner error is a header that does not read.
    pub(crate) fn open(path: &Path) -> Result<Result<Self, Flaw>, Trouble> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|source| Trouble::while_opening(path, source))?;
        Self::from_file(path, file)
    }

    /// As `open`, for a file that may not be written to.
    pub(crate) fn open_to_read(path: &Path) -> Result<Result<Self, Flaw>, Trouble> {
        Self::from_file(path, File::open(path).map_err(|source| Trouble::while_opening(path, source))?)
    }

    fn from_file(path: &Path, file: File) -> Result<Result<Self, Flaw>, Trouble> {
        let len = file.metadata().map_err(|source| Trouble::while_opening(path, source))?.len();
        let mut bytes = [0; HEADER as usize];
        if len < u64::from(HEADER) {
            return Ok(Err(Flaw::Header));
        }
        file.read_exact_at(&mut bytes, 0).map_err(|source| Trouble::while_opening(path, source))?;
        let Some((version, before)) = read_header(&bytes) else { return Ok(Err(Flaw::Header)) };
        if version != VERSION {
            return Err(Trouble::TooNew { path: path.to_owned(), found: version, known: VERSION });
        }
        if path != path.with_file_name(name(before.next_index())) {
            return Ok(Err(Flaw::Header));
        }
        // A file never grows past 4 GiB here; one that did is walked up to there and found cut off.
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        Ok(Ok(Self::with(path.to_owned(), file, before, len, None)))
    }

    fn with(path: PathBuf, file: File, before: Head, len: u32, sparse: Option<Sparse>) -> Self {
        let len = AtomicU32::new(len);
        Self { id: before.next_index(), path, file, before, len, sparse: Mutex::new(sparse) }
    }

    /// Bytes of the header and of whole records.
    pub(crate) fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// Writes `records` at the end and lets readers see them. When it fails nothing has changed: what reached the file
    /// lies behind the length and the next write goes over it.
    pub(crate) fn append(&self, records: &[u8], steps: &[(Position, u32)]) -> Result<(), Trouble> {
        let at = self.len();
        if let Err(source) = self.file.write_all_at(records, u64::from(at)) {
            // The part that was written must not stay behind the last record. Should this fail as well, the next open
            // cuts it.
            let _shortened = self.file.set_len(at.into());
            return Err(Trouble::while_doing("writing the ledger", source));
        }
        if let Some(sparse) = self.sparse().as_mut() {
            steps.iter().for_each(|(position, offset)| sparse.note(*position, *offset));
        }
        let grown = u32::try_from(records.len()).ok().and_then(|more| at.checked_add(more));
        self.len.store(grown.expect("segments stay below 4 GiB"), Ordering::Release);
        Ok(())
    }

    /// Walks every record up to the first flaw, or up to the first row behind `until`, and checks the chain.
    pub(crate) fn walk(&self, until: Option<Position>) -> Result<Walk, Trouble> {
        let mut walk = self.walk_nothing();
        let mut cursor = Cursor::new(self, HEADER);
        loop {
            let raw = match cursor.peek()? {
                Ok(Some(raw)) => raw,
                Ok(None) => return Ok(walk),
                Err(flaw) => return Ok(Walk { flaw: Some(flaw), ..walk }),
            };
            if until.is_some_and(|until| raw.first > until) {
                return Ok(walk);
            }
            if let Err(flaw) = raw.follows(walk.head.position, &walk.head.hash) {
                return Ok(Walk { flaw: Some(flaw), ..walk });
            }
            let len = raw.len;
            walk.sparse.note(raw.first, walk.len);
            walk.head = walk.head.behind(&raw);
            walk.len = cursor.pass(len);
        }
    }

    /// What a walk would find if there were no records.
    pub(crate) fn walk_nothing(&self) -> Walk {
        Walk { head: self.before, len: HEADER, sparse: Sparse::default(), flaw: None }
    }

    /// Takes over what a walk found, so that readers need not walk again.
    pub(crate) fn adopt(&self, walk: &Walk) {
        *self.sparse() = Some(walk.sparse.clone());
        self.len.store(walk.len, Ordering::Release);
    }

    /// Where to start reading for the first row behind `after`. Walks a segment that nobody has read since the start.
    pub(crate) fn start_for(&self, after: Option<Position>) -> Result<u32, Trouble> {
        let mut sparse = self.sparse();
        if sparse.is_none() {
            let walk = self.walk(None)?;
            if let Some(flaw) = &walk.flaw {
                return Err(self.damaged(walk.len, flaw));
            }
            *sparse = Some(walk.sparse);
        }
        Ok(sparse.as_ref().and_then(|sparse| sparse.start_for(after)).unwrap_or(HEADER))
    }

    /// Reads the row at `position` in the record at `offset`; `None` when it is not there, whatever is.
    pub(crate) fn read_at(&self, offset: u32, position: Position) -> Result<Option<Row>, Trouble> {
        let mut bytes = self.bytes_at(offset, GUESS)?;
        match record::length(&bytes) {
            Ok(len) if len > bytes.len() => bytes = self.bytes_at(offset, len)?,
            Ok(_) => {}
            Err(_) => return Ok(None),
        }
        let Ok(raw) = record::parse(&bytes) else { return Ok(None) };
        let found = raw.rows().find(|(at, _, _)| *at == position);
        Ok(found.map(|(position, hash, body)| Row { position, hash, body: Bytes::copy_from_slice(body) }))
    }

    /// Up to `len` bytes from `offset`, never from behind the last record.
    pub(crate) fn bytes_at(&self, offset: u32, len: usize) -> Result<Vec<u8>, Trouble> {
        let left = self.len().saturating_sub(offset) as usize;
        let mut bytes = vec![0; len.min(left)];
        self.file
            .read_exact_at(&mut bytes, u64::from(offset))
            .map_err(|source| Trouble::while_doing("reading the ledger", source))?;
        Ok(bytes)
    }

    /// The trouble for a flaw at `offset` in what was promised.
    pub(crate) fn damaged(&self, offset: u32, flaw: &Flaw) -> Trouble {
        match flaw {
            Flaw::Schema(found) => {
                Trouble::TooNew { path: self.path.clone(), found: *found, known: record::SCHEMA.into() }
            }
            _ => Trouble::damaged(&self.path, format!("at byte {offset}: {flaw}")),
        }
    }

    fn sparse(&self) -> std::sync::MutexGuard<'_, Option<Sparse>> {
        // Every change of it is one assignment or push, so a panic of another holder leaves it whole.
        self.sparse.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a walk over a segment found.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The head after the last good record.
    pub(crate) head: Head,
    /// The bytes up to there.
    pub(crate) len: u32,
    pub(crate) sparse: Sparse,
    /// What stands behind, if it is not the end.
    pub(crate) flaw: Option<Flaw>,
}

/// The name of the segment that starts at log index `id`.
pub(crate) fn name(id: u64) -> String {
    format!("{id:020}{SUFFIX}")
}

/// The segment files in `dir` with the index in their names, in order. Other files are none of ours.
pub(crate) fn list(dir: &Path) -> Result<Vec<(u64, PathBuf)>, Trouble> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|source| Trouble::while_opening(dir, source))? {
        let path = entry.map_err(|source| Trouble::while_opening(dir, source))?.path();
        let id = path.file_name().and_then(|name| name.to_str()?.strip_suffix(SUFFIX)?.parse().ok());
        found.extend(id.map(|id| (id, path)));
    }
    found.sort_unstable();
    Ok(found)
}

fn header(before: &Head) -> [u8; HEADER as usize] {
    let mut bytes = [0; HEADER as usize];
    let checked = bytes.len() - 4;
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes[10..checked].copy_from_slice(&before.to_bytes());
    let crc = crc32c::crc32c(&bytes[..checked]);
    bytes[checked..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Version and head of a header; `None` when it is not one. The head of a later version is not to be believed.
fn read_header(bytes: &[u8; HEADER as usize]) -> Option<(u16, Head)> {
    let checked = bytes.len() - 4;
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if bytes[..8] != MAGIC || crc32c::crc32c(&bytes[..checked]) != u32_at(bytes, checked) {
        return None;
    }
    let mut before = [0; Head::ENCODED];
    before.copy_from_slice(&bytes[10..checked]);
    Some((version, Head::from_bytes(&before)?))
}
