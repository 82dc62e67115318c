//! What users want of instants that are past, in a world: backfills, re-runs, skips ahead; and what must be true of them.

use std::collections::{BTreeMap, BTreeSet};

use campanile_core::backfill::BackfillPlan;
use campanile_core::command::{Body, Request, StepBackfill};
use campanile_core::definition::Overlap;
use campanile_core::event::{Event, Row};
use campanile_core::firing::FiringId;
use campanile_core::id::{Run, Uid};
use campanile_core::plan::{Instead, Past, Refusal, Wanted};
use campanile_core::reply::Reply;
use campanile_core::time::{Span, Timestamp};

use super::{Dice, World};

/// Every firing that the ledger tells of.
#[derive(Default)]
pub struct Fired(BTreeSet<FiringId>);

impl Fired {
    /// Reads rows; an identity that fired before is the end of the run.
    pub fn read(&mut self, rows: &[Row]) {
        for row in rows {
            if let Event::Fired { firing, .. } = row.event {
                assert!(self.0.insert(firing), "{firing:?} fired twice");
            }
        }
    }

    fn between(&self, uid: Uid, after: Timestamp, until: Timestamp) -> impl Iterator<Item = &FiringId> {
        let first = FiringId { uid, nominal: after.successor(), run: Run(0) };
        let last = FiringId { uid, nominal: until, run: Run(u32::MAX) };
        self.0.range(first..=last)
    }

    fn any_of(&self, uid: Uid, dice: &mut Dice) -> Option<FiringId> {
        let (first, last) = (Timestamp::from_millis(0), Timestamp::NEVER);
        let count = self.between(uid, first, last).count();
        (count > 0).then(|| self.between(uid, first, last).nth(dice.below(count as u64) as usize).copied())?
    }
}

impl Past for Fired {
    fn runs(&self, uid: Uid, after: Timestamp, until: Timestamp) -> BTreeMap<Timestamp, Run> {
        // Runs of one nominal come in order, so the highest stays.
        self.between(uid, after, until).map(|firing| (firing.nominal, firing.run)).collect()
    }
}

/// What a user wants of instants that are past, or are not to come.
pub enum Again {
    Backfill { reach: Span, plan: BackfillPlan },
    Rerun,
    SkipAhead(Span),
}

impl Again {
    pub fn by(dice: &mut Dice) -> Self {
        const MODES: [Overlap; 6] = [
            Overlap::Allow,
            Overlap::Skip,
            Overlap::QueueOne,
            Overlap::QueueAll,
            Overlap::Replace,
            Overlap::Terminate,
        ];
        match dice.below(6) {
            0 => Self::SkipAhead(Span::from_millis(dice.below(30_000))),
            1 | 2 => Self::Rerun,
            _ => Self::Backfill {
                reach: Span::from_millis(dice.below(600_000)),
                plan: BackfillPlan {
                    after: Timestamp::EPOCH,
                    until: Timestamp::NEVER,
                    again: dice.one_in(3),
                    overlap: MODES[dice.below(6) as usize],
                    pace: Span::from_millis(if dice.one_in(3) { dice.below(3_000) } else { 0 }),
                    max_live: 1 + dice.below(20) as u32,
                },
            },
        }
    }
}

impl World {
    pub(super) fn plan_again(&mut self, wanted: Wanted, again: &Again) -> Result<Body, Refusal> {
        let at = self.log_time();
        match again {
            Again::Backfill { reach, plan } => {
                let plan = BackfillPlan { after: at - *reach, ..*plan };
                self.planner.create_backfill(&self.machine, at, wanted, plan, &self.fired)
            }
            Again::Rerun => {
                let uid = self.machine.named(&wanted.name).ok_or(Refusal::NoSchedule)?.uid;
                let firing = self.fired.any_of(uid, &mut self.dice).ok_or(Refusal::NotFired)?;
                let request = Request { by: "ann".into(), key: None };
                self.planner.rerun(&self.machine, firing, Instead::default(), request, &self.fired)
            }
            Again::SkipAhead(by) => self.planner.set_mark(&self.machine, at, wanted, at + *by, &self.fired),
        }
    }

    /// Goes on with what backfills have to do now; in rough life some steps come late, and again.
    pub(super) fn go_on(&mut self) {
        loop {
            let steps = self.planner.step_backfills(&self.machine, self.log_time(), &self.fired, 3);
            if steps.is_empty() {
                return;
            }
            for step in steps {
                if self.rough && self.dice.one_in(5) {
                    self.late_steps.push(step.clone());
                }
                self.take(&step);
            }
            if self.rough && self.dice.one_in(3) {
                for step in std::mem::take(&mut self.late_steps) {
                    self.take(&step);
                }
            }
        }
    }

    /// Takes a step; one that was current leaves nothing of its part without a firing but what the overlap rule skipped.
    fn take(&mut self, step: &StepBackfill) {
        let before = self.machine.backfill(step.id).cloned();
        let command = self.command(Body::StepBackfill(step.clone()));
        let is_current = self.commit(command) == Reply::Stepped(true);
        let (Some(before), Some(after)) = (before, self.machine.backfill(step.id)) else { return };
        if !is_current {
            assert_eq!(*before, **after, "a stale step changes nothing");
            return;
        }
        assert_eq!(before.position, step.after, "a step goes on where the one before it ended");
        self.steps += 1;
        // The end of its last backfill may be the end of a schedule.
        let Some(schedule) = self.machine.schedule(before.uid) else { return };
        let definition = schedule.definition.clone();
        let series = self.planner.series(&self.machine, &definition).expect("a good spec");
        let next = |at: &Timestamp| series.next(*at).map(|occurrence| occurrence.at);
        let part = std::iter::successors(next(&step.after), next).take_while(|at| *at <= step.to);
        let runs = self.fired.runs(before.uid, step.after, step.to);
        let left = part.filter(|nominal| !runs.contains_key(nominal)).count() as u64;
        let skipped = after.skipped - before.skipped;
        assert!(left <= skipped, "{step:?} left {left} instants and skipped {skipped}");
        assert!(before.plan.again || left == skipped, "{step:?} skipped what has fired");
    }
}
