//! What travels between peers: frozen structs, one schema, each with its golden bytes in `tests/golden.rs`.
//!
//! Must not know sockets. An append is a head and then its entries as they lie in the log, so that they are copied and
//! never decoded on the way: `[length of head u32][frame(Wire, head)][entry][entry]…`.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use campanile_storage::codec::{CodecError, Kind};
use openraft::AsyncRuntime;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderError,
    TransferLeaderRequest, TransferLeaderResponse, VoteRequest, VoteResponse,
};
use serde::{Deserialize, Serialize};

use crate::format::{self, LogIdForm, PeerForm, VoteForm};
use crate::types::{LogId, Types};

#[derive(Debug, Serialize, Deserialize)]
struct AppendHead {
    vote: VoteForm,
    previous: Option<LogIdForm>,
    committed: Option<LogIdForm>,
    lengths: Vec<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
enum AppendAnswer {
    Success,
    Partial(Option<LogIdForm>),
    Conflict,
    HigherVote(VoteForm),
}

#[derive(Debug, Serialize, Deserialize)]
struct VoteCall {
    vote: VoteForm,
    last_log: Option<LogIdForm>,
    transfer: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct VoteAnswer {
    vote: VoteForm,
    granted: bool,
    last_log: Option<LogIdForm>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TransferCall {
    from: VoteForm,
    to: u64,
    last_log: Option<LogIdForm>,
}

#[derive(Debug, Serialize, Deserialize)]
enum TransferAnswer {
    Accepted,
    VoteChanged { expected: VoteForm, actual: VoteForm },
    LogNotFlushed { expected: Option<LogIdForm>, actual: Option<LogIdForm> },
}

#[derive(Debug, Serialize, Deserialize)]
struct SnapshotAnswer {
    vote: VoteForm,
}

/// Who a node is and what it knows of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Where it is reached.
    pub peer: PeerForm,
    /// Its id, once it has one.
    pub node: Option<u64>,
    /// Whether it belongs to a cluster that was initialised.
    pub initialised: bool,
    /// Who leads, as far as it knows.
    pub leader: Option<u64>,
    /// The members, as far as it knows.
    pub members: Vec<MemberForm>,
}

/// A member of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberForm {
    /// Its id.
    pub node: u64,
    /// Where it is reached.
    pub peer: PeerForm,
    /// Whether it votes; a learner does not.
    pub voter: bool,
}

/// Let me in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinCall {
    /// Where the one who asks is reached.
    pub peer: PeerForm,
    /// The id that it was given before, if it was.
    pub node: Option<u64>,
}

/// What came of a [`JoinCall`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinAnswer {
    /// This id is yours and was never anybody's: start under it and ask again.
    Admitted(u64),
    /// You are a learner and have to catch up: ask again.
    Learning,
    /// You vote.
    Member,
    /// Ask this one, if any.
    NotLeader(Option<PeerForm>),
    /// Not now, for this reason: ask again later.
    NotNow(String),
}

/// Up to where a linearizable read must have applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadIndexAnswer {
    /// This index.
    At(u64),
    /// Ask somebody else.
    NotLeader,
    /// No quorum confirmed the leader in time.
    NoQuorum(String),
}

/// Any message as bytes.
pub fn encode<T: Serialize>(message: &T) -> Bytes {
    format::frame(Kind::Wire, message)
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// When the bytes are something else, or of a schema that this version does not know.
pub fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    format::value(Kind::Wire, bytes)
}

fn form(id: Option<&LogId>) -> Option<LogIdForm> {
    id.map(|id| (*id).into())
}

fn id(form: Option<LogIdForm>) -> Option<LogId> {
    form.map(Into::into)
}

/// An append as bytes.
pub fn append_bytes<R: AsyncRuntime>(request: &AppendEntriesRequest<Types<R>>) -> Bytes {
    let entries: Vec<Bytes> = request.entries.iter().map(format::entry_bytes).collect();
    let head = encode(&AppendHead {
        vote: (&request.vote).into(),
        previous: form(request.prev_log_id.as_ref()),
        committed: form(request.leader_commit.as_ref()),
        lengths: entries
            .iter()
            .map(|entry| u32::try_from(entry.len()).expect("entries are bounded"))
            .collect(),
    });
    let mut bytes = BytesMut::with_capacity(4 + head.len() + entries.iter().map(Bytes::len).sum::<usize>());
    bytes.put_u32_le(u32::try_from(head.len()).expect("a head is small"));
    bytes.put(head);
    entries.into_iter().for_each(|entry| bytes.put(entry));
    bytes.freeze()
}

/// Reads what [`append_bytes`] wrote. Commands are slices of `bytes`.
///
/// # Errors
/// When the bytes are not an append of a schema that this version knows.
pub fn append<R: AsyncRuntime>(mut bytes: Bytes) -> Result<AppendEntriesRequest<Types<R>>, CodecError> {
    let short = |bytes: &Bytes| CodecError::Short { kind: Kind::Wire, bytes: bytes.len() };
    let length = bytes.try_get_u32_le().map_err(|_| short(&bytes))? as usize;
    if bytes.len() < length {
        return Err(short(&bytes));
    }
    let head: AppendHead = decode(&bytes.split_to(length))?;
    let mut entries = Vec::with_capacity(head.lengths.len().min(bytes.len()));
    for length in head.lengths {
        if bytes.len() < length as usize {
            return Err(short(&bytes));
        }
        entries.push(format::entry(&bytes.split_to(length as usize))?);
    }
    if !bytes.is_empty() {
        return Err(CodecError::Trailing { kind: Kind::Wire, left: bytes.len() });
    }
    Ok(AppendEntriesRequest {
        vote: head.vote.into(),
        prev_log_id: id(head.previous),
        leader_commit: id(head.committed),
        entries,
    })
}

/// The answer to an append as bytes.
pub fn append_answer_bytes<R: AsyncRuntime>(answer: &AppendEntriesResponse<Types<R>>) -> Bytes {
    encode(&match answer {
        AppendEntriesResponse::Success => AppendAnswer::Success,
        AppendEntriesResponse::PartialSuccess(id) => AppendAnswer::Partial(form(id.as_ref())),
        AppendEntriesResponse::Conflict => AppendAnswer::Conflict,
        AppendEntriesResponse::HigherVote(vote) => AppendAnswer::HigherVote(vote.into()),
    })
}

/// Reads what [`append_answer_bytes`] wrote.
///
/// # Errors
/// As [`decode`].
pub fn append_answer<R: AsyncRuntime>(bytes: &[u8]) -> Result<AppendEntriesResponse<Types<R>>, CodecError> {
    Ok(match decode(bytes)? {
        AppendAnswer::Success => AppendEntriesResponse::Success,
        AppendAnswer::Partial(last) => AppendEntriesResponse::PartialSuccess(id(last)),
        AppendAnswer::Conflict => AppendEntriesResponse::Conflict,
        AppendAnswer::HigherVote(vote) => AppendEntriesResponse::HigherVote(vote.into()),
    })
}

/// A vote or pre-vote as bytes.
pub fn vote_bytes<R: AsyncRuntime>(request: &VoteRequest<Types<R>>) -> Bytes {
    encode(&VoteCall {
        vote: (&request.vote).into(),
        last_log: form(request.last_log_id.as_ref()),
        transfer: request.leadership_transfer,
    })
}

/// Reads what [`vote_bytes`] wrote.
///
/// # Errors
/// As [`decode`].
pub fn vote<R: AsyncRuntime>(bytes: &[u8]) -> Result<VoteRequest<Types<R>>, CodecError> {
    let VoteCall { vote, last_log, transfer } = decode(bytes)?;
    Ok(VoteRequest { leadership_transfer: transfer, ..VoteRequest::new(vote.into(), id(last_log)) })
}

/// The answer to a vote or pre-vote as bytes.
pub fn vote_answer_bytes<R: AsyncRuntime>(answer: &VoteResponse<Types<R>>) -> Bytes {
    encode(&VoteAnswer {
        vote: (&answer.vote).into(),
        granted: answer.vote_granted,
        last_log: form(answer.last_log_id.as_ref()),
    })
}

/// Reads what [`vote_answer_bytes`] wrote.
///
/// # Errors
/// As [`decode`].
pub fn vote_answer<R: AsyncRuntime>(bytes: &[u8]) -> Result<VoteResponse<Types<R>>, CodecError> {
    let VoteAnswer { vote, granted, last_log } = decode(bytes)?;
    Ok(VoteResponse { vote: vote.into(), vote_granted: granted, last_log_id: id(last_log) })
}

/// A hand-over as bytes.
pub fn transfer_bytes<R: AsyncRuntime>(request: &TransferLeaderRequest<Types<R>>) -> Bytes {
    encode(&TransferCall {
        from: request.from_leader().into(),
        to: *request.to_node_id(),
        last_log: form(request.last_log_id()),
    })
}

/// Reads what [`transfer_bytes`] wrote.
///
/// # Errors
/// As [`decode`].
pub fn transfer<R: AsyncRuntime>(bytes: &[u8]) -> Result<TransferLeaderRequest<Types<R>>, CodecError> {
    let TransferCall { from, to, last_log } = decode(bytes)?;
    Ok(TransferLeaderRequest::new(from.into(), to, id(last_log)))
}

/// The answer to a hand-over as bytes.
pub fn transfer_answer_bytes<R: AsyncRuntime>(answer: &TransferLeaderResponse<Types<R>>) -> Bytes {
    encode(&match answer {
        Ok(()) => TransferAnswer::Accepted,
        Err(TransferLeaderError::VoteChanged { expected, actual }) => {
            TransferAnswer::VoteChanged { expected: expected.into(), actual: actual.into() }
        }
        Err(TransferLeaderError::LogNotFlushed { expected, actual }) => {
            TransferAnswer::LogNotFlushed { expected: form(expected.as_ref()), actual: form(actual.as_ref()) }
        }
    })
}

/// Reads what [`transfer_answer_bytes`] wrote.
///
/// # Errors
/// As [`decode`].
pub fn transfer_answer<R: AsyncRuntime>(
    bytes: &[u8],
) -> Result<TransferLeaderResponse<Types<R>>, CodecError> {
    Ok(match decode(bytes)? {
        TransferAnswer::Accepted => Ok(()),
        TransferAnswer::VoteChanged { expected, actual } => {
            Err(TransferLeaderError::VoteChanged { expected: expected.into(), actual: actual.into() })
        }
        TransferAnswer::LogNotFlushed { expected, actual } => {
            Err(TransferLeaderError::LogNotFlushed { expected: id(expected), actual: id(actual) })
        }
    })
}

/// The answer to a snapshot as bytes.
pub fn snapshot_answer_bytes<R: AsyncRuntime>(answer: &SnapshotResponse<Types<R>>) -> Bytes {
    encode(&SnapshotAnswer { vote: (&answer.vote).into() })
}

/// Reads what [`snapshot_answer_bytes`] wrote.
///
/// # Errors
/// As [`decode`].
pub fn snapshot_answer<R: AsyncRuntime>(bytes: &[u8]) -> Result<SnapshotResponse<Types<R>>, CodecError> {
    let SnapshotAnswer { vote } = decode(bytes)?;
    Ok(SnapshotResponse::new(vote.into()))
}
