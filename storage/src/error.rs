//! What can go wrong with bytes and files, named by what the caller can do about it.
//!
//! Not named after libraries: a caller never learns which of them complained, only whether to free space, stop another
//! process, start a newer version, move a directory aside, or stop the node. No error of this room is retried in place:
//! after a failed write or sync nobody knows what the disk holds, and asking again can answer "fine" for data that is
//! gone.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::codec::CodecError;

/// Trouble with the disk or with what stands on it. Cheap to clone: one failure answers everybody who waits.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Trouble {
    /// Another process works in this directory. Remedy: stop that one, or use another directory.
    #[error("{} is in use by another process: stop that process or choose another directory", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The operating system does not let us in (rights, a file where a directory should be, a missing disk).
    #[error("cannot open {}: check that it is a directory this user may write to", path.display())]
    Unopenable {
        /// What was opened.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// A newer version wrote this. Remedy: start that version.
    #[error("{} was written by a newer version (format {found}, this one knows {known}): start the newer version", path.display())]
    TooNew {
        /// The directory or file.
        path: PathBuf,
        /// The format found.
        found: u16,
        /// The newest format that this version reads.
        known: u16,
    },
    /// What was promised is not all there. Remedy: move the directory aside and let the node join again, empty and under
    /// a new id; never start with less than was promised.
    #[error("{} is damaged ({what}): move it aside and let this node join again under a new id", path.display())]
    Damaged {
        /// The directory or file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// No space left. The node stops; remedy: free space, start it again.
    #[error("no space left while {doing}: free space, then start the node again")]
    Full {
        /// What was being done, as "writing the log".
        doing: &'static str,
    },
    /// A write, read or sync failed. The node stops; when it starts again it reads what the disk really holds.
    #[error("{doing} failed: the node must stop")]
    Io {
        /// What was being done, as "syncing the log".
        doing: &'static str,
        /// What the operating system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// An entry is larger than the log takes. Nothing was written. Remedy: split it.
    #[error("entry {index} has {bytes} bytes, more than {limit}")]
    TooLarge {
        /// The index of the entry.
        index: u64,
        /// Its size.
        bytes: usize,
        /// The largest size.
        limit: usize,
    },
    /// The caller broke the order of the log: a defect, the node stops. Nothing was written.
    #[error("index {found} where {expected} belongs: the order of the log is broken")]
    OutOfOrder {
        /// The index that would have been right.
        expected: u64,
        /// The index that was given.
        found: u64,
    },
    /// The log was closed. Remedy: open it again.
    #[error("the log is closed")]
    Closed,
    /// Bytes that cannot be read or written.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

impl Trouble {
    /// What an error of the operating system means while something open is used: [`Trouble::Full`] or [`Trouble::Io`].
    #[must_use]
    pub fn while_doing(doing: &'static str, source: io::Error) -> Self {
        match is_full(&source) {
            true => Self::Full { doing },
            false => Self::Io { doing, source: Arc::new(source) },
        }
    }

    /// What an error of the operating system means while `path` is opened.
    #[must_use]
    pub fn while_opening(path: &Path, source: io::Error) -> Self {
        match is_full(&source) {
            true => Self::Full { doing: "opening a directory" },
            false => Self::Unopenable { path: path.to_owned(), source: Arc::new(source) },
        }
    }

    /// Damage found in `path`.
    #[must_use]
    pub fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }
}

/// Neither the disk, nor the quota, nor the bound of a process on its files leaves room.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_a_broken_one() {
        let full = Trouble::while_doing("writing the log", io::Error::from_raw_os_error(28));
        assert_eq!(
            full.to_string(),
            "no space left while writing the log: free space, then start the node again"
        );
        let broken = Trouble::while_doing("syncing the log", io::Error::from_raw_os_error(5));
        assert_eq!(broken.to_string(), "syncing the log failed: the node must stop");
    }

    #[test]
    fn every_message_is_one_line_that_says_what_to_do() {
        let path = Path::new("/data/log");
        let damaged = Trouble::damaged(path, "entry 7 is missing");
        assert_eq!(
            damaged.to_string(),
            "/data/log is damaged (entry 7 is missing): move it aside and let this node join again under a new id"
        );
        let shut = Trouble::while_opening(path, io::Error::from_raw_os_error(13));
        assert_eq!(
            shut.to_string(),
            "cannot open /data/log: check that it is a directory this user may write to"
        );
    }
}
