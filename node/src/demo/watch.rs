//! Who leads: asks every node again and again, and shows what changed.

use std::time::Duration;

use campanile_core::time::Span;
use tokio::sync::watch;

use crate::client::{Call, Client, Endpoint, Error, Options};

/// How often each node is asked: a failover takes some hundred milliseconds.
const EVERY: Duration = Duration::from_millis(20);
/// A node that does not answer by then is asked again later.
const LIMIT: Duration = Duration::from_millis(300);

/// Who leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lead {
    /// Its id in the cluster.
    pub(super) node: u64,
    /// Which of the endpoints that is.
    pub(super) place: usize,
    pub(super) term: u64,
}

/// A client of the nodes; with one endpoint it asks that one only.
pub(super) fn client(apis: &[String], timeout: Duration) -> Result<Client, Error> {
    let endpoints = apis.iter().map(|api| Endpoint::parse(api)).collect::<Result<_, _>>()?;
    Client::new(Options { endpoints, token: None, timeout })
}

/// Watches until the runtime ends. What it shows is the leader of the highest term that says so itself, and stands until
/// another one does.
pub(super) fn start(apis: &[String]) -> Result<watch::Receiver<Option<Lead>>, Error> {
    let (shown, leads) = watch::channel(None);
    for (place, api) in apis.iter().enumerate() {
        tokio::spawn(ask(client(std::slice::from_ref(api), LIMIT)?, place, shown.clone()));
    }
    Ok(leads)
}

async fn ask(client: Client, place: usize, shown: watch::Sender<Option<Lead>>) {
    let call = Call::get("/v1/cluster").query("consistency", "stale");
    while !shown.is_closed() {
        if let Some(lead) = client.send(&call).await.ok().and_then(|answer| of(&answer.body, place)) {
            shown.send_if_modified(|current: &mut Option<Lead>| {
                let newer = current.is_none_or(|current| current.term < lead.term);
                newer.then(|| *current = Some(lead)).is_some()
            });
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Only what a node says of itself counts: others may speak of a leader that is dead.
fn of(cluster: &serde_json::Value, place: usize) -> Option<Lead> {
    let number = |name: &str| cluster.get(name)?.as_u64();
    let (node, leader) = (number("node")?, number("leader")?);
    // In office: the epoch of its term is committed. Before that a leader cannot fire.
    (node == leader && number("epoch")? > 0).then_some(Lead { node, place, term: number("term")? })
}

/// Milliseconds as people read them.
pub(super) fn shown(since: Duration) -> Span {
    Span::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
