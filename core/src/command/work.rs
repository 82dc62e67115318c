//! What the holders of leases say, in batches: they begin, take, extend and settle.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Request;
use crate::attempt::{Holder, Report};
use crate::firing::FiringId;
use crate::id::AttemptNumber;
use crate::time::Span;

/// What holders say. Decided in the order of the fields, so that what a settlement frees can be leased in the same entry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Work {
    /// Reports on attempts, in the order in which they came.
    pub settles: Vec<SettleItem>,
    /// Leases that go on.
    pub extends: Vec<Extend>,
    /// Workers that ask for firings of a queue. Which they get is decided at the place in the log.
    pub takes: Vec<Take>,
    /// Nodes that begin attempts on firings which they have chosen. With what the takes may get, at most
    /// [`crate::id::PLACES_PER_ENTRY`].
    pub begins: Vec<Begin>,
}

impl Work {
    /// One holder begins these.
    #[must_use]
    pub fn begin(holder: Holder, items: Vec<BeginItem>) -> Self {
        Self { begins: vec![Begin { holder, items }], ..Self::default() }
    }

    /// These are reported.
    #[must_use]
    pub fn settle(settles: Vec<SettleItem>) -> Self {
        Self { settles, ..Self::default() }
    }

    /// Whether nobody says anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.settles.is_empty() && self.extends.is_empty() && self.takes.is_empty() && self.begins.is_empty()
    }
}

/// Leases on attempts, for one holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Who will do them.
    pub holder: Holder,
    /// Which.
    pub items: Vec<BeginItem>,
}

/// A lease on one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginItem {
    /// Of which firing.
    pub firing: FiringId,
    /// Which attempt: one more than the last.
    pub attempt: AttemptNumber,
    /// How long the lease lasts.
    pub ttl: Span,
}

/// A worker asks for the next firings of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    /// Of which queue.
    pub queue: Arc<str>,
    /// Who asks.
    pub worker: Arc<str>,
    /// At most so many, at most [`crate::queue::MAX_LEASES`].
    pub most: u32,
    /// How long each lease lasts.
    pub ttl: Span,
    /// Under which key the answer is remembered: a worker that does not know what it got asks again.
    pub request: Request,
}

/// A lease goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extend {
    /// Of which firing.
    pub firing: FiringId,
    /// Which attempt; refused unless it is the one that runs.
    pub attempt: AttemptNumber,
    /// It lasts so long from here on; never shorter than before.
    pub ttl: Span,
}

/// A report on one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettleItem {
    /// Of which firing.
    pub firing: FiringId,
    /// Which attempt; refused unless it is the one that runs.
    pub attempt: AttemptNumber,
    /// What came of it.
    pub report: Report,
}
