//! Founding a cluster: who may, under which id, and when.
//!
//! Everybody must have answered, and none of them may know of a cluster: whoever does not answer might. The first of the
//! sorted list initialises, and only when every other founder has written down its id. Otherwise a slow one would find an
//! initialised cluster, take itself for a wiped node, and ask for a second id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::time::Instant;

use bytes::Bytes;
use openraft::errors::{InitializeError, RaftError};

use tokio_util::sync::CancellationToken;

use super::{ASK_EVERY, Entrance, SAY_EVERY, own_peer};
use crate::fatal::Fatal;
use crate::settings::Options;
use crate::transport::dialer::{Dialer, Target};
use crate::transport::doors::Node;
use crate::transport::guard::ANYBODY;
use crate::transport::message::{self, Hello};
use crate::transport::{Purpose, path};
use crate::types::Peer;

/// What a node without an identity sees around it.
pub(super) enum Surroundings {
    /// No cluster anywhere: it is a founder with this id.
    Nothing(u64),
    /// A cluster that it does not belong to.
    Cluster,
}

/// The peer addresses in the order that gives their ids: 1 for the first.
pub(super) fn founders(options: &Options) -> BTreeSet<&str> {
    options.peers.iter().map(String::as_str).collect()
}

/// The id of the first founder, who initialises.
pub(super) const FIRST: u64 = 1;

/// The id of the founder at `place`.
fn founder_id(place: usize) -> u64 {
    FIRST + place as u64
}

/// Asks whoever is at `address` who it is.
pub(super) async fn hello(dialer: &Dialer, address: &str) -> Result<Hello, String> {
    let target = Target { address: address.into(), node: ANYBODY };
    // As long as the pause between two rounds: a peer that hangs must not hide the others for longer.
    let asked = dialer.ask(&target, Purpose::Forward, path::HELLO, Bytes::new(), ASK_EVERY * 5).await;
    message::decode(&asked.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// The other founders' addresses.
fn others(options: &Options) -> Vec<String> {
    options.peers.iter().filter(|address| **address != options.peer_address).cloned().collect()
}

/// Asks all peers until it is clear whether there is a cluster.
pub(super) async fn look_around(entrance: &Entrance, place: usize) -> Surroundings {
    let others = others(&entrance.options);
    let mut said = None;
    loop {
        let answers = greet(&entrance.dialer, &others).await;
        if answers.iter().any(|(_, hello)| hello.as_ref().is_ok_and(|hello| hello.initialised)) {
            return Surroundings::Cluster;
        }
        let silent: Vec<_> =
            answers.into_iter().filter_map(|(peer, hello)| Some((peer, hello.err()?))).collect();
        if silent.is_empty() {
            return Surroundings::Nothing(founder_id(place));
        }
        say(
            &mut said,
            || tracing::info!(waiting_for = ?silent, "this disk is empty, and not all peers have said that they know of no cluster"),
        );
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// How often silent peers are asked whether they know of a cluster, by a node that waits for nobody.
const ROUNDS: usize = 5;

/// A peer that belongs to a cluster. Who stays silent may: it is asked again for a second, and then not waited for.
pub(super) async fn who_knows_a_cluster(entrance: &Entrance) -> Option<String> {
    let others = others(&entrance.options);
    for _ in 0..ROUNDS {
        let answers = greet(&entrance.dialer, &others).await;
        let all_answered = answers.iter().all(|(_, hello)| hello.is_ok());
        let knows =
            answers.into_iter().find(|(_, hello)| hello.as_ref().is_ok_and(|hello| hello.initialised));
        if knows.is_some() || all_answered {
            return knows.map(|(peer, _)| peer);
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
    None
}

async fn greet(dialer: &Dialer, peers: &[String]) -> Vec<(String, Result<Hello, String>)> {
    let greetings =
        peers.iter().map(|address| async move { (address.clone(), hello(dialer, address).await) });
    futures_util::future::join_all(greetings).await
}

/// At most once in a while.
fn say(last: &mut Option<Instant>, what: impl FnOnce()) {
    if last.is_none_or(|last| last.elapsed() >= SAY_EVERY) {
        *last = Some(Instant::now());
        what();
    }
}

/// The first founder, who initialises.
pub(super) struct Founding {
    pub(super) raft: Node,
    pub(super) dialer: Arc<Dialer>,
    pub(super) options: Options,
    pub(super) fatal: Fatal,
    /// This node is leaving.
    pub(super) stop: CancellationToken,
}

impl Founding {
    /// Initialises the cluster unless it is, once every founder has its id.
    pub(super) async fn initialise(self) {
        let stopped = |error: &dyn std::fmt::Display| {
            // Raft that was told to stop cannot found anything, and nothing is wrong with that.
            if !self.stop.is_cancelled() {
                self.fatal.stop(format!("cannot found the cluster: {error}"));
            }
        };
        match self.raft.is_initialized().await {
            Ok(false) => {}
            Ok(true) => return,
            Err(error) => return stopped(&error),
        }
        let Some(members) = self.wait_for_founders().await else { return };
        tracing::info!(?members, "founding the cluster");
        match self.raft.initialize(members).await {
            // Somebody else's membership came first: there is a cluster, which is all that was wanted.
            Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => {}
            Err(error) => stopped(&error),
        }
    }

    /// All founders with their addresses; nothing when one of them knows of a cluster by now.
    async fn wait_for_founders(&self) -> Option<BTreeMap<u64, Peer>> {
        let ids: BTreeMap<&str, u64> = founders(&self.options).into_iter().zip(FIRST..).collect();
        let others = others(&self.options);
        let mut said = None;
        loop {
            let answers = greet(&self.dialer, &others).await;
            let known: Vec<(&str, &Hello)> = answers
                .iter()
                .filter_map(|(address, hello)| Some((address.as_str(), hello.as_ref().ok()?)))
                .collect();
            if known.iter().any(|(_, hello)| hello.initialised) {
                return None;
            }
            let ready = known.iter().filter_map(|(address, hello)| {
                let id = ids.get(address).copied()?;
                (hello.node == Some(id)).then(|| (id, hello.peer.clone().into()))
            });
            let mut members: BTreeMap<u64, Peer> = ready.collect();
            members.insert(FIRST, own_peer(&self.options));
            if members.len() == ids.len() {
                return Some(members);
            }
            let ready = members.len();
            say(&mut said, || {
                tracing::info!(ready, of = ids.len(), "waiting for the other founders to take their ids")
            });
            tokio::time::sleep(ASK_EVERY).await;
        }
    }
}
