//! Nodes and workers of a world: they begin, take, extend and settle. In rough life some are slow, some are lost, some say
//! what they said before; and what must be true of leases.

use std::collections::BTreeMap;

use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::command::{BeginItem, Body, Extend, Request, RequestKey, SettleItem, Take, Work};
use campanile_core::event::{Event, Row};
use campanile_core::firing::FiringId;
use campanile_core::id::{AttemptNumber, FencingToken, NodeId, Uid};
use campanile_core::query;
use campanile_core::reply::{Leased, Reply, Worked};
use campanile_core::time::{Span, Timestamp};

use super::history::QUEUES;
use super::{Dice, World};

type Held = (FiringId, AttemptNumber);

/// What the ledger tells of leases, and what the holders know.
#[derive(Default)]
pub struct Leases {
    live: BTreeMap<FiringId, AttemptNumber>,
    newest: BTreeMap<Uid, FencingToken>,
    /// Held by somebody slow.
    slow: Vec<Held>,
    /// A take that was answered, and its answer.
    asked: Option<(Take, Vec<Leased>)>,
    keys: u64,
}

impl Leases {
    /// Reads rows: a firing has one lease at a time, attempts count up, and tokens of a schedule only grow.
    pub fn read(&mut self, rows: &[Row]) {
        for row in rows {
            match &row.event {
                Event::Begun { firing, lease } => {
                    let before = self.live.insert(*firing, lease.attempt);
                    assert_eq!(before, None, "{firing:?} was leased twice at once");
                    let newest = self.newest.insert(firing.uid, lease.fencing_token);
                    assert!(newest < Some(lease.fencing_token), "a token of {firing:?} did not grow");
                }
                Event::Settled { firing, attempt, .. } => {
                    let ended = self.live.remove(firing);
                    assert!(ended.is_none_or(|of| of == *attempt), "{firing:?} settled another attempt");
                }
                _ => {}
            }
        }
    }
}

impl World {
    /// Begins, leases and settles some of the work, in calm life all of it.
    pub(super) fn work(&mut self) {
        let begin = self.begins();
        let takes = self.takes();
        let extends = self.extends();
        let work = Work { takes: takes.clone(), extends, ..begin.clone() };
        if work.is_empty() {
            return;
        }
        let command = self.command(Body::Work(work));
        let Reply::Worked(worked) = self.commit(command) else { return };
        self.compare_with_before(&takes, &worked);
        let held = held(&begin, &worked);
        let settles: Vec<SettleItem> = held.into_iter().filter_map(|held| self.end_of(held)).collect();
        if !settles.is_empty() {
            let settle = self.command(Body::Work(Work::settle(settles)));
            self.commit(settle);
        }
    }

    fn begins(&mut self) -> Work {
        let (at, ttl) = (self.log_time(), Span::from_secs(2));
        let most = if self.rough { self.dice.below(4) as usize } else { 100 };
        let item =
            |id, attempt: AttemptNumber| BeginItem { firing: id, attempt: AttemptNumber(attempt.0 + 1), ttl };
        let items: Vec<BeginItem> = query::work_now(&self.machine, at)
            .into_iter()
            .take(most)
            .map(|firing| item(firing.id, firing.attempt))
            .collect();
        if items.is_empty() { Work::default() } else { Work::begin(Holder::Node(NodeId(1)), items) }
    }

    fn takes(&mut self) -> Vec<Take> {
        let now = self.log_time();
        let open = |queue: &&str| query::queue_opens_at(&self.machine, &(**queue).into(), now) == Some(now);
        let open: Vec<&str> = QUEUES.into_iter().filter(open).collect();
        let mut takes: Vec<Take> = open.into_iter().map(|queue| self.take_of(queue)).collect();
        // A worker that never heard the answer asks again.
        if self.rough && self.dice.one_in(6) {
            takes.extend(self.leases.asked.as_ref().map(|(take, _)| take.clone()));
        }
        takes
    }

    fn take_of(&mut self, queue: &str) -> Take {
        self.leases.keys += 1;
        let text = self.leases.keys.to_string().into();
        let key = RequestKey { text, fingerprint: [1; 16], keep: Span::from_secs(86_400) };
        Take {
            queue: queue.into(),
            worker: format!("w{}", self.dice.below(3)).into(),
            most: if self.rough { 1 + self.dice.below(4) as u32 } else { 100 },
            ttl: Span::from_secs(1 + self.dice.below(3)),
            request: Request { by: "worker".into(), key: Some(key) },
        }
    }

    /// Who asks again under the same key gets the same; what was got by one is remembered for that.
    fn compare_with_before(&mut self, takes: &[Take], worked: &Worked) {
        for (take, taken) in takes.iter().zip(&worked.taken) {
            let taken = taken.as_ref().expect("a key is used for one take");
            if let Some((asked, before)) = &self.leases.asked
                && asked.request == take.request
            {
                assert_eq!(taken, before, "the same key got something else");
            } else if !taken.is_empty() {
                self.leases.asked = Some((take.clone(), taken.clone()));
            }
        }
    }

    fn extends(&mut self) -> Vec<Extend> {
        let ttl = Span::from_secs(1 + self.dice.below(3));
        self.leases
            .slow
            .iter()
            .map(|(firing, attempt)| Extend { firing: *firing, attempt: *attempt, ttl })
            .collect()
    }

    /// What a holder says at once; nothing when it is lost, or slow. Somebody slow may end with it.
    fn end_of(&mut self, held: Held) -> Option<SettleItem> {
        if !self.rough {
            return Some(report(held, Verdict::Succeeded, self.log_time()));
        }
        let held = match self.dice.below(6) {
            0 => return None,
            1 => {
                self.leases.slow.push(held);
                if self.leases.slow.len() < 5 {
                    return None;
                }
                self.leases.slow.remove(0)
            }
            _ => held,
        };
        Some(report(held, verdict(&mut self.dice), self.log_time()))
    }
}

fn verdict(dice: &mut Dice) -> Verdict {
    match dice.below(8) {
        0 => Verdict::Retry { not_before: None },
        1 => Verdict::Refused,
        2 => Verdict::TimedOut,
        3 => Verdict::Stopped,
        _ => Verdict::Succeeded,
    }
}

fn report((firing, attempt): Held, verdict: Verdict, sent_at: Timestamp) -> SettleItem {
    let report = Report { verdict, sent_at, status: None, error: "".into(), output: "".into() };
    SettleItem { firing, attempt, report }
}

/// What was begun and taken; a repeated take tells of leases that may be over.
fn held(begin: &Work, worked: &Worked) -> Vec<Held> {
    let items = begin.begins.iter().flat_map(|begin| &begin.items);
    let begun = items.zip(worked.begun.iter().flatten()).filter(|(_, lease)| lease.is_ok());
    let taken = worked.taken.iter().flatten().flatten().map(|it| (it.firing, it.lease.attempt));
    begun.map(|(item, _)| (item.firing, item.attempt)).chain(taken).collect()
}
