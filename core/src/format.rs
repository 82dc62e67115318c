//! The format level: which layout of commands, facts and images a cluster writes, agreed on the log.
//!
//! ```text
//!   every member says which levels it reads  ->  SetFormatLevel(min of them) on the log  ->  from that entry on, it is written
//! ```
//! A program reads all levels from [`FormatLevel::OLDEST`] to [`FormatLevel::NEWEST`], and writes the one that its machine
//! has, never a constant of its own: so nodes of two versions run side by side, and no node is sent what it cannot read.
//! Must not know bytes; `raft::level` writes and reads them.
//!
//! How it changes: whoever changes the layout of anything in a command, a fact or an image makes the next level, keeps the
//! struct of the level before with its golden bytes, and raises [`FormatLevel::NEWEST`]. [`FormatLevel::OLDEST`] follows
//! when no supported upgrade begins there any more.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The layout of everything of this crate that is written: the schema number of its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FormatLevel(pub u16);

impl FormatLevel {
    /// The oldest level that this program reads and writes; every cluster begins with it.
    pub const OLDEST: Self = Self(4);
    /// The newest one. A test build has one more with the same layout, so that an upgrade can be tried with one version.
    pub const NEWEST: Self = Self(if cfg!(feature = "plant-next-format") { 5 } else { 4 });

    /// Whether this program reads and writes it.
    #[must_use]
    pub fn is_known(self) -> bool {
        (Self::OLDEST..=Self::NEWEST).contains(&self)
    }
}

impl Default for FormatLevel {
    fn default() -> Self {
        Self::OLDEST
    }
}

impl fmt::Display for FormatLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}
