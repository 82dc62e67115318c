//! What stands still in one of three nodes ends that node's part in the cluster, whatever openraft there still believes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;
use campanile_core::id::NodeId;
use campanile_raft::{Consensus, watchdog};
use campanile_storage::Trouble;
use campanile_storage::log::{Bounds, Entry, LogReader, LogStore};
use cluster::{Cluster, Disk, poll, tick, within};

/// Whether the syncs of a node end.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn set(&self, hangs: bool) {
        *self.0.0.lock().unwrap() = hangs;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let hangs = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(hangs, |hangs| *hangs).unwrap());
    }
}

/// The gates of all nodes. They open when the test ends, also when it fails: a log waits for its writer before it goes.
struct Gates(Vec<Gate>);

impl Gates {
    fn open(&self) {
        self.0.iter().for_each(|gate| gate.set(false));
    }
}

impl Drop for Gates {
    fn drop(&mut self) {
        self.open();
    }
}

/// A store whose syncs go through a gate.
struct Gated(Box<dyn LogStore>, Gate);

impl LogStore for Gated {
    fn bounds(&self) -> Bounds {
        self.0.bounds()
    }

    fn purged_meta(&self) -> Option<Bytes> {
        self.0.purged_meta()
    }

    fn vote(&self) -> Result<Option<Bytes>, Trouble> {
        self.0.vote()
    }

    fn committed(&self) -> Result<Option<Bytes>, Trouble> {
        self.0.committed()
    }

    fn reader(&self) -> Arc<dyn LogReader> {
        self.0.reader()
    }

    fn append_batch(&mut self, entries: &[Entry]) -> Result<(), Trouble> {
        self.0.append_batch(entries)
    }

    fn save_vote(&mut self, vote: &[u8]) -> Result<(), Trouble> {
        self.0.save_vote(vote)
    }

    fn save_committed(&mut self, committed: &[u8]) -> Result<(), Trouble> {
        self.0.save_committed(committed)
    }

    fn truncate_from(&mut self, index: u64) -> Result<(), Trouble> {
        self.0.truncate_from(index)
    }

    fn purge_to(&mut self, index: u64, meta: &[u8]) -> Result<(), Trouble> {
        self.0.purge_to(index, meta)
    }

    fn purge_step(&mut self) -> Result<bool, Trouble> {
        self.0.purge_step()
    }

    fn sync(&mut self) -> Result<(), Trouble> {
        self.1.pass();
        self.0.sync()
    }

    fn disk_bytes(&self) -> u64 {
        self.0.disk_bytes()
    }
}

/// Three nodes, each with its gate.
async fn started(limits: watchdog::Limits) -> (Cluster, Gates) {
    let mut cluster = Cluster::new(3, Disk::Memory).await;
    let gates = Gates((0..3).map(|_| Gate::default()).collect());
    let mut starts = Vec::new();
    for (node, gate) in gates.0.iter().enumerate() {
        let mut options = cluster.options(node);
        let (open, gate) = (Arc::clone(&options.open_log), gate.clone());
        options.open_log = Arc::new(move |dir: &Path| Ok(Box::new(Gated(open(dir)?, gate.clone()))));
        options.watchdog = limits;
        let listener = cluster.listener(node).await;
        starts.push(tokio::spawn(Consensus::start(options, listener)));
    }
    for (node, start) in starts.into_iter().enumerate() {
        cluster.nodes.insert(node, within(start).await.unwrap().unwrap());
    }
    (cluster, gates)
}

const NEVER: watchdog::Limits =
    watchdog::Limits { disk_hand_over: None, disk_stop: None, quorum_leases: None };

/// Why a node must stop, once it must.
async fn reason(node: &Consensus) -> String {
    let mut fatal = node.fatal();
    within(fatal.wait_for(Option::is_some)).await.unwrap().clone().unwrap()
}

async fn end(mut cluster: Cluster, gates: &Gates) {
    gates.open();
    for consensus in std::mem::take(&mut cluster.nodes).into_values() {
        within(consensus.stop()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_disk_hangs_gives_its_office_away_and_stops_when_it_goes_on() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let limits = watchdog::Limits { disk_hand_over: seconds(1), disk_stop: seconds(6), ..NEVER };
    let (mut cluster, gates) = started(limits).await;
    let (old, office) = cluster.in_office().await;
    gates.0[old].set(true);
    let pending = office.hand_over(cluster.now(), tick).unwrap();
    let (new, _) = cluster.next_office(&office).await;
    assert_ne!(new, old);
    let hung = &cluster.nodes[&old];
    let counts = hung.status().watchdogs;
    assert_eq!((counts.disk_hangs, counts.disk_hand_overs), (1, 1));
    assert!(hung.offices().borrow().is_none(), "its office ended, whatever openraft says");
    assert_eq!(reason(hung).await, "the disk hangs: a write of the log has not ended for 6 s");
    assert!(hung.offices().borrow().is_none());
    drop(pending);
    gates.open();
    // The others go on without it.
    let hung = cluster.nodes.remove(&old).unwrap();
    cluster.ticks(3).await;
    cluster.nodes.insert(old, hung);
    end(cluster, &gates).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_nobody_acknowledges_although_all_are_there_stops() {
    let limits = watchdog::Limits { quorum_leases: Some(3), ..NEVER };
    let (cluster, gates) = started(limits).await;
    let (leader, _) = cluster.in_office().await;
    cluster.agreed(cluster.nodes[&leader].applied()).await;
    let others: Vec<usize> = (0..3).filter(|node| *node != leader).collect();
    others.iter().for_each(|other| gates.0[*other].set(true));
    // It sends no heartbeats any more, and each of the others stands, and waits for its disk to save that.
    let successor = NodeId(others[0] as u64 + 1);
    poll(|| async { cluster.nodes[&leader].transfer(successor).await.ok() }).await;
    let reason = reason(&cluster.nodes[&leader]).await;
    assert!(reason.starts_with("consensus stands still: for "), "{reason}");
    assert_eq!(cluster.nodes[&leader].status().watchdogs.consensus_stops, 1);
    end(cluster, &gates).await;
}
