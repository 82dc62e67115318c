//! What a duty of the leader needs of its office: look at the machine, propose, and hear that something changed.
//!
//! The real one is consensus; the other one applies to a machine in this process, for tests that are about a duty and not
//! about consensus. A duty knows no more than this, so it cannot act without proposing.

use std::future::Future;
use std::sync::Arc;

use campanile_core::command::Body;
use campanile_core::event::LedgerEnd;
use campanile_core::format::FormatLevel;
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// This node is not the leader, or not any more. Nothing was appended; the scope of the office is about to end.
    #[error("this node is out of office")]
    OutOfOffice,
    /// Too many proposals are under way. Nothing was appended; propose again later.
    #[error("too many proposals are under way")]
    Busy,
    /// The entry would be larger than the log takes. Nothing was appended; split it.
    #[error("{0}")]
    TooLarge(String),
    /// Nobody knows whether it was committed: look at the state, never assume.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
    /// The node is stopping.
    #[error("the node is stopping: {0}")]
    Stopped(String),
}

/// The right to propose, for as long as the office lasts. Clones are the same office.
pub trait Office: Clone + Send + Sync + 'static {
    /// The node that holds it.
    fn node(&self) -> NodeId;

    /// The machine as far as it has been applied here. After a reply it holds what the reply speaks of.
    fn view(&self) -> Arc<Machine>;

    /// Returns once something beyond that index has been applied; at once when it has.
    fn applied_beyond(&self, index: LogIndex) -> impl Future<Output = ()> + Send;

    /// Whether an entry may carry `now`, a reading of the wall clock that was just taken. Not while this node's clock is too
    /// far ahead of its peers': then nothing may be decided by it (`SEMANTICS` §7).
    fn allows(&self, now: Timestamp) -> bool;

    /// The end of this node's ledger, for every node to compare its own with, once the others were asked; `None` when there
    /// is nothing to state, or nobody to compare with as in a test of one process.
    fn compared_end(&self) -> impl Future<Output = Option<LedgerEnd>> + Send {
        async { None }
    }

    /// The newest format level that every member reads; `None` while one has not said it lately, or where there are no
    /// members as in a test of one process.
    fn common_level(&self) -> Option<FormatLevel> {
        None
    }

    /// Proposes what `plan` makes of the moment that the entry will carry (`now`, the log's time when that is later, or the
    /// peers' time when this node's clock is too far ahead of it) and of the machine, and waits for what apply answers. `plan` runs before the first await and holds up every other
    /// proposal, so it must be short; `None` proposes nothing.
    fn propose(
        &self,
        now: Timestamp,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body> + Send,
    ) -> impl Future<Output = Result<Option<Reply>, NoReply>> + Send;
}
