//! The right to propose, for one term of one leader.
//!
//! ```text
//!   propose(now, plan):  under one lock { at = max(bounded now, last stamp, log's time); plan(at, view); hand to openraft }  then wait
//! ```
//! The lock makes the order of stamps the order of the log, so the log's time never runs back. openraft is told the term,
//! so a proposal of a lost office is never appended by a later one; the epoch in the command makes `apply` the last judge.
//! Must not decide what to propose, and must not retry: what is unknown is said to be unknown.

use std::sync::{Arc, Mutex, PoisonError};

use crate::runtime::Runtime;
use campanile_core::command::{Body, Command};
use campanile_core::id::{Epoch, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::mutant::{self, Mutant};
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use campanile_storage::CodecError;
use campanile_storage::log::ENTRY_LIMIT;
use futures_util::FutureExt;
use openraft::async_runtime::WatchReceiver;
use openraft::errors::{ClientWriteError, ForwardToLeader};
use openraft::raft::ClientWriteResult;
use openraft::type_config::alias::OneshotReceiverOf;
use openraft::{AsyncRuntime, Raft};
use tokio::sync::Semaphore;

use crate::apply::Applier;
use crate::fatal::Fatal;
use crate::format::ENTRY_HEAD;
use crate::stamp::Stamps;
use crate::types::{Answer, Answerer, Peer, Proposal, Types};
use crate::view::View;

/// The largest command: what an entry of the log leaves beside its head.
pub const COMMAND_LIMIT: usize = ENTRY_LIMIT - ENTRY_HEAD;

/// Why a proposal has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// This office is lost; the command was never appended. Ask the leader, if one is known.
    #[error("this node does not lead")]
    NotLeader {
        /// Who leads, as far as this node knows.
        leader: Option<(NodeId, Peer)>,
    },
    /// Too many proposals are in flight; the command was never appended. Try again later.
    #[error("too many proposals are in flight")]
    Busy,
    /// The command is larger than an entry may be; it was never appended. Split it.
    #[error("the command has {bytes} bytes, more than {COMMAND_LIMIT}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It may have been committed, or may still be: look at the state of the next leader.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
    /// This node stops; the command was never appended.
    #[error("this node stops: {0}")]
    Stopped(String),
}

/// What every office of a node works with.
pub struct Chancery<R: AsyncRuntime> {
    pub(crate) raft: Raft<Types<R>, Applier<R>>,
    pub(crate) view: Arc<View>,
    pub(crate) fatal: Fatal,
    pub(crate) in_flight: Arc<Semaphore>,
    pub(crate) stamps: Stamps,
}

impl<R: AsyncRuntime> Chancery<R> {
    /// Hands a proposal to openraft, for this term only, without waiting for anything.
    pub(crate) fn hand_over(&self, term: Term, command: &Command) -> Result<Pending<R>, ProposeError> {
        let place = Arc::clone(&self.in_flight).try_acquire_owned().map_err(|_| ProposeError::Busy)?;
        let proposal = Proposal::of(self.view.machine().format_level(), command).map_err(too_large)?;
        if proposal.bytes().len() > COMMAND_LIMIT {
            return Err(ProposeError::TooLarge { bytes: proposal.bytes().len() });
        }
        let (answerer, answer) = Answerer::<R, _>::pair(place);
        let write = self.raft.write(proposal).responder(answerer);
        let write = if mutant::is_on(Mutant::NoEpochCheck) { write } else { write.with_leader(term.0) };
        // openraft takes it in with one poll unless its queue is full. Tokio's budget must not be what says no.
        match tokio::task::unconstrained(write.into_future()).now_or_never() {
            Some(Ok(())) => Ok(Pending { answer, fatal: self.fatal.clone() }),
            Some(Err(stopped)) => Err(ProposeError::Stopped(self.why(&stopped))),
            None => Err(self.fatal.reason().map_or(ProposeError::Busy, ProposeError::Stopped)),
        }
    }

    /// `now`, or the latest moment that an entry may carry now when that is earlier; see [`crate::stamp`].
    pub(crate) fn stamp(&self, now: Timestamp) -> Timestamp {
        let metrics = self.raft.server_metrics();
        let metrics = metrics.borrow_watched();
        self.stamps.bounded(now, metrics.membership_config.membership().voter_ids())
    }

    fn why(&self, stopped: &impl ToString) -> String {
        self.fatal.reason().unwrap_or_else(|| stopped.to_string())
    }
}

fn too_large(error: CodecError) -> ProposeError {
    match error {
        CodecError::TooLarge { bytes, .. } => ProposeError::TooLarge { bytes },
        // A command that cannot be encoded is a defect of whoever made it, and nothing was sent.
        other => ProposeError::Stopped(other.to_string()),
    }
}

/// The right to propose. Clones are the same office.
pub struct Office<R: AsyncRuntime = Runtime>(Arc<Desk<R>>);

struct Desk<R: AsyncRuntime> {
    chancery: Arc<Chancery<R>>,
    epoch: Epoch,
    term: Term,
    /// The last time that was stamped on a command.
    stamped: Mutex<Timestamp>,
}

impl<R: AsyncRuntime> Clone for Office<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: AsyncRuntime> std::fmt::Debug for Office<R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Office")
            .field("epoch", &self.epoch())
            .field("term", &self.term())
            .finish_non_exhaustive()
    }
}

impl<R: AsyncRuntime> Office<R> {
    pub(crate) fn new(chancery: Arc<Chancery<R>>, epoch: Epoch, term: Term, stamped: Timestamp) -> Self {
        Self(Arc::new(Desk { chancery, epoch, term, stamped: Mutex::new(stamped) }))
    }

    /// The index of the entry with which it was taken; every command carries it.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.0.epoch
    }

    /// The term that it holds for.
    #[must_use]
    pub fn term(&self) -> Term {
        self.0.term
    }

    /// Whether an entry may carry `now`, a reading of the wall clock that was just taken: not when this clock is too far
    /// ahead of the others.
    #[must_use]
    pub fn allows(&self, now: Timestamp) -> bool {
        self.0.chancery.stamp(now) == now
    }

    /// Proposes what `plan` makes of the stamped time and the machine as it is now, and waits for what the log decides.
    /// `None` when there was nothing to propose. The reply may be a rejection. The stamped time is later than `now` when
    /// the log's is, and earlier when this clock is too far ahead of the others: what needs `now` to have come must look.
    ///
    /// # Errors
    /// As [`ProposeError`] tells apart.
    pub async fn propose(
        &self,
        now: Timestamp,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body>,
    ) -> Result<Option<Reply>, ProposeError> {
        match self.hand_over(now, plan)? {
            Some(pending) => pending.reply().await.map(Some),
            None => Ok(None),
        }
    }

    /// As [`Office::propose`], but returns as soon as the command has its place in the order. `plan` runs under the lock
    /// that makes the order: it must be short and must not propose.
    ///
    /// # Errors
    /// As [`ProposeError`] tells apart; nothing was appended.
    pub fn hand_over(
        &self,
        now: Timestamp,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body>,
    ) -> Result<Option<Pending<R>>, ProposeError> {
        let desk = &*self.0;
        let mut stamped = desk.stamped.lock().unwrap_or_else(PoisonError::into_inner);
        let machine = desk.chancery.view.machine();
        // A step of one millisecond on the log's time is no clock's word and is not bounded: where clocks have to catch up
        // with the log, it is how two requests of one moment are told apart.
        let is_step = now <= machine.clock().successor();
        let now = if is_step { now } else { desk.chancery.stamp(now) };
        let at = now.max(*stamped).max(machine.clock());
        let Some(body) = plan(at, &machine) else { return Ok(None) };
        let command = Command { at, epoch: desk.epoch, body };
        let pending = desk.chancery.hand_over(desk.term, &command)?;
        *stamped = at;
        Ok(Some(pending))
    }
}

/// A proposal that is on its way.
pub struct Pending<R: AsyncRuntime = Runtime> {
    answer: OneshotReceiverOf<Types<R>, ClientWriteResult<Types<R>>>,
    fatal: Fatal,
}

impl<R: AsyncRuntime> Pending<R> {
    /// Waits for what the log decides.
    ///
    /// # Errors
    /// [`ProposeError::NotLeader`] or [`ProposeError::Unknown`].
    pub async fn reply(self) -> Result<Reply, ProposeError> {
        match self.answer.await {
            Ok(Ok(response)) => match response.data {
                Answer::Reply(reply) => Ok(reply),
                Answer::Nothing => Err(ProposeError::Unknown("the entry held no command".into())),
            },
            // openraft answers this before it appends, and something else once it has.
            Ok(Err(ClientWriteError::ForwardToLeader(forward))) => {
                tracing::debug!("a proposal is refused: its office is over");
                Err(not_leader(forward))
            }
            Ok(Err(error)) => Err(ProposeError::Unknown(error.to_string())),
            Err(_) => Err(ProposeError::Unknown(
                self.fatal.reason().unwrap_or_else(|| "the answer was dropped".into()),
            )),
        }
    }
}

fn not_leader<R: AsyncRuntime>(forward: ForwardToLeader<Types<R>>) -> ProposeError {
    ProposeError::NotLeader { leader: forward.leader_id.map(NodeId).zip(forward.leader_node) }
}
