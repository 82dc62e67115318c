//! Why a schedule ran, or did not, at an instant.
//!
//! ```text
//! records::instant ── what the ledger knows ──┐
//! nominal ── what the specs say ──────────────┼──▶ verdict ──▶ tell, hops ──▶ a paragraph and the facts
//! machine ── what is still to come ───────────┘
//! ```
//! The facts are looked up; zones, cron and calendars are evaluated by this node's own data and the calendars as they stand.
//! It must not decide anything, and it says so when something is not known rather than guess.

mod hops;
mod nominal;
mod tell;
mod verdict;
mod words;

use std::sync::Arc;

use campanile_core::definition::ScheduleName;
use campanile_core::english;
use campanile_core::machine::Machine;
use campanile_core::time::Timestamp;

use super::Service;
use super::records::instant::{Account, InForce, Skip, Standing, Stood};
use crate::problem::Problem;
use crate::wire::explain::{self as wire, ExcludedBy, Explanation, Gap, Nearest, StateThen};
use crate::wire::time::Instant;
use nominal::Nominal;
use verdict::Verdict;

/// Everything from which an explanation is told.
struct Case<'a> {
    name: &'a ScheduleName,
    at: Timestamp,
    now: Timestamp,
    account: &'a Account,
    nominal: &'a Nominal,
    /// The specs in English.
    english: &'a str,
    /// Up to here everything of the schedule is decided now; `None` when it is gone.
    mark_now: Option<Timestamp>,
    /// Whether somebody leads.
    is_led: bool,
    verdict: Verdict,
}

impl Service {
    /// Why a schedule ran, or did not, at an instant.
    ///
    /// # Errors
    /// `not_found` when no schedule ever had that name, as far as the ledger reaches back; `not_ready` while the index is
    /// built again.
    pub async fn explain(
        self: &Arc<Self>,
        machine: Arc<Machine>,
        name: ScheduleName,
        at: Option<Timestamp>,
    ) -> Result<Explanation, Problem> {
        self.think(move |service| service.explain_now(&machine, &name, at)).await
    }

    fn explain_now(
        &self,
        machine: &Machine,
        name: &ScheduleName,
        at: Option<Timestamp>,
    ) -> Result<Explanation, Problem> {
        let now = self.now().max(machine.clock());
        let at = at.unwrap_or(now);
        let mut account = self.records().account(machine, name, at)?.ok_or_else(|| never_was(name))?;
        let nominal = match &account.definition {
            Some(in_force) => Nominal::of(&in_force.definition, machine, at, &mut self.planner()),
            None => Nominal::default(),
        };
        // A run of skips is told by its ends: what lies between them and is no instant was not skipped.
        let is_inside = |skip: &Skip| nominal.is != Some(false) || at == skip.from || at == skip.to;
        account.skip = account.skip.take().filter(is_inside);
        let english = account.definition.as_ref().map_or_else(String::new, |in_force| {
            let definition = &in_force.definition;
            english::describe(&definition.specs, &definition.exclude, self.planner().texts())
        });
        let mark_now = machine.schedule(account.uid).map(|live| live.mark);
        let mut case = Case {
            name,
            at,
            now,
            account: &account,
            nominal: &nominal,
            english: &english,
            mark_now,
            is_led: self.quorum().leader().is_some(),
            verdict: Verdict::Unknown,
        };
        case.verdict = verdict::judge(&case);
        Ok(case.explanation())
    }
}

impl Case<'_> {
    fn explanation(&self) -> Explanation {
        let Self { account, nominal, .. } = self;
        let hops = hops::of(account);
        let existed = account.created_later.is_none();
        Explanation {
            schedule: self.name.to_string(),
            uid: existed.then(|| account.uid.to_string()),
            at: Instant(self.at),
            local: nominal.local.clone(),
            verdict: self.verdict.as_str().into(),
            text: tell::paragraph(self, &hops),
            nominal: nominal.is.filter(|_| existed),
            note: nominal.note.map(|note| note.as_str().into()),
            definition: account.definition.as_ref().map(|in_force| shown(in_force, self.english)),
            state: existed.then(|| state_then(&account.standing)),
            mark: account.mark.map(Instant).filter(|_| existed),
            nearest: Nearest {
                before: nominal.before.map(|found| Instant(found.at)),
                after: nominal.after.map(|found| Instant(found.at)),
                same_minute: nominal.same_minute.map(Instant),
            },
            excluded_by: nominal
                .excluded
                .as_ref()
                .map(|(place, text)| ExcludedBy { pointer: format!("/exclude/{place}"), text: text.clone() }),
            skipped: account.skip.as_ref().map(|skip| shown_skip(skip, self.at)),
            firings: account.firings.clone(),
            hops,
            outage: account.gap.map(|gap| Gap {
                id: gap.position.to_string(),
                from: Instant(gap.from),
                to: Instant(gap.to),
            }),
        }
    }
}

fn shown(in_force: &InForce, text: &str) -> wire::InForce {
    wire::InForce {
        revision: in_force.revision,
        since: in_force.since.map(Instant),
        by: in_force.by.clone(),
        text: text.to_owned(),
        mark: Instant(in_force.mark),
    }
}

fn shown_skip(skip: &Skip, at: Timestamp) -> wire::Skip {
    wire::Skip {
        reason: skip.reason.as_str().into(),
        from: Instant(skip.from),
        to: Instant(skip.to),
        count: skip.count,
        decided: skip.decided.clone(),
        lateness_ms: skip.decided.at.0.since(at).as_millis(),
        firing: skip.firing.map(|firing| firing.to_string()),
    }
}

fn state_then(standing: &Standing) -> StateThen {
    StateThen {
        state: standing.state.as_str().into(),
        since: standing.since.map(Instant),
        by: standing.by.clone().filter(|_| standing.state != Stood::Active),
        note: standing.note.clone(),
        until: standing.until.map(Instant),
    }
}

fn never_was(name: &ScheduleName) -> Problem {
    Problem::not_found(format!(
        "there is no schedule {name}, and as far as the ledger reaches back there was none of that name"
    ))
}
