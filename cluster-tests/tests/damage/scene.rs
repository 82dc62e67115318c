//! The cluster under load, what happens to one of its nodes, and what must be true in the end.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::cluster::members::FIRST_GIVEN;
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::ledger::{Ledger, Row};
use campanile_cluster_tests::receiver::Receiver;
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::{binary, wait, workload};
use serde_json::Value;
use tokio::task::JoinHandle;

/// Of every second each.
const SCHEDULES: u64 = 10;
/// How often each writer writes: the load of a busy day, and room for everything else on a small machine.
const WRITE_EVERY: Duration = Duration::from_millis(25);
/// How long anything may take that is not the time of a fault.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// What becomes of a node whose data directory was hurt.
pub(crate) enum Comes {
    /// Under its old id; it says this.
    Healed(&'static str),
    /// Under a new one, after it has said all of this.
    Rebuilt(&'static [&'static str]),
}

/// A cluster, and everything that was promised by it.
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    pub(crate) receiver: Receiver,
    acknowledged: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
    writers: Vec<JoinHandle<()>>,
}

impl Scene {
    /// Three nodes with small segments and an image after so many entries, with schedules and writers.
    pub(crate) async fn begin(image_every: i64) -> Self {
        let seed = Seed::from_environment();
        let extra = toml::toml! {
            [raft]
            snapshot_entries = image_every
        };
        let options = Options { extra, segment_bytes: Some(20_000), ..Options::new(seed) };
        let (receiver, cluster) = (Receiver::start().await, Cluster::start(options).await);
        let spread = |n: u64| workload::every_second(n * 1000 / SCHEDULES);
        let ticking: Vec<_> = (0..SCHEDULES)
            .map(|n| workload::schedule(&format!("ticking/n{n}"), &spread(n), &receiver.url("/fine")))
            .collect();
        workload::create_all(&cluster.api(1), &ticking).await.unwrap();
        let (acknowledged, over) = (Arc::default(), Arc::default());
        let mut scene = Self { cluster, receiver, acknowledged, over, writers: Vec::new() };
        scene.writers = scene.cluster.places().map(|node| scene.writer(node)).collect();
        scene
    }

    /// Writes to one node as long as that runs, and notes each write that was answered 201.
    fn writer(&self, node: usize) -> JoinHandle<()> {
        let (api, url) = (self.cluster.api(node), self.receiver.url("/never"));
        let (acknowledged, over) = (Arc::clone(&self.acknowledged), Arc::clone(&self.over));
        tokio::spawn(async move {
            let mut pace = tokio::time::interval(WRITE_EVERY);
            let mut number = 0;
            while !over.load(Ordering::Relaxed) {
                pace.tick().await;
                number += 1;
                let schedule = workload::cron(&format!("written/by-{node}-n{number}"), "0 4 1 1 *", &url);
                let answer = api.put(&schedule.path(), &schedule.body).await;
                // What is not answered, or "unknown", may be there or not; only what was promised is checked.
                if answer.is_ok_and(|reply| reply.status == 201) {
                    acknowledged.lock().unwrap().push(schedule.name);
                }
            }
        })
    }

    /// How many writes were acknowledged up to now.
    pub(crate) fn written(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }

    /// Waits until so many writes more are acknowledged.
    pub(crate) async fn wait_written(&self, more: usize) {
        let before = self.written();
        wait::must("acknowledged writes", SOON, async || (self.written() >= before + more).then_some(()))
            .await;
    }

    /// Waits until every data directory holds enough to be hurt.
    pub(crate) async fn wait_data(&self, what: &str, enough: impl Fn(&Path) -> bool) {
        wait::must(what, SOON, async || {
            self.cluster.places().all(|node| enough(self.cluster.data(node))).then_some(())
        })
        .await;
    }

    /// The leader, or one that follows.
    pub(crate) async fn choose(&mut self, leads: bool) -> usize {
        let leader = self.cluster.leader().await;
        if leads { leader } else { self.cluster.places().find(|node| *node != leader).unwrap() }
    }

    /// Kills a node, hurts its data directory while the others go on, starts it, and waits until it is what it should be.
    /// Answers which it was.
    pub(crate) async fn hurt(
        &mut self,
        name: &str,
        leads: bool,
        hurt: impl FnOnce(&Path),
        comes: Comes,
    ) -> usize {
        self.wait_written(40).await;
        let node = self.choose(leads).await;
        self.hurt_node(name, node, hurt, comes).await;
        node
    }

    /// As [`Scene::hurt`], for one that is chosen.
    pub(crate) async fn hurt_node(
        &mut self,
        name: &str,
        node: usize,
        hurt: impl FnOnce(&Path),
        comes: Comes,
    ) {
        let role = if self.cluster.leader().await == node { "the leader" } else { "a follower" };
        let old = self.cluster.id_of(node).await;
        self.cluster.kill(node);
        hurt(self.cluster.data(node));
        self.wait_written(20).await;
        self.cluster.spawn(node);
        self.cluster.wait_ready_of(node).await;
        match comes {
            Comes::Healed(said) => {
                let id = self.cluster.id_of(node).await;
                let life = self.cluster.last_life(node);
                assert_eq!(id, old, "{name}: node {node} heals and keeps its id:\n{life}");
                assert!(life.contains(said), "{name}: node {node} says {said:?}:\n{life}");
                eprintln!("{name}: {role}, node {node}, healed as {old}");
            }
            Comes::Rebuilt(says) => {
                let new = self.wait_rebuilt(name, node, old).await;
                let life = self.cluster.last_life(node);
                for said in says.iter().chain(&["moved_to=", "joins again under a new id"]) {
                    assert!(life.contains(said), "{name}: node {node} says {said:?}:\n{life}");
                }
                eprintln!("{name}: {role}, node {node}, was {old} and came back as {new}");
            }
        }
    }

    /// Waits until a node that was `old` votes under a new id; its old directory stands aside.
    pub(crate) async fn wait_rebuilt(&self, name: &str, node: usize, old: u64) -> u64 {
        let what = format!("{name}: node {node} to vote under a new id");
        let new = wait::must(&what, SOON, async || self.cluster.replaced(node, old).await).await;
        assert!(new >= FIRST_GIVEN, "{name}: node {node} was {old} and came back as {new}");
        let data = self.cluster.data(node).display().to_string();
        assert!(Path::new(&format!("{data}.damaged-1")).is_dir(), "{name}: what was damaged is kept");
        new
    }

    /// Everything that was acknowledged is on each node, each node's ledger is green, and they are the same.
    pub(crate) async fn judge(mut self) {
        self.over.store(true, Ordering::Relaxed);
        for writer in self.writers.drain(..) {
            writer.await.unwrap();
        }
        self.cluster.wait_ready().await;
        let acknowledged = self.acknowledged.lock().unwrap().clone();
        assert!(acknowledged.len() > 100, "a run in which little happens proves little");
        for node in self.cluster.places() {
            let there = names(&self.cluster.api(node)).await;
            let lost: Vec<_> = acknowledged.iter().filter(|name| !there.contains(*name)).collect();
            assert!(lost.is_empty(), "node {node}: {} acknowledged writes are gone: {lost:?}", lost.len());
        }
        self.assert_one_ledger().await;
        for node in self.cluster.places() {
            let verified = self.verify(node);
            assert_eq!(verified.code, Some(0), "the ledger of node {node}: {verified}");
        }
        eprintln!("{} acknowledged writes, all of them on each node", acknowledged.len());
    }

    /// `campanile verify` of one node.
    pub(crate) fn verify(&self, node: usize) -> binary::Answer {
        let url = self.cluster.url(node);
        binary::says(self.cluster.command(&["verify", "--server", &url]))
    }

    async fn assert_one_ledger(&mut self) {
        let leader = self.cluster.leader().await;
        let mut first = Ledger::default();
        first.read_on(&self.cluster.api(leader)).await.unwrap();
        let end = first.last().unwrap();
        let wanted: Vec<&Value> = first.rows.iter().map(|row| &row.json).collect();
        for node in self.cluster.places() {
            let (mut ledger, api) = (Ledger::default(), self.cluster.api(node));
            wait::must("a ledger to be level", SOON, async || {
                ledger.read_on(&api).await.unwrap();
                (ledger.last() >= Some(end)).then_some(())
            })
            .await;
            let held: Vec<&Value> = ledger.up_to(end).iter().map(|row: &Row| &row.json).collect();
            let differs = wanted.iter().zip(&held).find(|(wanted, held)| wanted != held);
            assert!(differs.is_none(), "the ledger of node {node}: {differs:?}");
            assert_eq!(held.len(), wanted.len(), "the ledger of node {node} has other rows");
        }
        eprintln!("{} rows up to {}.{}, the same on each node", wanted.len(), end.index, end.n);
    }
}

/// The schedules that writers made, as one node has them.
async fn names(api: &Api) -> std::collections::BTreeSet<String> {
    let mut there = std::collections::BTreeSet::new();
    let mut token = String::new();
    loop {
        let path = format!("/v1/schedules?namespace=written&limit=1000{token}");
        let reply = api.get(&path).await.unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
        let items = reply.body["items"].as_array().unwrap();
        there.extend(items.iter().map(|item| format!("written/{}", item["name"].as_str().unwrap())));
        match reply.body["next_page_token"].as_str() {
            Some(next) => token = format!("&page_token={next}"),
            None => return there,
        }
    }
}
