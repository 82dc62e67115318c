//! What workers and the cluster say to each other about leases: asked for, held, settled.
//!
//! The types are both sides of it: a node reads a worker's words field by field and answers with these types; the client
//! sends the same types and reads the answers leniently, so that an older worker understands a newer cluster. Whether a
//! lease is still its holder's is judged in the log, never here.

use std::collections::BTreeMap;

use campanile_core::attempt::{self, MAX_OUTPUT};
use campanile_core::time::Span;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::orders::read;
use super::payload::{Body, Payload};
use super::read::{Fields, Flaws};
use super::text::check_free;
use super::time::{Instant, Length};
use crate::problem::Problem;

/// The longest name of a worker, in characters.
pub const MAX_WORKER: usize = 200;
/// The most leases that one request is given.
pub const MAX_LEASES: u32 = 100;
/// The shortest lease: less is over before its holder has heard of it.
pub const MIN_TTL: Span = Span::from_secs(1);
/// The longest lease: a dead worker blocks its work no longer than this. Heartbeats extend it.
pub const MAX_TTL: Span = Span::from_secs(3600);
/// How long a lease lasts when its holder does not say.
pub const DEFAULT_TTL: Span = Span::from_secs(60);
/// The longest that a request for leases may wait for work.
pub const MAX_WAIT: Span = Span::from_secs(60);
/// The longest that a holder may ask to wait before the next attempt: the log grants no more.
pub const MAX_RETRY_AFTER: Span = Span::from_secs(3600);

/// A worker asks for work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseRequest {
    /// Who asks, for people who look at a firing later: a host and a process, say.
    #[schema(min_length = 1, max_length = 200, examples("host-1/4711"))]
    pub worker: String,
    /// The most firings that it takes.
    #[serde(default = "one")]
    #[schema(default = 1, minimum = 1, maximum = 100)]
    pub max: u32,
    /// How long each lease lasts; from `1s` to `1h`.
    #[serde(default = "default_ttl")]
    #[schema(required = false)]
    pub ttl: Length,
    /// How long the answer may wait for work to come; at most `60s`.
    #[serde(default = "no_wait")]
    #[schema(required = false)]
    pub wait: Length,
}

/// The right to work on one attempt of a firing, and what there is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Leased {
    /// Names firing and attempt; to be given back as it is.
    pub lease: String,
    /// The firing. The same in each attempt: the key by which a receiver knows what it has done already.
    pub firing: String,
    /// `namespace/name`.
    pub schedule: String,
    /// The incarnation of the schedule.
    pub uid: String,
    /// The revision of the definition that decided it.
    pub revision: u32,
    /// The queue.
    pub queue: String,
    /// When it should have happened.
    pub nominal: Instant,
    /// Counts up only when somebody asks for a re-run.
    pub run: u32,
    /// `scheduled`, `catch_up`, `manual`, `backfill`, `rerun` or `chained`.
    pub kind: String,
    /// The firing whose end caused this one.
    #[serde(default)]
    pub cause: Option<String>,
    /// The first is 1.
    pub attempt: u32,
    /// Only grows for a schedule's name, and is below 2^53: whatever the work writes to should refuse an older one.
    pub fencing_token: u64,
    /// When the log gave the lease.
    pub begun_at: Instant,
    /// When the lease ends, unless a heartbeat extends it.
    pub until: Instant,
    /// No heartbeat extends it beyond this.
    pub deadline: Instant,
    /// W3C trace context of this attempt.
    #[serde(default)]
    pub traceparent: String,
    /// The labels of the schedule.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// What the work is about.
    #[serde(default, deserialize_with = "exact")]
    pub payload: Payload,
}

/// A holder says that it is alive.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatRequest {
    /// How long the lease lasts from now on; as long as it was taken for when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Length>,
}

/// What a living holder is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Heartbeat {
    /// When the lease ends now.
    pub until: Instant,
    /// No heartbeat extends it beyond this.
    pub deadline: Instant,
    /// The holder is asked to stop its work and to settle as `cancelled`.
    #[serde(default)]
    pub stop: bool,
}

/// What came of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettleOutcome {
    /// Done.
    Succeeded,
    /// Failed for good: no other attempt is made.
    Failed,
    /// Failed, and may be tried again while attempts are left.
    Retry,
    /// Stopped, as the holder was asked to.
    Cancelled,
}

/// A holder says what came of its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SettleRequest {
    /// What came of it.
    pub outcome: SettleOutcome,
    /// What the work said; its last 16 KiB are kept.
    #[serde(default)]
    pub output: String,
    /// What went wrong; its last 16 KiB are kept.
    #[serde(default)]
    pub error: String,
    /// With `retry`: how long to wait at least before the next attempt, at most `1h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Length>,
}

/// What became of the firing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Settled {
    /// The firing.
    pub firing: String,
    /// The attempt that was settled.
    pub attempt: u32,
    /// The state of the firing now: `succeeded`, `failed`, `waiting` for the next attempt, `cancelled`, …
    pub state: String,
    /// When the next attempt may begin.
    #[serde(default)]
    pub retry_at: Option<Instant>,
}

/// A request for leases that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseOrder {
    /// Who asks.
    pub worker: Box<str>,
    /// The most leases; 1 to [`MAX_LEASES`].
    pub max: u32,
    /// How long each lasts; [`MIN_TTL`] to [`MAX_TTL`].
    pub ttl: Span,
    /// How long to wait for work; at most [`MAX_WAIT`].
    pub wait: Span,
}

/// An outcome that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettleOrder {
    /// What came of the work.
    pub outcome: SettleOutcome,
    /// At most [`MAX_OUTPUT`] bytes: the end of what was sent.
    pub output: Box<str>,
    /// The same of the error.
    pub error: Box<str>,
    /// With [`SettleOutcome::Retry`] only.
    pub retry_after: Option<Span>,
}

/// Reads the body of a request for leases.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read_lease(body: &Body) -> Result<LeaseOrder, Problem> {
    read(body, |fields, flaws| LeaseOrder {
        worker: read_worker(fields, flaws),
        max: read_max(fields, flaws),
        ttl: read_ttl(fields, flaws).unwrap_or(DEFAULT_TTL),
        wait: read_wait(fields, flaws),
    })
}

/// Reads the body of a heartbeat: how long the lease is to last, if it says so.
///
/// # Errors
/// As [`read_lease`].
pub fn read_heartbeat(body: &Body) -> Result<Option<Span>, Problem> {
    read(body, read_ttl)
}

/// Reads the body of an outcome.
///
/// # Errors
/// As [`read_lease`].
pub fn read_settle(body: &Body) -> Result<SettleOrder, Problem> {
    read(body, |fields, flaws| {
        let outcome = read_outcome(fields, flaws);
        SettleOrder {
            outcome,
            output: tail(fields.text("output", flaws).unwrap_or_default()).into(),
            error: tail(fields.text("error", flaws).unwrap_or_default()).into(),
            retry_after: read_retry_after(outcome, fields, flaws),
        }
    })
}

/// The last [`MAX_OUTPUT`] bytes of a text, which stays a text.
#[must_use]
pub fn tail(text: &str) -> &str {
    attempt::tail(text, MAX_OUTPUT)
}

fn read_worker(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Box<str> {
    const HINT: &str = "a host and a process, such as \"host-1/4711\"";
    let pointer = fields.at("worker");
    if fields.get("worker").is_none() {
        flaws.add(pointer, "a worker needs a name", HINT);
        return "".into();
    }
    let worker = fields.text("worker", flaws).unwrap_or("?");
    if worker.trim().is_empty() {
        flaws.add(pointer, "is empty", HINT);
    } else if let Err(why) = check_free(worker, MAX_WORKER, false) {
        flaws.add(pointer, why, HINT);
    }
    worker.into()
}

fn read_max(fields: &mut Fields<'_>, flaws: &mut Flaws) -> u32 {
    let max = fields.number("max", u64::from(MAX_LEASES), flaws);
    if max == Some(0) {
        flaws.add(fields.at("max"), "0 leases are none", format!("from 1 to {MAX_LEASES}"));
    }
    max.map_or(1, |max| u32::try_from(max).unwrap_or(MAX_LEASES))
}

fn read_ttl(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<Span> {
    let ttl = fields.span("ttl", flaws)?;
    if !(MIN_TTL..=MAX_TTL).contains(&ttl) {
        flaws.add(
            fields.at("ttl"),
            format!("a lease of {ttl}"),
            format!("from {MIN_TTL} to {MAX_TTL}; heartbeats extend it"),
        );
    }
    Some(ttl)
}

fn read_wait(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Span {
    let wait = fields.span("wait", flaws).unwrap_or(Span::from_secs(0));
    if wait > MAX_WAIT {
        flaws.add(fields.at("wait"), format!("{wait} is too long"), format!("at most {MAX_WAIT}; ask again"));
    }
    wait
}

fn read_outcome(fields: &mut Fields<'_>, flaws: &mut Flaws) -> SettleOutcome {
    const WORDS: [(&str, SettleOutcome); 4] = [
        ("succeeded", SettleOutcome::Succeeded),
        ("failed", SettleOutcome::Failed),
        ("retry", SettleOutcome::Retry),
        ("cancelled", SettleOutcome::Cancelled),
    ];
    if fields.get("outcome").is_none() {
        flaws.add(fields.at("outcome"), "an outcome is needed", "succeeded, failed, retry or cancelled");
    }
    // What is not known is a flaw by now, and no order comes of it.
    fields.word("outcome", &WORDS, flaws).unwrap_or(SettleOutcome::Failed)
}

fn read_retry_after(outcome: SettleOutcome, fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<Span> {
    let after = fields.span("retry_after", flaws)?;
    let pointer = fields.at("retry_after");
    if outcome != SettleOutcome::Retry {
        flaws.add(pointer, "goes with the outcome \"retry\" only", "leave it out");
    } else if after > MAX_RETRY_AFTER {
        flaws.add(pointer, format!("{after} is too long"), format!("at most {MAX_RETRY_AFTER}"));
    }
    Some(after)
}

/// A payload digit by digit as it came: a number of twenty digits must reach the work as it was written.
fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Payload, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(Payload(if raw.get() == "null" { "".into() } else { raw.get().into() }))
}

fn one() -> u32 {
    1
}
fn default_ttl() -> Length {
    Length(DEFAULT_TTL)
}
fn no_wait() -> Length {
    Length(Span::from_secs(0))
}

#[cfg(test)]
mod tests;
