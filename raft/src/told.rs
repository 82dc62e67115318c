//! An entry of the log as its bytes tell it, without a type of openraft's: for those who judge a log from outside.

use bytes::Bytes;
use campanile_core::command::Command;
use campanile_core::id::NodeId;
use campanile_storage::codec::CodecError;

use crate::format;
use crate::types::Payload;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Its index,
    pub index: u64,
    /// and term.
    pub term: u64,
    /// What it says.
    pub what: What,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Nothing: a new leader has begun its term.
    Nothing,
    /// A command for the machine.
    Command(Box<Command>),
    /// Who the members are.
    Members {
        /// Those whose majority commits.
        voters: Vec<NodeId>,
        /// Those that only follow.
        learners: Vec<NodeId>,
    },
}

/// Reads an entry as a log's store holds it.
///
/// # Errors
/// When the bytes are no entry, or its command is of a newer version.
pub fn told(bytes: &Bytes) -> Result<Told, CodecError> {
    let entry = format::entry(bytes)?;
    let what = match &entry.payload {
        Payload::Blank => What::Nothing,
        Payload::Normal(proposal) => What::Command(Box::new(proposal.command()?)),
        Payload::Membership(membership) => What::Members {
            voters: membership.voter_ids().map(NodeId).collect(),
            learners: membership.learner_ids().map(NodeId).collect(),
        },
    };
    Ok(Told { index: entry.log_id.index, term: entry.log_id.committed_leader_id().term, what })
}

/// Its term and index alone.
///
/// # Errors
/// As [`told`].
pub fn place(bytes: &Bytes) -> Result<(u64, u64), CodecError> {
    let id = format::entry(bytes)?.log_id;
    Ok((id.committed_leader_id().term, id.index))
}
