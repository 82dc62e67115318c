//! A set of schedules in one command: judged beside the log, planned under the office, told by names.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::definition::{Definition, ScheduleName};
use campanile_core::english;
use campanile_core::machine::Machine;
use campanile_core::plan::WantedSet;
use campanile_core::reply::{Change, Rejection, Reply, Written};
use campanile_core::schedule::Schedule;
use campanile_core::time::Timestamp;

use super::diff::{self, Bounds, Side};
use super::dry_run::{change, change_word};
use super::judge::cannot_evaluate;
use super::show::upcoming;
use super::write::{Caller, Failure, PlanWrite, Planned, refused};
use super::{Consistency, Service};
use crate::problem::{Code, Flaw, Problem};
use crate::wire::apply::{Applied, ApplyOrder, ScheduleDiff};
use crate::wire::diff::fields;
use crate::wire::read::Flaws;
use crate::wire::schedule::Warning;

/// How long the instants of a set are looked for in a dry run.
const WITHIN: Duration = Duration::from_secs(5);
/// So many instants are looked at in a dry run of a whole set, shared by its schedules; each has a few.
const INSTANTS: usize = 10_000;
/// How many next instants each schedule of a dry run shows.
const NEXT_SHOWN: usize = 3;

/// The names behind the parts of the command that was planned last: puts first, then prunes.
type Parts = Arc<Mutex<Vec<ScheduleName>>>;

impl Service {
    /// Puts a set and removes what it prunes, all or nothing.
    ///
    /// # Errors
    /// As [`Service::write`]; `invalid_schedule` with the flaws of every schedule, `payload_too_large` for a set beyond an
    /// entry of the log.
    pub async fn apply(self: &Arc<Self>, caller: &Caller, order: ApplyOrder) -> Result<Applied, Failure> {
        let order = Arc::new(order);
        if let Some(reply) = self.quorum().view().requests().recall(&caller.request()).ok().flatten() {
            return self.told(&order, &reply, &[], Vec::new()).await;
        }
        let (machine, judged) = (self.quorum().view(), order.clone());
        let (warnings, prunes) =
            self.think_for_write(move |service| service.judge_set(&machine, &judged)).await?;
        let parts = Parts::default();
        let plan = plan(caller, order.clone(), prunes, parts.clone());
        let (told, of) = (order.clone(), parts.clone());
        let reply = self.write_or(caller, plan, move |why| refused_part(&told, &names(&of), why)).await?;
        self.told(&order, &reply, &names(&parts), warnings).await
    }

    /// What [`Service::apply`] would do.
    ///
    /// # Errors
    /// `invalid_schedule` with the flaws of every schedule.
    pub async fn apply_dry(self: &Arc<Self>, order: ApplyOrder) -> Result<Applied, Failure> {
        let machine = self.read(Consistency::Linearizable).await?;
        let told = self.think(move |service| {
            let (warnings, prunes) = service.judge_set(&machine, &order)?;
            let mut applied = Applied { warnings, ..Applied::default() };
            for (name, definition) in &order.schedules {
                let list = match change(machine.named(name).map(|schedule| &**schedule), definition) {
                    Change::Created => &mut applied.created,
                    Change::Changed => &mut applied.changed,
                    Change::Unchanged => &mut applied.unchanged,
                };
                list.push(name.to_string());
            }
            applied.pruned = prunes.iter().map(ToString::to_string).collect();
            applied.diffs = Some(service.diffs(&machine, &order, &prunes));
            Ok(applied)
        });
        Ok(told.await?)
    }

    /// Every flaw of every schedule that would change; without one, the warnings and what is to be pruned. Slow.
    fn judge_set(
        &self,
        machine: &Machine,
        order: &ApplyOrder,
    ) -> Result<(Vec<Warning>, Vec<ScheduleName>), Problem> {
        let (mut flaws, mut warnings) = (Flaws::default(), Vec::new());
        for (place, (name, definition)) in order.schedules.iter().enumerate() {
            let pointer = format!("/schedules/{place}");
            let current = machine.named(name).map(|schedule| &**schedule);
            if change(current, definition) == Change::Unchanged {
                continue;
            }
            let found = self.judge(machine, current, definition);
            if !found.is_empty() {
                flaws.take_over(&pointer, Problem::with_errors(Code::InvalidSchedule, found));
                continue;
            }
            let told = self.warnings(machine, current, definition)?;
            warnings.extend(
                told.into_iter()
                    .chain(super::lint::of_change(current))
                    .map(|warning| Warning { pointer: format!("{pointer}{}", warning.pointer), ..warning }),
            );
        }
        flaws.settle(Some((warnings, to_prune(machine, order))))
    }

    fn diffs(&self, machine: &Machine, order: &ApplyOrder, prunes: &[ScheduleName]) -> Vec<ScheduleDiff> {
        let now = self.now().max(machine.clock());
        let count = (order.schedules.len() + prunes.len()).max(1);
        let most = (INSTANTS / count).clamp(NEXT_SHOWN, diff::MOST);
        let bounds = Bounds { now, most, deadline: Instant::now() + WITHIN };
        let puts = order.schedules.iter().filter_map(|(name, definition)| {
            let current = machine.named(name).map(|schedule| &**schedule);
            let change = change(current, definition);
            (change != Change::Unchanged)
                .then(|| self.diff(machine, name, current, Some(definition), change_word(change), bounds))
        });
        let gone = prunes.iter().map(|name| {
            let current = machine.named(name).map(|schedule| &**schedule);
            self.diff(machine, name, current, None, "pruned", bounds)
        });
        puts.chain(gone).collect()
    }

    fn diff(
        &self,
        machine: &Machine,
        name: &ScheduleName,
        current: Option<&Schedule>,
        definition: Option<&Arc<Definition>>,
        change: &str,
        bounds: Bounds,
    ) -> ScheduleDiff {
        let series = |definition: &Definition| self.series(machine, definition).ok();
        let fired = current.map_or(0, |current| current.fired);
        let old = current.and_then(|current| Some((series(&current.definition)?, &current.definition)));
        let new = definition.and_then(|definition| Some((series(definition)?, definition)));
        let [from, to] = [&old, &new]
            .map(|side| side.as_ref().map(|(series, definition)| Side { series, definition, fired }));
        let in_time = Instant::now() < bounds.deadline;
        let next = new.as_ref().filter(|_| in_time).map_or_else(Vec::new, |(series, definition)| {
            upcoming(series, &definition.specs, bounds.now, NEXT_SHOWN, bounds.deadline).0
        });
        let shown = definition.or(current.map(|current| &current.definition));
        let text = shown.map_or_else(String::new, |shown| {
            english::describe(&shown.specs, &shown.exclude, self.planner().texts())
        });
        ScheduleDiff {
            schedule: name.to_string(),
            change: change.to_owned(),
            fields: definition.map_or_else(Vec::new, |definition| {
                fields(current.map(|current| &*current.definition), definition)
            }),
            ticks: in_time.then(|| diff::ticks(from.as_ref(), to.as_ref(), bounds)),
            text,
            next,
        }
    }

    /// The answer that a reply means. Its parts are known when it was planned here; an answer that the log remembers is
    /// told by uids.
    async fn told(
        self: &Arc<Self>,
        order: &ApplyOrder,
        reply: &Reply,
        parts: &[ScheduleName],
        warnings: Vec<Warning>,
    ) -> Result<Applied, Failure> {
        let Reply::Applied(written) = reply else { return Err(super::schedules::unexpected(reply)) };
        let machine = self.quorum().view();
        let names: Vec<Option<ScheduleName>> = if is_of(&machine, parts, written) {
            parts.iter().cloned().map(Some).collect()
        } else {
            let uids = written.iter().map(|written| written.uid).collect();
            self.records().names(machine, uids).await?
        };
        let wanted: BTreeSet<&ScheduleName> = order.schedules.iter().map(|(name, _)| name).collect();
        let mut applied = Applied { warnings, ..Applied::default() };
        let mut said: BTreeMap<&ScheduleName, Change> = BTreeMap::new();
        for (name, written) in names.iter().zip(written) {
            match name {
                Some(name) if wanted.contains(name) => {
                    said.insert(name, written.change);
                }
                _ if written.change == Change::Unchanged => {} // It had gone before it could be pruned.
                Some(name) => applied.pruned.push(name.to_string()),
                None => applied.pruned.push(format!("uid {}", written.uid)),
            }
        }
        for (name, _) in &order.schedules {
            let list = match said.get(name) {
                Some(Change::Created) => &mut applied.created,
                Some(Change::Changed) => &mut applied.changed,
                Some(Change::Unchanged) | None => &mut applied.unchanged,
            };
            list.push(name.to_string());
        }
        Ok(applied)
    }
}

/// Whether the reply answers the command of these parts, and not one that an earlier try has sent.
fn is_of(machine: &Machine, parts: &[ScheduleName], written: &[Written]) -> bool {
    let same = |(name, written): (&ScheduleName, &Written)| {
        machine.named(name).is_none_or(|schedule| schedule.uid == written.uid)
    };
    parts.len() == written.len() && parts.iter().zip(written).all(same)
}

/// Plans what is different at the place in the log; what is as it should be does not travel.
fn plan(caller: &Caller, order: Arc<ApplyOrder>, candidates: Vec<ScheduleName>, parts: Parts) -> PlanWrite {
    let request = caller.request();
    Arc::new(move |planner, at: Timestamp, machine| {
        let different = |(name, definition): &&(ScheduleName, Arc<Definition>)| {
            change(machine.named(name).map(|schedule| &**schedule), definition) != Change::Unchanged
        };
        let puts: Vec<_> = order.schedules.iter().filter(different).cloned().collect();
        // Who carried the label was found out beside the log, since that takes a look at all. One that got it since then
        // came after this set; one that lost it or has gone since then is not pruned.
        let carries =
            |name: &&ScheduleName| machine.named(name).is_some_and(|named| is_pruned(&order, named));
        let prunes: Vec<_> = candidates.iter().filter(carries).cloned().collect();
        let of: Vec<ScheduleName> = puts.iter().map(|(name, _)| name).chain(&prunes).cloned().collect();
        parts.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&of);
        match planner.apply(machine, at, WantedSet { puts: puts.clone(), prunes, request: request.clone() }) {
            Ok(body) => Planned::Propose(Box::new(body)),
            Err((place, bad)) => {
                let definition = &puts[place].1;
                let mut flaws = Flaws::default();
                let problem = cannot_evaluate(&bad, &definition.specs, &definition.exclude);
                flaws.take_over(&pointer_of(&order, of.get(place)), problem);
                Planned::Refuse(
                    flaws
                        .settle(None::<()>)
                        .err()
                        .unwrap_or_else(|| Problem::new(Code::InvalidSchedule, bad.to_string())),
                )
            }
        }
    })
}

/// The schedules that carry the label and are not in the set, as far as the view knows. Slow: it looks at all.
fn to_prune(machine: &Machine, order: &ApplyOrder) -> Vec<ScheduleName> {
    if order.prune.is_none() {
        return Vec::new();
    }
    let wanted: BTreeSet<&ScheduleName> = order.schedules.iter().map(|(name, _)| name).collect();
    machine
        .by_name(Bound::Unbounded)
        .filter(|schedule| is_pruned(order, schedule) && !wanted.contains(&schedule.name))
        .map(|schedule| schedule.name.clone())
        .collect()
}

fn is_pruned(order: &ApplyOrder, schedule: &Schedule) -> bool {
    let label = order.prune.as_ref();
    label.is_some_and(|(key, value)| schedule.definition.about.labels.get(key) == Some(value))
}

/// What a user hears of a refusal: which schedule it was, and where it stands in the set.
fn refused_part(order: &ApplyOrder, parts: &[ScheduleName], rejection: Rejection) -> Failure {
    let Rejection::Part(place, why) = rejection else { return refused(rejection) };
    let name = parts.get(place as usize);
    match refused(*why) {
        Failure::Problem(mut problem) => {
            let detail = match name {
                Some(name) => format!("{name}: {}", problem.detail),
                None => problem.detail.clone(),
            };
            if problem.errors.is_empty() {
                problem.errors.push(Flaw {
                    pointer: pointer_of(order, name),
                    detail: problem.detail.clone(),
                    hint: "the whole set was refused: mend this one and apply again".into(),
                    column: None,
                });
            }
            problem.detail = detail;
            Failure::Problem(problem)
        }
        undone @ Failure::Undone(_) => undone,
    }
}

fn pointer_of(order: &ApplyOrder, name: Option<&ScheduleName>) -> String {
    let place = order.schedules.iter().position(|(wanted, _)| Some(wanted) == name);
    place.map_or_else(|| "/prune_label".to_owned(), |place| format!("/schedules/{place}"))
}

fn names(parts: &Parts) -> Vec<ScheduleName> {
    parts.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
