//! From files to a ledger, after any kind of end: what was promised is checked, what was not is cut at the first flaw.
//!
//! The line between the two is the point up to which the ledger was synced (`synced`). Behind it a power cut may have
//! left anything, in any order; before it a flaw is damage and nothing is touched. Only files behind that line are walked
//! here, so an open takes as long as the newest segment or so, not as long as the ledger.

use std::{path::Path, sync::Arc};

use super::{
    keeper::{RESERVED, create},
    position::Head,
    record::Flaw,
    segment::{self, HEADER, Segment},
    shared::sync_dir,
    synced::{Synced, SyncedFile},
};
use crate::Trouble;

/// A torn tail that was cut when the ledger was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The log name of the segment, as in its file name.
    pub segment: u64,
    /// Where the file ends now; 0 when it was removed.
    pub offset: u32,
    /// What stood there.
    pub flaw: Flaw,
}

/// What is needed to go on.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) head: Head,
    pub(crate) synced: Synced,
    pub(crate) file: SyncedFile,
    pub(crate) cut: Option<Cut>,
}

/// Opens the segments in `dir`, or starts a ledger there when there is none.
pub(crate) fn recover(dir: &Path) -> Result<Recovered, Trouble> {
    make_dir(dir)?;
    remove_if_there(&dir.join(RESERVED))?;
    let (file, noted) = SyncedFile::open(dir)?;
    let (mut segments, headless) = open_segments(dir, noted)?;
    if segments.is_empty() {
        if noted.is_some() {
            return Err(Trouble::damaged(dir, "its segments are gone"));
        }
        return start(dir, Head::default());
    }
    let tail = tail_start(dir, &segments, noted)?;
    check_older(&segments[..=tail])?;
    let synced = noted.filter(|noted| noted.segment == segments[tail].id);
    let synced = synced.unwrap_or(Synced { segment: segments[tail].id, offset: HEADER });
    let (head, torn) = check_tail(&mut segments, tail, synced)?;
    let cut = torn.or(headless);
    if let Some(cut) = &cut {
        tracing::warn!(dir = %dir.display(), segment = cut.segment, offset = cut.offset, flaw = %cut.flaw, "the torn tail of the ledger is cut");
        sync_dir(dir)?;
    }
    Ok(Recovered { segments, head, synced, file, cut })
}

/// Starts an empty ledger in an empty `dir`, behind `before`.
pub(crate) fn start(dir: &Path, before: Head) -> Result<Recovered, Trouble> {
    make_dir(dir)?;
    let path = dir.join(segment::name(before.next_index()));
    let file = create(&path).map_err(|source| Trouble::while_opening(&path, source))?;
    let segment = Segment::start(path, file, before)?;
    segment.file.sync_all().map_err(|source| Trouble::while_doing("syncing the ledger", source))?;
    sync_dir(dir)?;
    let (file, _) = SyncedFile::open(dir)?;
    let synced = Synced { segment: segment.id, offset: HEADER };
    file.withdraw(synced)?;
    Ok(Recovered { segments: vec![Arc::new(segment)], head: before, synced, file, cut: None })
}

/// Opens every file up to the first one whose header does not read. That one and those behind it are removed, when
/// nothing promised can be in them.
fn open_segments(dir: &Path, noted: Option<Synced>) -> Result<(Vec<Arc<Segment>>, Option<Cut>), Trouble> {
    let mut segments = Vec::new();
    let names = segment::list(dir)?;
    for (at, (id, path)) in names.iter().enumerate() {
        let flaw = match Segment::open(path)? {
            Ok(segment) => {
                segments.push(Arc::new(segment));
                continue;
            }
            Err(flaw) => flaw,
        };
        let promised = match noted {
            Some(noted) => *id <= noted.segment,
            // The note is older than the first row: without it, this can only be a start that did not get far.
            None => at + 1 < names.len() || holds_rows(path)?,
        };
        if promised {
            return Err(Trouble::damaged(path, format!("at byte 0: {flaw}")));
        }
        for (_, path) in names[at..].iter().rev() {
            remove_if_there(path)?;
        }
        return Ok((segments, Some(Cut { segment: *id, offset: 0, flaw })));
    }
    Ok((segments, None))
}

fn holds_rows(path: &Path) -> Result<bool, Trouble> {
    let metadata = path.metadata().map_err(|source| Trouble::while_opening(path, source))?;
    Ok(metadata.len() > u64::from(HEADER))
}

/// The first segment that may hold rows which were not promised.
fn tail_start(dir: &Path, segments: &[Arc<Segment>], noted: Option<Synced>) -> Result<usize, Trouble> {
    let Some(noted) = noted else { return Ok(segments.len() - 1) };
    if noted.segment < segments[0].id {
        // Retention dropped the segment that the note speaks of, and the crash came before the next sync.
        return Ok(0);
    }
    let found = segments.binary_search_by_key(&noted.segment, |segment| segment.id);
    found.map_err(|_| Trouble::damaged(dir, format!("segment {} is gone", segment::name(noted.segment))))
}

/// Checks by their sizes that each older segment continues the one before it; their rows are checked when they are read.
fn check_older(segments: &[Arc<Segment>]) -> Result<(), Trouble> {
    for pair in segments.windows(2) {
        let records = u64::from(pair[0].len() - HEADER);
        if pair[0].before.bytes + records != pair[1].before.bytes {
            return Err(pair[1].damaged(0, &Flaw::Gap));
        }
    }
    Ok(())
}

/// Walks the segments from `tail` on, each of which must continue the one before, and cuts at the first flaw: the rest
/// of that segment and all later ones.
fn check_tail(
    segments: &mut Vec<Arc<Segment>>,
    tail: usize,
    synced: Synced,
) -> Result<(Head, Option<Cut>), Trouble> {
    let mut head = segments[tail].before;
    for at in tail..segments.len() {
        if segments[at].before != head {
            let cut = Cut { segment: segments[at].id, offset: 0, flaw: Flaw::Gap };
            remove_from(segments, at)?;
            return Ok((head, Some(cut)));
        }
        let (end, cut) = check_segment(&segments[at], synced)?;
        head = end;
        if cut.is_some() {
            remove_from(segments, at + 1)?;
            return Ok((head, cut));
        }
    }
    Ok((head, None))
}

/// Walks a segment of the tail, and cuts it at the first flaw if that is behind what was promised.
fn check_segment(segment: &Segment, synced: Synced) -> Result<(Head, Option<Cut>), Trouble> {
    let walk = segment.walk(None)?;
    let promised = if synced.segment == segment.id { synced.offset } else { HEADER };
    let flaw = walk.flaw.clone().or((walk.len < promised).then_some(Flaw::Short));
    segment.adopt(&walk);
    let Some(flaw) = flaw else { return Ok((walk.head, None)) };
    // A record of a newer version is whole: cutting it would lose what that version promised.
    if walk.len < promised || matches!(flaw, Flaw::Schema(_)) {
        return Err(segment.damaged(walk.len, &flaw));
    }
    shorten(segment, walk.len)?;
    Ok((walk.head, Some(Cut { segment: segment.id, offset: walk.len, flaw })))
}

/// Removes the segments from `at` on, newest first, so that a crash in between leaves no hole.
fn remove_from(segments: &mut Vec<Arc<Segment>>, at: usize) -> Result<(), Trouble> {
    segments.drain(at..).rev().try_for_each(|surplus| remove_if_there(&surplus.path))
}

/// Cuts the file of a segment, durably.
pub(crate) fn shorten(segment: &Segment, len: u32) -> Result<(), Trouble> {
    let cut = segment.file.set_len(len.into()).and_then(|()| segment.file.sync_all());
    cut.map_err(|source| Trouble::while_doing("cutting the ledger", source))
}

/// Removes a file that may be gone already.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), Trouble> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Trouble::while_opening(path, error))
        }
        _ => Ok(()),
    }
}

/// The directory that holds `dir`, which may be a bare name.
pub(crate) fn parent(dir: &Path) -> &Path {
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn make_dir(dir: &Path) -> Result<(), Trouble> {
    if dir.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(dir).map_err(|source| Trouble::while_opening(dir, source))?;
    sync_dir(parent(dir))
}
