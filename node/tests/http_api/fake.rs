//! A cluster of one machine in memory: every node of it sees the same log, one of them leads, and the way to it can break.
//!
//! The ledger and its index are the real ones, in a temporary directory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body as HttpBody;
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use campanile::http::{App, Forwarded, Gate, forwarded, router};
use campanile::service::quorum::{ChangeFailure, ClusterStatus, Leader, Plan, Quorum, Undone};
use campanile::service::records::{Records, history_key};
use campanile::service::{Options, Service};
use campanile::wire::cluster::Node;
use campanile_core::attempt::{Report, Verdict};
use campanile_core::command::{Begin, BeginItem, Body, Command, LeaderEpoch, Settle, SettleItem};
use campanile_core::event::SCHEMA;
use campanile_core::id::{AttemptNumber, Epoch, LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::plan::{self, Planner};
use campanile_core::query;
use campanile_core::reply::Reply;
use campanile_core::time::{Span, Timestamp};
use campanile_storage::history::{History, Indexer};
use campanile_storage::ledger::{self, Ledger};
use campanile_storage::{Kind, codec};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tower::ServiceExt;

/// 2026-12-01T00:00:00Z.
pub(crate) const NOON: i64 = 1_796_083_200_000;

/// What goes wrong with one proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It never leaves.
    NotSent,
    /// It is committed, and the answer is lost.
    AnswerLost,
    /// It is lost, and nobody can say so.
    Vanished,
}

/// The log, applied.
pub(crate) struct Log {
    machine: Mutex<Arc<Machine>>,
    ledger: Mutex<Ledger>,
    indexer: Arc<Indexer>,
    clock: AtomicI64,
    faults: Mutex<VecDeque<Fault>>,
    proposals: Mutex<Vec<Body>>,
    _dir: tempfile::TempDir,
}

impl Log {
    fn start() -> Arc<Self> {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger"), ledger::Options::default()).unwrap();
        let history = History::open(&dir.path().join("history")).unwrap();
        let indexer = Arc::new(Indexer::spawn(history, ledger.reader(), history_key).unwrap());
        let log = Arc::new(Self {
            machine: Mutex::default(),
            ledger: Mutex::new(ledger),
            indexer,
            clock: AtomicI64::new(NOON),
            faults: Mutex::default(),
            proposals: Mutex::default(),
            _dir: dir,
        });
        log.commit(|_, _| {
            Some(Body::LeaderEpoch(LeaderEpoch { node: NodeId(1), incarnation: 1, term: Term(1) }))
        });
        log
    }

    pub(crate) fn view(&self) -> Arc<Machine> {
        self.machine.lock().unwrap().clone()
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::SeqCst))
    }

    /// Moves the clock forward.
    pub(crate) fn pass(&self, span: Span) {
        self.clock.fetch_add(i64::try_from(span.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// The next proposal goes wrong like this.
    pub(crate) fn break_next(&self, fault: Fault) {
        self.faults.lock().unwrap().push_back(fault);
    }

    /// How many proposals of users were committed.
    pub(crate) fn committed(&self) -> usize {
        self.proposals.lock().unwrap().len()
    }

    /// Commits what `plan` says.
    pub(crate) fn commit(&self, plan: impl FnOnce(Timestamp, &Machine) -> Option<Body>) -> Option<Reply> {
        let mut machine = self.machine.lock().unwrap();
        let at = self.now().max(machine.clock());
        let body = plan(at, &machine)?;
        let index = LogIndex(machine.applied().0 + 1);
        let epoch = if matches!(body, Body::LeaderEpoch(_)) { Epoch(0) } else { machine.epoch() };
        let command = Command { at, epoch, body };
        let mut next = Machine::clone(&machine);
        let (reply, rows) = next.apply(index, &command);
        let rows: Vec<Vec<u8>> =
            rows.iter().map(|row| codec::encode(Kind::Event, SCHEMA, row).unwrap()).collect();
        self.ledger.lock().unwrap().append(index.0, &rows).unwrap();
        *machine = Arc::new(next);
        Some(reply)
    }

    /// Decides what is due.
    pub(crate) fn tick(&self) {
        let mut planner = Planner::new(plan::Options::default());
        while self.commit(|at, machine| planner.tick(machine, at).map(Body::Tick)).is_some() {}
    }

    /// Begins everything that may begin, and settles it with that verdict.
    pub(crate) fn work(&self, verdict: Verdict) {
        let mut items = Vec::new();
        self.commit(|at, machine| {
            items = query::work_now(machine, at)
                .map(|firing| BeginItem {
                    firing: firing.id,
                    attempt: AttemptNumber(firing.attempt.0 + 1),
                    until: at + Span::from_secs(30),
                })
                .collect();
            Some(Body::Begin(Begin { holder: NodeId(1), items: items.clone() }))
        });
        let settled = |item: &BeginItem| SettleItem {
            firing: item.firing,
            attempt: item.attempt,
            report: Report {
                verdict,
                sent_at: self.now(),
                status: Some(if verdict == Verdict::Succeeded { 200 } else { 500 }),
                error: if verdict == Verdict::Succeeded { "".into() } else { "status 500".into() },
                output: "done".into(),
            },
        };
        let items = items.iter().map(settled).collect();
        self.commit(|_, _| Some(Body::Settle(Settle { items })));
    }
}

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
            let reply = self.log.commit(|at, machine| {
                let body = plan(at, machine)?;
                self.log.proposals.lock().unwrap().push(body.clone());
                Some(body)
            });
            Ok(reply)
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
        let records = Records::new(log.ledger.lock().unwrap().reader(), log.indexer.clone());
        let clock = log.clone();
        let within = Duration::from_millis(500);
        let options = Options { write_within: within, read_within: within, ..Options::default() };
        let app = App {
            service: Arc::new(Service::new(node.clone(), records, Arc::new(move || clock.now()), options)),
            gate,
            metrics: Arc::new(|| "# EOF\n".into()),
            not_ready: Arc::new(Vec::new),
            observer: None,
        };
        let router = router(app.clone());
        Self { log, node, app, router }
    }

    /// Whether this node leads from now on.
    pub(crate) fn set_leads(&self, leads: bool) {
        self.node.leads.store(leads, Ordering::SeqCst);
    }

    /// The leader takes what it is sent, and says nothing.
    pub(crate) fn silence_the_leader(&self) {
        self.node.silent.store(true, Ordering::SeqCst);
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
