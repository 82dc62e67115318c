//! Backups of a node: taking one while it runs, and reading one without a node.
//!
//! ```text
//!   GET /v1/backup ──▶ Backups ──▶ an image of now (raft) ──▶ archive, piece by piece ──▶ the user
//!   campanile restore FILE ──▶ look ──▶ what is in it, every byte checked
//! ```
//! The container is `campanile_storage::archive`, the same as that of exports; here it is said whose it is. Must not
//! decide whether a backup may be restored into a cluster: an empty directory, or a founder's start, does.

mod look;
mod staged;
mod taken;

pub use campanile_raft::seed::Unfit;
pub use look::{Contents, look, put};
pub use staged::Restores;
pub use taken::Backups;

use serde::{Deserialize, Serialize};

/// The version of the note.
pub const FORMAT: u16 = 1;
/// What the note of a backup calls it.
pub const KIND: &str = "backup";

/// What stands at the head of a backup, as JSON: whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// [`KIND`].
    pub kind: String,
    /// [`FORMAT`].
    pub format: u16,
    /// The version of the node that wrote it.
    pub version: String,
    /// The cluster's name.
    pub cluster: String,
    /// The node that wrote it.
    pub node: u64,
    /// When, in RFC 3339.
    pub made_at: String,
    /// The last log entry in it.
    pub index: u64,
}
