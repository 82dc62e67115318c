//! A cluster on a stage: the log in this process, the leader's duties over it, nodes that dispatch, and schedules to fire.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use campanile::clock::Clock;
use campanile::dispatch::egress::{Egress, Rules};
use campanile::dispatch::exit::Exit;
use campanile::dispatch::{self, Desk, Limits, Tools, webhook};
use campanile::leader::office::Office;
use campanile::leader::{self, Duties, Retention, Stop};
use campanile::metrics::Metrics;
use campanile::service::quorum::Quorum;
use campanile::service::records::{Records, history_keys};
use campanile::work::Intake;
use campanile_core::command::{Body, Condition, Request};
use campanile_core::definition::{Definition, Policy, RetryPolicy, ScheduleName, Target, Webhook};
use campanile_core::event::Event;
use campanile_core::firing::FiringId;
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner, Wanted};
use campanile_core::reply::Reply;
use campanile_core::spec::Spec;
use campanile_core::time::{Span, Timestamp};
use campanile_raft::runtime::watch;
use campanile_storage::history::{History, Indexer};
use campanile_storage::ledger::{self, Ledger};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::local::{Local, Log};
use super::node::{Node, Nodes};

/// Longer than anything here takes on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits, and fails when it takes too long.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it did not happen in time")
}

/// Seats enough for whatever is not about seats.
pub(crate) const ROOMY: Limits = Limits { in_flight: 256, per_host: 64 };

/// A log, its leader's duties, and the nodes that dispatch over it.
pub(crate) struct Stage {
    pub(crate) log: Arc<Log>,
    /// Who leads; the duties follow it. The first node, to begin with.
    pub(crate) offices: watch::Sender<Option<Local>>,
    /// The nodes in the order of their ids, which begin at 1.
    pub(crate) members: Vec<Member>,
    stop: Stop,
    leader: JoinHandle<()>,
    /// Of the records, which are empty: no duty here is about what is past.
    _dir: tempfile::TempDir,
}

/// A node that dispatches.
pub(crate) struct Member {
    pub(crate) node: Arc<Node>,
    pub(crate) tools: Tools,
    pub(crate) stop: Stop,
    dispatch: JoinHandle<()>,
}

impl Stage {
    pub(crate) fn open() -> Self {
        Self::with(ROOMY)
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self::cluster(1, limits)
    }

    /// So many nodes, the first of which leads.
    pub(crate) fn cluster(count: usize, limits: Limits) -> Self {
        let egress = || Egress::new(Rules::for_this_machine(), Arc::new(Vec::new));
        Self::of(count, limits, &|| sender(egress()))
    }

    /// One node, which may call what `egress` lets pass.
    pub(crate) fn behind(egress: Egress) -> Self {
        let egress = std::cell::Cell::new(Some(egress));
        Self::of(1, ROOMY, &|| sender(egress.take().unwrap()))
    }

    /// One node, whose requests leave by this exit.
    pub(crate) fn leaving_by(exit: &Arc<dyn Exit>) -> Self {
        Self::of(1, ROOMY, &|| webhook::Sender::by(Arc::clone(exit)))
    }

    fn of(count: usize, limits: Limits, sender: &dyn Fn() -> webhook::Sender) -> Self {
        let log = Log::new();
        let offices = watch::Sender::new(Some(log.elect(1)));
        let (records, dir) = no_records();
        let (clock, metrics, stop) = (Clock::system(), Metrics::new(), Stop::default());
        let duties =
            Duties { clock, plan: Options::default(), records, retention: Retention::default(), metrics };
        let leader = tokio::spawn(leader::lead(offices.subscribe(), |office| office, duties, stop.clone()));
        // All of them before any dispatches: whose work is whose depends on who is there.
        let nodes = Arc::<Nodes>::default();
        let join = |_| Node::join(Arc::clone(&log), offices.subscribe(), &nodes);
        let nodes: Vec<_> = (0..count).map(join).collect();
        let members = nodes.into_iter().map(|node| Member::run(node, limits, sender())).collect();
        Self { log, offices, members, stop, leader, _dir: dir }
    }

    /// Another node leads from now on.
    pub(crate) fn elect(&self, node: u64) {
        self.offices.send_replace(Some(self.log.elect(node)));
    }

    /// Nobody leads from now on.
    pub(crate) fn depose(&self) {
        if let Some(office) = self.offices.send_replace(None) {
            office.lose();
        }
    }

    /// The desk of the first node.
    pub(crate) fn desk(&self) -> &Desk {
        &self.members[0].tools.desk
    }

    /// Proposes as whoever leads would.
    pub(crate) async fn propose(
        &self,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body> + Send,
    ) -> Option<Reply> {
        let office = self.offices.borrow().clone().unwrap();
        office.propose(Clock::system().now(), plan).await.unwrap()
    }

    /// Puts a schedule.
    pub(crate) async fn put(&self, name: &str, definition: &Definition) {
        let mut planner = Planner::new(Options::default());
        let (wanted, definition) = (wanted(name), Arc::new(definition.clone()));
        let put = move |at, machine: &Machine| planner.put(machine, at, wanted, definition).ok();
        let reply = self.propose(put).await;
        assert!(matches!(reply, Some(Reply::Schedule(_))), "{reply:?}");
    }

    /// Fires a schedule once, now. Two triggers of one millisecond are told apart by asking again.
    pub(crate) async fn trigger(&self, name: &str) -> FiringId {
        loop {
            let mut planner = Planner::new(Options::default());
            let wanted = wanted(name);
            let plan = move |at, machine: &Machine| planner.trigger(machine, at, wanted, None, None);
            match self.propose(plan).await {
                Some(Reply::Fired(id)) => return id,
                None => tokio::task::yield_now().await,
                other => panic!("not fired: {other:?}"),
            }
        }
    }

    /// The events, once they are as `wanted`.
    pub(crate) async fn events(&self, wanted: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let mut changes = self.log.changes();
        in_time(async {
            loop {
                changes.borrow_and_update();
                let events = self.log.events();
                if wanted(&events) {
                    return events;
                }
                changes.changed().await.unwrap();
            }
        })
        .await
    }

    /// The events, once so many attempts are settled.
    pub(crate) async fn settled(&self, count: usize) -> Vec<Event> {
        self.events(|events| {
            events.iter().filter(|event| matches!(event, Event::Settled { .. })).count() >= count
        })
        .await
    }

    pub(crate) async fn close(self) {
        self.stop.leave.cancel();
        in_time(self.leader).await.unwrap();
        for member in self.members {
            member.kill().await;
        }
    }
}

impl Member {
    fn run(node: Arc<Node>, limits: Limits, sender: webhook::Sender) -> Self {
        let (clock, quorum) = (Clock::system(), Arc::clone(&node) as Arc<dyn Quorum>);
        let intake = Intake::start(Arc::clone(&quorum), Arc::new(move || clock.now()));
        node.answer_with(&intake);
        let (desk, attempts, metrics) = (Arc::new(Desk::new(limits)), TaskTracker::new(), Metrics::new());
        let tools = Tools { sender, desk, attempts, clock, metrics, quorum, intake };
        let stop = Stop::default();
        let run = dispatch::run(tools.clone(), stop.begin_nothing.clone(), stop.leave.clone());
        Self { node, tools, stop, dispatch: tokio::spawn(run) }
    }

    /// Ends its dispatcher; its requests go on.
    pub(crate) async fn kill(self) {
        self.stop.leave.cancel();
        in_time(self.dispatch).await.unwrap();
    }

    /// Ends its dispatcher, and starts another on a desk that knows nothing, as a new process of the node would.
    pub(crate) async fn restart(self) -> Self {
        let (node, sender) = (Arc::clone(&self.node), self.tools.sender.clone());
        self.kill().await;
        Self::run(node, ROOMY, sender)
    }
}

fn sender(egress: Egress) -> webhook::Sender {
    webhook::Sender::new(Arc::new(egress)).unwrap().0
}

fn no_records() -> (Records, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&dir.path().join("ledger"), ledger::Options::default()).unwrap();
    let history = History::open(&dir.path().join("history")).unwrap();
    let indexer = Indexer::spawn(history, ledger.reader(), history_keys).unwrap();
    (Records::new(ledger.reader(), Arc::new(indexer)), dir)
}

fn wanted(name: &str) -> Wanted {
    let request = Request { by: "test".into(), key: None };
    Wanted { name: ScheduleName::parse(name).unwrap(), condition: Condition::None, request }
}

/// A schedule that fires only when it is triggered, and is tried again after a few milliseconds.
pub(crate) fn on_demand(url: &str) -> Definition {
    let target = Target::Webhook(Box::new(Webhook {
        headers: [("x-env".into(), "test".into())].into(),
        timeout: Span::from_secs(20),
        ..Webhook::new(url)
    }));
    let retry =
        RetryPolicy { initial: Span::from_millis(1), max: Span::from_millis(5), ..RetryPolicy::default() };
    Definition {
        payload: "{\"kind\":\"full\"}".into(),
        policy: Arc::new(Policy { retry, ..Policy::default() }),
        ..Definition::new(vec![Spec::At(Timestamp::from_millis(32_503_680_000_000))], target)
    }
}

/// The same, firing every second at that millisecond of it.
pub(crate) fn every_second(url: &str, millisecond: i64) -> Definition {
    let spec = Spec::Every { every: Span::from_secs(1), anchor: Timestamp::from_millis(millisecond) };
    Definition { specs: vec![spec], ..on_demand(url) }
}

/// With another policy.
pub(crate) fn with_policy(definition: Definition, change: impl FnOnce(&mut Policy)) -> Definition {
    let mut policy = Policy::clone(&definition.policy);
    change(&mut policy);
    Definition { policy: Arc::new(policy), ..definition }
}

/// With another webhook.
pub(crate) fn with_webhook(definition: Definition, change: impl FnOnce(&mut Webhook)) -> Definition {
    let Target::Webhook(mut webhook) = definition.target else { panic!("not a webhook: {definition:?}") };
    change(&mut webhook);
    Definition { target: Target::Webhook(webhook), ..definition }
}
