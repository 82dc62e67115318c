//! One firing of a schedule runs at a time unless its policy allows more, no more wait than may, and nothing is skipped as
//! `overlap` when nothing runs (SEMANTICS §5).
//!
//! Judged where ticks decide: there the schedule's own policy rules, while triggers and backfills may bring another. What
//! several schedules share by a concurrency key is judged for each schedule alone.

use campanile_core::command::Body;
use campanile_core::definition::{Definition, Overlap};
use campanile_core::event::{Event, SkipReason};
use campanile_core::firing::{Firing, FiringId, Lane, Phase};
use campanile_core::id::Uid;

use super::{Findings, Invariant, by_plan};
use crate::sim::story::Step;

/// Holds nothing.
#[derive(Debug)]
pub(super) struct Overlaps;

impl Invariant for Overlaps {
    fn name(&self) -> &'static str {
        "overlap rule"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        if !matches!(step.command.body, Body::Tick(_)) {
            return;
        }
        for row in step.rows {
            let wrong = match (by_plan(row), &row.event) {
                (Some((firing, ..)), _) => wrong_firing(step, firing),
                (_, Event::Skipped { uid, reason: SkipReason::Overlap, .. }) => wrong_skip(step, *uid),
                _ => None,
            };
            if let Some(wrong) = wrong {
                found.add(self.name(), || format!("entry {}: {wrong}", step.index));
            }
        }
    }
}

/// What is wrong with a firing as the entry leaves it; one that has ended in it took nobody's place.
fn wrong_firing(step: &Step<'_>, id: FiringId) -> Option<String> {
    let firing = step.after.firing(id)?;
    let mode = firing.definition.policy.overlap;
    if mode == Overlap::Allow {
        return None;
    }
    if firing.phase == Phase::Held {
        return too_many_wait(step, firing);
    }
    // What the schedule counts tells it without a walk, as a rule.
    let schedule = step.after.schedule(id.uid)?;
    if schedule.live <= schedule.held + schedule.notices + 1 {
        return None;
    }
    let other = step.after.live_of(id.uid).find(|other| other.id != id && runs(other))?;
    Some(format!("{id:?} ({mode:?}) runs beside {:?}", other.id))
}

/// A run is from fired until settled; a notice stands beside the firings of its schedule.
fn runs(firing: &Firing) -> bool {
    firing.phase != Phase::Held && !firing.is_notice()
}

fn too_many_wait(step: &Step<'_>, firing: &Firing) -> Option<String> {
    let policy = &firing.definition.policy;
    let most = match policy.overlap {
        Overlap::QueueOne => 1,
        Overlap::QueueAll => policy.queue_limit.max(1) as usize,
        Overlap::Allow | Overlap::Skip | Overlap::Replace | Overlap::Terminate => return None,
    };
    let uid = firing.id.uid;
    let lane = firing.lane();
    let may_be_too_many = lane == Lane::Own(uid)
        && step.after.schedule(uid).is_some_and(|schedule| schedule.held as usize > most);
    let waiting = if may_be_too_many { step.after.due().held_in(&lane).count() } else { 0 };
    (waiting > most).then(|| format!("{waiting} firings of {uid} wait, at most {most} may"))
}

fn wrong_skip(step: &Step<'_>, uid: Uid) -> Option<String> {
    let schedule = step.before.schedule(uid)?;
    let Definition { policy, concurrency_key, .. } = &*schedule.definition;
    if policy.overlap == Overlap::Allow {
        return Some(format!("{} was skipped, and lets its firings overlap", schedule.name));
    }
    let fired_now =
        step.rows.iter().any(|row| matches!(row.event, Event::Fired { firing, .. } if firing.uid == uid));
    let is_idle = schedule.live == schedule.notices && !fired_now && concurrency_key.is_none();
    is_idle.then(|| format!("{} was skipped, and nothing of it ran", schedule.name))
}
