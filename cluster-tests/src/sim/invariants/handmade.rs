//! Histories made by hand: the real machine and planner, one leader after another, and what is told of them to a property. A
//! test doctors what was told.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use campanile_core::attempt::{Holder, Lease, Report, Verdict};
use campanile_core::command::{
    BeginItem, Body, Command, Condition, LeaderEpoch, PutQueue, Request, RequestKey, SettleItem, Take, Work,
};
use campanile_core::definition::{Definition, Overlap, Policy, QueueTarget, ScheduleName, Target, Webhook};
use campanile_core::event::{Event, Row};
use campanile_core::firing::FiringId;
use campanile_core::id::{AttemptNumber, Epoch, LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, PauseUntil, Planner, ResumeFrom, Wanted};
use campanile_core::queue::QueueSettings;
use campanile_core::reply::{Leased, Reply, SettledNow};
use campanile_core::spec::Spec;
use campanile_core::time::{Span, Timestamp};

use super::{Findings, Invariant};
use crate::sim::story::{End, Moment, Send, Step, Story};

/// True time when a history begins: 2026-01-01.
pub(super) const BEGIN: i64 = 1_767_225_600_000;
const TTL: Span = Span::from_secs(30);

/// One entry as it was, to be told and doctored.
pub(super) struct Made {
    pub(super) index: u64,
    pub(super) term: u64,
    pub(super) seen: Moment,
    pub(super) now: Timestamp,
    pub(super) command: Command,
    pub(super) before: Machine,
    pub(super) after: Machine,
    pub(super) reply: Reply,
    pub(super) rows: Vec<Row>,
}

/// A history.
pub(super) struct Handmade {
    pub(super) machine: Machine,
    pub(super) planner: Planner,
    pub(super) made: Vec<Made>,
    pub(super) story: Story,
    /// What nodes have written; of two nodes what the log says, unless a test says otherwise.
    pub(super) ledgers: Option<BTreeMap<u64, Vec<(u64, Row)>>>,
    pub(super) moment: Moment,
    term: u64,
}

/// True time at that moment.
pub(super) fn instant(moment: Moment) -> Timestamp {
    Timestamp::from_millis(BEGIN + moment as i64)
}

pub(super) fn name(text: &str) -> ScheduleName {
    ScheduleName::parse(text).unwrap()
}

/// Every so many seconds, to a webhook.
pub(super) fn every(secs: u64, policy: Policy) -> Definition {
    let spec = Spec::Every { every: Span::from_secs(secs), anchor: Timestamp::EPOCH };
    let target = Target::Webhook(Box::new(Webhook::new("http://receiver/")));
    Definition { policy: Arc::new(policy), ..Definition::new(vec![spec], target) }
}

/// Every so many seconds, to the queue `q`.
pub(super) fn queued(secs: u64) -> Definition {
    let target = Target::Queue(QueueTarget { queue: "q".into(), priority: 0 });
    Definition { target, ..every(secs, Policy::default()) }
}

pub(super) fn request(key: Option<&str>) -> Request {
    let key = key.map(|key| RequestKey {
        text: format!("c:{key}").into(),
        fingerprint: [0; 16],
        keep: Span::from_secs(86_400),
    });
    Request { by: "ann".into(), key }
}

pub(super) fn wanted(of: &str, key: Option<&str>) -> Wanted {
    Wanted { name: name(of), condition: Condition::None, request: request(key) }
}

impl Handmade {
    /// A cluster with node 1 in office.
    pub(super) fn new() -> Self {
        let mut new = Self {
            machine: Machine::default(),
            planner: Planner::new(Options::default()),
            made: Vec::new(),
            story: Story::default(),
            ledgers: None,
            moment: 1_000,
            term: 0,
        };
        new.take_office(1);
        new
    }

    /// With the schedule `n/a` of that definition.
    pub(super) fn with(definition: Definition) -> Self {
        let mut new = Self::new();
        new.put("n/a", definition, None);
        new
    }

    /// With a schedule that has fired every ten seconds for a minute, each firing delivered.
    pub(super) fn plain() -> Self {
        let mut new = Self::with(every(10, Policy::default()));
        for moment in (10_000..=60_000).step_by(10_000) {
            new.tick_at(moment);
            new.deliver();
        }
        new
    }

    pub(super) fn now(&self) -> Timestamp {
        instant(self.moment)
    }

    pub(super) fn take_office(&mut self, node: u64) {
        self.term += 1;
        let office = LeaderEpoch {
            node: NodeId(node),
            incarnation: 1,
            term: Term(self.term),
            ledger: None,
            leaderless_since: None,
        };
        self.commit(Body::LeaderEpoch(office));
    }

    pub(super) fn commit(&mut self, body: Body) -> Reply {
        let command = Command { at: self.now().max(self.machine.clock()), epoch: self.machine.epoch(), body };
        self.apply(command)
    }

    /// What a leader of another epoch still proposed.
    pub(super) fn commit_as(&mut self, epoch: u64, body: Body) -> Reply {
        self.apply(Command { at: self.now(), epoch: Epoch(epoch), body })
    }

    fn apply(&mut self, command: Command) -> Reply {
        let before = self.machine.clone();
        let index = before.applied().0 + 1;
        let (reply, rows) = self.machine.apply(LogIndex(index), &command);
        let (after, now) = (self.machine.clone(), self.now());
        let (term, seen) = (self.term, self.moment);
        self.made.push(Made { index, term, seen, now, command, before, after, reply: reply.clone(), rows });
        reply
    }

    pub(super) fn put(&mut self, of: &str, definition: Definition, key: Option<&str>) -> Reply {
        let (at, wanted) = (self.now(), wanted(of, key));
        let body = self.planner.put(&self.machine, at, wanted, Arc::new(definition)).unwrap();
        self.commit(body)
    }

    pub(super) fn delete(&mut self, of: &str, key: Option<&str>) -> Reply {
        let body = self.planner.delete(&self.machine, self.now(), wanted(of, key));
        self.commit(body)
    }

    pub(super) fn pause(&mut self, of: &str, until: Option<Moment>) -> Reply {
        let until = PauseUntil { note: "tea".into(), until: until.map(instant) };
        let body = self.planner.pause(&self.machine, self.now(), wanted(of, None), until);
        self.commit(body)
    }

    pub(super) fn resume(&mut self, of: &str, from: ResumeFrom) -> Reply {
        let body = self.planner.resume(&self.machine, self.now(), wanted(of, None), from);
        self.commit(body)
    }

    pub(super) fn trigger(&mut self, of: &str, key: Option<&str>) -> Reply {
        self.trigger_as(of, key, None)
    }

    pub(super) fn trigger_as(&mut self, of: &str, key: Option<&str>, overlap: Option<Overlap>) -> Reply {
        let body = self.planner.trigger(&self.machine, self.now(), wanted(of, key), None, overlap).unwrap();
        self.commit(body)
    }

    /// The limits of the queue `q`.
    pub(super) fn put_queue(&mut self, max_in_flight: Option<u32>, max_in_flight_per_key: u32) {
        let settings = QueueSettings { max_in_flight, max_in_flight_per_key, rate: None };
        let (condition, request) = (Condition::None, request(None));
        self.commit(Body::PutQueue(PutQueue { name: "q".into(), settings, condition, request }));
    }

    /// Decides everything that is due at that moment.
    pub(super) fn tick_at(&mut self, moment: Moment) {
        self.moment = moment;
        while let Some(tick) = self.planner.tick(&self.machine, self.now()) {
            self.commit(Body::Tick(tick));
        }
    }

    /// Begins by node 1 whatever may be sent.
    pub(super) fn begin(&mut self) -> Vec<(FiringId, Lease)> {
        let ready = campanile_core::query::work_now(&self.machine, self.now());
        let items = ready.iter().map(|firing| BeginItem {
            firing: firing.id,
            attempt: AttemptNumber(firing.attempt.0 + 1),
            ttl: TTL,
        });
        let work = Work::begin(Holder::Node(NodeId(1)), items.collect());
        self.commit(Body::Work(work));
        let rows = &self.made.last().unwrap().rows;
        let begun = rows.iter().filter_map(|row| match &row.event {
            Event::Begun { firing, lease } => Some((*firing, lease.clone())),
            _ => None,
        });
        begun.collect()
    }

    /// A request that its receiver answered so.
    pub(super) fn send(&mut self, firing: FiringId, lease: &Lease, answered: u16) {
        self.moment += 5;
        self.story.sends.push(Send {
            node: 1,
            firing,
            attempt: lease.attempt.0,
            token: lease.fencing_token.0,
            url: "http://receiver/".into(),
            sent: self.moment,
            arrived: Some(self.moment + 2),
            answered: Some(answered),
        });
        self.moment += 5;
    }

    pub(super) fn settle(&mut self, firing: FiringId, attempt: u32, verdict: Verdict) -> Option<SettledNow> {
        let report = Report {
            verdict,
            sent_at: self.now(),
            status: (verdict == Verdict::Succeeded).then_some(200),
            error: "".into(),
            output: "".into(),
        };
        let item = SettleItem { firing, attempt: AttemptNumber(attempt), report };
        match self.commit(Body::Work(Work::settle(vec![item]))) {
            Reply::Worked(worked) => worked.settled[0].ok(),
            other => panic!("{other:?}"),
        }
    }

    /// Begins, sends and settles whatever may be sent, each accepted.
    pub(super) fn deliver(&mut self) {
        for (firing, lease) in self.begin() {
            self.send(firing, &lease, 204);
            self.settle(firing, lease.attempt.0, Verdict::Succeeded);
        }
    }

    pub(super) fn take(&mut self, most: u32, key: Option<&str>) -> Vec<Leased> {
        let take = Take { queue: "q".into(), worker: "w".into(), most, ttl: TTL, request: request(key) };
        match self.commit(Body::Work(Work { takes: vec![take], ..Work::default() })) {
            Reply::Worked(worked) => worked.taken[0].clone().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The entry that told such a fact first, and the place of the fact in it.
    pub(super) fn find(&mut self, is_it: impl Fn(&Event) -> bool) -> (&mut Made, usize) {
        let of = |made: &Made| made.rows.iter().position(|row| is_it(&row.event));
        let made = self.made.iter_mut().find(|made| of(made).is_some()).unwrap();
        let place = of(made).unwrap();
        (made, place)
    }

    /// Tells it all to a property.
    pub(super) fn judge(&self, property: &mut dyn Invariant) -> Findings {
        let mut found = Findings::default();
        for made in &self.made {
            let Made { index, term, seen, now, command, before, after, reply, rows } = made;
            let (index, term, seen, now) = (*index, *term, *seen, *now);
            property.step(&Step { index, term, seen, now, command, before, after, reply, rows }, &mut found);
        }
        let rows = self.rows();
        let equal = || [1, 2].into_iter().map(|node| (node, rows.clone())).collect();
        let ledgers = self.ledgers.clone().unwrap_or_else(equal);
        let (story, machine, moment, now) = (&self.story, &self.machine, self.moment, self.now());
        property.end(&End { story, machine, rows: &rows, ledgers: &ledgers, now, moment }, &mut found);
        found
    }

    /// All rows, each with its entry.
    pub(super) fn rows(&self) -> Vec<(u64, Row)> {
        let rows = self.made.iter().flat_map(|made| made.rows.iter().map(|row| (made.index, row.clone())));
        rows.collect()
    }

    /// The property of that name finds something that is told so.
    #[track_caller]
    pub(super) fn assert_found(&self, property: &str, words: &str) {
        let mut known = super::all().into_iter();
        let found =
            self.judge(&mut *known.find(|known| known.name() == property).expect("a property of that name"));
        assert!(found.told.iter().any(|(_, what)| what.contains(words)), "no {words:?} in {found:#?}");
    }
}
