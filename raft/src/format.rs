//! What this room writes to disks and wires: frozen structs of our own, and the way from and to openraft's types.
//!
//! Must not know files or sockets. Each struct belongs to one schema number; a change is a new struct under a new number,
//! and the golden bytes in `tests/golden.rs` hold them. Entries are the exception to "a frame is one struct": their head
//! is a frame of fixed length and their body follows it untouched, so that a command is copied as bytes and never decoded
//! on the way from proposer to log to peer.
//!
//! ```text
//! entry = frame(LogEntry, 1, { term, index, what }) ++ body
//! body  = nothing (blank) | frame(Command, …) | frame(LogEntry, 1, membership)
//! ```

use std::collections::{BTreeMap, BTreeSet};

use bytes::{BufMut, Bytes, BytesMut};
use campanile_storage::codec::{self, CodecError, Kind};
use serde::{Deserialize, Serialize};

use crate::types::{Entry, LogId, Membership, Payload, Peer, Proposal, StoredMembership, Vote, log_id};

/// The schema of every struct in this file.
pub const SCHEMA: u16 = 1;

/// Bytes of an entry before its body: the frame's header, term, index and the tag of what it is.
pub const ENTRY_HEAD: usize = codec::HEADER + 8 + 8 + 4;

/// A vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteForm {
    term: u64,
    node: u64,
    committed: bool,
}

/// A log id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogIdForm {
    term: u64,
    index: u64,
}

/// A membership.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MembershipForm {
    configs: Vec<Vec<u64>>,
    nodes: Vec<(u64, PeerForm)>,
}

/// A node's addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerForm {
    peer_address: String,
    api_address: String,
}

/// A membership with the entry that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMembershipForm {
    log_id: Option<LogIdForm>,
    membership: MembershipForm,
}

#[derive(Debug, Serialize, Deserialize)]
struct EntryHead {
    term: u64,
    index: u64,
    what: What,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum What {
    Blank,
    Command,
    Membership,
}

impl From<&Vote> for VoteForm {
    fn from(vote: &Vote) -> Self {
        Self { term: vote.leader_id.term, node: vote.leader_id.voted_for, committed: vote.committed }
    }
}

impl From<VoteForm> for Vote {
    fn from(form: VoteForm) -> Self {
        match form.committed {
            true => Self::new_committed(form.term, form.node),
            false => Self::new(form.term, form.node),
        }
    }
}

impl From<LogId> for LogIdForm {
    fn from(id: LogId) -> Self {
        Self { term: id.leader_id.term, index: id.index }
    }
}

impl From<LogIdForm> for LogId {
    fn from(form: LogIdForm) -> Self {
        log_id(form.term, form.index)
    }
}

impl From<&Peer> for PeerForm {
    fn from(peer: &Peer) -> Self {
        Self { peer_address: peer.peer_address.clone(), api_address: peer.api_address.clone() }
    }
}

impl From<PeerForm> for Peer {
    fn from(form: PeerForm) -> Self {
        Self { peer_address: form.peer_address, api_address: form.api_address }
    }
}

impl From<&Membership> for MembershipForm {
    fn from(membership: &Membership) -> Self {
        Self {
            configs: membership.get_joint_config().iter().map(|ids| ids.iter().copied().collect()).collect(),
            nodes: membership.nodes().map(|(id, peer)| (*id, peer.into())).collect(),
        }
    }
}

impl MembershipForm {
    fn into_membership(self, kind: Kind) -> Result<Membership, CodecError> {
        let configs: Vec<BTreeSet<u64>> = self.configs.into_iter().map(BTreeSet::from_iter).collect();
        let nodes: BTreeMap<u64, Peer> = self.nodes.into_iter().map(|(id, peer)| (id, peer.into())).collect();
        Membership::new(configs, nodes).map_err(|why| CodecError::Malformed { kind, why: why.to_string() })
    }
}

impl From<&StoredMembership> for StoredMembershipForm {
    fn from(stored: &StoredMembership) -> Self {
        Self { log_id: stored.log_id().map(Into::into), membership: stored.membership().into() }
    }
}

impl StoredMembershipForm {
    /// The membership.
    ///
    /// # Errors
    /// When a voter has no address.
    pub fn into_stored(self, kind: Kind) -> Result<StoredMembership, CodecError> {
        let membership = self.membership.into_membership(kind)?;
        Ok(StoredMembership::new(self.log_id.map(Into::into), membership))
    }
}

/// A value of this file as a frame of `kind`.
///
/// # Panics
/// Never: the structs of this file are small and have a byte form.
pub fn frame<T: Serialize>(kind: Kind, value: &T) -> Bytes {
    codec::encode(kind, SCHEMA, value).expect("a small struct has a byte form").into()
}

/// The value in a frame of `kind`.
///
/// # Errors
/// When the bytes are something else, or of a schema that this version does not know.
pub fn value<T: serde::de::DeserializeOwned>(kind: Kind, bytes: &[u8]) -> Result<T, CodecError> {
    let frame = codec::open(kind, bytes)?;
    match frame.schema() {
        SCHEMA => frame.decode(),
        _ => Err(frame.unknown_schema()),
    }
}

/// A vote for the disk.
#[must_use]
pub fn vote_bytes(vote: &Vote) -> Bytes {
    frame(Kind::Vote, &VoteForm::from(vote))
}

/// A vote from the disk.
///
/// # Errors
/// As [`value`].
pub fn vote(bytes: &[u8]) -> Result<Vote, CodecError> {
    value::<VoteForm>(Kind::Vote, bytes).map(Into::into)
}

/// What the log says about itself: how far it is committed or purged.
#[must_use]
pub fn mark_bytes(id: LogId) -> Bytes {
    frame(Kind::LogMeta, &LogIdForm::from(id))
}

/// Reads what [`mark_bytes`] wrote.
///
/// # Errors
/// As [`value`].
pub fn mark(bytes: &[u8]) -> Result<LogId, CodecError> {
    value::<LogIdForm>(Kind::LogMeta, bytes).map(Into::into)
}

/// An entry for the disk and for peers.
#[must_use]
pub fn entry_bytes(entry: &Entry) -> Bytes {
    let (what, body) = match &entry.payload {
        Payload::Blank => (What::Blank, Bytes::new()),
        Payload::Normal(proposal) => (What::Command, proposal.bytes().clone()),
        Payload::Membership(members) => {
            (What::Membership, frame(Kind::LogEntry, &MembershipForm::from(members)))
        }
    };
    let LogIdForm { term, index } = entry.log_id.into();
    let head = frame(Kind::LogEntry, &EntryHead { term, index, what });
    assert_eq!(head.len(), ENTRY_HEAD, "the head of an entry has a fixed length");
    let mut bytes = BytesMut::with_capacity(ENTRY_HEAD + body.len());
    bytes.put(head);
    bytes.put(body);
    bytes.freeze()
}

/// Reads what [`entry_bytes`] wrote; the command in it is a slice of `bytes` and stays undecoded.
///
/// # Errors
/// As [`value`].
pub fn entry(bytes: &Bytes) -> Result<Entry, CodecError> {
    let kind = Kind::LogEntry;
    if bytes.len() < ENTRY_HEAD {
        return Err(CodecError::Short { kind, bytes: bytes.len() });
    }
    let head: EntryHead = value(kind, &bytes[..ENTRY_HEAD])?;
    let body = bytes.slice(ENTRY_HEAD..);
    let payload = match head.what {
        What::Blank if body.is_empty() => Payload::Blank,
        What::Blank => return Err(CodecError::Trailing { kind, left: body.len() }),
        What::Command => Payload::Normal(Proposal::from_bytes(body)),
        What::Membership => Payload::Membership(value::<MembershipForm>(kind, &body)?.into_membership(kind)?),
    };
    Ok(Entry { log_id: log_id(head.term, head.index), payload })
}
