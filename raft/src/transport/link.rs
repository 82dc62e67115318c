//! openraft's network over the [`Dialer`]: one link per peer, all five questions.
//!
//! Must not decide: errors are named for what openraft does with them. *Unreachable* makes it back off, *timeout* and
//! *network* let it try again at once.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::runtime::Runtime;
use openraft::errors::{NetworkError, RPCError, ReplicationClosed, StreamingError, Timeout, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest,
    TransferLeaderResponse, VoteRequest, VoteResponse,
};
use openraft::type_config::alias::SnapshotOf;
use openraft::{OptionalSend, RPCTypes, RaftNetworkFactory, RaftNetworkV2};

use super::dialer::{CallError, Dialer, Target};
use super::{Purpose, message, path, shipment};
use crate::image::Parcel;
use crate::types::{Peer, Types, Vote};

type C = Types<Runtime>;

/// Makes links.
#[derive(Debug, Clone)]
pub struct Links {
    /// Asks.
    pub dialer: Arc<Dialer>,
    /// This node.
    pub node: u64,
    /// How long a peer may take to make entries durable. openraft names the heartbeat interval as the limit of every
    /// append, which suits a heartbeat; a disk that takes longer for a sync would be asked the same again and again.
    pub append_patience: Duration,
}

impl RaftNetworkFactory<C> for Links {
    type Network = Link;

    async fn new_client(&mut self, target: u64, peer: &Peer) -> Link {
        self.link(target, peer, Purpose::Append)
    }

    async fn new_heartbeat_client(&mut self, target: u64, peer: &Peer) -> Link {
        self.link(target, peer, Purpose::Heartbeat)
    }

    async fn new_snapshot_client(&mut self, target: u64, peer: &Peer) -> Link {
        self.link(target, peer, Purpose::Snapshot)
    }
}

impl Links {
    fn link(&self, node: u64, peer: &Peer, purpose: Purpose) -> Link {
        let target = Target { address: peer.peer_address.clone(), node };
        Link { links: self.clone(), target, purpose }
    }
}

/// The way to one peer, for one purpose.
#[derive(Debug)]
pub struct Link {
    links: Links,
    target: Target,
    purpose: Purpose,
}

impl Link {
    async fn ask(
        &self,
        purpose: Purpose,
        path: &str,
        body: bytes::Bytes,
        ttl: Duration,
        action: RPCTypes,
    ) -> Result<bytes::Bytes, RPCError<C>> {
        let asked = self.links.dialer.ask(&self.target, purpose, path, body, ttl).await;
        asked.map_err(|error| self.failed(&error, action))
    }

    fn failed(&self, error: &CallError, action: RPCTypes) -> RPCError<C> {
        match error {
            CallError::Unreachable { .. } | CallError::Refused { .. } => Unreachable::new(error).into(),
            CallError::Broken { .. } => NetworkError::new(error).into(),
            CallError::Timeout { ttl, .. } => {
                Timeout { action, id: self.links.node, target: self.target.node, timeout: *ttl }.into()
            }
        }
    }
}

/// An answer that cannot be read is like none.
fn unread(error: &campanile_storage::CodecError) -> RPCError<C> {
    NetworkError::new(error).into()
}

impl RaftNetworkV2<C> for Link {
    type SnapshotData = Parcel;

    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<C>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<C>, RPCError<C>> {
        let ttl = match request.entries.is_empty() {
            true => option.soft_ttl(),
            false => option.soft_ttl().max(self.links.append_patience),
        };
        let body = message::append_bytes(&request);
        let answer = self.ask(self.purpose, path::APPEND, body, ttl, RPCTypes::AppendEntries).await?;
        message::append_answer(&answer).map_err(|error| unread(&error))
    }

    async fn vote(
        &mut self,
        request: VoteRequest<C>,
        option: RPCOption,
    ) -> Result<VoteResponse<C>, RPCError<C>> {
        let body = message::vote_bytes(&request);
        let answer = self.ask(Purpose::Vote, path::VOTE, body, option.soft_ttl(), RPCTypes::Vote).await?;
        message::vote_answer(&answer).map_err(|error| unread(&error))
    }

    async fn pre_vote(
        &mut self,
        request: VoteRequest<C>,
        option: RPCOption,
    ) -> Result<VoteResponse<C>, RPCError<C>> {
        let body = message::vote_bytes(&request);
        let answer = self.ask(Purpose::Vote, path::PRE_VOTE, body, option.soft_ttl(), RPCTypes::Vote).await?;
        message::vote_answer(&answer).map_err(|error| unread(&error))
    }

    async fn transfer_leader(
        &mut self,
        request: TransferLeaderRequest<C>,
        option: RPCOption,
    ) -> Result<TransferLeaderResponse<C>, RPCError<C>> {
        let body = message::transfer_bytes(&request);
        let ttl = option.soft_ttl();
        let answer = self.ask(Purpose::Vote, path::TRANSFER, body, ttl, RPCTypes::TransferLeader).await?;
        message::transfer_answer(&answer).map_err(|error| unread(&error))
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: SnapshotOf<C, Parcel>,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<C>, StreamingError<C>> {
        let body = shipment::body(vote, snapshot.snapshot);
        let sent = self.links.dialer.send(&self.target, Purpose::Snapshot, path::SNAPSHOT, body);
        let ttl = option.soft_ttl();
        let answer = tokio::select! {
            biased;
            closed = cancel => return Err(closed.into()),
            answer = tokio::time::timeout(ttl, sent) => answer,
        };
        let timeout = || CallError::Timeout { address: self.target.address.clone(), ttl };
        let answer = answer
            .unwrap_or_else(|_| Err(timeout()))
            .map_err(|error| self.failed(&error, RPCTypes::InstallSnapshot))?;
        message::snapshot_answer(&answer).map_err(|error| unread(&error).into())
    }
}
