//! Schedules and previews as people see them: English, next instants, warnings, what runs.
//!
//! Zones and cron are evaluated here by this node's own data; what the cluster decided stands in `next_at` and the mark.

use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::definition::Definition;
use campanile_core::english;
use campanile_core::firing::Phase;
use campanile_core::machine::Machine;
use campanile_core::schedule::{Schedule, State};
use campanile_core::series::{Series, Texts};
use campanile_core::spec::Spec;
use campanile_core::state::State as MachineState;
use campanile_core::time::Timestamp;

use super::diff::local;
use super::judge::cannot_evaluate;
use super::{Service, lint};
use crate::problem::Problem;
use crate::wire::preview::{NextInstant, NextInstants, Preview, Question};
use crate::wire::schedule::{Last, Schedule as Shown, Status, state_word};
use crate::wire::time::Instant as ShownInstant;

/// How many next instants one schedule shows.
const NEXT_SHOWN: usize = 5;
/// So many live firings of one schedule are looked at to tell the running from the waiting; more are counted as waiting.
const LIVE_SHOWN: usize = 1000;

/// How long the instants of one question are looked for.
const WITHIN: Duration = Duration::from_secs(2);

/// How much of a schedule is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Everything: one schedule was asked for.
    Whole,
    /// What costs little: it is one of a list.
    Row,
}

impl Service {
    /// A schedule with its status.
    #[must_use]
    pub fn show(&self, machine: &Machine, schedule: &Schedule, depth: Depth) -> Shown {
        let Definition { specs, exclude, .. } = &*schedule.definition;
        let text = english::describe(specs, exclude, self.planner().texts());
        // What cannot be evaluated is parked, and its note says why.
        let warnings = (depth == Depth::Whole).then(|| {
            let told = self.warnings(machine, Some(schedule), &schedule.definition);
            let follow = lint::of_actions(machine, &schedule.definition);
            told.unwrap_or_default().into_iter().chain(follow).collect()
        });
        let (note, until) = match &schedule.state {
            State::Active | State::Finished => (None, None),
            State::Paused { note, until } => (Some(note), *until),
            State::Parked { reason } => (Some(reason), None),
        };
        let running = machine
            .live_of(schedule.uid)
            .take(LIVE_SHOWN)
            .filter(|firing| matches!(firing.phase, Phase::Running(_)))
            .count();
        let running = u32::try_from(running).unwrap_or(u32::MAX);
        let status = Status {
            state: state_word(&schedule.state).into(),
            note: note.filter(|note| !note.is_empty()).map(|note| note.to_string()),
            until: until.map(ShownInstant),
            next: self.next_of(machine, schedule, depth),
            mark: ShownInstant(schedule.mark),
            text,
            last: schedule.newest_outcomes().next().map(|outcome| Last::of(schedule, outcome)),
            fired: schedule.fired,
            running,
            queued: schedule.live.saturating_sub(schedule.held).saturating_sub(running),
            waiting: schedule.held,
            consecutive_failures: schedule.consecutive_failures,
            warnings,
        };
        Shown::of(schedule, status)
    }

    /// The next instants of an active schedule: the first as the cluster decided it, the others by this node's data.
    fn next_of(&self, machine: &Machine, schedule: &Schedule, depth: Depth) -> Vec<ShownInstant> {
        let Some(first) = schedule.next_at.filter(|at| *at != Timestamp::NEVER && schedule.is_active())
        else {
            return Vec::new();
        };
        let mut next = vec![ShownInstant(first)];
        if depth == Depth::Whole
            && let Ok(series) = self.series(machine, &schedule.definition)
        {
            let left = schedule.definition.max_firings.map_or(NEXT_SHOWN, |most| {
                usize::try_from(most.saturating_sub(schedule.fired)).unwrap_or(NEXT_SHOWN).min(NEXT_SHOWN)
            });
            let later = std::iter::successors(series.next(first), |occurrence| series.next(occurrence.at));
            next.extend(later.take(left.saturating_sub(1)).map(|occurrence| ShownInstant(occurrence.at)));
        }
        next
    }

    /// The instants of a definition, under the calendars as they stand.
    ///
    /// # Errors
    /// `invalid_schedule` when this node's zone data cannot evaluate it.
    pub(super) fn series(&self, machine: &Machine, definition: &Definition) -> Result<Series, Problem> {
        self.planner()
            .series(machine, definition)
            .map_err(|bad| cannot_evaluate(&bad, &definition.specs, &definition.exclude))
    }

    /// A schedule with everything about it, told beside the threads that others wait for: its next instants and its
    /// warnings are searched. What is stored was judged, so this is short, and a write waits for it.
    ///
    /// # Errors
    /// `internal` when that panics.
    pub async fn show_whole(
        self: &Arc<Self>,
        machine: Arc<Machine>,
        schedule: Arc<Schedule>,
    ) -> Result<Shown, Problem> {
        self.think_for_write(move |service| Ok(service.show(&machine, &schedule, Depth::Whole))).await
    }

    /// The next instants of a stored schedule after `after`, with how each stands to daylight saving. Slow.
    ///
    /// # Errors
    /// `invalid_schedule` when this node's zone data cannot evaluate it.
    pub fn next(
        &self,
        machine: &Machine,
        definition: &Definition,
        after: Timestamp,
        count: usize,
    ) -> Result<NextInstants, Problem> {
        let Definition { specs, exclude, .. } = definition;
        let series = self.series(machine, definition)?;
        let (items, cut) = upcoming(&series, specs, after, count, Instant::now() + WITHIN);
        let warnings = cut.then(|| lint::cut_short(items.len())).into_iter().collect();
        let text = english::describe(specs, exclude, self.planner().texts());
        Ok(NextInstants { items, text, warnings })
    }

    /// What specs would do, under the calendars as they stand. Slow.
    ///
    /// # Errors
    /// `invalid_schedule` when one cannot be evaluated.
    pub fn preview(&self, machine: &Machine, question: &Question) -> Result<Preview, Problem> {
        let now = self.now();
        // Texts of its own: what strangers try out does not push out what the cluster runs.
        let mut texts = Texts::default();
        let Question { specs, exclude, window, .. } = question;
        let state: &MachineState = machine;
        let series = Series::of_specs(specs, exclude, *window, state, &mut texts)
            .map_err(|bad| cannot_evaluate(&bad, specs, exclude))?;
        let after = question.after.unwrap_or(now);
        let (next, cut) = upcoming(&series, specs, after, question.count, Instant::now() + WITHIN);
        let mut found = lint::of_specs(specs, &mut texts, now);
        if next.is_empty() && !cut && !exclude.is_empty() {
            let message = "the exclusions leave out everything".to_owned();
            let bare = Series::of_specs(specs, &[], *window, state, &mut texts);
            let covered = bare.is_ok_and(|bare| bare.next(after).is_some());
            found.extend(covered.then(|| lint::warning("all_excluded", "/exclude", message)));
        }
        found.extend(cut.then(|| lint::cut_short(next.len())));
        Ok(Preview { text: english::describe(specs, exclude, &mut texts), next, warnings: found })
    }
}

/// The next instants, each on the wall clock of the first spec that makes it; and whether the time was up before there
/// were enough of them.
pub(super) fn upcoming(
    series: &Series,
    specs: &[Spec],
    after: Timestamp,
    count: usize,
    deadline: Instant,
) -> (Vec<NextInstant>, bool) {
    let mut next = Vec::with_capacity(count);
    let mut after = after;
    while next.len() < count {
        if Instant::now() >= deadline {
            return (next, true);
        }
        let Some((place, tick)) = series.next_of(after) else { break };
        after = tick.at;
        next.push(local(tick, specs, place));
    }
    (next, false)
}
