//! Checking the whole chain: every byte of every segment, from files alone, so that an export can be checked anywhere.

use std::path::{Path, PathBuf};

use super::{
    position::{Head, Position},
    reader::LedgerReader,
    record::Flaw,
    segment::{self, HEADER, Segment},
};
use crate::Trouble;

/// Where a chain breaks.
#[derive(Debug, thiserror::Error)]
#[error("{} at byte {offset}", path.display())]
pub struct Broken {
    /// The file.
    pub path: PathBuf,
    /// The first byte that is not what it should be.
    pub offset: u32,
    /// The last row that is good.
    pub after: Option<Position>,
    /// What is wrong.
    #[source]
    pub why: Why,
}

/// What is wrong with a chain.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// The bytes there are not the row, or the segment, that should be there.
    #[error(transparent)]
    Flaw(#[from] Flaw),
    /// The file cannot be read.
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

/// Checks every segment file in `dir`, which may be a copy of a ledger, and answers its end. Nothing is repaired, and a
/// torn tail counts as broken. An empty directory has the empty head.
///
/// # Errors
/// The first place that is not what it should be.
pub fn verify_chain(dir: &Path) -> Result<Head, Broken> {
    let broken = |path: &Path, why: Why| Broken { path: path.to_owned(), offset: 0, after: None, why };
    let names = segment::list(dir).map_err(|trouble| broken(dir, trouble.into()))?;
    let mut head = None;
    for (_, path) in names {
        let segment = Segment::open_to_read(&path).map_err(|trouble| broken(&path, trouble.into()))?;
        let segment = segment.map_err(|flaw| broken(&path, flaw.into()))?;
        head = Some(verify_segment(&segment, head)?);
    }
    Ok(head.unwrap_or_default())
}

/// As `verify_chain` for a ledger in use: checks the rows that it had when the call began, beside writer and retention.
///
/// # Errors
/// As `verify_chain`.
pub fn verify_rows(reader: &LedgerReader) -> Result<Head, Broken> {
    let mut head = None;
    for segment in reader.view().segments.iter() {
        head = Some(verify_segment(segment, head)?);
    }
    Ok(head.unwrap_or_default())
}

/// Checks one segment and that it continues `before`.
fn verify_segment(segment: &Segment, before: Option<Head>) -> Result<Head, Broken> {
    let broken = |offset, after, why| Broken { path: segment.path.clone(), offset, after, why };
    if let Some(before) = before.filter(|before| *before != segment.before) {
        return Err(broken(0, before.position, Flaw::Gap.into()));
    }
    let walk =
        segment.walk(None).map_err(|trouble| broken(HEADER, segment.before.position, trouble.into()))?;
    match walk.flaw {
        Some(flaw) => Err(broken(walk.len, walk.head.position, flaw.into())),
        None => Ok(walk.head),
    }
}
