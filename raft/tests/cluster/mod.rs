//! A cluster in one process: real transport on loopback, real files, and a deadline on every wait.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, unreachable_pub)]

pub mod tamper;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use campanile_core::command::{Body, Tick};
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use campanile_raft::{Consensus, LogOpener, Office, Options, Secret, StartError};
use campanile_storage::log::{MemoryDisk, MemoryLog};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// How long anything may take before a test fails. Generous: the machine is shared.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// What the log of a node is kept on.
#[derive(Clone, Copy)]
pub enum Disk {
    Memory,
    Sled,
}

/// A cluster as a value.
pub struct Cluster {
    dir: TempDir,
    disk: Disk,
    addresses: Vec<String>,
    parked: BTreeMap<usize, TcpListener>,
    logs: BTreeMap<usize, MemoryDisk>,
    pub nodes: BTreeMap<usize, Consensus>,
    pub tune: fn(&mut Options),
    clock: Arc<AtomicI64>,
}

impl Cluster {
    /// Addresses for so many nodes; none of them runs.
    pub async fn new(size: usize, disk: Disk) -> Self {
        let mut listeners = Vec::new();
        for _ in 0..size {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            listeners.push((listener.local_addr().unwrap().to_string(), listener));
        }
        // In the order that gives the ids, so that node n of a test is founder n + 1.
        listeners.sort_by(|one, other| one.0.cmp(&other.0));
        let addresses = listeners.iter().map(|(address, _)| address.clone()).collect();
        let parked = listeners.into_iter().map(|(_, listener)| listener).enumerate().collect();
        Self {
            dir: tempfile::tempdir().unwrap(),
            disk,
            addresses,
            parked,
            logs: BTreeMap::new(),
            nodes: BTreeMap::new(),
            tune: |_| (),
            clock: Arc::new(AtomicI64::new(1_000_000)),
        }
    }

    /// All of them run.
    pub async fn started(size: usize, disk: Disk) -> Self {
        Self::started_with(size, disk, |_| ()).await
    }

    /// All of them run, with these options.
    pub async fn started_with(size: usize, disk: Disk, tune: fn(&mut Options)) -> Self {
        let mut cluster = Self { tune, ..Self::new(size, disk).await };
        let options: Vec<_> = (0..size).map(|node| cluster.options(node)).collect();
        let mut starts = Vec::new();
        for (node, options) in options.into_iter().enumerate() {
            let listener = cluster.listener(node).await;
            starts.push(tokio::spawn(Consensus::start(options, listener)));
        }
        for (node, start) in starts.into_iter().enumerate() {
            cluster.nodes.insert(node, within(start).await.unwrap().unwrap());
        }
        cluster
    }

    pub fn data(&self, node: usize) -> PathBuf {
        self.dir.path().join(format!("node-{node}"))
    }

    pub fn address(&self, node: usize) -> &str {
        &self.addresses[node]
    }

    /// What node `node` is told.
    pub fn options(&mut self, node: usize) -> Options {
        let clock = Arc::clone(&self.clock);
        let now = Arc::new(move || Timestamp::from_millis(clock.load(Ordering::Relaxed)));
        let mut options = Options::new("test", &self.data(node), &self.addresses[node], now);
        options.peers = self.addresses.clone();
        options.api_address = format!("http://api-{node}");
        options.secret = Some(Secret::new("not told"));
        // Slower than the default: tests share a machine, and an election for nothing would make them guess.
        options.heartbeat = Duration::from_millis(100);
        options.election_min = Duration::from_millis(500);
        options.election_max = Duration::from_millis(1_000);
        options.ledger.segment_bytes = 1 << 20;
        if let Disk::Memory = self.disk {
            let disk = self.logs.entry(node).or_default().clone();
            let open: LogOpener = Arc::new(move |_| Ok(Box::new(MemoryLog::open(&disk))));
            options.open_log = open;
        }
        (self.tune)(&mut options);
        options
    }

    pub async fn listener(&mut self, node: usize) -> TcpListener {
        match self.parked.remove(&node) {
            Some(listener) => listener,
            None => poll(|| async { TcpListener::bind(&self.addresses[node]).await.ok() }).await,
        }
    }

    pub async fn try_start(&mut self, node: usize) -> Result<(), StartError> {
        let (options, listener) = (self.options(node), self.listener(node).await);
        let consensus = within(Consensus::start(options, listener)).await?;
        self.nodes.insert(node, consensus);
        Ok(())
    }

    pub async fn start(&mut self, node: usize) {
        self.try_start(node).await.unwrap();
    }

    pub async fn stop(&mut self, node: usize) {
        let consensus = self.nodes.remove(&node).unwrap();
        within(consensus.stop()).await;
        assert_eq!(*consensus.fatal().borrow(), None, "a node that leaves does not fail");
    }

    /// Nothing of this node's disk is left.
    pub fn wipe(&mut self, node: usize) {
        assert!(!self.nodes.contains_key(&node), "stop it first");
        std::fs::remove_dir_all(self.data(node)).unwrap();
        self.logs.remove(&node);
    }

    pub async fn stop_all(&mut self) {
        for node in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.stop(node).await;
        }
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::Relaxed))
    }

    /// Time passes.
    pub fn pass(&self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::Relaxed);
    }

    /// Whoever is in office, and its office.
    pub async fn in_office(&self) -> (usize, Office) {
        poll(|| async {
            self.nodes
                .iter()
                .find_map(|(node, consensus)| Some((*node, consensus.offices().borrow().clone()?)))
        })
        .await
    }

    /// Whoever takes an office of a later epoch than this one.
    pub async fn next_office(&self, after: &Office) -> (usize, Office) {
        poll(|| async {
            let offices = self
                .nodes
                .iter()
                .filter_map(|(node, consensus)| Some((*node, consensus.offices().borrow().clone()?)));
            offices.into_iter().find(|(_, office)| office.epoch() > after.epoch())
        })
        .await
    }

    /// Commits so many empty ticks by whoever leads, and says up to where.
    pub async fn ticks(&self, count: usize) -> LogIndex {
        let (leader, _) = self.in_office().await;
        let mut ticked = 0;
        while ticked < count {
            self.pass(1);
            let (_, office) = self.in_office().await;
            if let Ok(Some(Reply::Ticked(_))) = office.propose(self.now(), tick).await {
                ticked += 1;
            }
        }
        self.nodes[&leader].applied()
    }

    /// All running nodes have applied the same, and it is at least this.
    pub async fn agreed(&self, least: LogIndex) {
        poll(|| async {
            let views: Vec<_> = self.nodes.values().map(Consensus::view).collect();
            let same = views.iter().all(|view| **view == *views[0] && view.applied() >= least);
            same.then_some(())
        })
        .await;
        let heads: Vec<_> = self.nodes.values().map(|node| node.ledger().head()).collect();
        assert!(heads.iter().all(|head| *head == heads[0]), "ledgers part: {heads:?}");
    }

    /// The voters as this node sees them.
    pub fn voters(&self, node: usize) -> Vec<NodeId> {
        let members = self.nodes[&node].status().members;
        members.iter().filter(|member| member.voter).map(|member| member.node).collect()
    }
}

/// A tick that decides nothing.
pub fn tick(_: Timestamp, _: &campanile_core::machine::Machine) -> Option<Body> {
    Some(Body::Tick(Tick::default()))
}

/// Fails the test when it takes too long.
pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future).await.expect("it took too long")
}

/// Asks again and again until there is an answer.
pub async fn poll<T, F: Future<Output = Option<T>>>(mut ask: impl FnMut() -> F) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(started.elapsed() < DEADLINE, "it took too long");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
