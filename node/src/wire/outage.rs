//! A gap between leaders, and what it did to the instants that fell into it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Instant;

/// A gap between leaders of more than a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Outage {
    /// Its name: the position of its row in the ledger, `index.n`.
    pub id: String,
    /// Since when there was no leader, as far as the next one knows.
    pub from: Instant,
    /// When the next one took office.
    pub to: Instant,
    /// How long that is.
    pub length_ms: u64,
    /// Who led before; `null` when nobody did, or retention has passed it.
    pub previous_leader: Option<Leader>,
    /// Who took office.
    pub next_leader: Option<Leader>,
    /// The firings whose instants fell into it, and which were decided after it.
    pub late: LateFirings,
    /// The instants that fell into it and did not fire, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// The schedules concerned, the latest first: at most 100, in a list at most 10.
    pub schedules: Vec<Concerned>,
    /// How many more schedules are concerned.
    pub more: u64,
    /// Whether every row that can be about it was looked at.
    pub complete: bool,
}

/// A leader in office.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Leader {
    /// The node.
    pub node: u64,
    /// Its Raft term.
    pub term: u64,
    /// Its right: the log index of the entry by which it took office.
    pub epoch: u64,
}

/// How late firings were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct LateFirings {
    /// How many.
    pub firings: u64,
    /// Half of them were decided no later than this after their nominal.
    pub median_ms: Option<u64>,
    /// None was decided later.
    pub max_ms: Option<u64>,
}

/// What an outage did to one schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Concerned {
    /// `namespace/name`; `null` when retention has passed its definition.
    pub schedule: Option<String>,
    /// Which incarnation.
    pub uid: String,
    /// How many of its firings were late.
    pub late: u64,
    /// The latest of them.
    pub max_ms: Option<u64>,
    /// How many of its instants were skipped.
    pub skipped: u64,
}
