//! Where a firing goes, as JSON, and what follows its end: a webhook or a queue each, and for the latter a schedule too.
//!
//! A target is judged by its text alone; whether it answers is seen when the first firing is sent.

use campanile_core::definition::{MAX_PRIORITY, QueueTarget as CoreQueueTarget, Target as CoreTarget};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::read::{Fields, Flaws};
use super::webhook::{self, Webhook};

/// Where a firing goes: exactly one of these.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Target {
    /// An HTTP request for each firing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// A queue, from which workers lease it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueTarget>,
}

impl Target {
    /// The target of a schedule with that concurrency key.
    #[must_use]
    pub fn of(target: &CoreTarget, key: Option<&str>) -> Self {
        match target {
            CoreTarget::Webhook(webhook) => Self { webhook: Some((&**webhook).into()), queue: None },
            CoreTarget::Queue(target) => Self { webhook: None, queue: Some(QueueTarget::of(target, key)) },
        }
    }
}

/// A queue to put each firing into, from which workers lease it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueTarget {
    /// Its name: 1-200 letters, digits, `.`, `_` or `-`. A queue exists as soon as a schedule names it.
    #[schema(examples("batch"))]
    pub name: String,
    /// Higher ones are leased first.
    #[serde(default)]
    #[schema(default = 0, minimum = -100, maximum = 100)]
    pub priority: i8,
    /// The `concurrency_key` of the schedule: of firings with the same key the queue leases so many at once as its
    /// `max_in_flight_per_key` says.
    #[serde(default)]
    pub concurrency_key: Option<String>,
}

impl QueueTarget {
    /// A queue target of a schedule with that concurrency key.
    pub(super) fn of(target: &CoreQueueTarget, key: Option<&str>) -> Self {
        Self {
            name: target.queue.to_string(),
            priority: target.priority,
            concurrency_key: key.map(str::to_owned),
        }
    }
}

/// Reads the field `target` of an object, and the concurrency key that stands in it.
pub fn read_target<'a>(fields: &mut Fields<'a>, flaws: &mut Flaws) -> Option<(CoreTarget, Option<&'a str>)> {
    const HINT: &str = "such as {\"webhook\": {\"url\": \"https://jobs.internal/invoice\"}} or {\"queue\": {\"name\": \"batch\"}}";
    let pointer = fields.at("target");
    if fields.get("target").is_none() {
        flaws.add(pointer, "a schedule needs a target", HINT);
        return None;
    }
    let mut target = fields.inner("target", flaws)?;
    let read = match only(&mut target, &["webhook", "queue"], &pointer, HINT, flaws) {
        Some("webhook") => read_webhook(&mut target, flaws).map(|webhook| (webhook, None)),
        Some(_) => read_queue(&mut target, flaws),
        None => None,
    };
    target.close(flaws);
    read
}

/// The one of these fields that is given; a flaw when it is none, or more than one.
pub(super) fn only(
    fields: &mut Fields<'_>,
    names: &[&'static str],
    pointer: &str,
    hint: &str,
    flaws: &mut Flaws,
) -> Option<&'static str> {
    let given: Vec<&str> = names.iter().copied().filter(|name| fields.get(name).is_some()).collect();
    match given[..] {
        [one] => names.iter().copied().find(|name| *name == one),
        [] => {
            flaws.add(pointer, format!("is one of {}; it has none", names.join(", ")), hint);
            None
        }
        _ => {
            let detail = format!("{} stand here together", given.join(" and "));
            flaws.add(pointer, detail, "keep one of them; a patch sets the other to null");
            None
        }
    }
}

/// Reads the field `webhook` of a target or an action.
pub(super) fn read_webhook(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<CoreTarget> {
    let webhook = webhook::read(fields.inner("webhook", flaws)?, flaws)?;
    Some(CoreTarget::Webhook(Box::new(webhook)))
}

/// Reads the field `queue` of a target or an action; the concurrency key beside it, since it is the schedule's. The bounds
/// of the name are core's.
pub(super) fn read_queue<'a>(
    fields: &mut Fields<'a>,
    flaws: &mut Flaws,
) -> Option<(CoreTarget, Option<&'a str>)> {
    let mut fields = fields.inner("queue", flaws)?;
    if fields.get("name").is_none() {
        flaws.add(fields.at("name"), "a queue target names its queue", "such as \"batch\"");
    }
    let name = fields.text("name", flaws);
    let bounds = i64::from(-MAX_PRIORITY)..=i64::from(MAX_PRIORITY);
    let priority = fields.integer("priority", bounds, flaws).and_then(|number| i8::try_from(number).ok());
    let key = fields.text("concurrency_key", flaws);
    fields.close(flaws);
    let target = CoreQueueTarget { queue: name?.into(), priority: priority.unwrap_or(0) };
    Some((CoreTarget::Queue(target), key))
}
