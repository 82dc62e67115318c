//! Bytes and files: the log, the vote, the ledger and the images of a node.
//!
//! This room makes promises about *durability* and knows nothing about what the bytes mean: no schedule, no command, no
//! consensus type is named here, and nothing in it is async. Callers hand over bytes that they encoded with [`codec`]
//! and get an answer once the bytes are on the disk.
//!
//! Read in this order:
//! - [`codec`]: how a value becomes bytes with a kind and a schema number; the only file that names the encoder.
//! - [`error`]: what can go wrong, named by what the caller can do about it.
//! - [`log`]: the Raft log and the vote: a small blocking trait, two implementations, and the group commit above them.
//! - [`ledger`]: what happened, row by row, in append-only files chained by a running hash.
//! - [`history`]: which rows of the ledger belong to a schedule; built again whenever it is in doubt.
//! - [`image`]: the state of the machine at a log index, a file each.
//! - [`archive`]: rows and an image as one file that needs nothing else, for exports and backups.

pub mod archive;
pub mod codec;
pub mod error;
pub mod history;
pub mod image;
pub mod ledger;
pub mod log;
pub mod mutant;
mod sleds;
mod varint;

pub use codec::{CodecError, Kind};
pub use error::Trouble;
