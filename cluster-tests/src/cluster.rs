//! A cluster as a value: real processes on loopback in a folder of their own, started, hurt and asked.
//!
//! Nodes are numbered from 1 by their place, which stays; their Raft ids change when a disk is wiped. A dropped cluster is
//! killed and removed; dropped by a panic, it first tells its seed and what each node said last. It judges nothing.

mod damage;
mod files;
pub mod members;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use reqwest::Client;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::api::{self, Api};
use crate::process::{Process, tail};
use crate::seed::Seed;
use crate::{binary, wait};
use files::Place;

/// How long a node may take until it has a leader and has caught up; a healthy start takes about a second.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How long a cluster with a majority may be without a leader.
const LEADER_WITHIN: Duration = Duration::from_secs(30);
/// How much of each log a failed test shows.
const LAST_LINES: usize = 40;

/// What kind of cluster.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many nodes.
    pub nodes: usize,
    /// Shown when the test fails.
    pub seed: Seed,
    /// Which binary.
    pub binary: PathBuf,
    /// Heartbeat, shortest and longest silence before an election.
    pub raft: [&'static str; 3],
    /// More of the configuration, laid over what every node has.
    pub extra: toml::Table,
    /// Whether [`Cluster::set_clock`] can move the clocks of the nodes.
    pub movable_clocks: bool,
    /// When a segment of a ledger is full, in bytes; the product's own bound is more than a test writes.
    pub segment_bytes: Option<u32>,
}

impl Options {
    /// Three nodes of the binary of this tree, with the timings of the product.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            nodes: 3,
            seed,
            binary: binary::path().to_owned(),
            raft: ["50ms", "150ms", "300ms"],
            extra: toml::Table::new(),
            movable_clocks: false,
            segment_bytes: None,
        }
    }
}

/// Running nodes.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    options: Options,
    token: String,
    http: Client,
    folder: TempDir,
    /// Two clusters at once would fight for the cores of a small machine, and elect for nothing.
    _turn: OwnedMutexGuard<()>,
}

#[derive(Debug)]
struct Node {
    place: Place,
    binary: PathBuf,
    process: Option<Process>,
}

static TURN: LazyLock<Arc<Mutex<()>>> = LazyLock::new(Arc::default);

impl Cluster {
    /// Starts it, and waits until every node is ready.
    ///
    /// # Panics
    /// When it does not become ready in time.
    pub async fn start(options: Options) -> Self {
        let mut cluster = Self::lay_out(options).await;
        for node in cluster.places() {
            cluster.spawn(node);
        }
        cluster.wait_ready().await;
        cluster
    }

    /// Everything but the processes: files are written, ports are held.
    ///
    /// # Panics
    /// When files cannot be written.
    pub async fn lay_out(options: Options) -> Self {
        let turn = TURN.clone().lock_owned().await;
        let folder =
            tempfile::Builder::new().prefix("campanile-").tempdir().expect("a folder for the cluster");
        let token = format!("token-of-the-cluster-{}", options.seed.0);
        let places = files::write(folder.path(), &options, &token);
        let nodes =
            places.into_iter().map(|place| Node { place, binary: options.binary.clone(), process: None });
        let nodes = nodes.collect();
        Self { nodes, options, token, http: api::client(), folder, _turn: turn }
    }

    /// The numbers of the nodes.
    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        1..=self.nodes.len()
    }

    /// Those that run now.
    pub fn running(&mut self) -> Vec<usize> {
        self.places().filter(|node| self.is_running(*node)).collect()
    }

    /// Whether this one runs.
    pub fn is_running(&mut self, node: usize) -> bool {
        self.nodes[node - 1].process.as_mut().is_some_and(Process::is_running)
    }

    /// The API of a node.
    #[must_use]
    pub fn api(&self, node: usize) -> Api {
        Api::new(self.http.clone(), &self.url(node), &self.token)
    }

    /// Where users reach a node.
    #[must_use]
    pub fn url(&self, node: usize) -> String {
        format!("http://{}", self.nodes[node - 1].place.api)
    }

    /// The number of a node's process, while it has one.
    #[must_use]
    pub fn pid(&self, node: usize) -> Option<u32> {
        self.nodes[node - 1].process.as_ref().map(Process::pid)
    }

    /// The data directory of a node.
    #[must_use]
    pub fn data(&self, node: usize) -> &Path {
        &self.nodes[node - 1].place.data
    }

    /// Where its peers reach a node.
    #[must_use]
    pub fn peer_address(&self, node: usize) -> String {
        self.nodes[node - 1].place.peer.to_string()
    }

    /// Which binary runs.
    #[must_use]
    pub fn binary(&self) -> &Path {
        &self.options.binary
    }

    /// The command line, talking to every node of this cluster.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = binary::command(&self.options.binary, arguments);
        for node in self.places() {
            command.arg("--endpoint").arg(self.url(node));
        }
        command.arg("--token-file").arg(self.folder.path().join(files::TOKEN));
        command
    }

    /// The binary with which a node is started from here on.
    pub fn use_binary(&mut self, node: usize, binary: &Path) {
        binary.clone_into(&mut self.nodes[node - 1].binary);
    }

    /// Everything that a node has written, earlier lives included.
    #[must_use]
    pub fn output(&self, node: usize) -> String {
        std::fs::read_to_string(&self.nodes[node - 1].place.log).unwrap_or_default()
    }

    /// `kill -9`.
    pub fn kill(&mut self, node: usize) {
        if let Some(mut process) = self.nodes[node - 1].process.take() {
            process.kill();
        }
    }

    /// `kill -9` of all at once.
    pub fn kill_all(&mut self) {
        // All are stopped first, so that none can tell another that a third is gone.
        self.nodes.iter().filter_map(|node| node.process.as_ref()).for_each(Process::pause);
        self.places().for_each(|node| self.kill(node));
    }

    /// `kill -STOP`.
    pub fn pause(&self, node: usize) {
        self.nodes[node - 1].process.iter().for_each(Process::pause);
    }

    /// `kill -CONT`.
    pub fn go_on(&self, node: usize) {
        self.nodes[node - 1].process.iter().for_each(Process::go_on);
    }

    /// Starts a node that was killed, on its old addresses and disk. Does not wait for it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn spawn(&mut self, node: usize) {
        let Node { place, binary, process } = &mut self.nodes[node - 1];
        place.release_ports();
        let mut command = damage::bearing_limits(binary);
        command.args(["serve", "--config"]).arg(&place.configuration);
        if let Some(bytes) = self.options.segment_bytes {
            command.env("CAMPANILE_TEST_SEGMENT_BYTES", bytes.to_string());
        }
        if self.options.movable_clocks {
            command.env("CAMPANILE_TEST_CLOCK_FILE", &place.clock);
        }
        *process = Some(Process::start(command, &place.log).expect("the node's process starts"));
    }

    /// Sets a node's clock this far ahead of the machine's, or behind it; the node shows it within 50 ms.
    ///
    /// # Panics
    /// When its clock cannot be moved.
    pub fn set_clock(&self, node: usize, offset_millis: i64) {
        assert!(self.options.movable_clocks, "the clocks of this cluster are the machine's");
        let file = &self.nodes[node - 1].place.clock;
        let new = file.with_extension("new");
        // Renamed, so that no half of a number is ever read.
        std::fs::write(&new, offset_millis.to_string()).expect("the clock's file is written");
        std::fs::rename(&new, file).expect("the clock's file is replaced");
    }

    /// Kills a node and empties its disk.
    ///
    /// # Panics
    /// When the disk cannot be emptied.
    pub fn wipe(&mut self, node: usize) {
        self.kill(node);
        std::fs::remove_dir_all(self.data(node)).expect("the data directory goes");
    }

    /// Waits until every running node is ready.
    ///
    /// # Panics
    /// When one is not in time, or ends.
    pub async fn wait_ready(&mut self) {
        for node in self.places() {
            if self.nodes[node - 1].process.is_some() {
                self.wait_ready_of(node).await;
            }
        }
    }

    /// Waits until one node is ready.
    ///
    /// # Panics
    /// When it is not in time, or ends.
    pub async fn wait_ready_of(&mut self, node: usize) {
        let api = self.api(node);
        let what = format!("node {node} to be ready");
        wait::must(&what, READY_WITHIN, async || {
            assert!(self.is_running(node), "node {node} ended by itself");
            api.get("/readyz").await.is_ok_and(|reply| reply.status == 200).then_some(())
        })
        .await;
    }

    /// The place of the node that leads, as soon as one says of itself that it does.
    ///
    /// # Panics
    /// When none does in time.
    pub async fn leader(&mut self) -> usize {
        wait::must("a leader", LEADER_WITHIN, async || self.leader_now().await).await
    }

    /// The place of the node that says of itself, now, that it leads; the one with the highest term when several do.
    pub async fn leader_now(&mut self) -> Option<usize> {
        let mut leading = Vec::new();
        for node in self.running() {
            let Some(view) = self.view(node).await else { continue };
            if view["leader"].is_u64() && view["leader"] == view["node"] {
                leading.push((view["term"].as_u64(), node));
            }
        }
        leading.into_iter().max().map(|(_, node)| node)
    }

    /// `GET /v1/cluster` of a node; `None` when it does not answer at once. A paused process holds its connections open
    /// and says nothing, so this does not wait as long as a user would.
    pub async fn view(&self, node: usize) -> Option<Value> {
        let request =
            self.api(node).request(reqwest::Method::GET, "/v1/cluster").timeout(Duration::from_secs(2));
        Api::send(request).await.ok().filter(api::Reply::is_success).map(|reply| reply.body)
    }

    fn tell_last_words(&self) {
        let mut page = format!("--- the cluster of {}\n", self.options.seed);
        for (node, number) in self.nodes.iter().zip(1..) {
            let words = tail(&node.place.log, LAST_LINES);
            page.push_str(&format!(
                "--- node {number}, last lines of {}\n{words}\n",
                node.place.log.display()
            ));
        }
        say(&page);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.process = None);
        if std::thread::panicking() {
            self.tell_last_words();
            self.folder.disable_cleanup(true);
        }
    }
}

#[allow(clippy::print_stderr, reason = "the test harness shows what a failed test wrote")]
fn say(text: &str) {
    eprintln!("{text}");
}
