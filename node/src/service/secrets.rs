//! Secrets as users put, list and remove them. Their texts pass through here on the way in, and nothing shows one.

use std::sync::Arc;

use campanile_core::command::{Body, Condition, DeleteSecret, PutSecret};
use campanile_core::definition::Definition;
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::reply::{Change, Reply};
use campanile_core::secret::SecretText;
use campanile_core::time::Span;

use super::Service;
use super::schedules::unexpected;
use super::write::{Caller, Failure};
use crate::problem::Problem;
use crate::wire::page::{Page, after_name};
use crate::wire::secret::Secret;

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
        let after = after_name(page_token)?;
        let behind = machine.secrets_after(after.as_deref());
        let secrets = behind.filter_map(|(name, _)| self.secret(machine, name)).map(|(secret, _)| secret);
        Ok(Page::by_name(limit, secrets, |secret| &secret.name))
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
            Err(failure) => {
                let of = name.to_owned();
                let names = move |definition: &Definition| definition.secrets().any(|name| **name == *of);
                Err(self.in_use(failure, names).await)
            }
        }
    }
}

/// The problem that a name has no secret.
#[must_use]
pub fn no_such_secret(name: &str) -> Problem {
    Problem::not_found(format!("there is no secret {name}"))
}
