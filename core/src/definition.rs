//! What a user defines: *when* (specs), *what* (target, payload), *how* (policies).
//!
//! A definition is checked at the edge ([`Definition::check`]) and then passed on as it is; it never changes, a new one
//! makes a new revision. It knows nothing of what has happened to its schedule.

mod check;
mod name;
mod policy;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::spec::{Exclusion, Spec, Window};
use crate::time::Span;

pub use check::{Flaw, check_times};
pub use name::{BadName, ScheduleName};
pub use policy::{AfterCompletion, CatchUp, CatchUpMode, Delivery, Jitter, Overlap, Policy, RetryPolicy};

/// The largest payload, in bytes of its JSON text: what fits into one log entry (100 KiB) beside the rest of a
/// definition.
pub const MAX_PAYLOAD: usize = 64 * 1024;
/// The most that a definition may take in a log entry, payload included.
pub const MAX_DEFINITION: usize = 90 * 1024;
/// The most labels and the most headers of one schedule.
pub const MAX_LABELS: usize = 64;
/// The longest name, in characters.
pub const MAX_NAME: usize = 200;
/// The most firings that `overlap` may let wait for the one that runs.
pub const MAX_QUEUE: u32 = 10_000;
/// The longest spread of the dispatch.
pub const MAX_JITTER: Span = Span::from_secs(86_400);

/// A whole definition. Two that are equal are the same revision.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Definition {
    /// When: the union of these.
    pub specs: Vec<Spec>,
    /// When not: an instant that one of these covers is not nominal.
    pub exclude: Box<[Exclusion]>,
    /// What: where a firing goes.
    pub target: Target,
    /// JSON text sent with each firing; empty for none.
    pub payload: Box<str>,
    /// Texts for people.
    pub about: About,
    /// The part of time in which instants count.
    pub window: Window,
    /// The schedule is finished after so many firings; skips do not count.
    pub max_firings: Option<u64>,
    /// All schedules with the same key are one to `overlap`: what runs of one runs for all of them.
    pub concurrency_key: Option<Arc<str>>,
    /// How: shared, since most schedules have the same.
    pub policy: Arc<Policy>,
}

/// Texts and labels for people; nothing is decided by them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct About {
    /// A free name; empty for none.
    pub display_name: Box<str>,
    /// Free text; empty for none.
    pub description: Box<str>,
    /// Labels to select by.
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

/// Where a firing goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Target {
    /// An HTTP request.
    Webhook(Box<Webhook>),
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
}

impl Definition {
    /// Those specs to that target, and the default of everything else.
    #[must_use]
    pub fn new(specs: Vec<Spec>, target: Target) -> Self {
        Self {
            specs,
            exclude: Box::default(),
            target,
            payload: "".into(),
            about: About::default(),
            window: Window::default(),
            max_firings: None,
            concurrency_key: None,
            policy: Arc::default(),
        }
    }

    /// About how many bytes this takes in the log.
    #[must_use]
    pub fn weight(&self) -> usize {
        let Target::Webhook(webhook) = &self.target;
        let pairs = |map: &BTreeMap<Box<str>, Box<str>>| -> usize {
            map.iter().map(|(k, v)| k.len() + v.len() + 16).sum()
        };
        self.payload.len()
            + self.about.display_name.len()
            + self.about.description.len()
            + pairs(&self.about.labels)
            + pairs(&webhook.headers)
            + webhook.url.len()
            + self.specs.len() * 400
            + self.exclude.iter().map(Exclusion::weight).sum::<usize>()
            + 512
    }
}
