//! How far the ledger reaches back, where it can be understood from, and at which level it is written.

use serde::{Deserialize, Serialize};

use super::State;
use crate::event::LedgerEnd;
use crate::format::FormatLevel;
use crate::id::{LogIndex, Uid};
use crate::time::Timestamp;

/// What is known of the ledger on the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Keeping {
    /// Rows of earlier entries are dropped.
    pub floor: LogIndex,
    /// What stands is being told again.
    pub restating: Option<Restating>,
    /// Where everything was told again, oldest first, at most [`KEPT_RESTATEMENTS`]: a ledger may begin at each of these.
    pub restated: Vec<Restated>,
    /// The last end of the ledger that replicas compared.
    pub checked: Option<LedgerEnd>,
}

/// A telling that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restating {
    /// The entry that began it.
    pub from: LogIndex,
    /// When.
    pub at: Timestamp,
    /// The last schedule that was told; `None` for none yet.
    pub after: Option<Uid>,
}

/// A place at which the ledger may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restated {
    /// The entry that began the telling.
    pub from: LogIndex,
    /// When.
    pub at: Timestamp,
}

/// How many of them are kept; the oldest is forgotten then, which costs nothing but that the ledger cannot begin there.
pub const KEPT_RESTATEMENTS: usize = 64;

impl State {
    /// How far the ledger reaches back, and where it can be understood from.
    #[must_use]
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// The level at which what follows is written: commands, facts and images.
    #[must_use]
    pub fn format_level(&self) -> FormatLevel {
        self.format_level
    }
}
