//! An archive: rows of the ledger, and the image they lead to, as one file that needs nothing else. For exports and backups.
//!
//! ```text
//!   file  = "CMPARCH\n" version u16, note+, (covered+ image+)?, base, rows*, end
//!   frame = [kind u8][length u32][crc32c u32][payload]                                     numbers little endian
//!   row   = [index][n][running hash 16 bytes][length][body]                                numbers as varints
//!   end   = [head of the ledger there][SHA-256 over every byte before this frame]
//! ```
//! It is written and read front to back and never sought in, so it goes through a pipe or a socket. Every row states its
//! running hash, which a reader computes again: a row that was changed is named, not only noticed. A file without the end
//! frame is cut off, and says so. `+` is a text in pieces, of which there is at least one.
//! Must not know what a row, an image or a note means, and must not touch files: it is given a reader or a writer.

mod flawed;
mod frame;
mod reader;
mod writer;

pub use self::{
    flawed::{Fault, Flawed},
    reader::{ArchiveReader, Item},
    writer::ArchiveWriter,
};
use crate::ledger::MAX_BODY;

const MAGIC: [u8; 8] = *b"CMPARCH\n";
/// The only form of an archive so far.
const VERSION: u16 = 1;
/// The longest note, in bytes.
pub const NOTE_LIMIT: usize = 16 << 20;
/// Where a frame is full.
const PIECE: usize = 256 << 10;
/// The longest payload: one row of the longest kind with what stands before its body.
const FRAME_LIMIT: usize = MAX_BODY + 64;
