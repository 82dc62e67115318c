//! What is in a backup, and putting one where a founder finds it: files alone, no node.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use campanile_core::machine::Machine;
use campanile_raft::seed::{Seed, Staging, Unfit};
use campanile_storage::ledger::{Head, Position};
use serde::Serialize;

use super::{KIND, Note};
use crate::wire::ledger::hex;
use crate::wire::time::Instant;

/// How much is read at once.
const PIECE: usize = 256 << 10;

/// What a whole backup holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// What its writer said; `None` when that cannot be read, which hinders nothing.
    pub note: Option<Note>,
    /// The last log entry in it.
    pub index: u64,
    /// The log's time there.
    pub clock: Instant,
    /// Schedules that exist.
    pub schedules: usize,
    /// Firings that were not settled.
    pub live_firings: usize,
    /// Rows of the ledger.
    pub rows: u64,
    /// The position of the last row.
    pub last_row: Option<String>,
    /// The running hash there, in hexadecimal.
    pub hash: String,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Reads a whole backup and says what is in it; `seen` is told how many bytes were read.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn look(file: &Path, mut seen: impl FnMut(u64)) -> Result<Contents, Unfit> {
    let input = open(file)?;
    let mut seed = Seed::open(BufReader::with_capacity(PIECE, input))?;
    let mut bytes = 0;
    seed.rows(|_, read| {
        bytes = read;
        seen(read);
        Ok(())
    })?;
    Ok(contents(&seed, bytes))
}

/// Copies a backup into the empty data directory of a founder and reads the copy to its end: the next start of that node
/// founds a cluster on it.
///
/// # Errors
/// As [`look`]; [`Unfit::NotEmpty`]. The directory is as empty as it was then.
pub fn put(file: &Path, data: &Path, mut seen: impl FnMut(u64)) -> Result<Contents, Unfit> {
    let mut staging = Staging::into_empty(data)?;
    let mut input = BufReader::with_capacity(PIECE, open(file)?);
    io::copy(&mut input, &mut staging).map_err(Unfit::writing)?;
    let contents = look(&staging.path(), &mut seen)?;
    staging.finish()?;
    Ok(contents)
}

fn open(file: &Path) -> Result<File, Unfit> {
    let input = File::open(file).map_err(|source| Unfit::Unreadable { path: file.to_owned(), source })?;
    match input.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        true => Err(Unfit::Unreadable { path: file.to_owned(), source: io::ErrorKind::IsADirectory.into() }),
        false => Ok(input),
    }
}

fn contents<R: Read>(seed: &Seed<R>, bytes: u64) -> Contents {
    let (machine, [base, head]): (&Machine, [Head; 2]) = (seed.machine(), seed.ledger());
    let note = serde_json::from_slice(seed.note()).ok().filter(|note: &Note| note.kind == KIND);
    Contents {
        note,
        index: seed.index().0,
        clock: Instant(machine.clock()),
        schedules: machine.schedule_count(),
        live_firings: machine.live_count(),
        rows: head.rows - base.rows,
        last_row: head.position.as_ref().map(Position::to_string),
        hash: hex(&head.hash),
        bytes,
    }
}
