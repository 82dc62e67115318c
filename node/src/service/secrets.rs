//! Secrets as users put, list and remove them. Their texts pass through here on the way in, and nothing shows one.

use std::ops::Bound;
use std::sync::Arc;

use campanile_core::command::{Body, Condition, DeleteSecret, PutSecret};
use campanile_core::definition::ScheduleName;
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::reply::{Change, Reply};
use campanile_core::secret::SecretText;
use campanile_core::time::Span;

use super::Service;
use super::schedules::unexpected;
use super::write::{Caller, Failure};
use crate::problem::{Code, Problem};
use crate::wire::page::{Page, parts, token};
use crate::wire::secret::Secret;

/// So many of the schedules that keep a secret from being removed are named.
const NAMED: usize = 10;

/// A secret after a write.
#[derive(Debug, Clone)]
pub struct WrittenSecret {
    /// What the write did.
    pub change: Change,
    /// How it stands.
    pub secret: Secret,
    /// Its entity tag.
    pub updated_index: LogIndex,
}

impl Service {
    /// A page of secrets, without their texts.
    ///
    /// # Errors
    /// `bad_request` for a token that this list did not give.
    pub fn secrets(
        &self,
        machine: &Machine,
        limit: usize,
        page_token: Option<&str>,
    ) -> Result<Page<Secret>, Problem> {
        let after = page_token.map(parts::<1>).transpose()?.map(|[name]| name);
        let is_behind = |name: &str| after.as_deref().is_none_or(|after| name > after);
        // There are at most ten thousand, so that walking to the place costs little.
        let mut behind = machine.secrets().filter(|(name, _)| is_behind(name));
        let items: Vec<Secret> = behind
            .by_ref()
            .take(limit)
            .filter_map(|(name, _)| self.secret(machine, name).map(|(secret, _)| secret))
            .collect();
        let more = behind.next().is_some();
        let next_page_token = items.last().filter(|_| more).map(|last| token(&[&last.name]));
        Ok(Page { items, next_page_token })
    }

    /// A secret without its text, and its entity tag.
    #[must_use]
    pub fn secret(&self, machine: &Machine, name: &str) -> Option<(Secret, LogIndex)> {
        let known = machine.secret(name)?;
        let now = self.now().max(machine.clock());
        Some((Secret::of(name, known, machine.secret_users(name), now), known.updated_index))
    }

    /// Creates or replaces a secret.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub async fn put_secret(
        self: &Arc<Self>,
        caller: &Caller,
        name: &str,
        condition: Condition,
        (text, keep_previous): (SecretText, Span),
    ) -> Result<WrittenSecret, Failure> {
        let command =
            PutSecret { name: name.into(), text, keep_previous, condition, request: caller.request() };
        let reply = self.write_named(caller, "secret", name, Body::PutSecret(command)).await?;
        let Reply::Secret(change, updated_index) = reply else { return Err(unexpected(&reply)) };
        let machine = self.quorum().view();
        let (secret, _) = self.secret(&machine, name).ok_or_else(|| {
            Problem::not_found(format!("the secret {name} was put, and has been removed since"))
        })?;
        Ok(WrittenSecret { change, secret, updated_index })
    }

    /// Removes a secret that no schedule names; `false` when there was none.
    ///
    /// # Errors
    /// As [`Service::write`]; `in_use` with the first of the schedules that name it.
    pub async fn delete_secret(
        self: &Arc<Self>,
        caller: &Caller,
        name: &str,
        condition: Condition,
    ) -> Result<bool, Failure> {
        let command = DeleteSecret { name: name.into(), condition, request: caller.request() };
        match self.write_named(caller, "secret", name, Body::DeleteSecret(command)).await {
            Ok(Reply::Deleted(was_there)) => Ok(was_there),
            Ok(other) => Err(unexpected(&other)),
            Err(Failure::Problem(problem)) if problem.code == Code::InUse => {
                Err(self.secret_in_use(name, *problem).await.into())
            }
            Err(failure) => Err(failure),
        }
    }

    async fn secret_in_use(self: &Arc<Self>, name: &str, problem: Problem) -> Problem {
        let (machine, of) = (self.quorum().view(), name.to_owned());
        let users = self.think(move |_| Ok(users_of(&machine, &of)));
        match users.await {
            Ok(users) if !users.is_empty() => {
                let detail = format!("{}; the first are {}", problem.detail, users.join(", "));
                Problem { detail, ..problem }
            }
            _ => problem,
        }
    }
}

/// The first schedules that name a secret, in the order of their names. Slow: it looks at all.
fn users_of(machine: &Machine, name: &str) -> Vec<String> {
    let all = machine.by_name(Bound::<ScheduleName>::Unbounded);
    all.filter(|schedule| schedule.definition.secrets().any(|secret| **secret == *name))
        .take(NAMED)
        .map(|schedule| schedule.name.to_string())
        .collect()
}

/// The problem that a name has no secret.
#[must_use]
pub fn no_such_secret(name: &str) -> Problem {
    Problem::not_found(format!("there is no secret {name}"))
}
