//! A leader on a stage: the log in this process, the duties over it, and schedules to fire.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use campanile::clock::Clock;
use campanile::dispatch::egress::{Egress, Rules};
use campanile::dispatch::{Desk, Limits, Tools, webhook};
use campanile::leader::office::Office;
use campanile::leader::{self, Duties, Stop};
use campanile::metrics::Metrics;
use campanile::service::records::{Records, history_key};
use campanile_core::command::{Condition, Request};
use campanile_core::definition::{About, Definition, Policy, RetryPolicy, ScheduleName, Target, Webhook};
use campanile_core::event::Event;
use campanile_core::firing::FiringId;
use campanile_core::plan::{Options, Planner, Wanted};
use campanile_core::reply::Reply;
use campanile_core::spec::{Spec, Window};
use campanile_core::time::{Span, Timestamp};
use campanile_storage::history::{History, Indexer};
use campanile_storage::ledger::{self, Ledger};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::local::{Local, Log};

/// Longer than anything here takes on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits, and fails when it takes too long.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it did not happen in time")
}

pub(crate) struct Stage {
    pub(crate) log: Arc<Log>,
    pub(crate) office: Local,
    pub(crate) offices: watch::Sender<Option<Local>>,
    pub(crate) tools: Tools,
    pub(crate) stop: Stop,
    leader: JoinHandle<()>,
    /// Of the records, which are empty: no duty here is about what is past.
    _dir: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn open() -> Self {
        Self::with(Limits { in_flight: 256, per_host: 64 })
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self::of(limits, Egress::new(Rules::for_this_machine(), Arc::new(Vec::new)))
    }

    /// A stage whose sender may call what `egress` lets pass.
    pub(crate) fn behind(egress: Egress) -> Self {
        Self::of(Limits { in_flight: 256, per_host: 64 }, egress)
    }

    fn of(limits: Limits, egress: Egress) -> Self {
        let log = Log::new();
        let office = log.elect(1);
        let (sender, _) = webhook::Sender::new(Arc::new(egress)).unwrap();
        let metrics = Metrics::new();
        let clock = Clock::system();
        let tools = Tools {
            sender,
            desk: Arc::new(Desk::new(limits)),
            attempts: TaskTracker::new(),
            clock,
            metrics: Arc::clone(&metrics),
        };
        let stop = Stop::default();
        let offices = watch::Sender::new(Some(office.clone()));
        let (records, dir) = no_records();
        let duties = Duties { clock, plan: Options::default(), records, tools: tools.clone(), metrics };
        let leader = tokio::spawn(leader::lead(offices.subscribe(), |office| office, duties, stop.clone()));
        Self { log, office, offices, tools, stop, leader, _dir: dir }
    }

    /// Puts a schedule.
    pub(crate) async fn put(&self, name: &str, definition: &Definition) {
        let mut planner = Planner::new(Options::default());
        let (wanted, definition) = (wanted(name), Arc::new(definition.clone()));
        let put = move |at, machine: &campanile_core::machine::Machine| {
            planner.put(machine, at, wanted, definition).ok()
        };
        let reply = self.office.propose(Clock::system().now(), put).await.unwrap();
        assert!(matches!(reply, Some(Reply::Schedule(_))), "{reply:?}");
    }

    /// Fires a schedule once, now. Two triggers of one millisecond are told apart by asking again.
    pub(crate) async fn trigger(&self, name: &str) -> FiringId {
        loop {
            let mut planner = Planner::new(Options::default());
            let wanted = wanted(name);
            let plan = move |at, machine: &campanile_core::machine::Machine| {
                planner.trigger(machine, at, wanted, None, None)
            };
            match self.office.propose(Clock::system().now(), plan).await.unwrap() {
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
                changes.mark_unchanged();
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
    }
}

fn no_records() -> (Records, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&dir.path().join("ledger"), ledger::Options::default()).unwrap();
    let history = History::open(&dir.path().join("history")).unwrap();
    let indexer = Indexer::spawn(history, ledger.reader(), history_key).unwrap();
    (Records::new(ledger.reader(), Arc::new(indexer)), dir)
}

fn wanted(name: &str) -> Wanted {
    let request = Request { by: "test".into(), key: None };
    Wanted { name: ScheduleName::parse(name).unwrap(), condition: Condition::None, request }
}

/// A schedule that fires only when it is triggered, and is tried again after a few milliseconds.
pub(crate) fn on_demand(url: &str) -> Definition {
    Definition {
        specs: vec![Spec::At(Timestamp::from_millis(32_503_680_000_000))],
        exclude: Box::default(),
        concurrency_key: None,
        target: Target::Webhook(Box::new(Webhook {
            url: url.into(),
            method: "POST".into(),
            headers: [("x-env".into(), "test".into())].into(),
            timeout: Span::from_secs(20),
        })),
        payload: "{\"kind\":\"full\"}".into(),
        about: About::default(),
        window: Window::default(),
        max_firings: None,
        policy: Arc::new(Policy {
            retry: RetryPolicy {
                initial: Span::from_millis(1),
                max: Span::from_millis(5),
                ..RetryPolicy::default()
            },
            ..Policy::default()
        }),
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

/// With another timeout of its webhook.
pub(crate) fn with_timeout(definition: Definition, timeout: Span) -> Definition {
    let Target::Webhook(mut webhook) = definition.target;
    webhook.timeout = timeout;
    Definition { target: Target::Webhook(webhook), ..definition }
}
