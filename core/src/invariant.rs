//! What must be true of every machine at every index. Walks all of it, so it belongs into tests, simulations and the
//! reading of an image, not on the way of a tick.

use std::collections::{BTreeMap, BTreeSet};

use crate::backfill::{Backfill, BackfillState, KEPT_ENDED, MAX_RUNNING};
use crate::due::DueIndex;
use crate::firing::{Kind, Phase};
use crate::id::{BackfillId, Uid};
use crate::machine::Machine;
use crate::schedule::State;
use crate::spec::Exclusion;

/// Looks for a contradiction.
///
/// # Errors
/// The first one, in words.
pub fn check(machine: &Machine) -> Result<(), String> {
    names_and_schedules_agree(machine)?;
    schedules_make_sense(machine)?;
    firings_make_sense(machine)?;
    backfills_make_sense(machine)?;
    chains_make_sense(machine)?;
    indexes_are_what_they_would_be_built_anew(machine)
}

fn names_and_schedules_agree(machine: &Machine) -> Result<(), String> {
    if machine.names.len() != machine.schedules.len() {
        return Err(format!("{} names for {} schedules", machine.names.len(), machine.schedules.len()));
    }
    for (name, uid) in &machine.names {
        if machine.schedule(*uid).is_none_or(|schedule| schedule.name != *name || schedule.uid != *uid) {
            return Err(format!("the name {name} does not lead to its schedule"));
        }
    }
    Ok(())
}

fn schedules_make_sense(machine: &Machine) -> Result<(), String> {
    for schedule in machine.schedules.values() {
        let name = &schedule.name;
        if schedule.next_at.is_some_and(|next_at| next_at <= schedule.mark) {
            return Err(format!("the next instant of {name} is not after its mark"));
        }
        if (schedule.state == State::Active) != schedule.next_at.is_some() {
            return Err(format!("{name} is {:?} with next instant {:?}", schedule.state, schedule.next_at));
        }
        let live = machine.live_of(schedule.uid).count();
        if live != schedule.live as usize {
            return Err(format!("{name} counts {} live firings of {live}", schedule.live));
        }
        let held = machine.live_of(schedule.uid).filter(|firing| firing.phase == Phase::Held).count();
        if held != schedule.held as usize {
            return Err(format!("{name} counts {} held firings of {held}", schedule.held));
        }
        let notices = machine.live_of(schedule.uid).filter(|firing| firing.is_notice()).count();
        if notices != schedule.notices as usize {
            return Err(format!("{name} counts {} notices of {notices}", schedule.notices));
        }
        if let Some(secret) = schedule.definition.secrets().find(|secret| machine.secret(secret).is_none()) {
            return Err(format!("{name} names the secret {secret}, which does not exist"));
        }
        for calendar in schedule.definition.exclude.iter().filter_map(Exclusion::calendar) {
            if machine.calendar(calendar).is_none() {
                return Err(format!("{name} names the calendar {calendar}, which does not exist"));
            }
        }
    }
    Ok(())
}

fn firings_make_sense(machine: &Machine) -> Result<(), String> {
    for firing in machine.live() {
        let id = firing.id;
        if firing.decided.at < id.nominal {
            return Err(format!("{id:?} was decided before its nominal"));
        }
        match &firing.phase {
            Phase::Running(lease) if lease.until > firing.deadline() => {
                return Err(format!("the lease of {id:?} goes beyond its deadline"));
            }
            Phase::Running(lease) if lease.attempt != firing.attempt => {
                return Err(format!("{id:?} runs attempt {} of {}", lease.attempt, firing.attempt));
            }
            Phase::Queued if firing.attempt.0 != 0 => {
                return Err(format!("{id:?} is queued after an attempt"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn backfills_make_sense(machine: &Machine) -> Result<(), String> {
    let mut live: BTreeMap<BackfillId, u32> = BTreeMap::new();
    for firing in machine.live() {
        if let Kind::Backfill(id) = firing.kind {
            *live.entry(id).or_default() += 1;
        }
    }
    let mut running: BTreeSet<Uid> = BTreeSet::new();
    for backfill in machine.backfills() {
        let id = backfill.id;
        if backfill.is_running() && !running.insert(backfill.uid) {
            return Err(format!("backfill {id} runs beside another of its schedule"));
        }
        if backfill.live != live.get(&id).copied().unwrap_or(0) {
            return Err(format!("backfill {id} counts {} live firings of {live:?}", backfill.live));
        }
        backfill_makes_sense(machine, backfill).map_err(|why| format!("backfill {id} {why}"))?;
    }
    let ended = machine.backfills().count() - running.len();
    if running.len() > MAX_RUNNING || ended > KEPT_ENDED {
        return Err(format!("{} backfills run and {ended} have ended", running.len()));
    }
    Ok(())
}

fn backfill_makes_sense(machine: &Machine, backfill: &Backfill) -> Result<(), &'static str> {
    let plan = &backfill.plan;
    if backfill.position < plan.after || backfill.position > plan.until {
        return Err("stands outside of its range");
    }
    if backfill.live > plan.max_live {
        return Err("has more live firings than it may");
    }
    if backfill.fired != backfill.succeeded + backfill.failed + u64::from(backfill.live) {
        return Err("has lost sight of a firing");
    }
    if backfill.is_running() == backfill.ended_at.is_some() {
        return Err("has an end, or none, against its state");
    }
    if backfill.state == BackfillState::Completed && backfill.position != plan.until {
        return Err("is completed and has not gone through its range");
    }
    if backfill.is_running() {
        let schedule = machine.schedule(backfill.uid).ok_or("runs without its schedule")?;
        if schedule.name != backfill.name || plan.until > schedule.mark || plan.until > backfill.created_at {
            return Err("goes beyond what its schedule has decided");
        }
    }
    Ok(())
}

fn chains_make_sense(machine: &Machine) -> Result<(), String> {
    let mut of: BTreeMap<Uid, u32> = BTreeMap::new();
    for chain in machine.chains() {
        *of.entry(chain.from).or_default() += 1;
    }
    for schedule in machine.schedules.values() {
        let chained = of.remove(&schedule.uid).unwrap_or(0);
        if chained != schedule.chained {
            return Err(format!("{} counts {} chains of {chained}", schedule.name, schedule.chained));
        }
    }
    if of.is_empty() { Ok(()) } else { Err("a chain follows a schedule that is gone".into()) }
}

fn indexes_are_what_they_would_be_built_anew(machine: &Machine) -> Result<(), String> {
    let mut due = DueIndex::default();
    for (name, queue) in machine.queues() {
        due.set_room_of_key(name, queue.settings.max_in_flight_per_key);
    }
    machine.schedules.values().for_each(|schedule| due.enter(schedule));
    machine.live().for_each(|firing| due.enter_firing(firing));
    machine.backfills.values().for_each(|backfill| due.enter_backfill(backfill));
    if due == machine.due { Ok(()) } else { Err("the due index is not what the state makes of it".into()) }
}
