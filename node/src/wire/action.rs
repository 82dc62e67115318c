//! What follows the end of a firing, as JSON: another target is told, or another schedule is triggered.
//!
//! Whether the schedules that follow each other lead back to where they began is judged in the log, which knows them all.

use campanile_core::definition::{Action as CoreAction, ScheduleName, Target as CoreTarget};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::read::{Fields, Flaws};
use super::target::{QueueTarget, only, read_queue, read_webhook};
use super::webhook::Webhook;

/// What follows the end of a firing: exactly one of these.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Action {
    /// An HTTP request that tells how the firing ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// A queue in which a worker finds how the firing ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueTarget>,
    /// The schedule that is triggered: `namespace/name`, or a name in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(examples("billing/clean-up"))]
    pub schedule: Option<String>,
}

impl From<&CoreAction> for Action {
    fn from(action: &CoreAction) -> Self {
        match action {
            CoreAction::Notify(CoreTarget::Webhook(webhook)) => {
                Self { webhook: Some((&**webhook).into()), ..Self::default() }
            }
            CoreAction::Notify(CoreTarget::Queue(queue)) => {
                Self { queue: Some(QueueTarget::of(queue, None)), ..Self::default() }
            }
            CoreAction::Trigger(name) => Self { schedule: Some(name.to_string()), ..Self::default() },
        }
    }
}

/// Reads the field `on_failure` or `on_success` of the schedule `of`.
pub fn read_action(
    fields: &mut Fields<'_>,
    name: &'static str,
    of: &ScheduleName,
    flaws: &mut Flaws,
) -> Option<CoreAction> {
    const HINT: &str =
        "such as {\"schedule\": \"billing/clean-up\"} or {\"webhook\": {\"url\": \"https://…\"}}";
    let pointer = fields.at(name);
    let mut action = fields.inner(name, flaws)?;
    let asked = match only(&mut action, &["webhook", "queue", "schedule"], &pointer, HINT, flaws) {
        Some("webhook") => read_webhook(&mut action, flaws).map(CoreAction::Notify),
        Some("queue") => read_told_queue(&mut action, &pointer, flaws).map(CoreAction::Notify),
        Some(_) => read_schedule(&mut action, of, flaws).map(CoreAction::Trigger),
        None => None,
    };
    action.close(flaws);
    asked
}

/// A notice is delivered whatever else runs, so a concurrency key of its own would say something that is not so.
fn read_told_queue(fields: &mut Fields<'_>, pointer: &str, flaws: &mut Flaws) -> Option<CoreTarget> {
    let (target, key) = read_queue(fields, flaws)?;
    if key.is_some() {
        let pointer = format!("{pointer}/queue/concurrency_key");
        flaws.add(pointer, "what tells of the end of a firing has no concurrency key", "leave it out");
    }
    Some(target)
}

fn read_schedule(fields: &mut Fields<'_>, of: &ScheduleName, flaws: &mut Flaws) -> Option<ScheduleName> {
    let given = fields.text("schedule", flaws)?;
    let (namespace, name) = given.split_once('/').unwrap_or((of.namespace(), given));
    match ScheduleName::new(namespace, name) {
        Ok(name) => Some(name),
        Err(bad) => {
            flaws.add(
                fields.at("schedule"),
                format!("{given:?} names no schedule: its {} {}", bad.segment, bad.why),
                "\"namespace/name\", or the name of a schedule in the same namespace",
            );
            None
        }
    }
}
