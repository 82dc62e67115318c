//! A backup: an image of now and every row of the ledger up to it, as one archive.
//!
//! It is what a peer is sent, written into a file: the same image, made by the same builder on another thread, so that a
//! backup is not visible in lateness. Must not know what the note of an archive means.

use std::io::{self, Write};
use std::time::Duration;

use campanile_core::id::LogIndex;
use campanile_storage::Trouble;
use campanile_storage::archive::ArchiveWriter;
use tokio::time::{Instant, timeout_at};

use super::Consensus;
use crate::image::Outgoing;

/// How long an image may take: that of a million schedules takes a second.
const PATIENCE: Duration = Duration::from_secs(60);
/// openraft makes one image at a time and does not hear what is asked meanwhile, so it is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// This node stops, or no image was made in time.
    #[error("no image of this node could be made: {0}")]
    NoImage(String),
    /// A newer image took the place of this one, or the disk fails. Begin again.
    #[error("the image cannot be copied")]
    Copy(#[source] io::Error),
    /// Whoever was to take it has gone, or has no space left.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// The ledger was replaced, or retention dropped its beginning, while it was copied. Begin again.
    #[error("the ledger was replaced or cut while it was copied")]
    Replaced,
}

/// An image of this node, with the rows up to it, to be copied.
#[derive(Debug)]
pub struct Image(Outgoing);

impl Consensus {
    /// Makes an image durable that holds everything which this node has applied by now.
    ///
    /// # Errors
    /// [`BackupError::NoImage`].
    pub async fn image_of_now(&self) -> Result<Image, BackupError> {
        let (wanted, site) = (self.applied().0, &self.0.site);
        let mut newest = site.newest.subscribe();
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let asked = self.0.raft.trigger().snapshot().await;
            asked.map_err(|error| BackupError::NoImage(error.to_string()))?;
            let reaches = |covered: &Option<crate::image::Covered>| {
                covered.as_ref().is_some_and(|covered| covered.index() >= wanted)
            };
            let made = timeout_at(Instant::now() + ASK_AGAIN, newest.wait_for(reaches)).await;
            if let Ok(Ok(Some(covered))) = made.map(|made| made.map(|covered| covered.clone())) {
                return Ok(Image(Outgoing { covered, site: site.clone() }));
            }
        }
        Err(BackupError::NoImage("it took too long".into()))
    }
}

impl Image {
    /// The last entry in it.
    #[must_use]
    pub fn index(&self) -> LogIndex {
        LogIndex(self.0.covered.index())
    }

    /// Writes image and rows as an archive with this note. Blocking.
    ///
    /// # Errors
    /// As [`BackupError`] tells apart; what was written then has no end, and every reader sees that it is cut off.
    pub fn write(&self, note: &[u8], out: impl Write) -> Result<(), BackupError> {
        let Self(image) = self;
        let body = image.body().map_err(BackupError::Copy)?;
        let base = image.base()?;
        let mut archive = ArchiveWriter::begin(out, note)?;
        archive.image(&image.covered.to_bytes(), &body)?;
        drop(body);
        archive.base(base)?;
        let mut after = base.position;
        loop {
            let page = image.rows(after)?;
            let Some(last) = page.last() else { break };
            after = Some(last.position);
            archive.rows(&page)?;
        }
        // Said before the end is written: a file that is whole is one that can be restored.
        if archive.head() != image.covered.ledger {
            return Err(BackupError::Replaced);
        }
        archive.end()?;
        Ok(())
    }
}
