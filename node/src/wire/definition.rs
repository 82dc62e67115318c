//! A definition as JSON: the schema of what a user sends, and the part of an answer that can be sent back.
//!
//! The way in is [`super::draft`], which says what is wrong; here is the way out, and the shape.

use std::collections::BTreeMap;

use campanile_core::definition::{Definition as CoreDefinition, Target as CoreTarget};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::action::Action;
use super::exclusion::Exclusion;
use super::payload::Payload;
use super::policy::{CatchUpFields, RetryFields, completion_word, delivery_word, jitter_text};
use super::spec::Spec;
use super::target::Target;
use super::time::{Instant, Length};

/// When, what and how. Only `specs` and `target` are required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Definition {
    /// A free name, for people.
    #[serde(default)]
    pub display_name: String,
    /// Free text, for people.
    #[serde(default)]
    pub description: String,
    /// Labels to select by.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// When: the union of these.
    pub specs: Vec<Spec>,
    /// When not: an instant that one of these covers is not nominal.
    #[serde(default)]
    pub exclude: Vec<Exclusion>,
    /// The first instant that may be nominal; inclusive.
    #[serde(default)]
    pub start_at: Option<Instant>,
    /// The last instant that may be nominal; inclusive.
    #[serde(default)]
    pub end_at: Option<Instant>,
    /// Finished after so many firings; skips do not count.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub max_firings: Option<u64>,
    /// What becomes of a finished schedule: `keep`, or `delete` once its last firing has settled.
    #[serde(default = "keep")]
    #[schema(default = "keep", pattern = "^(keep|delete)$")]
    pub after_completion: String,
    /// A spread of the dispatch behind the nominal instants, never past the next: a duration, or `auto` (a tenth of the
    /// distance from the previous nominal, at most 10 s).
    #[serde(default = "no_jitter")]
    #[schema(default = "0s")]
    pub jitter: String,
    /// Where a firing goes.
    pub target: Target,
    /// Any JSON, at most 64 KiB; sent with each firing.
    #[serde(default)]
    pub payload: Payload,
    /// What becomes of an instant while another firing of the schedule runs: `allow`, `skip`, `queue_one`, `queue_all`,
    /// `replace` or `terminate`.
    #[serde(default = "allow")]
    #[schema(default = "allow", pattern = "^(allow|skip|queue_one|queue_all|replace|terminate)$")]
    pub overlap: String,
    /// How many firings may wait for the one that runs; beyond, they are skipped as `overlap`.
    #[serde(default = "queue_limit")]
    #[schema(default = 1000, minimum = 1, maximum = 10000)]
    pub queue_limit: u32,
    /// All schedules with the same key are one to `overlap`. Of a queue target it is shown in `target.queue`, and may stand
    /// here instead.
    #[serde(default)]
    pub concurrency_key: Option<String>,
    /// What becomes of instants that were missed.
    #[serde(default = "catch_up")]
    #[schema(required = false)]
    pub catch_up: CatchUpFields,
    /// How often a firing may reach its receiver: `at_least_once` or `at_most_once`.
    #[serde(default = "at_least_once")]
    #[schema(default = "at_least_once", pattern = "^(at_least_once|at_most_once)$")]
    pub delivery: String,
    /// A firing that is not settled so long after its decision is given up as `timed_out`: no attempt begins later, and no
    /// lease goes beyond. `null` for no end.
    #[serde(default)]
    pub deadline: Option<Length>,
    /// When a failed attempt is tried again.
    #[serde(default = "retry")]
    #[schema(required = false)]
    pub retry: RetryFields,
    /// Pauses the schedule after so many failed firings in a row.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub pause_after_failures: Option<u32>,
    /// What follows when a firing has come to nothing (`failed`, `timed_out` or `unknown`).
    #[serde(default)]
    pub on_failure: Option<Action>,
    /// What follows when a firing has succeeded.
    #[serde(default)]
    pub on_success: Option<Action>,
}

fn keep() -> String {
    "keep".into()
}
fn no_jitter() -> String {
    "0s".into()
}
fn allow() -> String {
    "allow".into()
}
fn at_least_once() -> String {
    "at_least_once".into()
}
fn queue_limit() -> u32 {
    campanile_core::definition::Policy::default().queue_limit
}
fn catch_up() -> CatchUpFields {
    (&campanile_core::definition::CatchUp::default()).into()
}
fn retry() -> RetryFields {
    (&campanile_core::definition::RetryPolicy::default()).into()
}

impl From<&CoreDefinition> for Definition {
    fn from(definition: &CoreDefinition) -> Self {
        let CoreDefinition {
            specs,
            exclude,
            target,
            payload,
            about,
            window,
            max_firings,
            concurrency_key,
            policy,
            on_failure,
            on_success,
        } = definition;
        let key = concurrency_key.as_deref();
        let stands_in_target = matches!(target, CoreTarget::Queue(_));
        Self {
            display_name: about.display_name.to_string(),
            description: about.description.to_string(),
            labels: about.labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
            specs: specs.iter().map(Spec::from).collect(),
            exclude: exclude.iter().map(Exclusion::from).collect(),
            start_at: window.start_at.map(Instant),
            end_at: window.end_at.map(Instant),
            max_firings: *max_firings,
            after_completion: completion_word(policy.after_completion).into(),
            jitter: jitter_text(policy.jitter),
            target: Target::of(target, key),
            payload: Payload(payload.clone()),
            overlap: policy.overlap.as_str().into(),
            queue_limit: policy.queue_limit,
            concurrency_key: key.filter(|_| !stands_in_target).map(str::to_owned),
            catch_up: (&policy.catch_up).into(),
            delivery: delivery_word(policy.delivery).into(),
            deadline: policy.deadline.map(Length),
            retry: (&policy.retry).into(),
            pause_after_failures: policy.pause_after_failures,
            on_failure: on_failure.as_deref().map(Action::from),
            on_success: on_success.as_deref().map(Action::from),
        }
    }
}
