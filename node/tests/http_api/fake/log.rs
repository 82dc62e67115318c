//! The log of the cluster in memory: what is committed is applied at once, and its rows go into a real ledger.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use campanile::leader::office::{NoReply, Office};
use campanile::service::records::{Records, history_keys};
use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::command::{BeginItem, Body, Command, DropLedger, LeaderEpoch, Restate, SettleItem, Work};
use campanile_core::event::{Event, Row};
use campanile_core::format::FormatLevel;
use campanile_core::id::{AttemptNumber, Epoch, LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::plan::{self, Planner};
use campanile_core::query;
use campanile_core::reply::Reply;
use campanile_core::time::{Span, Timestamp};
use campanile_raft::level;
use campanile_storage::Kind;
use campanile_storage::history::{History, Indexer};
use campanile_storage::ledger::{self, Install, Ledger};
use tokio::sync::watch;

use super::{Api, NOON};

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
    pub(super) machine: Mutex<Arc<Machine>>,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) indexer: Arc<Indexer>,
    pub(super) clock: AtomicI64,
    applied: watch::Sender<LogIndex>,
    pub(super) faults: Mutex<VecDeque<Fault>>,
    pub(super) proposals: Mutex<Vec<Body>>,
    /// The most rows that one count looks at.
    most: usize,
    dir: tempfile::TempDir,
}

impl Api {
    /// The leader of a new cluster, in which counts are cut after so many rows.
    pub(crate) fn counting_at_most(rows: usize) -> Self {
        Self::on(Log::of(rows), 1, None)
    }
}

impl Log {
    pub(super) fn start() -> Arc<Self> {
        Self::of(usize::MAX)
    }

    fn of(most: usize) -> Arc<Self> {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger"), ledger::Options::default()).unwrap();
        let history = History::open(&dir.path().join("history")).unwrap();
        let indexer = Arc::new(Indexer::spawn(history, ledger.reader(), history_keys).unwrap());
        let log = Arc::new(Self {
            machine: Mutex::default(),
            ledger: Mutex::new(ledger),
            indexer,
            clock: AtomicI64::new(NOON),
            applied: watch::Sender::new(LogIndex(0)),
            faults: Mutex::default(),
            proposals: Mutex::default(),
            most,
            dir,
        });
        log.commit(|_, _| {
            Some(Body::LeaderEpoch(LeaderEpoch {
                node: NodeId(1),
                incarnation: 1,
                term: Term(1),
                ledger: None,
                leaderless_since: None,
            }))
        });
        log
    }

    pub(super) fn records(&self) -> Records {
        let reader = self.ledger.lock().unwrap().reader();
        Records::new(reader, self.indexer.clone()).counting_at_most(self.most)
    }

    pub(crate) fn view(&self) -> Arc<Machine> {
        self.machine.lock().unwrap().clone()
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::SeqCst))
    }

    /// Returns once something beyond that index is committed.
    pub(crate) async fn applied_beyond(&self, index: LogIndex) {
        let _ = self.applied.subscribe().wait_for(|applied| *applied > index).await;
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
            rows.iter().map(|row| level::write(Kind::Event, FormatLevel::OLDEST, row).unwrap()).collect();
        self.ledger.lock().unwrap().append(index.0, &rows).unwrap();
        *machine = Arc::new(next);
        self.applied.send_replace(index);
        Some(reply)
    }

    /// One more entry, with so many rows more than it would have.
    pub(crate) fn fill(&self, rows: u64) {
        let mut machine = self.machine.lock().unwrap();
        let index = LogIndex(machine.applied().0 + 1);
        let epoch = LeaderEpoch {
            node: NodeId(1),
            incarnation: index.0,
            term: Term(index.0),
            ledger: None,
            leaderless_since: None,
        };
        let command = Command { at: machine.clock(), epoch: Epoch(0), body: Body::LeaderEpoch(epoch) };
        let mut next = Machine::clone(&machine);
        let (_, mut told) = next.apply(index, &command);
        told.extend((0..rows).map(|n| Row { at: command.at, event: Event::Restated { from: LogIndex(n) } }));
        let bytes: Vec<Vec<u8>> =
            told.iter().map(|row| level::write(Kind::Event, FormatLevel::OLDEST, row).unwrap()).collect();
        self.ledger.lock().unwrap().append(index.0, &bytes).unwrap();
        *machine = Arc::new(next);
        self.applied.send_replace(index);
    }

    /// Decides what is due.
    pub(crate) fn tick(&self) {
        let mut planner = Planner::new(plan::Options::default());
        while self.commit(|at, machine| planner.tick(machine, at).map(Body::Tick)).is_some() {}
    }

    /// Retention drops every row that there is.
    pub(crate) fn forget(&self) {
        self.ledger.lock().unwrap().drop_prefix(self.view().applied().0 + 1);
    }

    /// Retention drops the rows of earlier entries.
    pub(crate) fn drop_before(&self, index: u64) {
        self.ledger.lock().unwrap().drop_prefix(index);
    }

    /// A peer's image takes the place of what this node has: its ledger begins with that entry.
    pub(crate) fn take_image(&self, from: u64) {
        let mut ledger = self.ledger.lock().unwrap();
        let reader = ledger.reader();
        let base = reader.head_before(from).unwrap();
        let dir = self.dir.path().join("ledger");
        let mut install = Install::begin(&dir, ledger::Options::default(), base).unwrap();
        install.push(&reader.read_held(base.position, usize::MAX, usize::MAX).unwrap()).unwrap();
        ledger.adopt(install.stage().unwrap()).unwrap();
    }

    /// Tells again what stands, and then retention drops what is older.
    pub(crate) fn restate_and_drop(&self) {
        self.commit(|_, _| Some(Body::Restate(Restate { after: None, most: 10_000 })));
        let before = self.view().keeping().restated.last().unwrap().from;
        self.commit(|_, _| Some(Body::DropLedger(DropLedger { before })));
        self.ledger.lock().unwrap().drop_prefix(before.0);
    }

    /// Begins everything that may begin.
    pub(crate) fn begin(&self) -> Vec<BeginItem> {
        let mut items = Vec::new();
        self.commit(|at, machine| {
            items = query::work_now(machine, at)
                .into_iter()
                .map(|firing| BeginItem {
                    firing: firing.id,
                    attempt: AttemptNumber(firing.attempt.0 + 1),
                    ttl: Span::from_secs(30),
                })
                .collect();
            Some(Body::Work(Work::begin(Holder::Node(NodeId(1)), items.clone())))
        });
        items
    }

    /// Begins everything that may begin, and settles it with that verdict.
    pub(crate) fn work(&self, verdict: Verdict) {
        let items = self.begin();
        self.settle(&items, verdict);
    }

    /// Settles what has begun with that verdict.
    pub(crate) fn settle(&self, items: &[BeginItem], verdict: Verdict) {
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
        self.commit(|_, _| Some(Body::Work(Work::settle(items))));
    }
}

/// The office of the leader, for its duties.
#[derive(Clone)]
pub(crate) struct FakeOffice(pub(super) Arc<Log>);

impl Office for FakeOffice {
    fn node(&self) -> NodeId {
        NodeId(1)
    }

    fn view(&self) -> Arc<Machine> {
        self.0.view()
    }

    async fn applied_beyond(&self, index: LogIndex) {
        self.0.applied_beyond(index).await;
    }

    fn allows(&self, _now: Timestamp) -> bool {
        true
    }

    async fn propose(
        &self,
        _now: Timestamp,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body> + Send,
    ) -> Result<Option<Reply>, NoReply> {
        Ok(self.0.commit(plan))
    }
}
