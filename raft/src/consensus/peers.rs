//! Asking the other members who they are: their clocks and versions ride on the answer, and that there is one says that a
//! node is there, whatever its consensus does.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use openraft::async_runtime::WatchReceiver;

use super::Inner;
use crate::transport::dialer::Target;
use crate::transport::message::{self, Hello};
use crate::transport::{Purpose, path};

/// What those say who answer in time, in the order of their ids.
pub(crate) async fn hellos(inner: &Inner, within: Duration) -> Vec<Hello> {
    let metrics = inner.raft.server_metrics().borrow_watched().clone();
    let members = metrics.membership_config.membership().nodes();
    let others = members.filter(|(node, _)| **node != inner.node.0);
    let asked = others.map(|(node, peer)| async move {
        let target = Target { address: peer.peer_address.clone(), node: *node };
        let answer = inner.dialer.ask(&target, Purpose::Forward, path::HELLO, Bytes::new(), within).await;
        message::decode(&answer.ok()?).ok()
    });
    join_all(asked).await.into_iter().flatten().collect()
}
