//! Schedules and previews as people see them: English, next instants, warnings, what runs.
//!
//! Zones and cron are evaluated here by this node's own data; what the cluster decided stands in `next_at` and the mark.

use campanile_core::cron::{Cron, CronCache, Occurrence};
use campanile_core::definition::Definition;
use campanile_core::firing::Phase;
use campanile_core::machine::Machine;
use campanile_core::schedule::{Schedule, State};
use campanile_core::series::Series;
use campanile_core::spec::{Spec, Window};
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
            let crons = &mut *self.planner();
            let crons = crons.crons();
            let warnings = (depth == Depth::Whole).then(|| warnings(&schedule.definition.specs, crons, now));
            (text(&schedule.definition.specs, crons), warnings)
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
            next: self.next_of(schedule, depth),
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
    fn next_of(&self, schedule: &Schedule, depth: Depth) -> Vec<Instant> {
        let Some(first) = schedule.next_at.filter(|at| *at != Timestamp::NEVER && schedule.is_active())
        else {
            return Vec::new();
        };
        let mut next = vec![Instant(first)];
        if depth == Depth::Whole
            && let Ok(series) = self.series(&schedule.definition)
        {
            let left = schedule.definition.max_firings.map_or(NEXT_SHOWN, |most| {
                usize::try_from(most.saturating_sub(schedule.fired)).unwrap_or(NEXT_SHOWN).min(NEXT_SHOWN)
            });
            let later = std::iter::successors(series.next(first), |occurrence| series.next(occurrence.at));
            next.extend(later.take(left.saturating_sub(1)).map(|occurrence| Instant(occurrence.at)));
        }
        next
    }

    fn series(&self, definition: &Definition) -> Result<Series, Problem> {
        Series::of(definition, self.planner().crons()).map_err(|bad| cannot_evaluate(bad.place, &bad.error))
    }

    /// The next instants of a stored schedule after `after`, with how each stands to daylight saving.
    ///
    /// # Errors
    /// `invalid_schedule` when this node's zone data cannot evaluate it.
    pub fn next(
        &self,
        definition: &Definition,
        after: Timestamp,
        count: usize,
    ) -> Result<Vec<NextInstant>, Problem> {
        let parts = parts(&definition.specs, definition.window, self.planner().crons())?;
        Ok(merge(&parts, after, count))
    }

    /// What specs would do.
    ///
    /// # Errors
    /// `invalid_schedule` when one cannot be evaluated.
    pub fn preview(&self, question: &Question) -> Result<Preview, Problem> {
        let now = self.now();
        // A cache of its own: what strangers try out does not push out what the cluster runs.
        let mut crons = CronCache::new(question.specs.len());
        let parts = parts(&question.specs, question.window, &mut crons)?;
        Ok(Preview {
            text: text(&question.specs, &mut crons),
            next: merge(&parts, question.after.unwrap_or(now), question.count),
            warnings: warnings(&question.specs, &mut crons, now),
        })
    }
}

/// One spec, ready to be searched, and the zone on whose wall clock it is shown.
type Part<'a> = (&'a str, Series);

fn parts<'a>(specs: &'a [Spec], window: Window, crons: &mut CronCache) -> Result<Vec<Part<'a>>, Problem> {
    let mut part = |(place, spec)| {
        let series = Series::of_specs(std::slice::from_ref(spec), window, crons);
        series.map(|series| (zone_of(spec), series)).map_err(|bad| cannot_evaluate(place, &bad.error))
    };
    specs.iter().enumerate().map(&mut part).collect()
}

/// The next instants of all parts. One that several make is shown as the first of them does.
fn merge(parts: &[Part<'_>], after: Timestamp, count: usize) -> Vec<NextInstant> {
    let mut heads: Vec<Option<Occurrence>> = parts.iter().map(|(_, series)| series.next(after)).collect();
    let mut shown = Vec::with_capacity(count.min(64));
    while shown.len() < count {
        let coming = heads.iter().zip(parts).filter_map(|(head, (zone, _))| head.map(|head| (head, *zone)));
        let Some((first, zone)) = coming.min_by_key(|(head, _)| head.at) else { break };
        shown.push(NextInstant::of(first, zone));
        for (head, (_, series)) in heads.iter_mut().zip(parts) {
            if head.is_some_and(|head| head.at == first.at) {
                *head = series.next(first.at);
            }
        }
    }
    shown
}

fn zone_of(spec: &Spec) -> &str {
    match spec {
        Spec::Cron(cron) => &cron.time_zone,
        Spec::Every { .. } | Spec::At(_) => "UTC",
    }
}

fn text(specs: &[Spec], crons: &mut CronCache) -> String {
    let texts: Vec<String> = specs.iter().map(|spec| text_of(spec, crons)).collect();
    texts.join("; ")
}

fn text_of(spec: &Spec, crons: &mut CronCache) -> String {
    match spec {
        Spec::Cron(cron) => match crons.get(&cron.as_text()) {
            Ok(parsed) => parsed.describe(),
            Err(wrong) => format!("{} (cannot be evaluated here: {wrong})", cron.text),
        },
        Spec::Every { every, anchor } if *anchor == Timestamp::EPOCH => format!("Every {every}"),
        Spec::Every { every, anchor } => format!("Every {every}, counted from {}", Instant(*anchor)),
        Spec::At(at) => format!("Once, at {}", Instant(*at)),
    }
}

fn warnings(specs: &[Spec], crons: &mut CronCache, now: Timestamp) -> Vec<Warning> {
    let parsed = specs.iter().enumerate().filter_map(|(place, spec)| match spec {
        Spec::Cron(cron) => crons.get(&cron.as_text()).ok().map(|cron| (place, cron)),
        Spec::Every { .. } | Spec::At(_) => None,
    });
    parsed.flat_map(|(place, cron)| warnings_of(place, &cron, now)).collect()
}

fn warnings_of(place: usize, cron: &Cron, now: Timestamp) -> Vec<Warning> {
    let pointer = format!("/specs/{place}/cron");
    let shown = |warning: campanile_core::cron::CronWarning| Warning {
        code: warning.code.into(),
        pointer: pointer.clone(),
        message: warning.message,
    };
    cron.warnings(now).into_iter().map(shown).collect()
}

fn cannot_evaluate(place: usize, error: &campanile_core::cron::CronError) -> Problem {
    Problem::new(Code::InvalidSchedule, format!("/specs/{place} cannot be evaluated: {error}"))
}
