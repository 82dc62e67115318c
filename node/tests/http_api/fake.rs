//! A cluster of one machine in memory: every node of it sees the same log, one of them leads, and the way to it can break.
//!
//! The ledger and its index are the real ones, in a temporary directory.

mod log;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body as HttpBody;
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use campanile::clock::Clock;
use campanile::dispatch::egress::{Egress, Rules};
use campanile::http::{App, Forwarded, Gate, forwarded, router};
use campanile::leader::{Backfills, Duty};
use campanile::metrics::Metrics;
use campanile::service::quorum::{ChangeFailure, ClusterStatus, Leader, Plan, Quorum, Undone};
use campanile::service::{Options, Service};
use campanile::wire::cluster::Node;
use campanile::wire::host::Host;
use campanile::wire::time::Instant;
use campanile_core::command::Command;
use campanile_core::format::FormatLevel;
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::machine::Machine;
use campanile_core::plan;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use campanile_raft::COMMAND_LIMIT;
use campanile_storage::{Kind, codec};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt;

use log::FakeOffice;
pub(crate) use log::{Fault, Log};

/// 2026-12-01T00:00:00Z.
pub(crate) const NOON: i64 = 1_796_083_200_000;

/// After so long without a row a stream says so.
pub(crate) const SILENCE: Duration = Duration::from_millis(300);

/// One node.
pub(crate) struct Fake {
    log: Arc<Log>,
    id: u64,
    leads: AtomicBool,
    /// What the leader answers forwarded frames with.
    leader: OnceLock<Forwarded>,
    /// Whether nobody can be reached.
    cut_off: AtomicBool,
    /// Whether the leader takes what it is sent, and says nothing.
    silent: AtomicBool,
}

impl Quorum for Fake {
    fn node(&self) -> NodeId {
        NodeId(self.id)
    }

    fn applied_beyond(&self, index: LogIndex) -> BoxFuture<'_, ()> {
        self.log.applied_beyond(index).boxed()
    }

    fn view(&self) -> Arc<Machine> {
        self.log.view()
    }

    fn leads(&self) -> bool {
        self.leads.load(Ordering::SeqCst)
    }

    fn leader(&self) -> Option<Leader> {
        (!self.cut_off.load(Ordering::SeqCst))
            .then(|| Leader { node: NodeId(1), api_address: "http://node1:7700".into() })
    }

    fn propose(&self, _now: Timestamp, plan: Plan) -> BoxFuture<'_, Result<Option<Reply>, Undone>> {
        let fault = self.log.faults.lock().unwrap().pop_front();
        let lost = Err(Undone::Unknown("the answer was lost".into()));
        let commit = || {
            let mut too_large = None;
            let reply = self.log.commit(|at, machine| {
                let body = plan(at, machine)?;
                let command = Command { at, epoch: machine.epoch(), body };
                let bytes = codec::encode(Kind::Command, FormatLevel::OLDEST.0, &command).unwrap().len();
                if bytes > COMMAND_LIMIT {
                    too_large = Some(Undone::TooLarge { bytes, most: COMMAND_LIMIT });
                    return None;
                }
                self.log.proposals.lock().unwrap().push(command.body.clone());
                Some(command.body)
            });
            too_large.map_or(Ok(reply), Err)
        };
        let answer = match fault {
            _ if !self.leads() => Err(Undone::NotSent("not the leader".into())),
            None => commit(),
            Some(Fault::NotSent) => Err(Undone::NotSent("the office was lost".into())),
            Some(Fault::AnswerLost) => commit().and(lost),
            Some(Fault::Vanished) => lost,
        };
        async move { answer }.boxed()
    }

    fn read_barrier(&self) -> BoxFuture<'_, Result<LogIndex, Undone>> {
        let answer = match self.cut_off.load(Ordering::SeqCst) {
            true => Err(Undone::NotSent("no leader is known".into())),
            false => Ok(self.view().applied()),
        };
        async move { answer }.boxed()
    }

    fn forward(&self, frame: Bytes, _within: Duration) -> BoxFuture<'_, Result<Bytes, Undone>> {
        let leader = self.leader.get().filter(|_| !self.cut_off.load(Ordering::SeqCst)).cloned();
        let silent = self.silent.load(Ordering::SeqCst);
        async move {
            match leader {
                Some(_) if silent => std::future::pending().await,
                Some(leader) => Ok(leader(frame).await),
                None => Err(Undone::NotSent("no other node is known to lead".into())),
            }
        }
        .boxed()
    }

    fn leader_change(&self, within: Duration) -> BoxFuture<'_, ()> {
        tokio::time::sleep(within.min(Duration::from_millis(5))).boxed()
    }

    fn status(&self) -> ClusterStatus {
        let reachable = !self.cut_off.load(Ordering::SeqCst);
        let node = |id: u64| Node {
            id,
            peer_address: format!("node{id}:7701"),
            api_address: format!("http://node{id}:7700"),
            role: if id == 1 { "leader".into() } else { "follower".into() },
            reachable: Some(id == self.id || reachable),
            ..Node::default()
        };
        ClusterStatus {
            name: "test".into(),
            node: NodeId(self.id),
            leader: reachable.then_some(NodeId(1)),
            term: 1,
            last_log: self.view().applied(),
            nodes: (1..=3).map(node).collect(),
            ..ClusterStatus::default()
        }
    }

    fn transfer(&self, to: Option<NodeId>) -> BoxFuture<'_, Result<(), ChangeFailure>> {
        let answer = match to {
            Some(node) if node.0 > 3 => Err(ChangeFailure::NoSuchNode(node)),
            _ => Ok(()),
        };
        async move { answer }.boxed()
    }

    fn add_node(&self, _: String, _: String) -> BoxFuture<'_, Result<NodeId, ChangeFailure>> {
        async { Ok(NodeId(1000)) }.boxed()
    }

    fn remove_node(&self, node: NodeId) -> BoxFuture<'_, Result<(), ChangeFailure>> {
        let answer = if node.0 > 3 { Err(ChangeFailure::NoSuchNode(node)) } else { Ok(()) };
        async move { answer }.boxed()
    }
}

/// A host that does not answer, as every node here sees it.
fn down() -> Host {
    Host {
        host: "down.example:443".into(),
        in_flight: 0,
        state: "open".into(),
        failures: 12,
        open_until: Some(Instant(Timestamp::from_millis(NOON + 8_000))),
    }
}

/// A node with its router.
pub(crate) struct Api {
    pub(crate) log: Arc<Log>,
    node: Arc<Fake>,
    app: App,
    pub(crate) router: Router,
}

/// An answer, read.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Answer {
    /// A header as text; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and code, for problems.
    pub(crate) fn problem(&self) -> (u16, &str) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.text);
        (self.status.as_u16(), self.body["code"].as_str().unwrap())
    }
}

impl Api {
    /// The leader of a new cluster.
    pub(crate) fn leader() -> Self {
        Self::on(Log::start(), 1, None)
    }

    /// The leader, behind a gate.
    pub(crate) fn behind(gate: Gate) -> Self {
        Self::on(Log::start(), 1, Some(gate))
    }

    /// A follower that sends its writes to `leader`.
    pub(crate) fn follower_of(leader: &Self) -> Self {
        let follower = Self::on(leader.log.clone(), 2, None);
        let _ = follower.node.leader.set(forwarded(&leader.app));
        follower
    }

    fn on(log: Arc<Log>, id: u64, gate: Option<Gate>) -> Self {
        let node = Arc::new(Fake {
            log: log.clone(),
            id,
            leads: AtomicBool::new(id == 1),
            leader: OnceLock::new(),
            cut_off: AtomicBool::new(false),
            silent: AtomicBool::new(false),
        });
        let records = log.records();
        let clock = log.clone();
        let within = Duration::from_millis(500);
        let options =
            Options { write_within: within, read_within: within, silence: SILENCE, ..Options::default() };
        let app = App {
            service: Arc::new(
                Service::new(node.clone(), records, Arc::new(move || clock.now()), options)
                    .guarded(Arc::new(Egress::new(Rules::default(), Arc::new(Vec::new)))),
            ),
            gate,
            metrics: Arc::new(|| "# EOF\n".into()),
            not_ready: Arc::new(Vec::new),
            hosts: Arc::new(|| vec![down()]),
            observer: None,
            keeping: None,
        };
        let router = router(app.clone());
        Self { log, node, app, router }
    }

    /// Does the backfill duty of an office until it is dropped. Its clock stands far behind, so that the log's time counts.
    pub(crate) fn lead_backfills(&self) -> DropGuard {
        const CENTURY_MS: i64 = 100 * 366 * 86_400_000;
        let clock = Clock::shifted(-CENTURY_MS);
        let (office, records) = (FakeOffice(self.log.clone()), self.app.service.records().clone());
        let duty = Backfills::new(office, clock, plan::Options::default(), records, Metrics::new());
        let stop = CancellationToken::new();
        tokio::spawn(duty.run(stop.clone()));
        stop.drop_guard()
    }

    /// The body of `path`, once it is as `wanted`.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        loop {
            let answer = self.get(path).await;
            if wanted(&answer.body) {
                return answer.body;
            }
            assert!(std::time::Instant::now() < deadline, "{path} stays {}", answer.text);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Whether this node leads from now on.
    pub(crate) fn set_leads(&self, leads: bool) {
        self.node.leads.store(leads, Ordering::SeqCst);
    }

    /// The leader takes what it is sent, and says nothing.
    pub(crate) fn silence_the_leader(&self) {
        self.node.silent.store(true, Ordering::SeqCst);
    }

    /// This node is told to stop.
    pub(crate) fn stop(&self) {
        self.app.service.stopping().cancel();
    }

    /// Nobody can be reached any more.
    pub(crate) fn cut_off(&self) {
        self.node.cut_off.store(true, Ordering::SeqCst);
    }

    /// Sends a request.
    pub(crate) async fn send(&self, request: Request<HttpBody>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        assert!(headers.contains_key("campanile-applied-index"), "every answer says how far it is");
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status, headers, body: serde_json::from_str(&text).unwrap_or_default(), text }
    }

    /// Sends a request with headers and a body.
    pub(crate) async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(HttpBody::from(body.to_owned())).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask("PUT", path, &[], &body.to_string()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[], &body.to_string()).await
    }
}

/// The least that a schedule needs, with these specs.
pub(crate) fn schedule(specs: &Value) -> Value {
    serde_json::json!({"specs": specs, "target": {"webhook": {"url": "https://jobs.internal/run"}}})
}

/// A schedule that fires every minute.
pub(crate) fn minutely() -> Value {
    schedule(&serde_json::json!([{"every": "1m"}]))
}
