//! Replacing the whole ledger by that of a peer, together with its image, so that a crash leaves either the old pair or
//! the new one.
//!
//! ```text
//!  begin ── push rows ──> <dir>.installing     (anything here is worthless until it is staged)
//!  stage ── sync, rename ──> <dir>.ready       the caller now makes the image durable: THE moment of decision
//!  adopt ── rename ──> <dir>                   the old one is <dir>.old until it is removed
//! ```
//! At the next open the newest image decides about a `.ready`: its head is the image's, or it is thrown away.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Ledger, Options,
    keeper::{Job, Upkeep},
    lock::beside,
    position::{Head, Row},
    recover::{parent, recover},
    segment::Segment,
    shared::sync_dir,
};
use crate::Trouble;

const INSTALLING: &str = "installing";
const READY: &str = "ready";
const OLD: &str = "old";

/// A ledger that is being received.
#[derive(Debug)]
pub struct Install {
    dir: PathBuf,
    ledger: Ledger,
}

/// A received ledger, whole and durable, that is not in use yet.
#[derive(Debug)]
#[must_use = "a staged ledger comes into use only by `Ledger::adopt`"]
pub struct Staged {
    dir: PathBuf,
    head: Head,
}

impl Install {
    /// Begins to receive what shall replace the ledger in `dir`: rows behind `base`, the sender's `LedgerReader::base`.
    ///
    /// # Errors
    /// Failed writes. One install at a time: a second one throws the first away.
    pub fn begin(dir: &Path, options: Options, base: Head) -> Result<Self, Trouble> {
        let installing = beside(dir, INSTALLING);
        remove_dir(&installing)?;
        let options = Options { upkeep: Upkeep::Inline, ..options };
        Ok(Self { dir: dir.to_owned(), ledger: Ledger::start(&installing, options, base)? })
    }

    /// Adds rows, which must continue those before: their hashes are computed and compared.
    ///
    /// # Errors
    /// `Damaged` when a row is not the next one; failed writes. The install is then to be dropped.
    pub fn push(&mut self, rows: &[Row]) -> Result<(), Trouble> {
        for row in rows {
            let head = self.ledger.head;
            if !row.position.may_follow(head.position) {
                return Err(self.refused(row, "is not the next one"));
            }
            if row.position.n == 0 {
                self.ledger.make_room()?;
            }
            if self.ledger.stage(row.position, &row.body) != row.hash {
                return Err(self.refused(row, "has another running hash"));
            }
        }
        // The last record stays open: its entry may go on with the next page, and must be cut into records as its first
        // owner did.
        self.ledger.flush()
    }

    /// The end of what was received.
    pub fn head(&self) -> Head {
        self.ledger.head()
    }

    /// Makes what was received durable and puts it where an open finds it. The image comes next, then `adopt`.
    ///
    /// # Errors
    /// Failed writes.
    pub fn stage(self) -> Result<Staged, Trouble> {
        let Self { dir, mut ledger } = self;
        ledger.close_run();
        ledger.flush()?;
        let head = ledger.sync()?;
        sync_dir(&ledger.shared.dir)?;
        drop(ledger);
        let ready = beside(&dir, READY);
        remove_dir(&ready)?;
        rename(&beside(&dir, INSTALLING), &ready)?;
        sync_dir(parent(&dir))?;
        Ok(Staged { dir, head })
    }

    fn refused(&self, row: &Row, why: &str) -> Trouble {
        Trouble::damaged(&self.ledger.shared.dir, format!("the received row {} {why}", row.position))
    }
}

impl Staged {
    /// The end of what was received; the image beside it must name the same.
    pub fn head(&self) -> Head {
        self.head
    }
}

impl Ledger {
    /// Puts a staged ledger in the place of this one. Readers go on and see the new rows.
    ///
    /// # Errors
    /// Failed renames and reads; the node must stop then, and the next open completes it.
    ///
    /// # Panics
    /// When it was staged for another directory.
    pub fn adopt(&mut self, staged: Staged) -> Result<Head, Trouble> {
        let Staged { dir, head } = staged;
        assert_eq!(dir, self.shared.dir, "a staged ledger belongs to one directory");
        self.keeper.quiesce();
        self.keeper.discard_reserved();
        swap(&dir)?;
        let found = recover(&dir)?;
        if found.head != head {
            return Err(Trouble::damaged(&dir, "it is not the ledger that was staged"));
        }
        self.shared.replace_synced(found.synced, found.file);
        self.active = Arc::clone(found.segments.last().expect("a ledger has at least one segment"));
        self.shared.change(|view| {
            view.segments = found.segments.into();
            view.head = head;
            view.floor = 0;
            view.generation += 1;
        });
        self.head = head;
        self.keeper.give(Job::Reserve);
        remove_dir(&beside(&dir, OLD))?;
        Ok(head)
    }
}

/// Completes or removes what an interrupted install left. `head` is the one that the newest image names; without it, only
/// an install that had already begun to replace the old ledger is completed.
pub(crate) fn settle_unfinished(dir: &Path, head: Option<&Head>) -> Result<(), Trouble> {
    remove_dir(&beside(dir, INSTALLING))?;
    let ready = beside(dir, READY);
    if ready.is_dir() {
        let wanted = match head {
            Some(head) => staged_head(&ready)? == *head,
            None => !dir.is_dir(),
        };
        if wanted {
            swap(dir)?;
        } else {
            remove_dir(&ready)?;
        }
    }
    // The old one goes last: without its successor in place it is all there is.
    let old = beside(dir, OLD);
    if old.is_dir() && !dir.is_dir() {
        rename(&old, dir)?;
    }
    remove_dir(&old)
}

/// The head of a staged ledger, whose newest segment is walked for it.
fn staged_head(ready: &Path) -> Result<Head, Trouble> {
    let newest: Option<_> = super::segment::list(ready)?.pop();
    let Some((_, path)) = newest else { return Err(Trouble::damaged(ready, "its segments are gone")) };
    let segment = Segment::open_to_read(&path)?.map_err(|flaw| Trouble::damaged(&path, flaw.to_string()))?;
    Ok(segment.walk(None)?.head)
}

/// `dir` becomes `.old`, `.ready` becomes `dir`. Every step can be the last before a crash.
fn swap(dir: &Path) -> Result<(), Trouble> {
    let old = beside(dir, OLD);
    if dir.is_dir() {
        remove_dir(&old)?;
        rename(dir, &old)?;
    }
    rename(&beside(dir, READY), dir)?;
    sync_dir(parent(dir))
}

fn rename(from: &Path, to: &Path) -> Result<(), Trouble> {
    std::fs::rename(from, to).map_err(|source| Trouble::while_doing("renaming a ledger directory", source))
}

/// Removes a directory that may be gone already.
fn remove_dir(dir: &Path) -> Result<(), Trouble> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Trouble::while_opening(dir, error)),
        _ => Ok(()),
    }
}
