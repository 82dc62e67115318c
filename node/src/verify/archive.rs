//! The rows of an archive: an export or a backup in a file, read without a cluster.

use std::io::{BufReader, Cursor, Read};

use campanile_storage::archive::{ArchiveReader, Fault, Flawed, Item};
use campanile_storage::ledger::{Hash, Position};

use super::{Batch, Progress, Source};

/// The most rows of one batch.
const BATCH: usize = 4_096;
const BUFFER: usize = 1 << 20;

/// An archive that is being read.
#[derive(Debug)]
pub struct OfArchive<R: Read> {
    archive: ArchiveReader<BufReader<R>>,
    /// How many bytes there are in all; 0 when that is not known.
    bytes: u64,
    over: bool,
}

/// A file that cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum NotAnArchive {
    /// It is an export in JSON lines.
    #[error("this is an export in JSON lines, which holds no chain to check")]
    JsonLines,
    /// It is another kind of file, or of a newer version.
    #[error(transparent)]
    Foreign(Flawed),
    /// It is damaged before its first row.
    #[error(transparent)]
    Flawed(Flawed),
}

impl<R: Read> OfArchive<Lead<R>> {
    /// Begins to read an archive of so many bytes (0 when that is not known).
    ///
    /// # Errors
    /// When it is none, or is damaged before its first row.
    pub fn open(mut input: R, bytes: u64) -> Result<Self, NotAnArchive> {
        let mut first = Vec::with_capacity(1);
        // What cannot be read is told by the archive's own reader, with its place.
        let _ = input.by_ref().take(1).read_to_end(&mut first);
        let is_json = first == b"{";
        let input = BufReader::with_capacity(BUFFER, Cursor::new(first).chain(input));
        match ArchiveReader::open(input) {
            Ok(archive) => Ok(Self { archive, bytes, over: false }),
            Err(Flawed { fault: Fault::Foreign | Fault::CutOff, .. }) if is_json => {
                Err(NotAnArchive::JsonLines)
            }
            Err(flawed @ Flawed { fault: Fault::Foreign | Fault::TooNew { .. }, .. }) => {
                Err(NotAnArchive::Foreign(flawed))
            }
            Err(flawed) => Err(NotAnArchive::Flawed(flawed)),
        }
    }

    /// What the writer noted.
    #[must_use]
    pub fn note(&self) -> &[u8] {
        self.archive.note()
    }
}

/// An input whose first byte was looked at.
type Lead<R> = std::io::Chain<Cursor<Vec<u8>>, R>;

impl<R: Read + Send> Source for OfArchive<R> {
    fn begins_midway(&self) -> bool {
        self.base().is_some()
    }

    fn base(&self) -> Option<(Position, Hash)> {
        let base = self.archive.base();
        base.position.map(|position| (position, base.hash))
    }

    fn next(&mut self) -> Option<Batch> {
        if self.over {
            return None;
        }
        let mut batch = Batch::default();
        while batch.rows.len() < BATCH && !self.over {
            match self.archive.next_item() {
                Ok(Some(Item { row, offset, flaw })) => {
                    let told = flaw.map(|flaw| format!("{flaw} (in the part at byte {offset})"));
                    batch.rows.push((row, told));
                }
                Ok(None) => self.over = true,
                Err(flawed) => {
                    batch.cut = Some(flawed.to_string());
                    self.over = true;
                }
            }
        }
        let read = self.archive.offset();
        batch.progress = Progress { done: read, of: self.bytes.max(read) };
        Some(batch)
    }
}
