//! What a lease and a send cost when many wait: the figures are printed, and only that they do not grow with what waits is
//! held, by a wide margin.
//!
//! `cargo test -p campanile-core --test queue_speed -- --nocapture` prints them.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a test that measures reads the clock"
)]

use std::sync::Arc;
use std::time::Instant;

use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::command::{
    BeginItem, Body, Command, Condition, LeaderEpoch, Request, SettleItem, Take, Work,
};
use campanile_core::definition::{CatchUp, Definition, Policy, QueueTarget, ScheduleName, Target, Webhook};
use campanile_core::id::{AttemptNumber, LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner, Wanted};
use campanile_core::query;
use campanile_core::reply::Reply;
use campanile_core::spec::Spec;
use campanile_core::time::{Span, Timestamp};

/// A hundred thousand firings wait: each of so many schedules has had ten instants.
const SCHEDULES: usize = 10_000;
const INSTANTS: i64 = 10;

struct Crowd {
    machine: Machine,
    now: Timestamp,
}

impl Crowd {
    /// Schedules of those targets and keys, each with ten firings that wait.
    fn of(targets: impl Iterator<Item = (Target, Option<Arc<str>>)>) -> Self {
        let mut crowd = Self { machine: Machine::default(), now: Timestamp::from_millis(0) };
        let mut planner = Planner::new(Options { max_catch_up: 100_000, ..Options::default() });
        crowd.commit(Body::LeaderEpoch(LeaderEpoch {
            node: NodeId(1),
            incarnation: 1,
            term: Term(1),
            ledger: None,
            leaderless_since: None,
        }));
        let policy = Arc::new(Policy { catch_up: CatchUp::UNLIMITED, ..Policy::default() });
        for (place, (target, concurrency_key)) in targets.enumerate() {
            let every = Spec::Every { every: Span::from_secs(1), anchor: Timestamp::EPOCH };
            let policy = policy.clone();
            let definition = Definition { policy, concurrency_key, ..Definition::new(vec![every], target) };
            let name = ScheduleName::parse(&format!("s{place}")).unwrap();
            let request = Request { by: "ann".into(), key: None };
            let wanted = Wanted { name, condition: Condition::None, request };
            let body = planner.put(&crowd.machine, crowd.now, wanted, Arc::new(definition)).unwrap();
            crowd.commit(body);
        }
        crowd.now = Timestamp::from_millis(INSTANTS * 1_000);
        while let Some(tick) = planner.tick(&crowd.machine, crowd.now) {
            crowd.commit(Body::Tick(tick));
        }
        crowd
    }

    fn commit(&mut self, body: Body) -> Reply {
        let index = LogIndex(self.machine.applied().0 + 1);
        let epoch = self.machine.epoch();
        self.machine.apply(index, &Command { at: self.now, epoch, body }).0
    }

    /// Takes a hundred at a time and settles them, until nothing waits; microseconds a firing of the first and the last tenth.
    fn drain(&mut self, queue: &str) -> (f64, f64) {
        let mut took = Vec::new();
        loop {
            let started = Instant::now();
            let request = Request { by: "w".into(), key: None };
            let (worker, ttl) = (Arc::from("w"), Span::from_secs(60));
            let take = Take { queue: queue.into(), worker, most: 100, ttl, request };
            let Reply::Worked(worked) =
                self.commit(Body::Work(Work { takes: vec![take], ..Work::default() }))
            else {
                panic!("it is work")
            };
            let leased = worked.taken[0].clone().unwrap();
            if leased.is_empty() {
                break;
            }
            let settle = |firing, attempt| SettleItem { firing, attempt, report: report(self.now) };
            let settles = leased.iter().map(|it| settle(it.firing, it.lease.attempt)).collect();
            self.commit(Body::Work(Work::settle(settles)));
            took.push(started.elapsed().as_secs_f64() * 1e6 / leased.len() as f64);
        }
        assert_eq!(self.machine.live_count(), 0);
        (first(&took), last(&took))
    }

    /// The same for what nodes send, two thousand at a time.
    fn send(&mut self) -> (f64, f64) {
        let mut took = Vec::new();
        while query::next_work(&self.machine).is_some() {
            let sends = self.machine.due().sends();
            let ids: Vec<_> = sends.iter().take(2_000).map(|(_, id)| id).collect();
            let attempt = AttemptNumber(1);
            let item = |firing| BeginItem { firing, attempt, ttl: Span::from_secs(60) };
            let begin = Work::begin(Holder::Node(NodeId(1)), ids.iter().copied().map(item).collect());
            let settle = |firing| SettleItem { firing, attempt, report: report(self.now) };
            let settles = Work::settle(ids.iter().copied().map(settle).collect());
            let started = Instant::now();
            self.commit(Body::Work(begin));
            self.commit(Body::Work(settles));
            took.push(started.elapsed().as_secs_f64() * 1e6 / ids.len() as f64);
        }
        assert_eq!(self.machine.live_count(), 0);
        (first(&took), last(&took))
    }
}

fn report(sent_at: Timestamp) -> Report {
    Report { verdict: Verdict::Succeeded, sent_at, status: None, error: "".into(), output: "".into() }
}

/// The median of the first tenth.
fn first(took: &[f64]) -> f64 {
    median(&took[..took.len().div_ceil(10)])
}

/// The median of the last tenth.
fn last(took: &[f64]) -> f64 {
    median(&took[took.len() - took.len().div_ceil(10)..])
}

fn median(of: &[f64]) -> f64 {
    let mut of = of.to_vec();
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

fn tell(what: &str, (first, last): (f64, f64)) {
    println!("{what}: {first:.2} us a firing while all wait, {last:.2} us at the end");
    assert!(first < 20.0 * last, "{what}: what waits makes it slow");
}

#[test]
fn a_lease_costs_the_same_however_long_its_queue_is() {
    let target = |priority| Target::Queue(QueueTarget { queue: "q".into(), priority });
    let plain = (0..SCHEDULES).map(|_| (target(0), None));
    tell("one queue", Crowd::of(plain).drain("q"));
    let spread = (0..SCHEDULES).map(|place| (target((place % 7) as i8), None));
    tell("seven priorities", Crowd::of(spread).drain("q"));
    let keyed = (0..SCHEDULES).map(|place| (target(0), Some(format!("key-{}", place % 1_000).into())));
    tell("a thousand keys", Crowd::of(keyed).drain("q"));
}

#[test]
fn a_send_costs_the_same_to_one_host_and_to_ten_thousand() {
    let target = |host: usize| Target::Webhook(Box::new(Webhook::new(&format!("http://host-{host}/hook"))));
    let one = (0..SCHEDULES).map(|_| (target(0), None));
    tell("one host", Crowd::of(one).send());
    let many = (0..SCHEDULES).map(|host| (target(host), None));
    tell("a host a schedule", Crowd::of(many).send());
}
