//! The types openraft is instantiated with, and short names for what follows from them.
//!
//! Nothing outside this room names an openraft type, and none of them reaches a disk or a wire as it is: [`crate::format`]
//! has structs of our own for that. Everything here is generic over the async runtime, so that a seeded one can take
//! tokio's place in the simulation.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use campanile_core::command::Command;
use campanile_core::format::FormatLevel;
use campanile_core::reply::Reply;
use campanile_storage::codec::{CodecError, Kind};
use openraft::async_runtime::OneshotSender;
use openraft::impls::{InlineBatch, leader_id_std};
use openraft::raft::responder::Responder;
use openraft::type_config::TypeConfigExt;
use openraft::type_config::alias::{OneshotReceiverOf, OneshotSenderOf};
use openraft::vote::RaftLeaderId;
use openraft::{AsyncRuntime, OptionalSend, RaftTypeConfig};
use tokio::sync::OwnedSemaphorePermit;

use crate::level;

/// The type configuration of openraft over the runtime `R`. Written by hand since the macro for it cannot be generic.
pub struct Types<R>(PhantomData<fn() -> R>);

/// Term and candidate: `leader_id_std`, so a term has one leader at most.
pub type LeaderId = leader_id_std::LeaderId<u64, u64>;
/// What of a leader's id stands in a log id: the term alone.
pub type CommittedLeaderId = <LeaderId as RaftLeaderId>::Committed;
/// Term and index of an entry.
pub type LogId = openraft::LogId<CommittedLeaderId>;
/// A vote, granted or not.
pub type Vote = openraft::Vote<LeaderId>;
/// Who votes, who learns, and where they are.
pub type Membership = openraft::Membership<u64, Peer>;
/// A membership with the log id of the entry that made it.
pub type StoredMembership = openraft::StoredMembership<CommittedLeaderId, u64, Peer>;
/// What an entry says.
pub type Payload = openraft::EntryPayload<Proposal, u64, Peer>;
/// One entry of the log.
pub type Entry = openraft::Entry<CommittedLeaderId, Payload>;
/// What a snapshot covers.
pub type SnapshotMeta = openraft::SnapshotMeta<CommittedLeaderId, u64, Peer>;

impl<R: AsyncRuntime> RaftTypeConfig for Types<R> {
    type D = Proposal;
    type R = Answer;
    type NodeId = u64;
    type Node = Peer;
    type Term = u64;
    type LeaderId = LeaderId;
    type Vote = Vote;
    type Payload = Payload;
    type Entry = Entry;
    type AsyncRuntime = R;
    type Responder<T>
        = Answerer<R, T>
    where
        T: OptionalSend + 'static;
    type Batch<T>
        = InlineBatch<T>
    where
        T: OptionalSend + 'static;
    type ErrorSource = openraft::impls::BoxedErrorSource;
}

/// Carries the answer to a proposal back to who waits for it, and gives back the proposal's place among those in flight:
/// only when openraft is done with it, so that a caller who walks away does not make room for more.
pub struct Answerer<R: AsyncRuntime, T: OptionalSend + 'static> {
    answer: OneshotSenderOf<Types<R>, T>,
    _place: OwnedSemaphorePermit,
}

impl<R: AsyncRuntime, T: OptionalSend + 'static> Answerer<R, T> {
    /// The two ends.
    #[must_use]
    pub fn pair(place: OwnedSemaphorePermit) -> (Self, OneshotReceiverOf<Types<R>, T>) {
        let (answer, receiver) = Types::<R>::oneshot();
        (Self { answer, _place: place }, receiver)
    }
}

impl<R: AsyncRuntime, T: OptionalSend + 'static> Responder<Types<R>, T> for Answerer<R, T> {
    fn on_complete(self, result: T) {
        // Nobody may be waiting any more; what the log decided stands all the same.
        let _ = self.answer.send(result);
    }
}

// A derive would ask the same of `R`, which is never a value here.
impl<R> fmt::Debug for Types<R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Types")
    }
}
impl<R> Clone for Types<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for Types<R> {}
impl<R> Default for Types<R> {
    fn default() -> Self {
        Self(PhantomData)
    }
}
impl<R> PartialEq for Types<R> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl<R> Eq for Types<R> {}
impl<R> PartialOrd for Types<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<R> Ord for Types<R> {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}

/// A command as bytes: encoded once when it is proposed, decoded once by each replica that applies it. Log and transport
/// copy the bytes and never look into them.
#[derive(Clone, PartialEq, Eq)]
pub struct Proposal(Bytes);

impl Proposal {
    /// The command, encoded at the level of the machine that it is proposed to.
    ///
    /// # Errors
    /// When it is larger than a reader would accept.
    pub fn of(level: FormatLevel, command: &Command) -> Result<Self, CodecError> {
        level::write(Kind::Command, level, command).map(|bytes| Self(bytes.into()))
    }

    /// Bytes that came from a log or a peer. They are not looked at before [`Proposal::command`].
    #[must_use]
    pub const fn from_bytes(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The level that it was encoded at.
    ///
    /// # Errors
    /// When the bytes are no command.
    pub fn level(&self) -> Result<FormatLevel, CodecError> {
        level::of(Kind::Command, &self.0)
    }

    /// The command.
    ///
    /// # Errors
    /// When the bytes are not a command of a schema that this version knows: the node must stop, since to skip a command
    /// would part the replicas.
    pub fn command(&self) -> Result<Command, CodecError> {
        level::read(Kind::Command, &self.0)
    }
}

impl fmt::Debug for Proposal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Proposal({} bytes)", self.0.len())
    }
}

impl fmt::Display for Proposal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} bytes", self.0.len())
    }
}

/// What applying an entry answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The entry held no command: a blank one, or a change of membership.
    Nothing,
    /// The machine's reply.
    Reply(Reply),
}

/// Where a node is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Peer {
    /// By its peers, as `host:port`.
    pub peer_address: String,
    /// By its users, as `host:port` or a URL; this room only passes it on.
    pub api_address: String,
}

/// The log id of `index` in `term`.
#[must_use]
pub fn log_id(term: u64, index: u64) -> LogId {
    LogId::new(LeaderId { term, voted_for: 0 }.to_committed(), index)
}
