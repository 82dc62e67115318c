//! Every format of this room, byte by byte. A change here is a new schema, never a new golden value.
//!
//! The values were worked out from the description of the formats, not copied from the output.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use bytes::Bytes;
use campanile_raft::format;
use campanile_raft::image::Covered;
use campanile_raft::runtime::Runtime as R;
use campanile_raft::transport::ends::{EndAnswer, EndCall};
use campanile_raft::transport::message::{self, Hello, JoinAnswer, JoinCall, MemberForm, ReadIndexAnswer};
use campanile_raft::types::{Entry, Membership, Payload, Peer, Proposal, StoredMembership, Vote, log_id};
use campanile_storage::ledger::Head;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderError,
    TransferLeaderRequest, VoteRequest, VoteResponse,
};

const VOTE: &str = "0101000300000000000000020000000000000001";
const MARK: &str = "03010003000000000000000700000000000000";
const BLANK: &str = "0201000300000000000000070000000000000000000000";
const COMMAND: &str = "02010003000000000000000800000000000000010000000401000908";
const MEMBERSHIP: &str = "020100030000000000000009000000000000000200000002010001000000000000000200000000000000010000000000\
     00000200000000000000020000000000000001000000000000000300000000000000613a310800000000000000687474\
     703a2f2f6102000000000000000300000000000000623a310000000000000000";
const APPEND: &str = "460000000701000300000000000000020000000000000001010200000000000000060000000000000001020000000000\
     000005000000000000000200000000000000170000001c00000002010003000000000000000700000000000000000000\
     0002010003000000000000000800000000000000010000000401000908";
const APPEND_SUCCESS: &str = "07010000000000";
const APPEND_PARTIAL: &str = "070100010000000103000000000000000700000000000000";
const APPEND_CONFLICT: &str = "07010002000000";
const APPEND_HIGHER: &str = "070100030000000400000000000000010000000000000000";
const VOTE_CALL: &str = "0701000400000000000000010000000000000000010300000000000000070000000000000001";
const VOTE_ANSWER: &str = "07010004000000000000000100000000000000000100";
const TRANSFER: &str =
    "070100030000000000000002000000000000000101000000000000000103000000000000000700000000000000";
const TRANSFER_ACCEPTED: &str = "07010000000000";
const TRANSFER_VOTE: &str =
    "0701000100000003000000000000000200000000000000010400000000000000010000000000000000";
const TRANSFER_LOG: &str = "07010002000000010300000000000000070000000000000000";
const SNAPSHOT_ANSWER: &str = "0701000300000000000000020000000000000001";
const HELLO: &str = "0701000300000000000000613a310800000000000000687474703a2f2f61010100000000000000010102000000000000\
     00010000000000000002000000000000000300000000000000623a31000000000000000000";
const JOIN: &str = "0701000300000000000000633a310800000000000000687474703a2f2f6301e803000000000000";
const JOIN_ADMITTED: &str = "07010000000000e803000000000000";
const JOIN_LEARNING: &str = "07010001000000";
const JOIN_MEMBER: &str = "07010002000000";
const JOIN_NOT_LEADER: &str = "07010003000000010300000000000000613a310800000000000000687474703a2f2f61";
const JOIN_NOT_NOW: &str = "07010004000000040000000000000062757379";
const READ_AT: &str = "070100000000000900000000000000";
const READ_NOT_LEADER: &str = "07010001000000";
const READ_NO_QUORUM: &str = "070100020000000500000000000000616c6f6e65";
const END_CALL: &str = "0701000900000000000000";
const END_NOT_YET: &str = "07010000000000";
const END_DROPPED: &str = "07010001000000";
const END_EMPTY: &str = "07010002000000";
const END_AT: &str = "070100030000000900000000000000020000000b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b";
const COVERED: &str = "060100010300000000000000090000000000000001030000000000000009000000000000000100000000000000020000\
     000000000001000000000000000200000000000000020000000000000001000000000000000300000000000000613a31\
     0800000000000000687474703a2f2f6102000000000000000300000000000000623a3100000000000000002d00000000\
     000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Bytes {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect::<Vec<_>>()
        .into()
}

fn vote() -> Vote {
    Vote::new_committed(3, 2)
}

fn candidate() -> Vote {
    Vote::new(4, 1)
}

fn peer(peer_address: &str, api_address: &str) -> Peer {
    Peer { peer_address: peer_address.into(), api_address: api_address.into() }
}

fn members() -> Membership {
    let nodes = BTreeMap::from([(1, peer("a:1", "http://a")), (2, peer("b:1", ""))]);
    Membership::new(vec![BTreeSet::from([1, 2])], nodes).unwrap()
}

fn entry(index: u64, payload: Payload) -> Entry {
    Entry { log_id: log_id(3, index), payload }
}

/// Two bytes in the frame of a command: this room never looks into them.
fn command() -> Payload {
    Payload::Normal(Proposal::from_bytes(Bytes::from_static(&[4, 1, 0, 9, 8])))
}

/// Written as the golden bytes, and read back as the same value.
fn golden<T: Debug + PartialEq>(
    value: &T,
    golden: &str,
    write: impl Fn(&T) -> Bytes,
    read: impl Fn(&Bytes) -> T,
) {
    assert_eq!(hex(&write(value)), golden, "{value:?}");
    assert_eq!(read(&bytes(golden)), *value);
}

#[test]
fn what_the_log_holds_keeps_its_form() {
    golden(&vote(), VOTE, format::vote_bytes, |bytes| format::vote(bytes).unwrap());
    golden(&log_id(3, 7), MARK, |id| format::mark_bytes(*id), |bytes| format::mark(bytes).unwrap());
    let entries = [
        (entry(7, Payload::Blank), BLANK),
        (entry(8, command()), COMMAND),
        (entry(9, Payload::Membership(members())), MEMBERSHIP),
    ];
    for (entry, expected) in entries {
        golden(&entry, expected, format::entry_bytes, |bytes| format::entry(bytes).unwrap());
    }
}

#[test]
fn an_image_says_what_it_covers_in_the_same_form() {
    let covered = Covered {
        last: Some(log_id(3, 9)),
        membership: StoredMembership::new(Some(log_id(3, 9)), members()),
        ledger: Head::default(),
    };
    golden(&covered, COVERED, Covered::to_bytes, |bytes| Covered::from_bytes(bytes).unwrap());
}

#[test]
fn appends_keep_their_form() {
    let request = AppendEntriesRequest {
        vote: vote(),
        prev_log_id: Some(log_id(2, 6)),
        leader_commit: Some(log_id(2, 5)),
        entries: vec![entry(7, Payload::Blank), entry(8, command())],
    };
    let written = message::append_bytes::<R>(&request);
    assert_eq!(hex(&written), APPEND);
    let read = message::append::<R>(bytes(APPEND)).unwrap();
    assert_eq!(format!("{read:?}"), format!("{request:?}"));
    let answers = [
        (AppendEntriesResponse::Success, APPEND_SUCCESS),
        (AppendEntriesResponse::PartialSuccess(Some(log_id(3, 7))), APPEND_PARTIAL),
        (AppendEntriesResponse::Conflict, APPEND_CONFLICT),
        (AppendEntriesResponse::HigherVote(candidate()), APPEND_HIGHER),
    ];
    for (answer, expected) in answers {
        golden(&answer, expected, message::append_answer_bytes::<R>, |bytes| {
            message::append_answer(bytes).unwrap()
        });
    }
}

#[test]
fn votes_and_hand_overs_keep_their_form() {
    let call = VoteRequest { leadership_transfer: true, ..VoteRequest::new(candidate(), Some(log_id(3, 7))) };
    golden(&call, VOTE_CALL, message::vote_bytes::<R>, |bytes| message::vote(bytes).unwrap());
    let answer = VoteResponse { vote: candidate(), vote_granted: true, last_log_id: None };
    golden(&answer, VOTE_ANSWER, message::vote_answer_bytes::<R>, |bytes| {
        message::vote_answer(bytes).unwrap()
    });
    let transfer = TransferLeaderRequest::new(vote(), 1, Some(log_id(3, 7)));
    golden(&transfer, TRANSFER, message::transfer_bytes::<R>, |bytes| message::transfer(bytes).unwrap());
    let changed = TransferLeaderError::VoteChanged { expected: vote(), actual: candidate() };
    let behind = TransferLeaderError::LogNotFlushed { expected: Some(log_id(3, 7)), actual: None };
    let answers = [(Ok(()), TRANSFER_ACCEPTED), (Err(changed), TRANSFER_VOTE), (Err(behind), TRANSFER_LOG)];
    for (answer, expected) in answers {
        golden(&answer, expected, message::transfer_answer_bytes::<R>, |bytes| {
            message::transfer_answer(bytes).unwrap()
        });
    }
    let answer = SnapshotResponse::new(vote());
    golden(&answer, SNAPSHOT_ANSWER, message::snapshot_answer_bytes::<R>, |bytes| {
        message::snapshot_answer(bytes).unwrap()
    });
}

#[test]
fn what_nodes_ask_each_other_keeps_its_form() {
    fn same<T: serde::Serialize + serde::de::DeserializeOwned + Debug + PartialEq>(
        value: &T,
        expected: &str,
    ) {
        golden(value, expected, message::encode, |bytes| message::decode(bytes).unwrap());
    }
    let (a, b, c) = (peer("a:1", "http://a"), peer("b:1", ""), peer("c:1", "http://c"));
    let member = MemberForm { node: 2, peer: (&b).into(), voter: false };
    let hello =
        Hello { peer: (&a).into(), node: Some(1), initialised: true, leader: Some(2), members: vec![member] };
    same(&hello, HELLO);
    same(&JoinCall { peer: (&c).into(), node: Some(1000) }, JOIN);
    same(&JoinAnswer::Admitted(1000), JOIN_ADMITTED);
    same(&JoinAnswer::Learning, JOIN_LEARNING);
    same(&JoinAnswer::Member, JOIN_MEMBER);
    same(&JoinAnswer::NotLeader(Some((&a).into())), JOIN_NOT_LEADER);
    same(&JoinAnswer::NotNow("busy".into()), JOIN_NOT_NOW);
    same(&EndCall { index: 9 }, END_CALL);
    same(&EndAnswer::NotYet, END_NOT_YET);
    same(&EndAnswer::Dropped, END_DROPPED);
    same(&EndAnswer::Empty, END_EMPTY);
    same(&EndAnswer::At { index: 9, n: 2, hash: [0x0b; 16] }, END_AT);
    same(&ReadIndexAnswer::At(9), READ_AT);
    same(&ReadIndexAnswer::NotLeader, READ_NOT_LEADER);
    same(&ReadIndexAnswer::NoQuorum("alone".into()), READ_NO_QUORUM);
}

#[test]
fn a_newer_schema_and_bytes_that_are_cut_off_are_refused() {
    let mut newer = bytes(APPEND).to_vec();
    newer[5] = 2;
    assert!(message::append::<R>(newer.into()).unwrap_err().to_string().contains("schema 2"));
    for cut in 0..APPEND.len() / 2 {
        assert!(message::append::<R>(bytes(APPEND).slice(..cut)).is_err(), "cut at {cut}");
    }
    let mut longer = bytes(APPEND).to_vec();
    longer.push(0);
    assert!(message::append::<R>(longer.into()).is_err());
    for cut in 0..format::ENTRY_HEAD {
        assert!(format::entry(&bytes(BLANK).slice(..cut)).is_err(), "cut at {cut}");
    }
}
