//! What is allowed and often not meant, of a whole definition: the lint of its texts, and what its parts do to each other.

use campanile_core::cron::{CronWarning, instant_text};
use campanile_core::definition::{Action, Definition, Jitter};
use campanile_core::schedule::{Schedule, State};
use campanile_core::series::{Series, Texts};
use campanile_core::spec::Spec;
use campanile_core::state::State as MachineState;
use campanile_core::time::{Span, Timestamp};

use crate::wire::schedule::Warning;

/// How far ahead "everything" is looked for.
const HORIZON: Span = Span::from_secs(365 * 86_400);
/// Between so many instants the shortest distance is looked for.
const DISTANCES: usize = 24;

/// The lint of each spec.
pub(super) fn of_specs(specs: &[Spec], texts: &mut Texts, now: Timestamp) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (place, spec) in specs.iter().enumerate() {
        let (field, found) = match spec {
            Spec::Cron(cron) => ("cron", texts.crons.get(&cron.as_text()).map(|cron| cron.warnings(now))),
            Spec::Rule(rule) => ("rrule", texts.rules.get(&rule.as_text()).map(|rule| rule.warnings(now))),
            Spec::Every { .. } | Spec::At(_) => continue,
        };
        let warning =
            |found: CronWarning| warning(found.code, &format!("/specs/{place}/{field}"), found.message);
        warnings.extend(found.unwrap_or_default().into_iter().map(warning));
    }
    warnings
}

/// What the parts of a definition do to each other; `bare` are its instants without exclusions. Slow.
pub(super) fn of_parts(
    definition: &Definition,
    current: Option<&Schedule>,
    series: &Series,
    bare: Option<&Series>,
    now: Timestamp,
) -> Vec<Warning> {
    [
        nothing_to_come(series, current, now),
        bare.and_then(|bare| all_excluded(bare, series, now)),
        cut_jitter(definition.policy.jitter, series, now),
        used_up(definition, current),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What stays as it is when a definition changes, and keeps it from firing.
pub(super) fn of_change(current: Option<&Schedule>) -> Option<Warning> {
    match &current?.state {
        State::Paused { until: None, .. } => Some(warning(
            "stays_paused",
            "",
            "the schedule is paused and stays so: nothing fires until it is resumed".into(),
        )),
        State::Paused { until: Some(until), .. } => Some(warning(
            "stays_paused",
            "",
            format!("the schedule is paused and stays so until {}", instant_text(*until)),
        )),
        State::Active | State::Parked { .. } | State::Finished => None,
    }
}

/// That a schedule which is to follow does not exist; it may come later, or its name is misspelt.
pub(super) fn of_actions<'a>(
    state: &'a MachineState,
    definition: &'a Definition,
) -> impl Iterator<Item = Warning> + 'a {
    let Definition { on_failure, on_success, .. } = definition;
    [("/on_failure/schedule", on_failure), ("/on_success/schedule", on_success)].into_iter().filter_map(
        |(pointer, action)| {
            let name = action.as_deref().and_then(Action::schedule)?;
            let message = format!("there is no schedule {name}: nothing follows until there is one");
            state.named(name).is_none().then(|| warning("no_such_schedule", pointer, message))
        },
    )
}

/// A list that was ended before it was whole.
pub(super) fn cut_short(shown: usize) -> Warning {
    let message = format!("finding the instants takes too long: {shown} are shown, and there may be more");
    warning("cut_short", "", message)
}

fn nothing_to_come(series: &Series, current: Option<&Schedule>, now: Timestamp) -> Option<Warning> {
    // That a finished schedule has nothing to come is its state, and no news.
    let is_news = current.is_none_or(|current| current.state != State::Finished);
    (is_news && series.next(now).is_none()).then(|| {
        warning("nothing_to_come", "/specs", "no instant is to come: the schedule is finished at once".into())
    })
}

/// That exclusions leave out what `without` them would come within a year.
pub(super) fn all_excluded(without: &Series, series: &Series, now: Timestamp) -> Option<Warning> {
    let within = |series: &Series| series.next(now).is_some_and(|next| next.at <= now + HORIZON);
    (within(without) && !within(series)).then(|| {
        let message = match series.next(now) {
            Some(next) => {
                format!("the exclusions leave out everything for a year; next is {}", instant_text(next.at))
            }
            None => "the exclusions leave out everything".into(),
        };
        warning("all_excluded", "/exclude", message)
    })
}

fn cut_jitter(jitter: Jitter, series: &Series, now: Timestamp) -> Option<Warning> {
    let Jitter::Fixed(most) = jitter else { return None };
    if most == Span::ZERO {
        return None;
    }
    let instants: Vec<Timestamp> = std::iter::successors(series.next(now), |last| series.next(last.at))
        .map(|next| next.at)
        .take(DISTANCES)
        .collect();
    let shortest = instants.windows(2).map(|pair| pair[1].since(pair[0])).min()?;
    (most >= shortest).then(|| {
        let message =
            format!("a spread of {most} is cut where the next instant is nearer, down to {shortest}");
        warning("jitter_cut", "/jitter", message)
    })
}

fn used_up(definition: &Definition, current: Option<&Schedule>) -> Option<Warning> {
    let (most, fired) = (definition.max_firings?, current?.fired);
    (fired >= most).then(|| {
        let message = format!("it has fired {fired} times, so a bound of {most} leaves nothing to fire");
        warning("max_firings_used", "/max_firings", message)
    })
}

pub(super) fn warning(code: &str, pointer: &str, message: String) -> Warning {
    Warning { code: code.to_owned(), pointer: pointer.to_owned(), message }
}
