//! The end of the ledger: what replicas are compared by.

use serde::{Deserialize, Serialize};

use crate::id::LogIndex;

/// Where a node's ledger ended when it looked, and the running hash there. Two replicas whose hashes at one position
/// differ have different rows at or before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEnd {
    /// The entry of the last row.
    pub index: LogIndex,
    /// The number of that row in its entry.
    pub n: u32,
    /// The running hash over every row up to that one.
    pub hash: [u8; 16],
}
