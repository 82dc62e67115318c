//! Where a firing goes, and what follows its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ScheduleName;
use crate::time::Span;

/// The highest priority in a queue; the lowest is its negative.
pub const MAX_PRIORITY: i8 = 100;

/// Where a firing goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Target {
    /// An HTTP request.
    Webhook(Box<Webhook>),
    /// A queue, from which workers lease it.
    Queue(QueueTarget),
}

/// An HTTP request to make for each firing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Webhook {
    /// `http` or `https`.
    pub url: Box<str>,
    /// The request's method.
    pub method: Box<str>,
    /// Headers of the user, beside ours.
    pub headers: BTreeMap<Box<str>, Box<str>>,
    /// How long one attempt may take.
    pub timeout: Span,
    /// The secret that signs the request; none leaves it unsigned.
    pub secret: Option<Arc<str>>,
    /// Whether the headers of CloudEvents come with it.
    pub cloud_events: bool,
}

/// A queue to put each firing into.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct QueueTarget {
    /// Its name.
    pub queue: Arc<str>,
    /// Higher ones are leased first; between -[`MAX_PRIORITY`] and [`MAX_PRIORITY`].
    pub priority: i8,
}

/// What follows the end of a firing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Action {
    /// Another target is told how it ended.
    Notify(Target),
    /// Another schedule is triggered.
    Trigger(ScheduleName),
}

impl Target {
    /// The secret that signs its requests.
    #[must_use]
    pub fn secret(&self) -> Option<&Arc<str>> {
        match self {
            Self::Webhook(webhook) => webhook.secret.as_ref(),
            Self::Queue(_) => None,
        }
    }

    /// The queue that it is.
    #[must_use]
    pub const fn queue(&self) -> Option<&Arc<str>> {
        match self {
            Self::Webhook(_) => None,
            Self::Queue(target) => Some(&target.queue),
        }
    }

    /// About how many bytes this takes in the log.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Webhook(webhook) => {
                let headers: usize = webhook.headers.iter().map(|(k, v)| k.len() + v.len() + 16).sum();
                headers + webhook.url.len() + 64
            }
            Self::Queue(target) => target.queue.len() + 32,
        }
    }
}

impl Webhook {
    /// A POST to that address with the defaults of the contract.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.into(),
            method: "POST".into(),
            headers: BTreeMap::new(),
            timeout: Span::from_secs(30),
            secret: None,
            cloud_events: false,
        }
    }

    /// Host and port as they stand in the address: what lies between the scheme and the path, without user and password.
    /// Two spellings of one host count as two.
    #[must_use]
    pub fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or(&*self.url, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        authority.rsplit('@').next().unwrap_or(authority)
    }
}

impl Action {
    /// The target that it tells.
    #[must_use]
    pub const fn target(&self) -> Option<&Target> {
        match self {
            Self::Notify(target) => Some(target),
            Self::Trigger(_) => None,
        }
    }

    /// The schedule that it triggers.
    #[must_use]
    pub const fn schedule(&self) -> Option<&ScheduleName> {
        match self {
            Self::Notify(_) => None,
            Self::Trigger(name) => Some(name),
        }
    }
}
