//! A cluster's week in minutes: the real planner and machine under a clock that jumps to the next thing to do. Receivers
//! answer after a while, sometimes late, sometimes with an error; users pause, edit, trigger and backfill; leaders change.
//!
//! The same seed makes the same rows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use anyhow::{Context, Result};
use campanile_cluster_tests::seed::Dice;
use campanile_core::attempt::{Holder, Report, Verdict};
use campanile_core::backfill::BackfillPlan;
use campanile_core::command::{BeginItem, Body, SettleItem, Work};
use campanile_core::definition::{Overlap, Target};
use campanile_core::event::{Event, Row};
use campanile_core::firing::{Firing, FiringId};
use campanile_core::id::{AttemptNumber, LogIndex, NodeId, Run, Uid};
use campanile_core::machine::Machine;
use campanile_core::plan::{Past, PauseUntil, ResumeFrom};
use campanile_core::query;
use campanile_core::reply::Reply;
use campanile_core::time::{Span, Timestamp};

use super::schedules;
use crate::office::{Committed, Office, wanted};

/// Nothing happens between these: what comes meanwhile makes one entry, as on a busy node.
const MOMENT: i64 = 20;
/// A user wishes something this often.
const WISHES: Span = Span::from_secs(900);
/// The most firings that one entry begins or settles.
const BATCH: usize = 64;
/// Another node takes office this often.
const OFFICES: Span = Span::from_secs(6 * 3_600);

/// The cluster. `sink` gets the rows of each entry, in order.
pub(super) struct World<S> {
    office: Office,
    dice: Dice,
    sink: S,
    /// When the attempts under way end, and whether well.
    running: BinaryHeap<Reverse<(Timestamp, FiringId, u32, bool)>>,
    /// Those that are paused, and until when.
    paused: BTreeMap<Timestamp, String>,
    schedules: usize,
    wish_at: Timestamp,
    office_at: Timestamp,
    pub(super) fired: u64,
    pub(super) rows: u64,
}

/// Backfills go through a day before anything fired, each schedule once: nothing has happened there.
struct Unwritten;

impl Past for Unwritten {
    fn runs(&self, _: Uid, _: Timestamp, _: Timestamp) -> BTreeMap<Timestamp, Run> {
        BTreeMap::new()
    }
}

impl<S: FnMut(LogIndex, &[Row]) -> Result<()>> World<S> {
    /// A cluster in which so many schedules are put at `start`.
    pub(super) fn begin(start: Timestamp, schedules: usize, dice: Dice, sink: S) -> Result<Self> {
        let (office, taken) = Office::at(start);
        let mut world = Self {
            office,
            dice,
            sink,
            running: BinaryHeap::new(),
            paused: BTreeMap::new(),
            schedules,
            wish_at: start + WISHES,
            office_at: start + OFFICES,
            fired: 0,
            rows: 0,
        };
        world.tell(taken)?;
        for n in 0..schedules {
            let put = world.office.put(&schedules::name(n), start, schedules::definition(n, 0))?;
            world.tell(put)?;
        }
        Ok(world)
    }

    /// Everything that happens up to `until`.
    pub(super) fn live(&mut self, until: Timestamp) -> Result<()> {
        loop {
            let next = self.next().max(self.office.machine.clock());
            let now = Timestamp::from_millis((next.as_millis() + MOMENT - 1).div_euclid(MOMENT) * MOMENT);
            if now > until {
                return Ok(());
            }
            if now >= self.office_at {
                self.office_at = now + OFFICES;
                let node = NodeId(1 + self.dice.below(3));
                let taken = self.office.take(node, now);
                self.tell(taken)?;
            }
            while let Some(tick) = self.office.planner.tick(&self.office.machine, now) {
                self.commit(now, Body::Tick(tick))?;
            }
            for step in self.office.planner.step_backfills(&self.office.machine, now, &Unwritten, 100) {
                self.commit(now, Body::StepBackfill(step))?;
            }
            self.settle(now)?;
            self.begin_what_waits(now)?;
            self.wish(now)?;
        }
    }

    /// Everybody is paused: a node that is founded on this end has nothing to make up for. Answers the machine.
    pub(super) fn rest(&mut self) -> Result<Machine> {
        let now = self.office.machine.clock();
        for n in 0..self.schedules {
            let until = PauseUntil { note: "the week is over".into(), until: None };
            let wanted = wanted(&schedules::name(n))?;
            let pause = self.office.planner.pause(&self.office.machine, now, wanted, until);
            self.commit(now, pause)?;
        }
        Ok(self.office.machine.clone())
    }

    fn next(&self) -> Timestamp {
        let machine = &self.office.machine;
        let ends = self.running.peek().map(|Reverse((at, ..))| *at);
        let backfill = machine.due().backfills().next().map(|(at, _)| at);
        let resume = self.paused.keys().next().copied();
        [query::next_due(machine), query::next_work(machine), ends, backfill, resume, Some(self.office_at)]
            .into_iter()
            .flatten()
            .fold(self.wish_at, Timestamp::min)
    }

    fn begin_what_waits(&mut self, now: Timestamp) -> Result<()> {
        let waiting: Vec<(BeginItem, bool)> =
            query::work_now(&self.office.machine, now).into_iter().map(|firing| item(firing)).collect();
        for batch in waiting.chunks(BATCH) {
            let holder = Holder::Node(NodeId(1 + self.dice.below(3)));
            let items = batch.iter().map(|(item, _)| *item).collect();
            let committed = self.commit(now, Body::Work(Work::begin(holder, items)))?;
            let Reply::Worked(worked) = committed else {
                anyhow::bail!("a Begin was answered {committed:?}")
            };
            let begun = worked.begun.into_iter().flatten();
            for ((item, may_be_long), lease) in batch.iter().zip(begun) {
                if lease.is_ok() {
                    let ends = now + self.lasts(*may_be_long);
                    let well = self.dice.below(100) > 0;
                    self.running.push(Reverse((ends, item.firing, item.attempt.0, well)));
                }
            }
        }
        Ok(())
    }

    /// A few are slow enough to be met by the next instant.
    fn lasts(&mut self, may_be_long: bool) -> Span {
        if may_be_long && self.dice.below(50) == 0 {
            Span::from_secs(600 + self.dice.below(1_800))
        } else {
            Span::from_millis(20 + self.dice.below(400))
        }
    }

    fn settle(&mut self, now: Timestamp) -> Result<()> {
        let mut items = Vec::new();
        while let Some(Reverse((at, firing, attempt, well))) = self.running.peek().copied() {
            if at > now {
                break;
            }
            self.running.pop();
            let verdict = if well { Verdict::Succeeded } else { Verdict::Retry { not_before: None } };
            let status = if well { Some(204) } else { Some(503) };
            let report = Report { verdict, sent_at: at, status, error: "".into(), output: "".into() };
            items.push(SettleItem { firing, attempt: AttemptNumber(attempt), report });
        }
        for batch in items.chunks(BATCH) {
            self.commit(now, Body::Work(Work::settle(batch.to_vec())))?;
        }
        Ok(())
    }

    /// What users do.
    fn wish(&mut self, now: Timestamp) -> Result<()> {
        while let Some(entry) = self.paused.first_entry().filter(|entry| *entry.key() <= now) {
            let wanted = wanted(&entry.remove())?;
            let resume = self.office.planner.resume(&self.office.machine, now, wanted, ResumeFrom::Now);
            self.commit(now, resume)?;
        }
        if now < self.wish_at {
            return Ok(());
        }
        self.wish_at = now + WISHES;
        let n = self.dice.below(self.schedules as u64) as usize;
        let name = schedules::name(n);
        let machine = &self.office.machine;
        let body = match self.dice.below(4) {
            0 => {
                let until = PauseUntil { note: "the bench".into(), until: None };
                self.paused.insert(now + Span::from_secs(3_000 + n as u64), name.clone());
                self.office.planner.pause(machine, now, wanted(&name)?, until)
            }
            1 => {
                let edited = schedules::definition(n, 1 + self.dice.below(60));
                self.office
                    .planner
                    .put(machine, now, wanted(&name)?, edited)
                    .map_err(|bad| anyhow::anyhow!("{bad}"))?
            }
            2 => match self.office.planner.trigger(machine, now, wanted(&name)?, None, None) {
                Some(trigger) => trigger,
                None => return Ok(()),
            },
            _ => {
                let plan =
                    before_everything(machine.named(&wanted(&name)?.name).context("it is there")?.created_at);
                let backfill =
                    self.office.planner.create_backfill(machine, now, wanted(&name)?, plan, &Unwritten);
                match backfill {
                    Ok(backfill) => backfill,
                    Err(_) => return Ok(()),
                }
            }
        };
        self.commit(now, body)?;
        Ok(())
    }

    fn commit(&mut self, at: Timestamp, body: Body) -> Result<Reply> {
        let committed = self.office.commit(at, body);
        self.tell(committed)
    }

    fn tell(&mut self, committed: Committed) -> Result<Reply> {
        let Committed { index, reply, rows } = committed;
        self.rows += rows.len() as u64;
        let fired = |row: &&Row| matches!(row.event, Event::Fired { .. });
        self.fired += rows.iter().filter(fired).count() as u64;
        (self.sink)(index, &rows)?;
        Ok(reply)
    }
}

/// The next attempt on a firing, and whether it may take long.
fn item(firing: &Firing) -> (BeginItem, bool) {
    let attempt = AttemptNumber(firing.attempt.0 + 1);
    let may_be_long = firing.definition.policy.overlap == Overlap::Skip;
    debug_assert!(matches!(firing.definition.target, Target::Webhook(_)));
    (BeginItem { firing: firing.id, attempt, ttl: Span::from_secs(7_200) }, may_be_long)
}

fn before_everything(created_at: Timestamp) -> BackfillPlan {
    BackfillPlan {
        after: created_at - Span::from_secs(86_400),
        until: created_at - Span::from_millis(1),
        again: false,
        overlap: Overlap::Allow,
        pace: Span::ZERO,
        max_live: 20,
    }
}
