//! Plans of backfills: what they would fire, their creation, and their steps.
//!
//! What has fired is in the ledger and not in the machine, so it is an argument here ([`Past`]); a command carries how many
//! firings below the mark its proposer knew of, and the machine refuses it when there are more. A step looks at a bounded
//! number of instants under the definition in force then: an edit in the midst changes what is still to come of the range.

use std::collections::BTreeMap;

use super::{Planner, Refusal, Wanted};
use crate::backfill::{Backfill, BackfillPlan, FIRES_PER_STEP, INSTANTS_PER_STEP, MAX_INSTANTS};
use crate::command::{Body, CreateBackfill, StepBackfill};
use crate::definition::ScheduleName;
use crate::id::{Run, Uid};
use crate::schedule::Schedule;
use crate::series::Series;
use crate::state::State;
use crate::time::{Span, Timestamp};

/// What the ledger knows of firings. It must hold every row up to the last entry that the state has applied, or what has
/// fired is fired again; knowing more does no harm. One who cannot read it must not commit what was planned with it.
pub trait Past {
    /// The highest run of each nominal in `(after, until]` that has fired, live ones and those of any kind included.
    fn runs(&self, uid: Uid, after: Timestamp, until: Timestamp) -> BTreeMap<Timestamp, Run>;

    /// Rows that were written before this instant may be missing (retention). All are there unless an implementation
    /// says otherwise.
    fn known_since(&self) -> Timestamp {
        Timestamp::from_millis(i64::MIN)
    }
}

/// What a backfill would do if it began now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// How many nominal instants the range has.
    pub instants: u64,
    /// How many of them would fire, before the overlap rule.
    pub would_fire: u64,
    /// How many would be passed over, since they have fired.
    pub passed: u64,
}

impl Planner {
    /// Counts first: what a backfill of that range would do. Nothing is proposed.
    ///
    /// # Errors
    /// Why it cannot be created.
    pub fn count_backfill(
        &mut self,
        state: &State,
        at: Timestamp,
        name: &ScheduleName,
        plan: BackfillPlan,
        past: &dyn Past,
    ) -> Result<Counts, Refusal> {
        let schedule = state.named(name).ok_or(Refusal::NoSchedule)?;
        let plan = clamped(schedule, at, plan, past)?;
        let series = self.evaluated(state, schedule)?;
        let instants = count(&series, &plan)?;
        let passed = if plan.again { 0 } else { fired_in(schedule.uid, &series, &plan, instants, past) };
        Ok(Counts { instants, would_fire: instants.saturating_sub(passed), passed })
    }

    /// A backfill; its range ends at the mark, or now, when it would end later: what comes after is the tick's.
    ///
    /// # Errors
    /// Why it cannot be created.
    pub fn create_backfill(
        &mut self,
        state: &State,
        at: Timestamp,
        wanted: Wanted,
        plan: BackfillPlan,
        past: &dyn Past,
    ) -> Result<Body, Refusal> {
        let schedule = state.named(&wanted.name).ok_or(Refusal::NoSchedule)?;
        let plan = clamped(schedule, at, plan, past)?;
        let series = self.evaluated(state, schedule)?;
        Ok(Body::CreateBackfill(CreateBackfill {
            seen: Some(schedule.seen()),
            plan,
            instants: count(&series, &plan)?,
            name: wanted.name,
            request: wanted.request,
        }))
    }

    /// The next step of each backfill that may go on now, at most so many, those that wait longest first. They are of
    /// different schedules, so one does not make another stale. Ask again when they were applied: there may be more.
    pub fn step_backfills(
        &mut self,
        state: &State,
        now: Timestamp,
        past: &dyn Past,
        most: usize,
    ) -> Vec<StepBackfill> {
        let due = state.due().backfills().take_while(|(at, _)| *at <= now).take(most);
        due.filter_map(|(_, id)| {
            let backfill = state.backfill(id)?;
            let schedule = state.schedule(backfill.uid)?;
            Some(self.step(state, backfill, schedule, past))
        })
        .collect()
    }

    fn step(
        &mut self,
        state: &State,
        backfill: &Backfill,
        schedule: &Schedule,
        past: &dyn Past,
    ) -> StepBackfill {
        let empty = StepBackfill {
            id: backfill.id,
            after: backfill.position,
            revision: schedule.revision,
            rules_at: state.rules_at(),
            refired: schedule.refired,
            fire: Vec::new(),
            passed: 0,
            to: backfill.position,
            done: false,
            failure: None,
        };
        if let Err(refusal) = is_known(schedule, backfill.position, past) {
            return StepBackfill { failure: Some(refusal.to_string().into()), ..empty };
        }
        let room = room_of(backfill);
        let most = if backfill.plan.again { room } else { (room * LOOKS_PER_FIRE).min(INSTANTS_PER_STEP) };
        let instants = self.guarded(schedule, |planner, schedule| {
            Ok(first_of(&planner.series(state, &schedule.definition)?, backfill, most))
        });
        match instants {
            Ok((instants, is_rest)) => go_through(backfill, &instants, is_rest, room, past, empty),
            Err(reason) => StepBackfill { failure: Some(reason.into()), ..empty },
        }
    }

    /// The instants of a schedule, or why there are none to be had.
    pub(super) fn evaluated(&mut self, state: &State, schedule: &Schedule) -> Result<Series, Refusal> {
        self.guarded(schedule, |planner, schedule| planner.series(state, &schedule.definition))
            .map_err(|reason| Refusal::Unevaluable(reason.into()))
    }
}

/// Where gaps are filled, a step that may fire one looks at so many: most of a range has fired, as a rule.
const LOOKS_PER_FIRE: usize = 50;
/// So many instants are compared with the ledger at once when they are counted.
const INSTANTS_PER_READ: u64 = 10_000;
/// Ten years of 366 days.
const COMPUTED: Span = Span::from_secs(3_660 * 86_400);

/// A plan that ends where instants are decided, and begins where they are known.
fn clamped(
    schedule: &Schedule,
    at: Timestamp,
    plan: BackfillPlan,
    past: &dyn Past,
) -> Result<BackfillPlan, Refusal> {
    if plan.after >= plan.until {
        return Err(Refusal::EmptyRange);
    }
    if plan.max_live == 0 {
        return Err(Refusal::NoRoom);
    }
    let until = plan.until.min(schedule.mark).min(at);
    if plan.after >= until {
        return Err(Refusal::NothingDecided(schedule.mark));
    }
    is_known(schedule, plan.after, past)?;
    Ok(BackfillPlan { until, ..plan })
}

/// Whether the ledger still tells what fired after that instant. A firing is written at its nominal or later, and none is
/// older than its schedule.
pub(super) fn is_known(schedule: &Schedule, after: Timestamp, past: &dyn Past) -> Result<(), Refusal> {
    let since = past.known_since();
    if after.successor() >= since || schedule.created_at >= since {
        Ok(())
    } else {
        Err(Refusal::Forgotten(since))
    }
}

fn count(series: &Series, plan: &BackfillPlan) -> Result<u64, Refusal> {
    let instants = count_up_to(MAX_INSTANTS, series, plan.after, plan.until)?;
    if instants > MAX_INSTANTS { Err(Refusal::TooMany(MAX_INSTANTS)) } else { Ok(instants) }
}

/// How many instants are in `(after, until]`: any number in a range of some years, where they are computed a day at a time;
/// a bounded one in a longer range, where they are walked.
pub(super) fn count_up_to(
    most: u64,
    series: &Series,
    after: Timestamp,
    until: Timestamp,
) -> Result<u64, Refusal> {
    if until.since(after) <= COMPUTED {
        return Ok(series.count(after, until));
    }
    let bound = usize::try_from(most).unwrap_or(usize::MAX);
    let walked = walk(series, after, until).take(bound.saturating_add(1)).count() as u64;
    if walked > most { Err(Refusal::TooMany(most)) } else { Ok(walked) }
}

fn walk(series: &Series, after: Timestamp, until: Timestamp) -> impl Iterator<Item = Timestamp> {
    let next = move |after: &Timestamp| series.next(*after).map(|occurrence| occurrence.at);
    std::iter::successors(next(&after), next).take_while(move |at| *at <= until)
}

/// How many nominal instants of the range have fired; the ledger is read in pieces of even length.
fn fired_in(uid: Uid, series: &Series, plan: &BackfillPlan, instants: u64, past: &dyn Past) -> u64 {
    let pieces = instants / INSTANTS_PER_READ + 1;
    let piece = Span::from_millis(plan.until.since(plan.after).as_millis() / pieces + 1);
    let (mut after, mut fired) = (plan.after, 0);
    while after < plan.until {
        let until = (after + piece).min(plan.until);
        let runs = past.runs(uid, after, until);
        fired += runs.keys().filter(|nominal| series.contains(**nominal)).count() as u64;
        after = until;
    }
    fired
}

/// How many firings a step may make.
fn room_of(backfill: &Backfill) -> usize {
    let room = backfill.plan.max_live.saturating_sub(backfill.live) as usize;
    room.min(if backfill.plan.pace == Span::ZERO { FIRES_PER_STEP } else { 1 })
}

/// The first instants of what is left of the range, and whether they are all that is left.
fn first_of(series: &Series, backfill: &Backfill, most: usize) -> (Vec<Timestamp>, bool) {
    let mut instants: Vec<Timestamp> =
        walk(series, backfill.position, backfill.plan.until).take(most + 1).collect();
    let is_rest = instants.len() <= most;
    instants.truncate(most);
    (instants, is_rest)
}

/// Sorts instants into those that fire and those that are passed over, until there is no room for one more.
fn go_through(
    backfill: &Backfill,
    instants: &[Timestamp],
    is_rest: bool,
    room: usize,
    past: &dyn Past,
    mut step: StepBackfill,
) -> StepBackfill {
    let runs = match instants.last() {
        Some(last) => past.runs(backfill.uid, backfill.position, *last),
        None => BTreeMap::new(),
    };
    step.done = is_rest;
    for nominal in instants {
        let run = match runs.get(nominal) {
            None => Run(0),
            Some(highest) if backfill.plan.again => Run(highest.0.saturating_add(1)),
            Some(_) => {
                step.passed += 1;
                step.to = *nominal;
                continue;
            }
        };
        if step.fire.len() == room {
            step.done = false;
            break;
        }
        step.fire.push((*nominal, run));
        step.to = *nominal;
    }
    if step.done {
        step.to = backfill.plan.until;
    }
    step
}
