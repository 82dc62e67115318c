//! An offset that a test writes into a file while a node runs, so that real processes can be given wrong clocks.
//!
//! It is off unless a variable of the environment names the file; no key of the configuration does, so that no file that is
//! copied to a production node can switch it on. When it is on, the node says so at its start.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Names the file; it holds milliseconds, such as `-10000`. For tests only.
pub(super) const VARIABLE: &str = "CAMPANILE_TEST_CLOCK_FILE";
/// The file is read at most so often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The offset in a file.
#[derive(Debug)]
pub(super) struct Moved {
    file: PathBuf,
    /// What the file said when it was last read.
    offset_ms: AtomicI64,
    start: Instant,
    /// When the file is read again, in milliseconds since `start`.
    look_at: AtomicU64,
}

impl Moved {
    /// The offset that the environment names, if it does. Kept for the life of the process, so that a clock stays a value
    /// that is copied.
    pub(super) fn from_environment() -> Option<&'static Self> {
        let file = PathBuf::from(std::env::var_os(VARIABLE)?);
        tracing::warn!(
            file = %file.display(),
            "the clock of this node is moved by a file: {VARIABLE} is set, which is for tests only"
        );
        Some(Box::leak(Box::new(Self::by(file))))
    }

    fn by(file: PathBuf) -> Self {
        Self { file, offset_ms: AtomicI64::new(0), start: Instant::now(), look_at: AtomicU64::new(0) }
    }

    /// What the file says. A file that is missing or half written changes nothing.
    pub(super) fn offset_ms(&self) -> i64 {
        let passed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        if passed >= self.look_at.load(Ordering::Acquire)
            && let Some(offset) = self.read()
        {
            self.offset_ms.store(offset, Ordering::Release);
            let next = passed.saturating_add(LOOK_EVERY.as_millis() as u64);
            self.look_at.store(next, Ordering::Release);
        }
        self.offset_ms.load(Ordering::Acquire)
    }

    fn read(&self) -> Option<i64> {
        std::fs::read_to_string(&self.file).ok()?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_clock_follows_its_file_and_keeps_its_offset_when_the_file_makes_no_sense() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("offset");
        let moved = Moved::by(file.clone());
        let look = |text: &str| {
            std::fs::write(&file, text).unwrap();
            moved.look_at.store(0, Ordering::Release);
            moved.offset_ms()
        };
        assert_eq!(moved.offset_ms(), 0, "there is no file yet");
        assert_eq!(
            [look("28800000\n"), look("-10000"), look("-"), look("0")],
            [28_800_000, -10_000, -10_000, 0]
        );
    }
}
