//! Asking a peer where its ledger ended at an entry.
//!
//! A peer answers from its files, beside its own applying: two nodes that ask each other in the middle of an entry both get
//! an answer. Must not judge; [`crate::compare`] does.

use std::sync::Arc;
use std::time::Duration;

use campanile_storage::Trouble;
use campanile_storage::ledger::{End, LedgerReader, Position};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::dialer::{Dialer, Target};
use super::{Purpose, message, path};
use crate::types::Peer;

/// How long a peer may take. It reads 32 KiB, or walks a segment once.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where did your ledger end at this entry?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndCall {
    /// The entry.
    pub index: u64,
}

/// What came of an [`EndCall`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndAnswer {
    /// Its ledger does not reach that far yet.
    NotYet,
    /// Retention has dropped it.
    Dropped,
    /// No row had been written.
    Empty,
    /// The last row up to there, and the running hash.
    At {
        /// Its entry.
        index: u64,
        /// Its number in the entry.
        n: u32,
        /// The running hash.
        hash: [u8; 16],
    },
}

/// Asks a node; `None` when it does not answer in time.
pub type AskEnd = Arc<dyn Fn(u64, &Peer, u64) -> BoxFuture<'static, Option<EndAnswer>> + Send + Sync>;

/// What this node answers. Blocking.
///
/// # Errors
/// When its ledger does not read.
pub fn answer(reader: &LedgerReader, call: EndCall) -> Result<EndAnswer, Trouble> {
    // An entry's rows are written at once, so who has one of them has them all.
    if reader.head().index() < call.index {
        return Ok(EndAnswer::NotYet);
    }
    Ok(reader.end_at(call.index)?.map_or(EndAnswer::Dropped, EndAnswer::from))
}

impl From<End> for EndAnswer {
    fn from(end: End) -> Self {
        match end.position {
            Some(Position { index, n }) => Self::At { index, n, hash: end.hash },
            None => Self::Empty,
        }
    }
}

/// Asks over the transport.
pub(crate) fn over(dialer: Arc<Dialer>) -> AskEnd {
    Arc::new(move |node, peer, index| {
        let (dialer, target) = (Arc::clone(&dialer), Target { address: peer.peer_address.clone(), node });
        Box::pin(async move {
            let call = message::encode(&EndCall { index });
            let asked = dialer.ask(&target, Purpose::Forward, path::LEDGER_END, call, PATIENCE).await;
            message::decode(&asked.ok()?).ok()
        })
    })
}
