//! Proposes: looks at the machine and the time and says what a command should hold. Zones and cron are evaluated here, by
//! the proposer only; what leaves is numbers.
//!
//! It changes nothing and reads no clock: `now` is an argument. A plan may be overtaken on its way to the log; then
//! `apply` finds it stale and it is planned again. One schedule never harms another: what cannot be evaluated is parked.

mod backfill;
mod catch_up;
mod chain;
mod jitter;
mod mark;
mod options;
#[cfg(any(feature = "plant-duplicates", feature = "mutants"))]
mod plant;
mod refresh;
mod refusal;
mod rerun;
mod set;
mod write;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::command::{Decision, OnTime, PauseEnd, Tick};
use crate::cron::CronCache;
use crate::definition::{CatchUp, Definition, Jitter};
use crate::id::{LogIndex, Uid};
use crate::mutant::{self, Mutant};
use crate::schedule::{Schedule, State as ScheduleState};
use crate::series::{BadSpec, Series, Texts};
use crate::spec::Exclusion;
use crate::state::State;
use crate::time::{Span, Timestamp};

pub use backfill::{Counts, Past};
pub use mark::{MarkCounts, REWIND_MAX_LIVE};
pub use options::Options;
pub use refusal::Refusal;
pub use rerun::Instead;
pub use set::WantedSet;
pub use write::{PauseUntil, ResumeFrom, Wanted};

/// Ended leases take at most this part of a tick: schedules that fill every tick must not keep them from ending.
const LEASE_SHARE: usize = 8;

/// Plans commands. Keeps parsed patterns, and nothing that matters.
#[derive(Debug)]
pub struct Planner {
    options: Options,
    texts: Texts,
    #[cfg(any(feature = "plant-duplicates", feature = "mutants"))]
    repeated: std::collections::BTreeSet<Uid>,
    /// A schedule whose planning panics.
    #[cfg(test)]
    poison: Option<Uid>,
}

impl Planner {
    /// A planner with those settings.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            texts: Texts::default(),
            #[cfg(any(feature = "plant-duplicates", feature = "mutants"))]
            repeated: std::collections::BTreeSet::new(),
            #[cfg(test)]
            poison: None,
        }
    }

    /// The parsed patterns and rules, for those who preview.
    pub fn texts(&mut self) -> &mut Texts {
        &mut self.texts
    }

    /// The parsed patterns alone.
    pub fn crons(&mut self) -> &mut CronCache {
        &mut self.texts.crons
    }

    /// Everything that is due at or before `now`, a bounded batch; `None` when nothing is. Ask again after it was
    /// applied: there may be more.
    pub fn tick(&mut self, state: &State, now: Timestamp) -> Option<Tick> {
        let mut tick = Tick { rules_at: state.rules_at(), ..Tick::default() };
        let all = self.options.instants_per_tick;
        let ended = state.due().leases().take_while(|(at, _)| *at <= now).take((all / LEASE_SHARE).max(1));
        tick.lease_ends
            .extend(ended.filter_map(|(_, id)| state.firing(id).map(|firing| (id, firing.attempt))));
        let overdue =
            state.due().deadlines().take_while(|(at, _)| *at <= now).take((all / LEASE_SHARE).max(1));
        tick.overdue.extend(overdue.map(|(_, id)| id));
        tick.chains = self.chains(state, now);
        let taken = tick.lease_ends.len() + tick.overdue.len() + tick.chains.len();
        let room = all.saturating_sub(taken).max(1);
        let missed_before = now - self.options.failover_grace;
        let old = |(at, _): &(Timestamp, Uid)| *at < missed_before;
        let has_backlog = state.due().schedules().next().as_ref().is_some_and(old);
        // What is due by now goes first, up to half of the room: a backlog of a million must not make the healthy late.
        let fresh = state.due().schedules_from(missed_before).take_while(|(at, _)| *at <= now);
        let fresh_room = if has_backlog { room.div_ceil(2) } else { room };
        let used = self.plan_all(state, fresh, now, fresh_room, &mut tick);
        let backlog = state.due().schedules().take_while(old);
        self.plan_all(state, backlog, now, room.saturating_sub(used), &mut tick);
        (!tick.is_empty()).then_some(tick)
    }

    /// Plans schedules in their order while there is room; answers how much they took.
    fn plan_all(
        &mut self,
        state: &State,
        due: impl Iterator<Item = (Timestamp, Uid)>,
        now: Timestamp,
        room: usize,
        tick: &mut Tick,
    ) -> usize {
        let mut used = 0;
        for (_, uid) in due {
            if used >= room {
                break;
            }
            used += self.plan_schedule(state, uid, now, tick);
        }
        used
    }

    /// Adds what a due schedule has to decide; answers how much room that takes.
    fn plan_schedule(&mut self, state: &State, uid: Uid, now: Timestamp, tick: &mut Tick) -> usize {
        let Some(schedule) = state.schedule(uid) else { return 0 };
        if let ScheduleState::Paused { until: Some(until), .. } = schedule.state {
            return self.plan_pause_end(state, schedule, until, now, tick);
        }
        if let Ok(Some(on_time)) =
            self.guarded(schedule, |planner, schedule| planner.on_time(state, schedule, now))
        {
            mutant::note_proposed(uid, on_time.nominal);
            tick.on_time.push(on_time);
            return 1;
        }
        if mutant::is_on(Mutant::MarkBeforeCommit)
            && mutant::decided_up_to(uid, schedule.mark) > schedule.mark
        {
            return 0; // What is due was proposed: nothing is left to do.
        }
        let decision = up_to_its_last_instant(self.decide(state, schedule, now));
        let instants = 1 + decision.fire.len() + decision.skips.len();
        tick.decisions.push(decision);
        instants
    }

    /// The common case: exactly one instant is undecided, and it is not old.
    fn on_time(
        &mut self,
        state: &State,
        schedule: &Schedule,
        now: Timestamp,
    ) -> Result<Option<OnTime>, BadSpec> {
        if schedule.definition.policy.jitter != Jitter::default() {
            return Ok(None); // A spread takes the larger form.
        }
        let series = self.series(state, &schedule.definition)?;
        #[cfg(any(feature = "plant-duplicates", feature = "mutants"))]
        if let Some(again) = self.plant(schedule, &series) {
            return Ok(Some(again));
        }
        let grace = now - self.options.failover_grace;
        let decided = mutant::decided_up_to(schedule.uid, undecided_after(state, schedule));
        let Some(nominal) = series.next(decided).map(|o| o.at).filter(|at| *at <= now && *at >= grace) else {
            return Ok(None);
        };
        let next_at = series.next(nominal).map_or(Timestamp::NEVER, |occurrence| occurrence.at);
        Ok((next_at > now).then_some(OnTime {
            uid: schedule.uid,
            revision: schedule.revision,
            nominal,
            next_at,
        }))
    }

    /// What becomes of the undecided instants of a schedule up to `now`, under its catch-up rule. A schedule that cannot
    /// be evaluated is to be parked.
    pub fn decide(&mut self, state: &State, schedule: &Schedule, now: Timestamp) -> Decision {
        self.guard(state, schedule, |planner, schedule| {
            let series = planner.series(state, &schedule.definition)?;
            let from = undecided_after(state, schedule);
            Ok(catch_up::decide(&planner.options, schedule, &series, from, now))
        })
    }

    fn plan_pause_end(
        &mut self,
        state: &State,
        schedule: &Schedule,
        until: Timestamp,
        now: Timestamp,
        tick: &mut Tick,
    ) -> usize {
        let decision = self.guard(state, schedule, |planner, schedule| {
            let series = planner.series(state, &schedule.definition)?;
            // Who catches up on everything asks for the pause as well.
            if schedule.definition.policy.catch_up == CatchUp::UNLIMITED {
                return Ok(catch_up::decide(&planner.options, schedule, &series, schedule.mark, now));
            }
            Ok(catch_up::end_pause(&planner.options, schedule, &series, until, now))
        });
        let instants = 1 + decision.fire.len() + decision.skips.len();
        tick.pause_ends.push(PauseEnd { uid: schedule.uid, until, decision });
        instants
    }

    /// What a pause leaves behind when it ends without catching up.
    fn skip_pause(&mut self, state: &State, schedule: &Schedule, now: Timestamp) -> Decision {
        self.guard(state, schedule, |planner, schedule| {
            let series = planner.series(state, &schedule.definition)?;
            Ok(catch_up::skip_pause(schedule, &series, now))
        })
    }

    /// The instants of a definition, under the calendars as they stand.
    ///
    /// # Errors
    /// The first spec that cannot be evaluated.
    pub fn series(&mut self, state: &State, definition: &Definition) -> Result<Series, BadSpec> {
        self.options.know_zones_of(definition)?;
        Series::of(definition, state, &mut self.texts)
    }

    /// A decision, or the one that parks the schedule.
    fn guard(
        &mut self,
        state: &State,
        schedule: &Schedule,
        plan: impl FnOnce(&mut Self, &Schedule) -> Result<Decision, BadSpec>,
    ) -> Decision {
        self.guarded(schedule, plan).unwrap_or_else(|reason| parked(schedule, state.rules_at(), reason))
    }

    /// Runs a plan of one schedule so that neither an impossible spec nor a panic in it reaches the others.
    fn guarded<T>(
        &mut self,
        schedule: &Schedule,
        plan: impl FnOnce(&mut Self, &Schedule) -> Result<T, BadSpec>,
    ) -> Result<T, String> {
        let guarded = || {
            #[cfg(test)]
            assert!(self.poison != Some(schedule.uid), "a planted panic");
            plan(self, schedule)
        };
        match catch_unwind(AssertUnwindSafe(guarded)) {
            Ok(Ok(planned)) => Ok(planned),
            Ok(Err(bad)) => Err(bad.to_string()),
            Err(_) => Err("planning it panicked".to_owned()),
        }
    }
}

/// Where the search for what is undecided begins. That is the mark, unless a calendar was changed so often since then that
/// it is forgotten what it excluded: `next_at` was found while that was known, and between the mark and it there is nothing
/// that was nominal in its time.
fn undecided_after(state: &State, schedule: &Schedule) -> Timestamp {
    let names = schedule.definition.exclude.iter().filter_map(Exclusion::calendar);
    let forgotten = names.filter_map(|name| state.calendar(name)?.forgotten()).max();
    match (forgotten, schedule.next_at) {
        (Some(forgotten), Some(next_at)) => schedule.mark.max(forgotten.min(next_at - Span::from_millis(1))),
        _ => schedule.mark,
    }
}

/// A tick moves the mark to a nominal instant, not to its own time.
fn up_to_its_last_instant(mut decision: Decision) -> Decision {
    let fired = decision.fire.last().map(|fire| fire.nominal);
    let skipped = decision.skips.last().map(|skip| skip.to);
    decision.mark = fired.max(skipped).unwrap_or(decision.after);
    decision
}

/// The decision that parks a schedule: nothing is decided, its mark stays.
fn parked(schedule: &Schedule, rules_at: LogIndex, reason: String) -> Decision {
    Decision {
        uid: schedule.uid,
        revision: schedule.revision,
        after: schedule.mark,
        rules_at,
        skips: Vec::new(),
        fire: Vec::new(),
        mark: schedule.mark,
        next_at: None,
        park: Some(reason.into()),
    }
}

#[cfg(test)]
mod tests;
