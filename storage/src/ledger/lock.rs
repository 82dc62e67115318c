//! One process, one ledger: a lock file beside the directory (the directory itself is replaced by an install).

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use super::recover::parent;
use crate::Trouble;

/// Held as long as it lives; the kernel lets go of it when the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Self, Trouble> {
        let path = beside(dir, "lock");
        std::fs::create_dir_all(parent(dir)).map_err(|source| Trouble::while_opening(parent(dir), source))?;
        let file = File::create(&path).map_err(|source| Trouble::while_opening(&path, source))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Trouble::Locked { path: dir.to_owned() }),
            Err(error) => Err(Trouble::while_opening(&path, error.into())),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Not left to the close: a child process that was forked and has not yet come to its exec holds the file too.
        if let Err(error) = flock(&self.file, FlockOperation::Unlock) {
            tracing::warn!(%error, "the lock of a ledger is not released before its file is closed");
        }
    }
}

/// `<dir>.<suffix>`, beside the directory.
pub(crate) fn beside(dir: &Path, suffix: &str) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}
