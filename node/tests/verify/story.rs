//! A ledger of two hours, made by the real machine and the real planner: schedules of several kinds, pauses, an edit,
//! overlap skips, a failover, ends that leaders state.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::command::{BeginItem, Body, Command, Condition, LeaderEpoch, Request, SettleItem, Work};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use campanile_core::definition::{Definition, Overlap, Policy, ScheduleName, Target, Webhook};
use campanile_core::event::{LedgerEnd, Row as CoreRow};
use campanile_core::format::FormatLevel;
use campanile_core::id::{AttemptNumber, Epoch, LogIndex, NodeId, Term, Uid};
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, PauseUntil, Planner, ResumeFrom, Wanted};
use campanile_core::query;
use campanile_core::spec::{CronSpec, Spec};
use campanile_core::time::{Span, Timestamp};
use campanile_raft::level;
use campanile_storage::Kind;
use campanile_storage::ledger::{self, Ledger, Row};

/// 2026-12-01T00:00:00Z.
const START: i64 = 1_796_083_200_000;
/// How long a step is.
const STEP: Span = Span::from_secs(5);
/// How many steps there are.
const STEPS: u64 = 1_440;
/// The one whose firings take longer than its instants are apart.
const SLOW: &str = "b/slow";

/// The story.
pub(crate) struct Story {
    /// Its rows, from the first.
    pub(crate) rows: Vec<Row>,
    /// When it ends.
    pub(crate) end: Timestamp,
    names: BTreeMap<&'static str, Uid>,
}

impl Story {
    /// The one story of these tests: it is made once.
    pub(crate) fn told() -> &'static Self {
        static STORY: OnceLock<Story> = OnceLock::new();
        STORY.get_or_init(|| Teller::new().tell())
    }

    /// A schedule of it.
    pub(crate) fn uid(&self, name: &str) -> Uid {
        self.names[name]
    }
}

/// A row, read.
pub(crate) fn read(row: &Row) -> CoreRow {
    level::read(Kind::Event, &row.body).unwrap()
}

/// A row with another fact in it; position and hash stay.
pub(crate) fn with(row: &Row, fact: &CoreRow) -> Row {
    Row { body: level::write(Kind::Event, FormatLevel::OLDEST, fact).unwrap().into(), ..row.clone() }
}

struct Teller {
    machine: Machine,
    planner: Planner,
    ledger: Ledger,
    now: Timestamp,
    epoch: Epoch,
    running: Vec<(BeginItem, Timestamp)>,
    _dir: tempfile::TempDir,
}

impl Teller {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            machine: Machine::default(),
            planner: Planner::new(Options::default()),
            ledger: Ledger::open(dir.path(), ledger::Options::default()).unwrap(),
            now: Timestamp::from_millis(START),
            epoch: Epoch(0),
            running: Vec::new(),
            _dir: dir,
        }
    }

    fn tell(mut self) -> Story {
        self.take_office(1);
        self.put("a/steady", every(10), Overlap::Allow);
        self.put("a/cron", cron("* * * * *"), Overlap::Allow);
        self.put(SLOW, every(15), Overlap::Skip);
        self.put("a/paused", every(10), Overlap::Allow);
        self.put("a/rest", every(20), Overlap::Allow);
        let names = ["a/steady", "a/cron", SLOW, "a/paused", "a/rest"];
        let uid = |name| self.machine.named(&ScheduleName::parse(name).unwrap()).unwrap().uid;
        let names = names.map(|name| (name, uid(name))).into();
        for step in 1..=STEPS {
            self.now = self.now + STEP;
            self.happen(step);
            self.tick();
            self.work();
        }
        let rows = self.ledger.reader().read(None, usize::MAX, usize::MAX).unwrap();
        Story { rows, end: self.now, names }
    }

    fn happen(&mut self, step: u64) {
        match step {
            200 => self.pause("a/paused"),
            300 => self.pause("a/rest"),
            420 => self.resume("a/rest"),
            500 => self.put("a/cron", cron("*/2 * * * *"), Overlap::Allow),
            700 => self.take_office(2),
            _ if step % 100 == 50 => self.check_ledger(),
            _ => {}
        }
    }

    fn tick(&mut self) {
        while let Some(tick) = self.planner.tick(&self.machine, self.now) {
            self.commit(Body::Tick(tick));
        }
    }

    fn work(&mut self) {
        let now = self.now;
        let (over, running) = self.running.drain(..).partition(|(_, until)| *until <= now);
        self.running = running;
        let over: Vec<(BeginItem, Timestamp)> = over;
        if !over.is_empty() {
            let settles = over.iter().map(|(item, _)| settled(item, now)).collect();
            self.commit(Body::Work(Work::settle(settles)));
        }
        let items: Vec<(BeginItem, Span)> = query::work_now(&self.machine, now)
            .into_iter()
            .map(|firing| {
                let attempt = AttemptNumber(firing.attempt.0 + 1);
                let slow = self.machine.schedule(firing.id.uid).is_some_and(|it| it.name.as_str() == SLOW);
                let takes = if slow { Span::from_secs(20) } else { STEP };
                (BeginItem { firing: firing.id, attempt, ttl: Span::from_secs(60) }, takes)
            })
            .collect();
        if !items.is_empty() {
            let begins = items.iter().map(|(item, _)| *item).collect();
            self.commit(Body::Work(Work::begin(Holder::Node(NodeId(1)), begins)));
            self.running.extend(items.into_iter().map(|(item, takes)| (item, now + takes)));
        }
    }

    fn take_office(&mut self, term: u64) {
        let ledger = self.end_of_ledger();
        let office = LeaderEpoch {
            node: NodeId(term),
            incarnation: 1,
            term: Term(term),
            ledger,
            leaderless_since: None,
        };
        self.commit(Body::LeaderEpoch(office));
        self.epoch = self.machine.epoch();
    }

    fn check_ledger(&mut self) {
        let end = self.end_of_ledger().unwrap();
        self.commit(Body::CheckLedger(end));
    }

    fn end_of_ledger(&self) -> Option<LedgerEnd> {
        let head = self.ledger.head();
        let end = |position: ledger::Position| LedgerEnd {
            index: LogIndex(position.index),
            n: position.n,
            hash: head.hash,
        };
        head.position.map(end)
    }

    fn put(&mut self, name: &str, spec: Spec, overlap: Overlap) {
        let target = Target::Webhook(Box::new(Webhook::new("http://receiver")));
        let definition = Definition {
            policy: Arc::new(Policy { overlap, ..Policy::default() }),
            ..Definition::new(vec![spec], target)
        };
        let body = self.planner.put(&self.machine, self.now, wanted(name), Arc::new(definition));
        self.commit(body.unwrap());
    }

    fn pause(&mut self, name: &str) {
        let until = PauseUntil { note: "holiday".into(), until: None };
        let body = self.planner.pause(&self.machine, self.now, wanted(name), until);
        self.commit(body);
    }

    fn resume(&mut self, name: &str) {
        let body = self.planner.resume(&self.machine, self.now, wanted(name), ResumeFrom::Now);
        self.commit(body);
    }

    fn commit(&mut self, body: Body) {
        let index = LogIndex(self.machine.applied().0 + 1);
        let (_, rows) = self.machine.apply(index, &Command { at: self.now, epoch: self.epoch, body });
        let rows: Vec<Vec<u8>> =
            rows.iter().map(|row| level::write(Kind::Event, FormatLevel::OLDEST, row).unwrap()).collect();
        self.ledger.append(index.0, &rows).unwrap();
    }
}

fn settled(item: &BeginItem, sent_at: Timestamp) -> SettleItem {
    let report = Report {
        verdict: Verdict::Succeeded,
        sent_at,
        status: Some(200),
        error: "".into(),
        output: "".into(),
    };
    SettleItem { firing: item.firing, attempt: item.attempt, report }
}

fn wanted(name: &str) -> Wanted {
    let request = Request { by: "ann".into(), key: None };
    Wanted { name: ScheduleName::parse(name).unwrap(), condition: Condition::None, request }
}

fn every(secs: u64) -> Spec {
    Spec::Every { every: Span::from_secs(secs), anchor: Timestamp::EPOCH }
}

fn cron(text: &str) -> Spec {
    Spec::Cron(Box::new(CronSpec {
        text: text.into(),
        time_zone: "Europe/Berlin".into(),
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }))
}
