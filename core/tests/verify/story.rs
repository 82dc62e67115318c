//! One good story, told by the machine and a leader's planner: firings that are delivered, a pause, two leaders, an outage, a
//! skip ahead, an edit, a trigger, a removal.

use std::sync::Arc;

use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::command::{BeginItem, Body, Command, Condition, LeaderEpoch, Request, SettleItem, Work};
use campanile_core::cron::parse_instant;
use campanile_core::definition::{Definition, ScheduleName, Target, Webhook};
use campanile_core::event::LedgerEnd;
use campanile_core::id::{AttemptNumber, Epoch, LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, PauseUntil, Planner, ResumeFrom, Wanted};
use campanile_core::query;
use campanile_core::spec::Spec;
use campanile_core::time::{Span, Timestamp};

use crate::ledger::Ledger;

/// A machine, a leader, and the rows so far.
pub struct Story {
    pub machine: Machine,
    pub planner: Planner,
    pub rows: Ledger,
    epoch: Epoch,
    term: u64,
}

/// So many seconds after noon.
pub fn s(seconds: u64) -> Timestamp {
    parse_instant("2026-01-01T12:00:00Z").unwrap() + Span::from_secs(seconds)
}

pub fn every(seconds: u64) -> Arc<Definition> {
    let every = Spec::Every { every: Span::from_secs(seconds), anchor: Timestamp::EPOCH };
    of_specs(vec![every])
}

pub fn of_specs(specs: Vec<Spec>) -> Arc<Definition> {
    Arc::new(Definition::new(specs, Target::Webhook(Box::new(Webhook::new("http://receiver")))))
}

pub fn wanted() -> Wanted {
    Wanted {
        name: ScheduleName::parse("a").unwrap(),
        condition: Condition::None,
        request: Request { by: "ann".into(), key: None },
    }
}

impl Story {
    /// A leader is in office, and every ten seconds something is due.
    pub fn begin(definition: Arc<Definition>) -> Self {
        let mut story = Self {
            machine: Machine::default(),
            planner: Planner::new(Options::default()),
            rows: Vec::new(),
            epoch: Epoch(0),
            term: 0,
        };
        story.lead(s(0));
        story.put(s(1), definition);
        story
    }

    /// The whole of it.
    pub fn told() -> Ledger {
        let mut story = Self::begin(every(10));
        [10, 20, 30].into_iter().for_each(|at| story.tick_and_work(s(at)));
        let pause = story.planner.pause(&story.machine, s(35), wanted(), PauseUntil::default());
        story.commit(s(35), pause);
        let resume = story.planner.resume(&story.machine, s(65), wanted(), ResumeFrom::Now);
        story.commit(s(65), resume);
        story.tick_and_work(s(70));
        story.lead(s(75));
        story.tick_and_work(s(80));
        story.tick_and_work(s(130));
        let nothing = crate::ledger::NoPast;
        let ahead = story.planner.set_mark(&story.machine, s(135), wanted(), s(165), &nothing).unwrap();
        story.commit(s(135), ahead);
        story.tick_and_work(s(170));
        let trigger = story.planner.trigger(&story.machine, s(172), wanted(), None, None).unwrap();
        story.commit(s(172), trigger);
        story.put(s(175), every(20));
        story.tick_and_work(s(180));
        let delete = story.planner.delete(&story.machine, s(205), wanted());
        story.commit(s(205), delete);
        story.rows
    }

    pub fn lead(&mut self, at: Timestamp) {
        self.term += 1;
        let node = NodeId(self.term);
        let term = Term(self.term);
        let office = LeaderEpoch { node, incarnation: 1, term, ledger: None, leaderless_since: None };
        self.commit(at, Body::LeaderEpoch(office));
        self.epoch = Epoch(self.machine.applied().0);
    }

    /// A row that decides nothing.
    pub fn check(&mut self, at: Timestamp) {
        let end = LedgerEnd { index: self.machine.applied(), n: 0, hash: [0; 16] };
        self.commit(at, Body::CheckLedger(end));
    }

    pub fn put(&mut self, at: Timestamp, definition: Arc<Definition>) {
        let put = self.planner.put(&self.machine, at, wanted(), definition).unwrap();
        self.commit(at, put);
    }

    pub fn tick(&mut self, at: Timestamp) {
        while let Some(tick) = self.planner.tick(&self.machine, at) {
            self.commit(at, Body::Tick(tick));
        }
    }

    /// Decides what is due, and delivers all of it.
    pub fn tick_and_work(&mut self, at: Timestamp) {
        self.tick(at);
        let due = query::work_now(&self.machine, at).into_iter();
        let ids: Vec<_> = due.map(|firing| (firing.id, AttemptNumber(firing.attempt.0 + 1))).collect();
        let begin = ids.iter().map(|(firing, attempt)| BeginItem {
            firing: *firing,
            attempt: *attempt,
            ttl: Span::from_secs(30),
        });
        let begin = Work::begin(Holder::Node(NodeId(1)), begin.collect());
        self.commit(at, Body::Work(begin));
        let report = |sent_at| Report {
            verdict: Verdict::Succeeded,
            sent_at,
            status: Some(200),
            error: "".into(),
            output: "".into(),
        };
        let settles =
            ids.into_iter().map(|(firing, attempt)| SettleItem { firing, attempt, report: report(at) });
        self.commit(at, Body::Work(Work::settle(settles.collect())));
    }

    pub fn commit(&mut self, at: Timestamp, body: Body) {
        let index = LogIndex(self.machine.applied().0 + 1);
        let (_, rows) = self.machine.apply(index, &Command { at, epoch: self.epoch, body });
        self.rows.extend(rows.into_iter().map(|row| (index, row)));
    }
}
