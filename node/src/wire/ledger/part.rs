//! What several facts, or one with much to say, are made of.

use campanile_core::event::LedgerEnd;
use campanile_core::firing::FiringId;
use campanile_core::queue::Rate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::wire::time::{Instant, Length};

/// How fast leases of a queue are given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueRate {
    /// So many,
    pub count: u32,
    /// in each of these periods.
    pub per: Length,
}

/// Which firing a fact is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FiringRef {
    /// Its id.
    pub firing: String,
    /// The incarnation of its schedule.
    pub uid: String,
    /// When it should have happened.
    pub nominal: Instant,
    /// Counts up only when somebody asks for a re-run.
    pub run: u32,
}

impl From<&FiringId> for FiringRef {
    fn from(id: &FiringId) -> Self {
        Self { firing: id.to_string(), uid: id.uid.to_string(), nominal: Instant(id.nominal), run: id.run.0 }
    }
}

impl From<Rate> for QueueRate {
    fn from(rate: Rate) -> Self {
        Self { count: rate.count, per: Length(rate.per) }
    }
}

/// The end of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct End {
    /// The last row, `index.n`.
    pub position: String,
    /// The running hash over every row up to it, 32 hexadecimal digits.
    pub hash: String,
}

impl From<&LedgerEnd> for End {
    fn from(end: &LedgerEnd) -> Self {
        Self { position: format!("{}.{}", end.index, end.n), hash: hex(&end.hash) }
    }
}

/// Bytes as hexadecimal digits.
pub(in crate::wire) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
