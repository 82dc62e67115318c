//! Ledgers that are verified: one that is right, and the same with faults that somebody planted into it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../cli_support/mod.rs"]
mod cli_support;
mod command;
mod faults;
mod forger;
mod heads;
mod ledgers;
mod story;

use std::io::Cursor;

use campanile::verify::{Asked, Found, KnownHead, OfArchive, verify};
use campanile::wire::verify::Verdict;
use campanile_storage::archive::ArchiveWriter;
use campanile_storage::ledger::Row;

/// An export of these rows from the very first one.
pub(crate) fn export(rows: &[Row]) -> Vec<u8> {
    let mut archive = ArchiveWriter::begin(Vec::new(), b"{}").unwrap();
    archive.rows(rows).unwrap();
    archive.end().unwrap()
}

/// What a pass over an export finds.
pub(crate) fn found(export: Vec<u8>, asked: impl Into<Asked>) -> Found {
    let bytes = export.len() as u64;
    let archive = OfArchive::open(Cursor::new(export), bytes).unwrap();
    verify(archive, asked, |progress| progress.done <= progress.of).unwrap()
}

/// The head of the ledger at this row.
pub(crate) fn head(row: &Row) -> KnownHead {
    KnownHead { position: row.position, hash: row.hash }
}

/// The same as users see it.
pub(crate) fn verdict(export: Vec<u8>, asked: impl Into<Asked>) -> Verdict {
    Verdict::of(&found(export, asked), None)
}
