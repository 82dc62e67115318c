//! What a cluster begins with when it does not begin with nothing: a backup, and the data of a founder made from it.
//!
//! ```text
//!   backup file ──check──> data/restore        (staged: whole, every byte read; nothing else is in the directory)
//!   start ──> data/planting/{log,ledger,images,identity} ──rename──> data/…          then the staged file goes
//! ```
//! The log of the new cluster begins far behind the last entry of the backup ([`leap`]): the old cluster went on after the
//! backup was taken, and fencing tokens, which are made of log indexes, must never be given twice. The founder has an id
//! that the backup has never given, and is alone in its membership: others join it with empty disks.
//! Must not start from a file that it has not read to its end.

mod plant;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::time::Timestamp;
use campanile_storage::Trouble;
use campanile_storage::archive::{ArchiveReader, Flawed};
use campanile_storage::ledger::{Head, Row};

use crate::image::{self, Covered, Unusable};

pub use plant::{Planted, plant};

/// The name of a staged backup in a data directory.
const STAGED: &str = "restore";
/// What a node keeps beside its stores, which goes with them.
const HISTORY: &str = "history";
/// How many rows are handed on at once.
const PAGE: usize = 1_000;

/// Why a backup cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// The file is not what was written: foreign, cut off, damaged, or of a newer version.
    #[error(transparent)]
    Flawed(Box<Flawed>),
    /// It holds rows and no state: an export.
    #[error("this is an export of the ledger, which holds no state: only a backup can be restored")]
    NoImage,
    /// Its state cannot be read.
    #[error("its state cannot be read: {0}")]
    Image(#[from] Unusable),
    /// State and rows are not of one moment.
    #[error("its state is of entry {index}, and its rows do not end where that state says")]
    Apart {
        /// The last entry in the state.
        index: LogIndex,
    },
    /// Somebody lives there.
    #[error("{} is not empty (it holds {found}): a backup is restored into an empty directory", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// The first name in it.
        found: String,
    },
    /// The file cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The disk does not do its part.
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

impl From<Flawed> for Unfit {
    fn from(flawed: Flawed) -> Self {
        Self::Flawed(Box::new(flawed))
    }
}

impl Unfit {
    /// What a failed write of a copy means.
    #[must_use]
    pub fn writing(error: io::Error) -> Self {
        Trouble::while_doing("copying the backup", error).into()
    }
}

/// A backup of which everything before the rows was read.
#[derive(Debug)]
pub struct Seed<R: Read> {
    archive: ArchiveReader<R>,
    covered: Covered,
    machine: Machine,
}

impl<R: Read> Seed<R> {
    /// Reads note and state.
    ///
    /// # Errors
    /// As [`Unfit`] tells apart.
    pub fn open(input: R) -> Result<Self, Unfit> {
        let archive = ArchiveReader::open(input)?;
        let (covered, body) = archive.image().ok_or(Unfit::NoImage)?;
        let covered = Covered::from_bytes(&covered).map_err(Unusable::from)?;
        let machine = image::machine(&body)?;
        let seed = Self { archive, covered, machine };
        match seed.machine.applied() == seed.index() {
            true => Ok(seed),
            false => Err(seed.apart()),
        }
    }

    /// What its writer noted.
    #[must_use]
    pub fn note(&self) -> &[u8] {
        self.archive.note()
    }

    /// The state.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The last entry in it.
    #[must_use]
    pub fn index(&self) -> LogIndex {
        LogIndex(self.covered.index())
    }

    /// The end of the ledger before its first row, and behind its last one.
    #[must_use]
    pub fn ledger(&self) -> [Head; 2] {
        [self.archive.base(), self.covered.ledger]
    }

    /// Reads every row and hands it on with the bytes that were read so far; the backup is whole when this returns.
    ///
    /// # Errors
    /// As [`Unfit`] tells apart, and what `take` says.
    pub fn rows(&mut self, mut take: impl FnMut(&[Row], u64) -> Result<(), Trouble>) -> Result<(), Unfit> {
        let mut page = Vec::with_capacity(PAGE);
        while let Some(row) = self.archive.next_row()? {
            page.push(row);
            if page.len() == PAGE {
                take(&page, self.archive.offset())?;
                page.clear();
            }
        }
        take(&page, self.archive.offset())?;
        match self.archive.head() == self.covered.ledger {
            true => Ok(()),
            false => Err(self.apart()),
        }
    }

    fn apart(&self) -> Unfit {
        Unfit::Apart { index: self.index() }
    }
}

/// How far behind the last entry of a backup the log of the restored cluster begins.
///
/// The old cluster may have gone on until now: at most [`ENTRIES_A_SECOND`] since the last entry of the backup, which is
/// several times what it sustains. At least a million, for clocks that disagree. At most 2^36, since a fencing token, an
/// index × 4096, stays below 2^53: that is 32 restores of the largest leap.
#[must_use]
pub fn leap(backup: Timestamp, now: Timestamp) -> u64 {
    let seconds = now.since(backup).as_millis() / 1_000;
    seconds.saturating_mul(ENTRIES_A_SECOND).clamp(1_000_000, 1 << 36)
}

/// More entries a second than a cluster keeps up for long.
pub const ENTRIES_A_SECOND: u64 = 10_000;

/// The staged backup in a data directory, if there is one.
#[must_use]
pub fn staged(data: &Path) -> Option<PathBuf> {
    Some(data.join(STAGED)).filter(|file| file.is_file())
}

/// A backup that is being copied to where the next start finds it. Dropped before [`Staging::finish`], it leaves nothing.
#[derive(Debug)]
pub struct Staging {
    data: PathBuf,
    file: File,
}

impl Staging {
    /// Begins to stage a backup in an empty data directory, which is made when it is missing.
    ///
    /// # Errors
    /// [`Unfit::NotEmpty`], or what the disk says.
    pub fn into_empty(data: &Path) -> Result<Self, Unfit> {
        fs::create_dir_all(data).map_err(|error| Trouble::while_opening(data, error))?;
        let mut names = fs::read_dir(data).map_err(|error| Trouble::while_opening(data, error))?;
        if let Some(name) = names.next() {
            let name = name.map_err(|error| Trouble::while_opening(data, error))?;
            let found = name.file_name().to_string_lossy().into_owned();
            return Err(Unfit::NotEmpty { path: data.to_owned(), found });
        }
        Self::beside_stores(data)
    }

    /// Begins to stage a backup in the data directory of a node whose cluster is empty.
    ///
    /// # Errors
    /// What the disk says.
    pub fn beside_stores(data: &Path) -> Result<Self, Unfit> {
        let path = unfinished(data);
        let mut options = File::options();
        options.create(true).truncate(true).read(true).write(true);
        // Secrets stand in it in plain text.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| Trouble::while_opening(&path, error))?;
        Ok(Self { data: data.to_owned(), file })
    }

    /// What was written so far. Its caller reads all of it before [`Staging::finish`].
    #[must_use]
    pub fn path(&self) -> PathBuf {
        unfinished(&self.data)
    }

    /// Makes it durable: the next start of the node begins with it.
    ///
    /// # Errors
    /// What the disk says.
    pub fn finish(self) -> Result<(), Unfit> {
        let done = (|| {
            self.file.sync_all()?;
            fs::rename(unfinished(&self.data), self.data.join(STAGED))?;
            File::open(&self.data)?.sync_all()
        })();
        Ok(done.map_err(|error| Trouble::while_doing("staging a backup", error))?)
    }
}

impl Write for Staging {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After `finish` there is none under this name; one that cannot be removed is written over by the next.
        let _ = fs::remove_file(unfinished(&self.data));
    }
}

fn unfinished(data: &Path) -> PathBuf {
    data.join("restore.tmp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_leaps_over_what_the_old_cluster_can_have_written_since() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        assert_eq!(leap(at(0), at(10)), 1_000_000);
        assert_eq!(leap(at(10), at(0)), 1_000_000);
        assert_eq!(leap(at(0), at(86_400)), 864_000_000);
        assert_eq!(leap(at(0), at(3_600 * 24 * 365 * 50)), 1 << 36);
    }
}
