//! Schedules and previews as people see them: English, next instants, warnings, what runs.
//!
//! Zones and cron are evaluated here by this node's own data; what the cluster decided stands in `next_at` and the mark.

use campanile_core::definition::Definition;
use campanile_core::english;
use campanile_core::firing::Phase;
use campanile_core::machine::Machine;
use campanile_core::schedule::{Schedule, State};
use campanile_core::series::{BadSpec, Series, Texts};
use campanile_core::spec::Spec;
use campanile_core::state::State as MachineState;
use campanile_core::time::Timestamp;

use super::Service;
use crate::problem::{Code, Problem};
use crate::wire::preview::{NextInstant, Preview, Question};
use crate::wire::schedule::{Last, Schedule as Shown, Status, Warning, state_word};
use crate::wire::time::Instant;

/// How many next instants one schedule shows.
const NEXT_SHOWN: usize = 5;
/// So many live firings of one schedule are looked at to tell the running from the waiting; more are counted as waiting.
const LIVE_SHOWN: usize = 1000;

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
        let now = self.now();
        let (text, warnings) = {
            let planner = &mut *self.planner();
            let Definition { specs, exclude, .. } = &*schedule.definition;
            let warnings = (depth == Depth::Whole).then(|| warnings(specs, planner.texts(), now));
            (english::describe(specs, exclude, planner.texts()), warnings)
        };
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
            until: until.map(Instant),
            next: self.next_of(machine, schedule, depth),
            mark: Instant(schedule.mark),
            text,
            last: schedule.newest_outcomes().next().map(|outcome| Last::of(schedule, outcome)),
            fired: schedule.fired,
            running,
            queued: schedule.live.saturating_sub(running),
            consecutive_failures: schedule.consecutive_failures,
            warnings,
        };
        Shown::of(schedule, status)
    }

    /// The next instants of an active schedule: the first as the cluster decided it, the others by this node's data.
    fn next_of(&self, machine: &Machine, schedule: &Schedule, depth: Depth) -> Vec<Instant> {
        let Some(first) = schedule.next_at.filter(|at| *at != Timestamp::NEVER && schedule.is_active())
        else {
            return Vec::new();
        };
        let mut next = vec![Instant(first)];
        if depth == Depth::Whole
            && let Ok(series) = self.series(machine, &schedule.definition)
        {
            let left = schedule.definition.max_firings.map_or(NEXT_SHOWN, |most| {
                usize::try_from(most.saturating_sub(schedule.fired)).unwrap_or(NEXT_SHOWN).min(NEXT_SHOWN)
            });
            let later = std::iter::successors(series.next(first), |occurrence| series.next(occurrence.at));
            next.extend(later.take(left.saturating_sub(1)).map(|occurrence| Instant(occurrence.at)));
        }
        next
    }

    /// The instants of a definition, under the calendars as they stand.
    ///
    /// # Errors
    /// `invalid_schedule` when this node's zone data cannot evaluate it.
    pub(super) fn series(&self, machine: &Machine, definition: &Definition) -> Result<Series, Problem> {
        self.planner().series(machine, definition).map_err(|bad| cannot_evaluate(&bad))
    }

    /// The next instants of a stored schedule after `after`, with how each stands to daylight saving.
    ///
    /// # Errors
    /// `invalid_schedule` when this node's zone data cannot evaluate it.
    pub fn next(
        &self,
        machine: &Machine,
        definition: &Definition,
        after: Timestamp,
        count: usize,
    ) -> Result<Vec<NextInstant>, Problem> {
        Ok(upcoming(&self.series(machine, definition)?, &definition.specs, after, count))
    }

    /// What specs would do, under the calendars as they stand.
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
            .map_err(|bad| cannot_evaluate(&bad))?;
        Ok(Preview {
            text: english::describe(specs, exclude, &mut texts),
            next: upcoming(&series, specs, question.after.unwrap_or(now), question.count),
            warnings: warnings(specs, &mut texts, now),
        })
    }
}

/// The next instants, each on the wall clock of the first spec that makes it.
pub(super) fn upcoming(series: &Series, specs: &[Spec], after: Timestamp, count: usize) -> Vec<NextInstant> {
    let all = std::iter::successors(series.next_of(after), |(_, last)| series.next_of(last.at));
    all.take(count)
        .map(|(place, occurrence)| {
            NextInstant::of(occurrence, specs.get(place).map_or("UTC", Spec::time_zone))
        })
        .collect()
}

/// What is allowed and often not meant.
pub(super) fn warnings(specs: &[Spec], texts: &mut Texts, now: Timestamp) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (place, spec) in specs.iter().enumerate() {
        let (field, found) = match spec {
            Spec::Cron(cron) => ("cron", texts.crons.get(&cron.as_text()).map(|cron| cron.warnings(now))),
            Spec::Rule(rule) => ("rrule", texts.rules.get(&rule.as_text()).map(|rule| rule.warnings(now))),
            Spec::Every { .. } | Spec::At(_) => continue,
        };
        warnings.extend(found.unwrap_or_default().into_iter().map(|warning| Warning {
            code: warning.code.into(),
            pointer: format!("/specs/{place}/{field}"),
            message: warning.message,
        }));
    }
    warnings
}

/// The problem that a spec or an exclusion cannot be evaluated by this node.
pub(super) fn cannot_evaluate(bad: &BadSpec) -> Problem {
    Problem::new(Code::InvalidSchedule, bad.to_string())
}
