//! A definition as a client writes it: only what the user said, in the order in which people read it.
//!
//! What is left out has the default of the cluster; nothing is checked here that a node checks.

use std::collections::BTreeMap;

use campanile_core::cron::instant_text;
use campanile_core::definition::ScheduleName;
use campanile_core::time::{Span, Timestamp};
use serde::Serialize;
use serde_json::Value;

/// A definition to put.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Draft {
    /// The part of the name before the slash.
    pub namespace: String,
    /// The part after it.
    pub name: String,
    /// A free name, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// To select by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// When.
    pub specs: Vec<SpecDraft>,
    /// The last instant that may be nominal, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_at: Option<String>,
    /// A spread of the dispatch: a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<String>,
    /// Where a firing goes.
    pub target: TargetDraft,
    /// What it carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// `allow`, `skip`, or another word of the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
    /// What becomes of missed instants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<CatchUpDraft>,
    /// When a failed attempt is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryDraft>,
}

/// What becomes of missed instants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatchUpDraft {
    /// `all`, `latest` or `none`.
    pub mode: String,
    /// A duration or `unlimited`.
    pub window: String,
}

/// When a failed attempt is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RetryDraft {
    /// The first included.
    pub max_attempts: u32,
    /// The first wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,
    /// The longest wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
}

/// One spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SpecDraft {
    /// A pattern.
    Cron {
        /// As the user wrote it.
        cron: String,
        /// An IANA name.
        time_zone: String,
    },
    /// An interval.
    Every {
        /// Such as `15m`.
        every: String,
    },
    /// One instant.
    At {
        /// RFC 3339.
        at: String,
    },
}

/// Where a firing goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetDraft {
    /// An HTTP request.
    Webhook(WebhookDraft),
    /// A queue.
    Queue(QueueDraft),
}

/// A queue to put each firing into.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct QueueDraft {
    /// Its name.
    pub name: String,
    /// Higher ones are leased first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i8>,
}

/// An HTTP request to make for each firing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct WebhookDraft {
    /// Where to.
    pub url: String,
    /// POST when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Beside those of the product.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Of one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

impl Draft {
    /// A definition that calls `url` at the instants of `specs`, everything else as the cluster has it.
    #[must_use]
    pub fn new(name: &ScheduleName, specs: Vec<SpecDraft>, url: &str) -> Self {
        Self {
            namespace: name.namespace().to_owned(),
            name: name.name().to_owned(),
            display_name: None,
            description: None,
            labels: BTreeMap::new(),
            specs,
            end_at: None,
            jitter: None,
            target: TargetDraft::Webhook(WebhookDraft { url: url.to_owned(), ..WebhookDraft::default() }),
            payload: None,
            overlap: None,
            catch_up: None,
            retry: None,
        }
    }

    /// Its path in the API. The segments of a checked name need no escaping.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/v1/schedules/{}/{}", self.namespace, self.name)
    }

    /// The request that it makes, if it makes one.
    #[must_use]
    pub fn webhook(&self) -> Option<&WebhookDraft> {
        match &self.target {
            TargetDraft::Webhook(webhook) => Some(webhook),
            TargetDraft::Queue(_) => None,
        }
    }

    /// The same, to change it.
    pub fn webhook_mut(&mut self) -> Option<&mut WebhookDraft> {
        match &mut self.target {
            TargetDraft::Webhook(webhook) => Some(webhook),
            TargetDraft::Queue(_) => None,
        }
    }

    /// As the JSON body of a request.
    ///
    /// # Panics
    /// Never: strings, maps and JSON values always serialize.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("strings, maps and JSON values serialize")
    }
}

impl SpecDraft {
    /// A pattern in a zone.
    #[must_use]
    pub fn cron(pattern: &str, time_zone: &str) -> Self {
        Self::Cron { cron: pattern.to_owned(), time_zone: time_zone.to_owned() }
    }

    /// An interval.
    #[must_use]
    pub fn every(every: Span) -> Self {
        Self::Every { every: every.to_string() }
    }

    /// One instant.
    #[must_use]
    pub fn at(at: Timestamp) -> Self {
        Self::At { at: instant_text(at) }
    }
}
