//! Queues under dice, compared with a list that is walked: order, limits, keys and rates, leases that are one holder's at a
//! time, and tokens that only grow.
//!
//! `CASES=500 cargo test -p campanile-core --test queues` runs more, `SEED=n` the same again; each failure names its seed.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

#[path = "world/dice.rs"]
mod dice;
#[path = "queues/naive.rs"]
mod naive;
mod seed;

use std::sync::Arc;

use campanile_core::attempt::{Report, Verdict};
use campanile_core::command::{
    Body, CancelFiring, Command, Condition, DeleteQueue, Extend, LeaderEpoch, PauseQueue, PutQueue, Request,
    RequestKey, ResumeQueue, SettleItem, Take, Work,
};
use campanile_core::definition::{Definition, Policy, QueueTarget, RetryPolicy, ScheduleName, Target};
use campanile_core::event::{Event, Outcome, Row};
use campanile_core::firing::FiringId;
use campanile_core::id::{AttemptNumber, Epoch, LogIndex, NodeId, Term};
use campanile_core::image::Image;
use campanile_core::invariant;
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner, Wanted};
use campanile_core::query;
use campanile_core::queue::{QueueSettings, Rate};
use campanile_core::reply::{Leased, Refused, Reply, SettledNow, Worked};
use campanile_core::spec::Spec;
use campanile_core::time::{Span, Timestamp};

use dice::Dice;
use naive::{Item, Naive};

const QUEUES: [&str; 2] = ["q", "p"];
const KEYS: [Option<&str>; 4] = [None, None, Some("x"), Some("y")];

#[test]
fn what_is_leased_is_what_a_walk_over_a_list_finds() {
    let (seed, cases) = seed::seed_and_cases("queues", 60);
    let mut leased = 0;
    for case in 0..u64::from(cases) {
        let mut life = Life::new(seed + case);
        leased += (0..400).map(|_| life.step()).sum::<usize>();
    }
    assert!(leased > 20 * cases as usize, "next to nothing was leased: {leased}");
}

/// A machine, its twin, and the schedules that fill the queues.
struct Life {
    seed: u64,
    dice: Dice,
    machine: Machine,
    planner: Planner,
    naive: Naive,
    now: Timestamp,
    schedules: Vec<(ScheduleName, &'static str, i8, Option<&'static str>)>,
    asked: Vec<(Take, Vec<Leased>)>,
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut life = Self {
            seed,
            dice: Dice::of(seed),
            machine: Machine::default(),
            planner: Planner::new(Options::default()),
            naive: Naive::default(),
            now: Timestamp::from_millis(1_767_268_800_000),
            schedules: Vec::new(),
            asked: Vec::new(),
        };
        life.commit(Body::LeaderEpoch(LeaderEpoch {
            node: NodeId(1),
            incarnation: 1,
            term: Term(1),
            ledger: None,
            leaderless_since: None,
        }));
        for place in 0..8 {
            life.put(place);
        }
        life.now = life.now.successor();
        life
    }

    fn put(&mut self, place: usize) {
        let name = ScheduleName::parse(&format!("s{place}")).unwrap();
        let (queue, key) = (QUEUES[place % 2], KEYS[self.dice.below(4) as usize]);
        let priority = self.dice.below(3) as i8 - 1;
        let target = Target::Queue(QueueTarget { queue: queue.into(), priority });
        let every = Spec::Every { every: Span::from_secs(86_400 * 300), anchor: Timestamp::EPOCH };
        let retry = RetryPolicy { max_attempts: 1_000, ..RetryPolicy::default() };
        let definition = Definition {
            concurrency_key: key.map(Into::into),
            policy: Arc::new(Policy { retry, ..Policy::default() }),
            ..Definition::new(vec![every], target)
        };
        let wanted = wanted(&name);
        let body = self.planner.put(&self.machine, self.now, wanted, Arc::new(definition)).unwrap();
        self.commit(body);
        self.schedules.push((name, queue, priority, key));
    }

    fn commit(&mut self, body: Body) -> (Reply, Vec<Row>) {
        let index = LogIndex(self.machine.applied().0 + 1);
        let epoch = if index.0 == 1 { Epoch(0) } else { self.machine.epoch() };
        let answer = self.machine.apply(index, &Command { at: self.now, epoch, body });
        invariant::check(&self.machine).unwrap_or_else(|why| panic!("seed {}: {why}", self.seed));
        answer
    }

    fn work(&mut self, work: Work) -> Worked {
        match self.commit(Body::Work(work)).0 {
            Reply::Worked(worked) => worked,
            other => panic!("seed {}: {other:?}", self.seed),
        }
    }

    /// Something happens; answers how many leases were given.
    fn step(&mut self) -> usize {
        match self.dice.below(16) {
            0..=4 => self.fire(),
            5..=8 => return self.take(),
            9 | 10 => self.settle(),
            11 => self.extend(),
            12 => self.set_queue(),
            13 if self.dice.one_in(3) => self.cancel(),
            14 => {
                self.machine = Image::of(&self.machine).into_machine().unwrap();
            }
            _ => self.pass_time(),
        }
        0
    }

    fn fire(&mut self) {
        let place = self.dice.below(8) as usize;
        let (name, queue, priority, key) = self.schedules[place].clone();
        let planned = self.planner.trigger(&self.machine, self.now, wanted(&name), None, None);
        let Some(body) = planned else { return };
        let Reply::Fired(id) = self.commit(body).0 else { panic!("seed {}: it fires", self.seed) };
        let (at, attempt) = (self.now, AttemptNumber(0));
        self.naive.items.push(Item { id, queue, priority, key, at, attempt, leased: false });
    }

    fn take(&mut self) -> usize {
        if self.dice.one_in(5) {
            return self.ask_again();
        }
        let queue = QUEUES[self.dice.below(2) as usize];
        let key = RequestKey {
            text: self.machine.applied().to_string().into(),
            fingerprint: [1; 16],
            keep: Span::from_secs(86_400),
        };
        let take = Take {
            queue: queue.into(),
            worker: "w".into(),
            most: 1 + self.dice.below(4) as u32,
            ttl: Span::from_secs(1 + self.dice.below(20)),
            request: Request { by: "w".into(), key: Some(key) },
        };
        let opens = query::queue_opens_at(&self.machine, &queue.into(), self.now);
        let expected = self.naive.take(queue, take.most, self.now);
        let leased = self.ask(&take);
        let got: Vec<_> = leased.iter().map(|it| (it.firing, it.lease.attempt)).collect();
        assert_eq!(got, expected, "seed {}: of {queue} at {:?}", self.seed, self.now);
        assert_eq!(opens == Some(self.now), !got.is_empty(), "seed {}: {queue} opens {opens:?}", self.seed);
        for it in &leased {
            self.naive.see(it.firing, it.lease.fencing_token);
        }
        self.check_counts(queue);
        let count = leased.len();
        self.asked.push((take, leased));
        count
    }

    fn ask(&mut self, take: &Take) -> Vec<Leased> {
        let worked = self.work(Work { takes: vec![take.clone()], ..Work::default() });
        worked.taken[0].clone().expect("nobody else used this key")
    }

    /// The same take again: the same answer, and nothing more is leased.
    fn ask_again(&mut self) -> usize {
        let Some((take, leased)) = self.asked.last().cloned() else { return 0 };
        if !leased.is_empty() {
            assert_eq!(self.ask(&take), leased, "seed {}", self.seed);
            QUEUES.iter().for_each(|queue| self.check_counts(queue));
        }
        0
    }

    fn check_counts(&self, queue: &str) {
        let counts = self.machine.due().queued().counts(queue);
        let leased = self.naive.items.iter().filter(|it| it.queue == queue && it.leased).count();
        let all = self.naive.items.iter().filter(|it| it.queue == queue).count();
        assert_eq!(
            (counts.waiting as usize, counts.leased as usize),
            (all - leased, leased),
            "seed {}",
            self.seed
        );
    }

    /// A report of the current attempt counts, one of another changes nothing.
    fn settle(&mut self) {
        let Some(item) = self.any(|item| item.attempt.0 > 0) else { return };
        let is_old = self.dice.one_in(4);
        let attempt = AttemptNumber(item.attempt.0 - u32::from(is_old));
        let retry = Verdict::Retry { not_before: None };
        let verdict = if self.dice.one_in(3) { retry } else { Verdict::Succeeded };
        let report = Report { verdict, sent_at: self.now, status: None, error: "".into(), output: "".into() };
        let item_of = SettleItem { firing: item.id, attempt, report };
        let settled = self.work(Work::settle(vec![item_of])).settled[0];
        match settled {
            Ok(SettledNow::Retry(at)) if item.leased => {
                self.naive.change(item.id, |item| (item.leased, item.at) = (false, at));
            }
            // Said before, while it waits.
            Ok(SettledNow::Retry(at)) => assert_eq!((at, verdict, is_old), (item.at, retry, false)),
            Ok(SettledNow::End(_)) => self.naive.end(item.id),
            Err(refused) => assert_eq!(refused, Refused::OtherAttempt, "seed {}", self.seed),
        }
        assert!(!item.leased || settled.is_ok() != is_old, "seed {}: {settled:?}", self.seed);
    }

    fn extend(&mut self) {
        let Some(item) = self.any(|item| item.attempt.0 > 0) else { return };
        let is_old = self.dice.one_in(4);
        let attempt = AttemptNumber(item.attempt.0 - u32::from(is_old));
        let extend = Extend { firing: item.id, attempt, ttl: Span::from_secs(1 + self.dice.below(20)) };
        let extended = self.work(Work { extends: vec![extend], ..Work::default() }).extended[0];
        assert_eq!(extended.is_ok(), item.leased && !is_old, "seed {}: {extended:?}", self.seed);
    }

    fn set_queue(&mut self) {
        let queue = QUEUES[self.dice.below(2) as usize];
        let (name, request) = (Arc::from(queue), Request { by: "ann".into(), key: None });
        let body = match self.dice.below(8) {
            0 => Body::PauseQueue(PauseQueue { name, note: "".into(), request }),
            1 | 2 => Body::ResumeQueue(ResumeQueue { name, request }),
            3 => Body::DeleteQueue(DeleteQueue { name, condition: Condition::None, request }),
            _ => {
                let settings = settings(&mut self.dice);
                Body::PutQueue(PutQueue { name, settings, condition: Condition::None, request })
            }
        };
        match &body {
            Body::PauseQueue(_) => self.naive.paused.push(queue),
            Body::PutQueue(put) => {
                let before = self.naive.settings.insert(queue, put.settings.clone());
                if before.and_then(|before| before.rate) != put.settings.rate {
                    self.naive.given.remove(queue);
                }
            }
            Body::DeleteQueue(_) => {
                self.naive.settings.remove(queue);
                self.naive.given.remove(queue);
                self.naive.paused.retain(|of| *of != queue);
            }
            _ => self.naive.paused.retain(|of| *of != queue),
        }
        self.commit(body);
    }

    fn cancel(&mut self) {
        let Some(item) = self.any(|_| true) else { return };
        let request = Request { by: "ann".into(), key: None };
        self.commit(Body::CancelFiring(CancelFiring { firing: item.id, request }));
        self.naive.end(item.id);
    }

    /// Time goes by, and the tick ends leases.
    fn pass_time(&mut self) {
        self.now = self.now + Span::from_millis(1 + self.dice.below(4_000));
        while let Some(tick) = self.planner.tick(&self.machine, self.now) {
            let (_, rows) = self.commit(Body::Tick(tick));
            for row in rows {
                let Event::Settled { firing, outcome: Outcome::Retry { at }, .. } = row.event else {
                    panic!("seed {}: {row:?}", self.seed)
                };
                self.naive.change(firing, |item| (item.leased, item.at) = (false, at));
            }
        }
        let ended = |id: FiringId| self.naive.of(id).is_some_and(|item| !item.leased);
        assert!(self.machine.live().all(|it| it.lease().is_some() || ended(it.id)), "seed {}", self.seed);
    }

    fn any(&mut self, wanted: impl Fn(&Item) -> bool) -> Option<Item> {
        let of: Vec<&Item> = self.naive.items.iter().filter(|item| wanted(item)).collect();
        if of.is_empty() { None } else { Some(of[self.dice.below(of.len() as u64) as usize].clone()) }
    }
}

fn settings(dice: &mut Dice) -> QueueSettings {
    let rate = Rate { count: 1 + dice.below(7) as u32, per: Span::from_millis(1_000 + dice.below(9_000)) };
    QueueSettings {
        max_in_flight: dice.one_in(2).then(|| 1 + dice.below(6) as u32),
        max_in_flight_per_key: 1 + dice.below(3) as u32,
        rate: dice.one_in(2).then_some(rate),
    }
}

fn wanted(name: &ScheduleName) -> Wanted {
    let request = Request { by: "ann".into(), key: None };
    Wanted { name: name.clone(), condition: Condition::None, request }
}
