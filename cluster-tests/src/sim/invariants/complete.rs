//! Every nominal instant of an active schedule is decided, fired or skipped with a reason, within the lateness bound, extended
//! by the time in which no majority could work and by failovers (SEMANTICS §2.1, §2.4).
//!
//! Seen from the machine: what the due index holds must not grow old. An instant is due from when it has come, or from
//! when somebody last changed its schedule: a resume that catches up, a create for a past instant and a calendar reach back
//! to what was not nominal before.

use campanile_core::event::{Event, Row, SkipReason};
use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::time::Timestamp;

use super::{Bounds, Findings, Invariant, by_plan, is_admitted, moment_of, resumes};
use crate::sim::story::{End, Moment, Step};

/// The most late ones that are kept until the end shows what excuses them.
const KEPT: usize = 10_000;

/// What was decided late, and when there was no leader.
#[derive(Debug)]
pub(super) struct Complete {
    bounds: Bounds,
    late: Vec<Late>,
    leaderless: Vec<(Moment, Moment)>,
    heard: Moment,
}

/// Something that was due for longer than the bound.
#[derive(Debug)]
struct Late {
    uid: Uid,
    nominal: Timestamp,
    due: Moment,
    decided: Option<Moment>,
}

impl Complete {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds, late: Vec::new(), leaderless: Vec::new(), heard: 0 }
    }

    /// A leader's clock may be behind.
    fn bound(&self) -> Moment {
        self.bounds.lateness.as_millis() + self.bounds.clocks.as_millis()
    }
}

/// The first instant that a row decides, if it had to be decided in time.
fn decided(step: &Step<'_>, row: &Row) -> Option<(Uid, Timestamp)> {
    let (uid, first) = match (by_plan(row), &row.event) {
        (Some((firing, ..)), _) => (firing.uid, firing.nominal),
        (_, Event::Skipped { reason: SkipReason::PausedGap | SkipReason::Superseded, .. }) => return None,
        (_, Event::Skipped { uid, from, .. }) => (*uid, *from),
        _ => return None,
    };
    (!resumes(step, uid)).then_some((uid, first))
}

fn due_since(machine: &Machine, uid: Uid, nominal: Timestamp) -> Timestamp {
    machine.schedule(uid).map_or(nominal, |schedule| nominal.max(schedule.updated_at))
}

impl Invariant for Complete {
    fn name(&self) -> &'static str {
        "complete within the lateness bound"
    }

    fn step(&mut self, step: &Step<'_>, _: &mut Findings) {
        if !is_admitted(step) {
            return;
        }
        for row in step.rows {
            if matches!(row.event, Event::LeaderEpoch { .. }) {
                let from = self.heard.max(step.seen.saturating_sub(self.bounds.failover.as_millis()));
                self.leaderless.push((from, step.seen));
            }
            let Some((uid, nominal)) = decided(step, row) else { continue };
            let due = moment_of(due_since(step.before, uid, nominal), step.now, step.seen);
            if due + self.bound() < step.seen && self.late.len() < KEPT {
                self.late.push(Late { uid, nominal, due, decided: Some(step.seen) });
            }
        }
        self.heard = step.seen;
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        let open = end.machine.due().schedules().take_while(|(at, _)| *at < end.now).take(KEPT);
        let open = open.map(|(nominal, uid)| {
            let due = moment_of(due_since(end.machine, uid, nominal), end.now, end.moment);
            Late { uid, nominal, due, decided: None }
        });
        let open: Vec<Late> = open.collect();
        let failover = self.bounds.failover.as_millis();
        let outages = end.story.outages.iter().map(|(from, to)| (*from, to + failover));
        let excuses = merged(outages.chain(self.leaderless.iter().copied()).collect());
        for late in self.late.iter().chain(&open) {
            let until = late.decided.unwrap_or(end.moment);
            let excused = covered(&excuses, late.due, until);
            if until.saturating_sub(late.due) > self.bound() + excused {
                found.add(self.name(), || late.told(end.machine, until, excused));
            }
        }
    }
}

impl Late {
    fn told(&self, machine: &Machine, until: Moment, excused: Moment) -> String {
        let name = machine.schedule(self.uid).map_or_else(|| self.uid.to_string(), |it| it.name.to_string());
        let what = if self.decided.is_some() { "was decided" } else { "was not decided" };
        let due = self.due;
        format!(
            "{:?} of {name}, due at {due}, {what} at {until}, and {excused} ms of that are excused",
            self.nominal
        )
    }
}

/// Stretches in order, those that touch as one.
fn merged(mut stretches: Vec<(Moment, Moment)>) -> Vec<(Moment, Moment)> {
    stretches.sort_unstable();
    let mut merged: Vec<(Moment, Moment)> = Vec::new();
    for (from, to) in stretches {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// How much of a stretch these cover.
fn covered(stretches: &[(Moment, Moment)], from: Moment, to: Moment) -> Moment {
    stretches.iter().map(|(begin, end)| to.min(*end).saturating_sub(from.max(*begin))).sum()
}
