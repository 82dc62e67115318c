//! What a user defines: *when* (specs), *what* (target, payload), *how* (policies).
//!
//! A definition is checked at the edge ([`Definition::check`]) and then passed on as it is; it never changes, a new one
//! makes a new revision. It knows nothing of what has happened to its schedule.

mod check;
mod name;
mod policy;
mod target;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::spec::{Exclusion, Spec, Window};
use crate::time::Span;

pub use check::{Flaw, check_times};
pub use name::{BadName, ScheduleName, check_segment};
pub use policy::{AfterCompletion, CatchUp, CatchUpMode, Delivery, Jitter, Overlap, Policy, RetryPolicy};
pub use target::{Action, MAX_PRIORITY, QueueTarget, Target, Webhook};

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
/// The longest deadline.
pub const MAX_DEADLINE: Span = Span::from_secs(30 * 86_400);

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
    /// All schedules with the same key are one to `overlap`: what runs of one runs for all of them. A queue leases so many
    /// at once of those with the same key as its settings say.
    pub concurrency_key: Option<Arc<str>>,
    /// How: shared, since most schedules have the same.
    pub policy: Arc<Policy>,
    /// What follows when a firing has failed, and when one has succeeded.
    pub on_failure: Option<Box<Action>>,
    /// See [`Definition::on_failure`].
    pub on_success: Option<Box<Action>>,
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
            on_failure: None,
            on_success: None,
        }
    }

    /// The names of the secrets that its targets are signed with.
    pub fn secrets(&self) -> impl Iterator<Item = &Arc<str>> {
        let actions = self.actions().filter_map(Action::target);
        std::iter::once(&self.target).chain(actions).filter_map(Target::secret)
    }

    /// The names of the queues that its firings and notices go to.
    pub fn queues(&self) -> impl Iterator<Item = &Arc<str>> {
        let actions = self.actions().filter_map(Action::target);
        std::iter::once(&self.target).chain(actions).filter_map(Target::queue)
    }

    /// What follows the end of a firing, `on_failure` first.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.on_failure.iter().chain(&self.on_success).map(|action| &**action)
    }

    /// About how many bytes this takes in the log.
    #[must_use]
    pub fn weight(&self) -> usize {
        let pairs = |map: &BTreeMap<Box<str>, Box<str>>| -> usize {
            map.iter().map(|(k, v)| k.len() + v.len() + 16).sum()
        };
        self.payload.len()
            + self.about.display_name.len()
            + self.about.description.len()
            + pairs(&self.about.labels)
            + self.target.weight()
            + self.actions().filter_map(Action::target).map(Target::weight).sum::<usize>()
            + self.specs.len() * 400
            + self.exclude.iter().map(Exclusion::weight).sum::<usize>()
            + 512
    }
}
