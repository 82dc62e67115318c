//! Whether a definition may be put: judged before anything is proposed, on a thread of its own, since a search through
//! exclusions may be long and a plan holds up every other write.
//!
//! The judgement is by the view of the moment. What the log refuses after all (a race, a calendar or a secret that has
//! gone, a circle of schedules that follow each other), it refuses by itself.

use std::time::Duration;
use tokio::time::Instant;

use campanile_core::definition::{Action, Definition, Target};
use campanile_core::machine::Machine;
use campanile_core::schedule::Schedule;
use campanile_core::series::{BadSpec, List, Series};
use campanile_core::spec::{Exclusion, Spec};
use campanile_core::state::State;
use campanile_core::time::Timestamp;
use url::Url;

use super::Service;
use crate::dispatch::egress::Refused;
use crate::problem::{Code, Flaw, Problem};
use crate::wire::draft;

/// A search that takes longer than this is refused: a tick would make it again and again, while others wait.
const SLOW: Duration = Duration::from_secs(2);

impl Service {
    /// Every reason why `definition` may not follow `current`, each with its pointer. Slow.
    pub(super) fn judge(
        &self,
        machine: &Machine,
        current: Option<&Schedule>,
        definition: &Definition,
    ) -> Vec<Flaw> {
        let unknown = unknown_secrets(machine, definition);
        if !unknown.is_empty() {
            return unknown;
        }
        let mut flaws = self.judge_targets(current, definition);
        flaws.extend(self.judge_times(machine, current, definition));
        flaws
    }

    /// What is sent is judged again, by the addresses that its names have then. Targets that stood there before are not
    /// judged here: it would forbid every other edit, after a change of this node's configuration.
    fn judge_targets(&self, current: Option<&Schedule>, definition: &Definition) -> Vec<Flaw> {
        let Some(egress) = &self.egress else { return Vec::new() };
        let known = current.into_iter().flat_map(|current| targets(&current.definition));
        let known: Vec<&Target> = known.map(|(_, target)| target).collect();
        let new = targets(definition).filter(|(_, target)| !known.contains(target));
        new.filter_map(|(pointer, target)| {
            let Target::Webhook(webhook) = target else { return None };
            let judged = Url::parse(&webhook.url).map(|url| egress.judge_url(&url));
            let Ok(Err(Refused { detail, hint })) = judged else { return None };
            Some(Flaw { pointer: format!("{pointer}/webhook/url"), detail, hint, column: None })
        })
        .collect()
    }

    fn judge_times(
        &self,
        machine: &Machine,
        current: Option<&Schedule>,
        definition: &Definition,
    ) -> Vec<Flaw> {
        let now = self.now().max(machine.clock());
        if current.is_some_and(|current| same_times(&current.definition, definition)) {
            // It was judged when it came; what has become past or used up meanwhile does not make it wrong.
            return Vec::new();
        }
        // An edit starts at its commit, so it never fires what is past.
        let reaches = |at| at > now || (current.is_none() && self.planner().reaches(definition, at, now));
        if let Err(past) = draft::refuse_past(definition, reaches) {
            return past.errors;
        }
        let started = Instant::now();
        match self.planner().series(machine, definition) {
            Err(bad) => vec![flaw_of(&bad, &definition.specs, &definition.exclude)],
            Ok(series) => search(machine, definition, &series, now, started).into_iter().collect(),
        }
    }

    /// The same for one schedule, as a problem.
    ///
    /// # Errors
    /// `invalid_schedule` with every reason.
    pub(super) fn judge_one(
        &self,
        machine: &Machine,
        current: Option<&Schedule>,
        definition: &Definition,
    ) -> Result<(), Problem> {
        match self.judge(machine, current, definition) {
            none if none.is_empty() => Ok(()),
            flaws => Err(Problem::with_errors(Code::InvalidSchedule, flaws)),
        }
    }
}

/// Every target of a definition, with the place where it stands.
fn targets(definition: &Definition) -> impl Iterator<Item = (&'static str, &Target)> {
    let Definition { target, on_failure, on_success, .. } = definition;
    [
        ("/target", Some(target)),
        ("/on_failure", on_failure.as_deref().and_then(Action::target)),
        ("/on_success", on_success.as_deref().and_then(Action::target)),
    ]
    .into_iter()
    .filter_map(|(place, target)| Some((place, target?)))
}

/// The places that name a secret which does not exist.
fn unknown_secrets(state: &State, definition: &Definition) -> Vec<Flaw> {
    targets(definition)
        .filter_map(|(place, target)| {
            let name = target.secret()?;
            state.secret(name).is_none().then(|| Flaw {
                pointer: format!("{place}/webhook/secret_ref"),
                detail: format!("there is no secret {name:?}"),
                hint: format!("put the secret first: PUT /v1/secrets/{name}"),
                column: None,
            })
        })
        .collect()
}

/// Whether both have the same instants by the same words. A past `at` that the catch-up window reaches only now is judged
/// with the window.
fn same_times(old: &Definition, new: &Definition) -> bool {
    (&old.specs, &old.exclude, old.window) == (&new.specs, &new.exclude, new.window)
}

fn search(
    state: &State,
    definition: &Definition,
    series: &Series,
    now: Timestamp,
    started: Instant,
) -> Option<Flaw> {
    let found = series.next(now);
    let flaw = |detail: &str, hint: &str| Flaw {
        pointer: "/exclude".into(),
        detail: detail.into(),
        hint: hint.into(),
        column: None,
    };
    if found.is_none() && without_exclusions(state, definition).is_some_and(|all| all.next(now).is_some()) {
        return Some(flaw(
            "the exclusions leave out every instant, so this never fires",
            "exclude less, or remove the schedule",
        ));
    }
    (started.elapsed() > SLOW).then(|| {
        flaw(
            "the exclusions leave out so much that the next instant cannot be found in time",
            "say when it runs by specs rather than when it does not by exclusions",
        )
    })
}

/// The instants of a definition if it excluded nothing.
pub(super) fn without_exclusions(state: &State, definition: &Definition) -> Option<Series> {
    let mut texts = campanile_core::series::Texts::default();
    Series::of_specs(&definition.specs, &[], definition.window, state, &mut texts).ok()
}

/// The problem that a spec or an exclusion cannot be evaluated by this node.
pub(super) fn cannot_evaluate(bad: &BadSpec, specs: &[Spec], exclude: &[Exclusion]) -> Problem {
    Problem::with_errors(Code::InvalidSchedule, vec![flaw_of(bad, specs, exclude)])
}

fn flaw_of(bad: &BadSpec, specs: &[Spec], exclude: &[Exclusion]) -> Flaw {
    let (list, field) = match bad.list {
        List::Specs => ("specs", specs.get(bad.place).map(spec_field)),
        List::Exclude => ("exclude", exclude.get(bad.place).map(exclusion_field)),
    };
    let field = field.map(|field| format!("/{field}")).unwrap_or_default();
    Flaw {
        pointer: format!("/{list}/{}{field}", bad.place),
        detail: bad.error.detail.clone(),
        hint: bad.error.hint.clone(),
        column: bad.error.column,
    }
}

const fn spec_field(spec: &Spec) -> &'static str {
    match spec {
        Spec::Cron(_) => "cron",
        Spec::Every { .. } => "every",
        Spec::At(_) => "at",
        Spec::Rule(_) => "rrule",
    }
}

const fn exclusion_field(exclusion: &Exclusion) -> &'static str {
    match exclusion {
        Exclusion::Cron(_) => "cron",
        Exclusion::Dates { .. } => "dates",
        Exclusion::Calendar { .. } => "calendar",
    }
}
