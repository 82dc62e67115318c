//! The story of a firing as JSON: decided, attempts, outcome.

use campanile_core::attempt::{AttemptEnd, Holder as CoreHolder, Lease, Report, Verdict};
use campanile_core::firing::FiringId;
use campanile_core::id::{Run, Uid};
use campanile_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Instant;

/// One decided instant, or a run of skipped ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Firing {
    /// `frg_` and text made from uid, nominal and run: the same in every retry and on every node.
    pub id: String,
    /// `namespace/name`; `null` when the schedule is gone and the ledger does not reach back to its definition.
    pub schedule: Option<String>,
    /// The incarnation of the schedule.
    pub uid: String,
    /// The revision that decided it.
    pub revision: u32,
    /// When it should have happened; of a run of skipped instants the last.
    pub nominal: Instant,
    /// Counts up only when somebody asks for a re-run.
    pub run: u32,
    /// `scheduled`, `catch_up`, `manual`, `backfill`, `rerun`, `chained` (another schedule's firing ended) or `notice` (it
    /// tells another target how a firing of its schedule ended).
    pub kind: String,
    /// The backfill that fired it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill: Option<String>,
    /// The firing whose end made it.
    #[serde(default)]
    pub cause: Option<String>,
    /// `queued`, `waiting`, `running`, `succeeded`, `failed`, `timed_out`, `cancelled`, `unknown` or `skipped`.
    pub state: String,
    /// Why it was skipped or cancelled, what it waits for, or what its last attempt said.
    pub reason: Option<String>,
    /// A run of skipped instants: the first of them, and how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkippedRun>,
    /// When and where the log decided it.
    pub decided: Decided,
    /// From nominal to the decision.
    pub lateness_ms: u64,
    /// A waiting firing may begin from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until: Option<Instant>,
    /// Since when its holder is asked to stop, so that a newer firing can start (`overlap: replace`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_asked_at: Option<Instant>,
    /// What was to follow its end and does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_followed: Option<NotFollowed>,
    /// Its dead letter was put aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded: Option<Discarded>,
    /// Each try to deliver it.
    pub attempts: Vec<Attempt>,
}

/// What was to follow the end of a firing and does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotFollowed {
    /// The schedule that was to be triggered; `null` for a notice to another target.
    pub schedule: Option<String>,
    /// `no_schedule`, `paused`, `parked` or `overlap`.
    pub reason: String,
}

/// A dead letter was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Discarded {
    /// When.
    pub at: Instant,
    /// Who did it.
    pub by: String,
}

/// A run of skipped instants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkippedRun {
    /// The first of them.
    pub from: Instant,
    /// How many.
    pub count: u64,
}

/// When and where the log decided something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Decided {
    /// The log's time.
    pub at: Instant,
    /// The log's place.
    pub index: u64,
    /// The Raft term of the leader that proposed it; `null` when retention has passed its taking office.
    pub term: Option<u64>,
    /// That leader.
    pub node: Option<u64>,
}

/// One try to deliver a firing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    /// The first is 1.
    pub number: u32,
    /// Who does it.
    pub holder: Holder,
    /// What the receiver compares: it only grows.
    pub fencing_token: u64,
    /// When the log gave the lease.
    pub begun_at: Instant,
    /// When its lease ends, unless its holder extends it; `null` when it has ended.
    #[serde(default)]
    pub until: Option<Instant>,
    /// When the request left, by the holder's clock.
    pub sent_at: Option<Instant>,
    /// When the log heard of its end; `null` while it runs.
    pub settled_at: Option<Instant>,
    /// `succeeded`, `failed`, `timed_out`, `refused`, `gone`, `not_sent`, `cancelled`, `broken` or `lease_ended`; `null` while it runs.
    pub outcome: Option<String>,
    /// The status of the receiver's answer.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<String>,
    /// The end of what the receiver answered.
    pub output: Option<String>,
}

/// Who works on an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// A node of the cluster, which sends a request.
    Node(u64),
    /// A worker that leased it from a queue, by the name that it gave itself.
    Worker(String),
}

impl From<&CoreHolder> for Holder {
    fn from(holder: &CoreHolder) -> Self {
        match holder {
            CoreHolder::Node(node) => Self::Node(node.0),
            CoreHolder::Worker(name) => Self::Worker(name.to_string()),
        }
    }
}

impl Attempt {
    /// An attempt that has begun.
    #[must_use]
    pub fn begun(lease: &Lease) -> Self {
        Self {
            number: lease.attempt.0,
            holder: (&lease.holder).into(),
            fencing_token: lease.fencing_token.0,
            begun_at: Instant(lease.begun_at),
            until: Some(Instant(lease.until)),
            sent_at: None,
            settled_at: None,
            outcome: None,
            status: None,
            error: None,
            output: None,
        }
    }

    /// The same, ended at `at`: with what its holder said, or without when its lease ended first.
    #[must_use]
    pub fn ended(self, at: Timestamp, report: Option<&Report>) -> Self {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let end = report.map_or(AttemptEnd::LeaseEnded, |report| AttemptEnd::Reported(report.verdict));
        Self {
            until: None,
            sent_at: report
                .filter(|report| report.verdict != Verdict::NotSent)
                .map(|report| Instant(report.sent_at)),
            settled_at: Some(Instant(at)),
            outcome: Some(attempt_word(end).to_owned()),
            status: report.and_then(|report| report.status),
            error: report.and_then(|report| text(&report.error)),
            output: report.and_then(|report| text(&report.output)),
            ..self
        }
    }

    /// The same, of a firing that was cancelled at `at`: what became of its request, nobody says.
    #[must_use]
    pub fn cancelled(self, at: Timestamp) -> Self {
        let outcome = attempt_word(AttemptEnd::Reported(Verdict::Stopped)).to_owned();
        Self { until: None, settled_at: Some(Instant(at)), outcome: Some(outcome), ..self }
    }
}

/// The word for the end of an attempt.
#[must_use]
pub const fn attempt_word(end: AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::LeaseEnded => "lease_ended",
        AttemptEnd::Reported(verdict) => match verdict {
            Verdict::Succeeded => "succeeded",
            Verdict::Retry { .. } => "failed",
            Verdict::TimedOut => "timed_out",
            Verdict::Refused => "refused",
            Verdict::Gone => "gone",
            Verdict::NotSent => "not_sent",
            Verdict::Stopped => "cancelled",
            Verdict::Broken => "broken",
        },
    }
}

/// The states of a firing, as words.
pub const STATES: [&str; 9] =
    ["queued", "waiting", "running", "succeeded", "failed", "timed_out", "cancelled", "unknown", "skipped"];

/// The identity of a firing from its parts.
#[must_use]
pub const fn id_of(uid: Uid, nominal: Timestamp, run: Run) -> FiringId {
    FiringId { uid, nominal, run }
}
