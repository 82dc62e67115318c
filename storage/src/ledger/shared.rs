//! What the one writer, the readers and the background thread have in common: the view and the way to durability.
//!
//! The view is swapped under a lock that is held for nanoseconds; all reading and syncing happens outside it.

use std::{
    collections::VecDeque,
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use super::{
    found::Found,
    position::{Head, Position},
    segment::Segment,
    synced::{Synced, SyncedFile},
};
use crate::Trouble;

/// Segments that retention dropped and that may wait for the history index to forget their rows: 64 GiB of them. Beyond
/// that the oldest are let go, and keys stay in the index whose rows are gone, which `fetch` then says.
const FORGETTING: usize = 1024;

/// The ledger at one moment.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// In order, never empty; the last one is being written.
    pub(crate) segments: Arc<[Arc<Segment>]>,
    pub(crate) head: Head,
    /// Rows of earlier entries are dropped, though their segment may still hold them.
    pub(crate) floor: u64,
    /// Grows when rows were taken away at the end or all replaced, so that a reader in between starts again.
    pub(crate) generation: u64,
}

impl View {
    /// The segment that holds the first row behind `after`, if any does.
    pub(crate) fn segment_behind(&self, after: Option<Position>) -> usize {
        self.segments.partition_point(|segment| segment.before.position <= after).saturating_sub(1)
    }

    /// The segment with this name.
    pub(crate) fn segment(&self, id: u64) -> Option<&Arc<Segment>> {
        self.segments.binary_search_by_key(&id, |segment| segment.id).ok().map(|at| &self.segments[at])
    }
}

/// See the head of the file.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) dir: PathBuf,
    view: RwLock<View>,
    syncing: Mutex<Syncing>,
    forgetting: Mutex<Forgetting>,
    /// Who hears of damage that a reader meets.
    pub(crate) found: Found,
}

#[derive(Debug)]
struct Syncing {
    synced: Synced,
    file: SyncedFile,
    /// A sync that failed is never tried again: the kernel may have dropped the pages and would then say "fine".
    failed: Option<Trouble>,
}

/// Dropped segments, kept readable (unlinked, but open) for one taker. Nothing is kept while nobody asked.
#[derive(Debug, Default)]
struct Forgetting {
    wanted: bool,
    segments: VecDeque<Arc<Segment>>,
}

impl Shared {
    pub(crate) fn new(dir: &Path, view: View, synced: Synced, file: SyncedFile) -> Self {
        let syncing = Mutex::new(Syncing { synced, file, failed: None });
        let (view, forgetting, found) = (RwLock::new(view), Mutex::default(), Found::default());
        Self { dir: dir.to_owned(), view, syncing, forgetting, found }
    }

    pub(crate) fn view(&self) -> View {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn head(&self) -> Head {
        self.view.read().unwrap_or_else(PoisonError::into_inner).head
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut View)) {
        change(&mut self.view.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Makes everything durable that was appended before the call, and answers the head that is durable now.
    pub(crate) fn sync(&self) -> Result<Head, Trouble> {
        let mut syncing = self.syncing();
        if let Some(trouble) = &syncing.failed {
            return Err(trouble.clone());
        }
        let view = self.view();
        match self.sync_segments(&view, syncing.synced) {
            Ok(reached) => {
                if reached > syncing.synced {
                    syncing.file.advance(reached)?;
                    syncing.synced = reached;
                }
                Ok(view.head)
            }
            Err(trouble) => {
                syncing.failed = Some(trouble.clone());
                Err(trouble)
            }
        }
    }

    fn sync_segments(&self, view: &View, synced: Synced) -> Result<Synced, Trouble> {
        let mut reached = synced;
        for segment in view.segments.iter().filter(|segment| segment.id >= synced.segment) {
            // The length is read before the sync: what is appended meanwhile is not promised.
            let end = Synced { segment: segment.id, offset: segment.len() };
            if end > reached {
                segment
                    .file
                    .sync_data()
                    .map_err(|source| Trouble::while_doing("syncing the ledger", source))?;
                reached = end;
            }
        }
        if reached.segment != synced.segment {
            sync_dir(&self.dir)?;
        }
        Ok(reached)
    }

    /// Gives up the promise for what lies behind `to`, durably, before it is cut.
    pub(crate) fn withdraw(&self, to: Synced) -> Result<(), Trouble> {
        let mut syncing = self.syncing();
        if to < syncing.synced {
            syncing.file.withdraw(to)?;
            syncing.synced = to;
        }
        Ok(())
    }

    /// The directory was replaced by another one, all of it durable.
    pub(crate) fn replace_synced(&self, synced: Synced, file: SyncedFile) {
        *self.syncing() = Syncing { synced, file, failed: None };
    }

    /// Keeps segments that were dropped for whoever wants to see their rows a last time.
    pub(crate) fn forget(&self, dropped: &[Arc<Segment>]) {
        let mut forgetting = self.forgetting();
        if forgetting.wanted {
            forgetting.segments.extend(dropped.iter().cloned());
            let surplus = forgetting.segments.len().saturating_sub(FORGETTING);
            forgetting.segments.drain(..surplus);
        }
    }

    /// From now on dropped segments are kept for `take_forgotten`.
    pub(crate) fn want_forgotten(&self) {
        self.forgetting().wanted = true;
    }

    pub(crate) fn take_forgotten(&self) -> Option<Arc<Segment>> {
        self.forgetting().segments.pop_front()
    }

    fn syncing(&self) -> MutexGuard<'_, Syncing> {
        self.syncing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forgetting(&self) -> MutexGuard<'_, Forgetting> {
        self.forgetting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), Trouble> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|source| Trouble::while_doing("syncing a directory", source))
}
