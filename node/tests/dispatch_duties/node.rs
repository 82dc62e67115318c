//! A node of the cluster in this process: it sees the log, at once or later, leads it or forwards to whoever does, and can be
//! cut off.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use campanile::leader::office::{NoReply, Office};
use campanile::service::quorum::{ChangeFailure, ClusterStatus, Leader, Plan, Quorum, Undone};
use campanile::wire::cluster;
use campanile::work::{self, Intake};
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use campanile_raft::runtime::watch;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::local::{Local, Log, take_one};

/// The nodes of one cluster, by id from 1.
#[derive(Default)]
pub(crate) struct Nodes(Mutex<Vec<(Weak<Node>, Option<Intake>)>>);

/// One of them.
pub(crate) struct Node {
    log: Arc<Log>,
    id: u64,
    offices: watch::Receiver<Option<Local>>,
    nodes: Arc<Nodes>,
    /// It has applied no more than this.
    sees: watch::Sender<u64>,
    /// Nobody hears of it and it reaches nobody.
    pub(crate) silent: AtomicBool,
    /// How many frames it has forwarded.
    pub(crate) forwarded: AtomicUsize,
    /// So many answers to what it says are lost from here on: it is heard, and does not know.
    pub(crate) lose_answers: AtomicUsize,
    /// How often anybody here has looked at its machine.
    pub(crate) looks: AtomicUsize,
}

impl Node {
    /// The next node of a cluster; `offices` says who leads.
    pub(crate) fn join(
        log: Arc<Log>,
        offices: watch::Receiver<Option<Local>>,
        nodes: &Arc<Nodes>,
    ) -> Arc<Self> {
        let mut all = nodes.0.lock().unwrap();
        let node = Arc::new(Self {
            log,
            id: all.len() as u64 + 1,
            offices,
            nodes: Arc::clone(nodes),
            sees: watch::Sender::new(u64::MAX),
            silent: AtomicBool::new(false),
            forwarded: AtomicUsize::new(0),
            lose_answers: AtomicUsize::new(0),
            looks: AtomicUsize::new(0),
        });
        all.push((Arc::downgrade(&node), None));
        drop(all);
        node
    }

    /// Answers frames with that from now on.
    pub(crate) fn answer_with(&self, intake: &Intake) {
        self.nodes.0.lock().unwrap()[self.id as usize - 1].1 = Some(intake.clone());
    }

    /// From here on it applies nothing beyond that entry.
    pub(crate) fn see_up_to(&self, index: u64) {
        self.sees.send_replace(index);
    }

    /// It applies everything again.
    pub(crate) fn see_all(&self) {
        self.see_up_to(u64::MAX);
    }

    /// Returns once somebody here has looked so many times more: then what had to happen after a look has happened.
    pub(crate) async fn look_again(&self, times: usize) {
        self.looked(self.looks.load(Ordering::Relaxed) + times).await;
    }

    /// Returns once somebody here has looked so many times in all.
    pub(crate) async fn looked(&self, times: usize) {
        super::stage::in_time(async {
            while self.looks.load(Ordering::Relaxed) < times {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    fn heard<T>(&self, answer: T) -> Result<T, Undone> {
        match take_one(&self.lose_answers) {
            true => Err(Undone::Unknown("the answer was lost".into())),
            false => Ok(answer),
        }
    }

    fn office(&self) -> Option<Local> {
        let office = self.offices.borrow().clone();
        office.filter(|office| Office::node(office) == NodeId(self.id) && office.is_held())
    }

    /// Who leads, and how its frames are answered.
    fn leading(&self) -> Option<(Arc<Self>, Intake)> {
        let office = self.offices.borrow().clone().filter(Local::is_held)?;
        let leader = Office::node(&office);
        let (node, intake) = self.nodes.0.lock().unwrap().get(leader.0 as usize - 1)?.clone();
        let node = node.upgrade().filter(|node| !node.silent.load(Ordering::Relaxed))?;
        Some((node, intake?))
    }
}

impl Quorum for Node {
    fn node(&self) -> NodeId {
        NodeId(self.id)
    }

    fn view(&self) -> Arc<Machine> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.log.view_at(*self.sees.borrow())
    }

    fn applied_beyond(&self, index: LogIndex) -> BoxFuture<'_, ()> {
        async move {
            let (mut changes, mut sees) = (self.log.changes(), self.sees.subscribe());
            while self.view().applied() <= index {
                tokio::select! {
                    _ = changes.changed() => {}
                    _ = sees.changed() => {}
                }
            }
        }
        .boxed()
    }

    fn leads(&self) -> bool {
        self.office().is_some()
    }

    fn leader(&self) -> Option<Leader> {
        self.leading().map(|(node, _)| Leader { node: node.node(), api_address: String::new() })
    }

    fn propose(&self, now: Timestamp, plan: Plan) -> BoxFuture<'_, Result<Option<Reply>, Undone>> {
        async move {
            let office = self.office().ok_or_else(|| Undone::NotSent("this node does not lead".into()))?;
            let reply = office.propose(now, plan).await.map_err(|why| match why {
                NoReply::OutOfOffice => Undone::NotSent(why.to_string()),
                NoReply::Busy => Undone::Busy,
                NoReply::Unknown(why) => Undone::Unknown(why),
                NoReply::TooLarge(why) | NoReply::Stopped(why) => Undone::Stopped(why),
            })?;
            self.heard(reply)
        }
        .boxed()
    }

    fn read_barrier(&self) -> BoxFuture<'_, Result<LogIndex, Undone>> {
        async move {
            if self.silent.load(Ordering::Relaxed) {
                return Err(Undone::NotSent("nobody answers".into()));
            }
            let index = self.log.view().applied();
            self.applied_beyond(LogIndex(index.0 - 1)).await;
            Ok(index)
        }
        .boxed()
    }

    fn forward(&self, frame: Bytes, _within: Duration) -> BoxFuture<'_, Result<Bytes, Undone>> {
        async move {
            let reachable = self.leading().filter(|_| !self.silent.load(Ordering::Relaxed));
            let (leader, intake) = reachable.ok_or_else(|| Undone::NotSent("no leader is known".into()))?;
            self.forwarded.fetch_add(1, Ordering::Relaxed);
            let answer = work::answer(&intake, &*leader, &frame).await;
            self.heard(answer.unwrap())
        }
        .boxed()
    }

    fn leader_change(&self, within: Duration) -> BoxFuture<'_, ()> {
        tokio::time::sleep(within.min(Duration::from_millis(5))).boxed()
    }

    fn status(&self) -> ClusterStatus {
        let node = |(place, (node, _)): (usize, &(Weak<Self>, Option<Intake>))| cluster::Node {
            id: place as u64 + 1,
            role: "follower".into(),
            reachable: self
                .leads()
                .then(|| node.upgrade().is_some_and(|node| !node.silent.load(Ordering::Relaxed))),
            ..cluster::Node::default()
        };
        let nodes = self.nodes.0.lock().unwrap().iter().enumerate().map(node).collect();
        ClusterStatus { node: self.node(), nodes, ..ClusterStatus::default() }
    }

    fn transfer(&self, _to: Option<NodeId>) -> BoxFuture<'_, Result<(), ChangeFailure>> {
        refused()
    }

    fn add_node(&self, _: String, _: String) -> BoxFuture<'_, Result<NodeId, ChangeFailure>> {
        refused()
    }

    fn remove_node(&self, _node: NodeId) -> BoxFuture<'_, Result<(), ChangeFailure>> {
        refused()
    }
}

fn refused<T: Send + 'static>() -> BoxFuture<'static, Result<T, ChangeFailure>> {
    async { Err(ChangeFailure::Refused("this cluster stays as it is".into())) }.boxed()
}
