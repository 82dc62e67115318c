//! What a user defines: *when* (specs), *what* (target, payload), *how* (policies).
//!
//! A definition is checked at the edge ([`Definition::check`]) and then passed on as it is; it never changes, a new one
//! makes a new revision. It knows nothing of what has happened to its schedule.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::spec::{Exclusion, MAX_EXCLUDED_DATES, MAX_EXCLUSIONS, MAX_SPECS, MIN_EVERY, Spec, Window};
use crate::time::Span;

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

/// Namespace and name of a schedule, unique among those that exist: `namespace/name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScheduleName(Arc<str>);

impl ScheduleName {
    /// Joins two segments of 1-200 characters `[A-Za-z0-9._-]`.
    ///
    /// # Errors
    /// Which of the two is not such a segment, and why.
    pub fn new(namespace: &str, name: &str) -> Result<Self, BadName> {
        check_segment(namespace).map_err(|why| BadName { segment: "namespace", why })?;
        check_segment(name).map_err(|why| BadName { segment: "name", why })?;
        Ok(Self(format!("{namespace}/{name}").into()))
    }

    /// Reads `namespace/name`; a text without a slash is a name in the namespace `default`.
    ///
    /// # Errors
    /// As [`ScheduleName::new`]; a second slash is a character that a name cannot have.
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
        Self::new(namespace, name)
    }

    /// A name that sorts before every name of that namespace: where its page begins.
    #[must_use]
    pub fn first_of(namespace: &str) -> Option<Self> {
        check_segment(namespace).ok()?;
        Some(Self(format!("{namespace}/").into()))
    }

    /// `namespace/name`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the slash.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.0.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The part after the slash.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, name)| name)
    }
}

impl std::fmt::Display for ScheduleName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::fmt::Debug for ScheduleName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadName {
    /// `namespace` or `name`.
    pub segment: &'static str,
    /// What is wrong with it, in a few words.
    pub why: &'static str,
}

fn check_segment(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.chars().count() > MAX_NAME {
        return Err("is longer than 200 characters");
    }
    if text.bytes().all(|byte| byte == b'.') {
        return Err("consists of dots only");
    }
    if text.contains('/') {
        return Err("has a slash too many: a schedule is namespace/name");
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')) {
        return Err("may hold letters, digits, '.', '_' and '-' only");
    }
    Ok(())
}

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

/// How instants are decided and firings delivered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Policy {
    /// What becomes of a firing while another of the schedule runs.
    pub overlap: Overlap,
    /// How many firings may wait for the one that runs; beyond, they are skipped as `overlap`.
    pub queue_limit: u32,
    /// How far the dispatch is spread behind the nominal instants.
    pub jitter: Jitter,
    /// What becomes of a schedule of which nothing more can come.
    pub after_completion: AfterCompletion,
    /// What becomes of instants that were missed.
    pub catch_up: CatchUp,
    /// How often a firing may be sent.
    pub delivery: Delivery,
    /// When a failed attempt is tried again.
    pub retry: RetryPolicy,
    /// Pauses the schedule after so many failed firings in a row.
    pub pause_after_failures: Option<u32>,
}

/// Judged at the log position: something "runs" from fired until settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Overlap {
    /// Firings run beside each other.
    #[default]
    Allow,
    /// An instant that comes while another firing runs is skipped as `overlap`.
    Skip,
    /// One may wait until the running one has settled; further ones are skipped as `overlap`.
    QueueOne,
    /// All wait in order, up to `queue_limit`.
    QueueAll,
    /// The running one is asked to stop, and the new one starts when it has settled; a newer one takes the place of one that
    /// waits.
    Replace,
    /// The running one is settled as `cancelled` at once, its token is dead, and the new one starts.
    Terminate,
}

impl Overlap {
    /// Its name in the API and the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Skip => "skip",
            Self::QueueOne => "queue_one",
            Self::QueueAll => "queue_all",
            Self::Replace => "replace",
            Self::Terminate => "terminate",
        }
    }
}

/// A spread of the dispatch, never of the nominal: the delay is made from (uid, nominal), so it is the same in every retry and
/// on every node, and it never reaches the next nominal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Jitter {
    /// Up to so long; zero is none.
    Fixed(Span),
    /// Up to a tenth of the distance from the previous nominal, at most 10 s.
    Auto,
}

impl Default for Jitter {
    fn default() -> Self {
        Self::Fixed(Span::ZERO)
    }
}

/// What becomes of a schedule of which nothing more can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum AfterCompletion {
    /// It stays, `finished`.
    #[default]
    Keep,
    /// It is removed once its last firing has settled.
    Delete,
}

/// What becomes of undecided instants older than the failover grace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CatchUp {
    /// Which of those inside the window fire.
    pub mode: CatchUpMode,
    /// Instants older than this are skipped `too_late`; `None` is unlimited.
    pub window: Option<Span>,
}

/// Which of the missed instants fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum CatchUpMode {
    /// Each, in order.
    #[default]
    All,
    /// The newest; the others are `coalesced` into it.
    Latest,
    /// None; they are skipped as `too_late`.
    None,
}

impl CatchUp {
    /// Everything that was missed, however old: what `automatic_backfill` is another spelling of. Then a pause is caught up
    /// on too when it ends.
    pub const UNLIMITED: Self = Self { mode: CatchUpMode::All, window: None };
}

impl Default for CatchUp {
    fn default() -> Self {
        Self { mode: CatchUpMode::All, window: Some(Span::from_secs(60)) }
    }
}

/// How often a firing may reach its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Delivery {
    /// Retried until settled.
    #[default]
    AtLeastOnce,
    /// Sent once; a lost answer ends as `unknown`.
    AtMostOnce,
}

/// When a failed attempt is tried again; the arithmetic is in [`crate::retry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts in all, the first included; at least 1.
    pub max_attempts: u32,
    /// The wait after the first failure.
    pub initial: Span,
    /// The longest wait.
    pub max: Span,
    /// Each wait is this many times the one before.
    pub factor: u32,
    /// Give a live tick up once the next would overtake it.
    pub until_next: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            initial: Span::from_secs(1),
            max: Span::from_secs(60),
            factor: 2,
            until_next: false,
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            overlap: Overlap::Allow,
            queue_limit: 1_000,
            jitter: Jitter::default(),
            after_completion: AfterCompletion::Keep,
            catch_up: CatchUp::default(),
            delivery: Delivery::AtLeastOnce,
            retry: RetryPolicy::default(),
            pause_after_failures: None,
        }
    }
}

/// What is wrong with a definition: the field as a JSON pointer of the API, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where, as a JSON pointer into the schedule.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
    /// What to write instead.
    pub hint: String,
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

    /// The bounds that hold for every definition, whoever made it. Cron texts are judged by [`crate::cron`].
    ///
    /// # Errors
    /// Every flaw that was found, in the order of the fields.
    pub fn check(&self) -> Result<(), Vec<Flaw>> {
        let mut flaws = Vec::new();
        let mut flaw = |pointer: &str, detail: String, hint: &str| {
            flaws.push(Flaw { pointer: pointer.to_owned(), detail, hint: hint.to_owned() });
        };
        check_times(&self.specs, &self.exclude, self.window, &mut flaw);
        if self.payload.len() > MAX_PAYLOAD {
            flaw(
                "/payload",
                format!("{} bytes; at most {MAX_PAYLOAD}", self.payload.len()),
                "send a reference to it",
            );
        }
        if self.weight() > MAX_DEFINITION {
            flaw(
                "/",
                format!("the definition is larger than {MAX_DEFINITION} bytes"),
                "shorten texts, headers or payload",
            );
        }
        if self.about.labels.len() > MAX_LABELS {
            flaw("/labels", format!("more than {MAX_LABELS} labels"), "keep those that you select by");
        }
        if self.concurrency_key.as_deref().is_some_and(|key| !(1..=MAX_NAME).contains(&key.len())) {
            flaw("/concurrency_key", "its length".into(), "between 1 and 200 bytes, or null");
        }
        if self.max_firings == Some(0) {
            flaw("/max_firings", "0 would never fire".into(), "leave it out, or pause the schedule");
        }
        self.check_policy(&mut flaw);
        if flaws.is_empty() { Ok(()) } else { Err(flaws) }
    }

    fn check_policy(&self, flaw: &mut impl FnMut(&str, String, &str)) {
        let policy = &self.policy;
        if !(1..=MAX_QUEUE).contains(&policy.queue_limit) {
            flaw("/queue_limit", format!("{} waiting firings", policy.queue_limit), "between 1 and 10000");
        }
        if let Jitter::Fixed(jitter) = policy.jitter
            && jitter > MAX_JITTER
        {
            flaw("/jitter", format!("{jitter} is too long"), "at most 1d, or \"auto\"");
        }
        let retry = &self.policy.retry;
        if !(1..=1000).contains(&retry.max_attempts) {
            flaw("/retry/max_attempts", format!("{} attempts", retry.max_attempts), "between 1 and 1000");
        }
        if !(1..=100).contains(&retry.factor) {
            flaw("/retry/factor", format!("factor {}", retry.factor), "between 1 and 100");
        }
        if retry.max < retry.initial {
            flaw("/retry/max", "shorter than the first wait".into(), "at least retry.initial");
        }
        if self.policy.pause_after_failures == Some(0) {
            flaw("/pause_after_failures", "0 failures".into(), "at least 1, or null");
        }
        let Target::Webhook(webhook) = &self.target;
        if webhook.timeout < Span::from_millis(100) || webhook.timeout > Span::from_secs(3600) {
            flaw("/target/webhook/timeout", format!("{}", webhook.timeout), "between 100ms and 1h");
        }
        if webhook.headers.len() > MAX_LABELS {
            flaw(
                "/target/webhook/headers",
                format!("more than {MAX_LABELS} headers"),
                "send the rest in the payload",
            );
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

/// The bounds of what says when, shared by definitions and previews; each flaw is told with pointer, detail and hint.
pub fn check_times(
    specs: &[Spec],
    exclude: &[Exclusion],
    window: Window,
    flaw: &mut impl FnMut(&str, String, &str),
) {
    if specs.is_empty() {
        flaw(
            "/specs",
            "a schedule needs at least one spec".into(),
            "add one, such as {\"cron\": \"30 2 * * *\"}",
        );
    }
    if specs.len() > MAX_SPECS {
        flaw(
            "/specs",
            format!("{} specs; at most {MAX_SPECS}", specs.len()),
            "split it into several schedules",
        );
    }
    for (place, spec) in specs.iter().enumerate() {
        let Spec::Every { every, .. } = spec else { continue };
        let pointer = format!("/specs/{place}/every");
        if *every < MIN_EVERY {
            flaw(&pointer, format!("{every} is too short"), "at least 1s");
        } else if !every.as_millis().is_multiple_of(1_000) {
            flaw(&pointer, format!("{every} is no whole number of seconds"), "such as 90s");
        }
    }
    if exclude.len() > MAX_EXCLUSIONS {
        flaw(
            "/exclude",
            format!("{} exclusions; at most {MAX_EXCLUSIONS}", exclude.len()),
            "put dates into one calendar",
        );
    }
    for (place, exclusion) in exclude.iter().enumerate() {
        if let Exclusion::Dates { dates, .. } = exclusion
            && !(1..=MAX_EXCLUDED_DATES).contains(&dates.len())
        {
            flaw(
                &format!("/exclude/{place}/dates"),
                format!("{} dates", dates.len()),
                "between 1 and 366; a calendar holds more",
            );
        }
    }
    if let (Some(start), Some(end)) = (window.start_at, window.end_at)
        && end < start
    {
        flaw("/end_at", "the window ends before it starts".into(), "put end_at after start_at");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_two_plain_segments() {
        assert_eq!(ScheduleName::parse("billing/run").map(|name| name.to_string()), Ok("billing/run".into()));
        assert_eq!(ScheduleName::parse("run").map(|name| name.to_string()), Ok("default/run".into()));
        for bad in ["", "a/", "/b", "a/b/c", "a b", "ä", "..", "./x", &"x".repeat(201)] {
            assert!(ScheduleName::parse(bad).is_err(), "{bad}");
        }
    }
}
