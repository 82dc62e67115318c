//! Whether the machine may have lost power since the index was open: then its files cannot be believed.
//!
//! sled syncs nothing here, which a killed process survives (the kernel still has the pages) and a power cut does not. So a
//! file names the boot that the index was opened under, and is removed after a close that synced everything.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

const NAME: &str = "opened-under";

/// The file that says so.
#[derive(Debug)]
pub(crate) struct OpenedUnder {
    path: PathBuf,
}

impl OpenedUnder {
    pub(crate) fn of(dir: &Path) -> Self {
        Self { path: dir.join(NAME) }
    }

    /// Whether the index was left open under another boot.
    pub(crate) fn is_another_boot(&self) -> bool {
        std::fs::read_to_string(&self.path).is_ok_and(|before| before != boot())
    }

    /// Notes this boot, before anything is written to the index.
    pub(crate) fn note(&self) -> io::Result<()> {
        std::fs::write(&self.path, boot())?;
        File::open(&self.path)?.sync_all()
    }

    /// Everything is on the disk.
    pub(crate) fn clear(&self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

/// The kernel's name for this boot. Where there is none, every boot is taken for another one, which only costs a rebuild.
fn boot() -> String {
    let unknown = |_| format!("unknown to process {}", std::process::id());
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_else(unknown)
}
