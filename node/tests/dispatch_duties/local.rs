//! A log in this process: what is proposed is applied at once, in a cluster of as many nodes as a test wants ([`super::node`]).
//! It can lose replies and offices; the duties of a leader propose to it as to an office.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use campanile::leader::office::{NoReply, Office};
use campanile_core::command::{Body, Command, LeaderEpoch};
use campanile_core::event::{Event, Row};
use campanile_core::id::{Epoch, LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use campanile_raft::runtime::watch;

/// The machine after each entry, and everything that it said.
pub(crate) struct Log {
    versions: Mutex<Vec<Arc<Machine>>>,
    rows: Mutex<Vec<Row>>,
    applied: watch::Sender<LogIndex>,
    /// So many replies are lost from here on: the command is applied, and its proposer does not hear.
    pub(crate) lose_replies: AtomicUsize,
    /// A Tick with more parts than this outgrows an entry.
    pub(crate) largest_tick: AtomicUsize,
    /// The latest moment that an entry may carry, in milliseconds: what the peers' clocks show, to a leader that is ahead.
    pub(crate) latest: AtomicI64,
    /// How many reports were applied.
    pub(crate) settles: AtomicUsize,
}

impl Log {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            versions: Mutex::new(vec![Arc::default()]),
            rows: Mutex::default(),
            applied: watch::Sender::new(LogIndex(0)),
            lose_replies: AtomicUsize::new(0),
            largest_tick: AtomicUsize::new(usize::MAX),
            latest: AtomicI64::new(i64::MAX),
            settles: AtomicUsize::new(0),
        })
    }

    pub(crate) fn view(&self) -> Arc<Machine> {
        self.view_at(u64::MAX)
    }

    /// The machine as far as a node has applied that has applied no more than `index`.
    pub(crate) fn view_at(&self, index: u64) -> Arc<Machine> {
        let versions = self.versions.lock().unwrap();
        let last = versions.len() - 1;
        Arc::clone(&versions[usize::try_from(index).map_or(last, |index| index.min(last))])
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.rows.lock().unwrap().iter().map(|row| row.event.clone()).collect()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<LogIndex> {
        self.applied.subscribe()
    }

    /// A new leader takes office.
    pub(crate) fn elect(self: &Arc<Self>, node: u64) -> Local {
        let term = Term(self.view().office().term.0 + 1);
        let command =
            LeaderEpoch { node: NodeId(node), incarnation: 1, term, ledger: None, leaderless_since: None };
        let reply = self.apply(Timestamp::EPOCH, Epoch(0), |_, _| Some(Body::LeaderEpoch(command)));
        let Some(Reply::InOffice(epoch)) = reply else { panic!("an election is never refused: {reply:?}") };
        Local { log: Arc::clone(self), node: NodeId(node), epoch, lost: Arc::default() }
    }

    /// Applies what is planned, as consensus would: stamped with the log's time or later, the view before the reply.
    fn apply(
        &self,
        now: Timestamp,
        epoch: Epoch,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body>,
    ) -> Option<Reply> {
        let mut versions = self.versions.lock().unwrap();
        let machine = Arc::clone(&versions[versions.len() - 1]);
        let latest = Timestamp::from_millis(self.latest.load(Ordering::Relaxed));
        let at = now.min(latest).max(machine.clock());
        let body = plan(at, &machine)?;
        if let Body::Work(work) = &body {
            self.settles.fetch_add(work.settles.len(), Ordering::Relaxed);
        }
        let index = LogIndex(machine.applied().0 + 1);
        let mut next = Machine::clone(&machine);
        let (reply, rows) = next.apply(index, &Command { at, epoch, body });
        self.rows.lock().unwrap().extend(rows);
        versions.push(Arc::new(next));
        drop(versions);
        self.applied.send_replace(index);
        Some(reply)
    }
}

/// The right to propose to it.
#[derive(Clone)]
pub(crate) struct Local {
    pub(crate) log: Arc<Log>,
    node: NodeId,
    epoch: Epoch,
    lost: Arc<AtomicBool>,
}

impl Local {
    /// From here on it is refused whatever it proposes.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Whether it is the one in force.
    pub(crate) fn is_held(&self) -> bool {
        !self.lost.load(Ordering::Relaxed) && self.log.view().epoch() == self.epoch
    }
}

impl Office for Local {
    fn node(&self) -> NodeId {
        self.node
    }

    fn view(&self) -> Arc<Machine> {
        self.log.view()
    }

    fn allows(&self, now: Timestamp) -> bool {
        now.as_millis() <= self.log.latest.load(Ordering::Relaxed)
    }

    async fn applied_beyond(&self, index: LogIndex) {
        let _ = self.log.changes().wait_for(|applied| *applied > index).await;
    }

    async fn propose(
        &self,
        now: Timestamp,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body> + Send,
    ) -> Result<Option<Reply>, NoReply> {
        // As with a log, others get their turn meanwhile.
        tokio::task::yield_now().await;
        if !self.is_held() {
            return Err(NoReply::OutOfOffice);
        }
        let mut too_large = false;
        let plan = |at: Timestamp, machine: &Machine| {
            plan(at, machine).filter(|body| {
                too_large = parts(body) > self.log.largest_tick.load(Ordering::Relaxed);
                !too_large
            })
        };
        let reply = self.log.apply(now, self.epoch, plan);
        if too_large {
            return Err(NoReply::TooLarge("the entry is too large".into()));
        }
        if reply.is_some() && take_one(&self.log.lose_replies) {
            return Err(NoReply::Unknown("the reply was lost".into()));
        }
        Ok(reply)
    }
}

/// Whether one was left.
pub(crate) fn take_one(count: &AtomicUsize) -> bool {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

fn parts(body: &Body) -> usize {
    let Body::Tick(tick) = body else { return 0 };
    tick.on_time.len() + tick.decisions.len()
}
