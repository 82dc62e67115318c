//! Pages of schedules. The work for a page is bounded: a filter that matches little gives short pages, not a long wait.

use std::ops::Bound;
use std::sync::Arc;

use campanile_core::definition::{Definition, ScheduleName};
use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::schedule::{Schedule, State};
use campanile_core::time::Timestamp;

use super::Service;
use super::show::Depth;
use crate::problem::Problem;
use crate::wire::page::{Page, parts, token};
use crate::wire::schedule::{Schedule as Shown, state_word};

/// The most schedules that one page looks at.
const LOOKED_AT: usize = 20_000;

/// Which schedules, and in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Of this namespace.
    pub namespace: Option<String>,
    /// With each of these labels; without a value the label only has to be there.
    pub labels: Vec<(String, Option<String>)>,
    /// In this state, by its word.
    pub state: Option<String>,
    /// With this text in name, display name or description, any case.
    pub q: Option<String>,
    /// In which order.
    pub sort: Sort,
    /// At most so many.
    pub limit: usize,
    /// After the item that this names.
    pub page_token: Option<String>,
}

/// In which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Of namespace and name.
    #[default]
    Name,
    /// Of the next instant; schedules without one are left out.
    Next,
}

impl Service {
    /// A page of schedules.
    ///
    /// # Errors
    /// `bad_request` for a token that this list did not give.
    pub fn list(&self, machine: &Machine, filter: &Filter) -> Result<Page<Shown>, Problem> {
        let (found, next_page_token) = match filter.sort {
            Sort::Name => by_name(machine, filter)?,
            Sort::Next => by_next(machine, filter)?,
        };
        let items = found.iter().map(|schedule| self.show(machine, schedule, Depth::Row)).collect();
        Ok(Page { items, next_page_token })
    }
}

type Found = (Vec<Arc<Schedule>>, Option<String>);

fn by_name(machine: &Machine, filter: &Filter) -> Result<Found, Problem> {
    let after = match &filter.page_token {
        Some(given) => Some(name_of(given)?),
        None => None,
    };
    let namespace = filter.namespace.as_deref();
    let start = match (after, namespace) {
        (Some(after), _) => Bound::Excluded(after),
        // A text that is no namespace has no schedules.
        (None, Some(namespace)) => match ScheduleName::first_of(namespace) {
            Some(first) => Bound::Included(first),
            None => return Ok((Vec::new(), None)),
        },
        (None, None) => Bound::Unbounded,
    };
    let inside =
        |schedule: &&Arc<Schedule>| namespace.is_none_or(|wanted| schedule.name.namespace() == wanted);
    let looked_at = machine.by_name(start).take_while(inside);
    Ok(take(looked_at, filter, |schedule| token(&[schedule.name.as_str()])))
}

fn by_next(machine: &Machine, filter: &Filter) -> Result<Found, Problem> {
    let after = match &filter.page_token {
        Some(given) => Some(instant_of(given)?),
        None => None,
    };
    let first = (Timestamp::from_millis(i64::MIN), Uid(0));
    let (at, uid) = after.unwrap_or(first);
    let due = machine.due().schedules_after(at, uid).filter_map(|(_, uid)| machine.schedule(uid));
    // A pause that ends by itself is due too, at its end; it has no next instant yet.
    let inside = |schedule: &&Arc<Schedule>| {
        schedule.is_active()
            && filter.namespace.as_deref().is_none_or(|wanted| schedule.name.namespace() == wanted)
    };
    let next_at = |schedule: &Schedule| schedule.next_at.unwrap_or(Timestamp::NEVER).as_millis().to_string();
    Ok(take_where(due, filter, inside, |schedule| token(&[&next_at(schedule), &schedule.uid.to_string()])))
}

fn take<'a>(
    schedules: impl Iterator<Item = &'a Arc<Schedule>>,
    filter: &Filter,
    token_of: impl Fn(&Schedule) -> String,
) -> Found {
    take_where(schedules, filter, |_| true, token_of)
}

/// Fills a page. It ends when it is full, or when it has looked at enough; the token names the last one looked at.
fn take_where<'a>(
    schedules: impl Iterator<Item = &'a Arc<Schedule>>,
    filter: &Filter,
    inside: impl Fn(&&'a Arc<Schedule>) -> bool,
    token_of: impl Fn(&Schedule) -> String,
) -> Found {
    let mut schedules = schedules.peekable();
    let mut found = Vec::new();
    for looked_at in 1.. {
        let Some(schedule) = schedules.next() else { break };
        if inside(&schedule) && filter.matches(schedule) {
            found.push(schedule.clone());
        }
        if (found.len() == filter.limit || looked_at == LOOKED_AT) && schedules.peek().is_some() {
            return (found, Some(token_of(schedule)));
        }
        if found.len() == filter.limit {
            break;
        }
    }
    (found, None)
}

impl Filter {
    fn matches(&self, schedule: &Schedule) -> bool {
        self.wants_but_for_namespace(&schedule.name, &schedule.definition, &schedule.state)
    }

    /// Whether a schedule that stands, or stood, like this is asked for.
    pub(super) fn wants(&self, name: &ScheduleName, definition: &Definition, state: &State) -> bool {
        self.namespace.as_deref().is_none_or(|wanted| name.namespace() == wanted)
            && self.wants_but_for_namespace(name, definition, state)
    }

    fn wants_but_for_namespace(&self, name: &ScheduleName, definition: &Definition, state: &State) -> bool {
        let about = &definition.about;
        let has = |(key, value): &(String, Option<String>)| {
            about
                .labels
                .get(key.as_str())
                .is_some_and(|found| value.as_deref().is_none_or(|wanted| **found == *wanted))
        };
        self.state.as_deref().is_none_or(|wanted| state_word(state) == wanted)
            && self.labels.iter().all(has)
            && self.q.as_deref().is_none_or(|wanted| {
                let wanted = wanted.to_lowercase();
                [name.as_str(), &about.display_name, &about.description]
                    .iter()
                    .any(|text| text.to_lowercase().contains(&wanted))
            })
    }
}

fn name_of(given: &str) -> Result<ScheduleName, Problem> {
    let [name] = parts::<1>(given)?;
    ScheduleName::parse(&name).map_err(|_| Problem::bad_request("page_token is not one that this list gave"))
}

fn instant_of(given: &str) -> Result<(Timestamp, Uid), Problem> {
    let [at, uid] = parts::<2>(given)?;
    match (at.parse(), uid.parse()) {
        (Ok(at), Ok(uid)) => Ok((Timestamp::from_millis(at), Uid(uid))),
        _ => Err(Problem::bad_request("page_token is not one that this list gave")),
    }
}
