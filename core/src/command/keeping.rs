//! Keeping the ledger bounded: what stands is told again, then older rows are dropped.

use serde::{Deserialize, Serialize};

use crate::id::{LogIndex, Uid};

/// Tell again what stands: calendars first, then schedules in the order of their uids. The first of these begins, the last
/// ends it; each carries a bounded part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restate {
    /// Where the proposer saw it stand; another place makes this a no-op. `None` begins.
    pub after: Option<Option<Uid>>,
    /// At most so many schedules.
    pub most: u32,
}

/// Drop the rows of the entries before one at which everything was told again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropLedger {
    /// The first entry that is kept; a no-op when nothing was told again there.
    pub before: LogIndex,
}
