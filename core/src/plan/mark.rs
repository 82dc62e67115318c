//! Plans of changes of the mark: forward it skips, back it fires again. What that fires and skips can be counted first.

use super::backfill::{Past, count_up_to};
use super::{Planner, Refusal, Wanted};
use crate::backfill::{BackfillPlan, MAX_INSTANTS};
use crate::command::{Body, Decision, SetMark, Skip};
use crate::definition::ScheduleName;
use crate::event::SkipReason;
use crate::schedule::Schedule;
use crate::series::Series;
use crate::state::State;
use crate::time::{Span, Timestamp};

/// How many firings of a rewind are live at once.
pub const REWIND_MAX_LIVE: u32 = 100;

/// What a change of the mark would do if it were made now, before the overlap rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkCounts {
    /// How many instants it fires: those that are due by now, or those of a rewind.
    pub fires: u64,
    /// How many instants it skips.
    pub skips: u64,
}

impl Planner {
    /// Sets the mark: later than it stands, everything up to there is skipped, once what is due by now is decided; earlier,
    /// everything after that instant is fired again.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn set_mark(
        &mut self,
        state: &State,
        at: Timestamp,
        wanted: Wanted,
        to: Timestamp,
        past: &dyn Past,
    ) -> Result<Body, Refusal> {
        let schedule = state.named(&wanted.name).ok_or(Refusal::NoSchedule)?;
        if to == schedule.mark {
            return Err(Refusal::MarkIsThere);
        }
        if to < schedule.mark {
            return self.rewind(state, at, wanted, to, past);
        }
        let ahead = self.skip_ahead(state, schedule, at, to)?;
        Ok(Body::SetMark(SetMark {
            seen: Some(schedule.seen()),
            before: Some(ahead.before),
            to,
            skip: ahead.skip,
            next_at: ahead.next_at,
            name: wanted.name,
            request: wanted.request,
        }))
    }

    /// Counts first: what [`Planner::set_mark`] would fire and skip. Nothing is proposed.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn count_mark(
        &mut self,
        state: &State,
        at: Timestamp,
        name: &ScheduleName,
        to: Timestamp,
        past: &dyn Past,
    ) -> Result<MarkCounts, Refusal> {
        let schedule = state.named(name).ok_or(Refusal::NoSchedule)?;
        if to == schedule.mark {
            return Err(Refusal::MarkIsThere);
        }
        if to < schedule.mark {
            let plan = again_from(schedule, at, to)?;
            let counts = self.count_backfill(state, at, name, plan, past)?;
            return Ok(MarkCounts { fires: counts.would_fire, skips: 0 });
        }
        let ahead = self.skip_ahead(state, schedule, at, to)?;
        let skips = ahead.before.skips.iter().chain(&ahead.skip).map(|skip| skip.count).sum();
        Ok(MarkCounts { fires: ahead.before.fire.len() as u64, skips })
    }

    /// Fires everything in `(to, mark]` again, under the schedule's own overlap mode: a backfill, since the mark itself
    /// never retreats.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn rewind(
        &mut self,
        state: &State,
        at: Timestamp,
        wanted: Wanted,
        to: Timestamp,
        past: &dyn Past,
    ) -> Result<Body, Refusal> {
        let schedule = state.named(&wanted.name).ok_or(Refusal::NoSchedule)?;
        let plan = again_from(schedule, at, to)?;
        self.create_backfill(state, at, wanted, plan, past)
    }

    fn skip_ahead(
        &mut self,
        state: &State,
        schedule: &Schedule,
        at: Timestamp,
        to: Timestamp,
    ) -> Result<Ahead, Refusal> {
        if !schedule.is_active() {
            return Err(Refusal::NotActive);
        }
        if to <= at {
            return Err(Refusal::DecidedByNow);
        }
        let series = self.evaluated(state, schedule)?;
        let before = self.decide(state, schedule, at);
        if let Some(reason) = before.park {
            return Err(Refusal::Unevaluable(reason));
        }
        let skip = skipped(&series, before.mark, to)?;
        let next_at = series.next(to).map(|occurrence| occurrence.at);
        Ok(Ahead { before, skip, next_at })
    }
}

/// What skipping ahead comes to.
struct Ahead {
    before: Decision,
    skip: Option<Skip>,
    next_at: Option<Timestamp>,
}

/// What is skipped already and still to come cannot be fired yet.
fn again_from(schedule: &Schedule, at: Timestamp, to: Timestamp) -> Result<BackfillPlan, Refusal> {
    if to >= at {
        return Err(Refusal::Ahead);
    }
    Ok(BackfillPlan {
        after: to,
        until: schedule.mark,
        again: true,
        overlap: schedule.definition.policy.overlap,
        pace: Span::ZERO,
        max_live: REWIND_MAX_LIVE,
    })
}

/// One row for all instants of `(after, to]`, when there are any.
fn skipped(series: &Series, after: Timestamp, to: Timestamp) -> Result<Option<Skip>, Refusal> {
    let Some((from, last)) = series.ends_in(after, to) else { return Ok(None) };
    let count = count_up_to(MAX_INSTANTS, series, after, to)?;
    Ok(Some(Skip { reason: SkipReason::Superseded, from, to: last, count }))
}
