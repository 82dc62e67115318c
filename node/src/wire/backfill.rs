//! Backfills as JSON: what is ordered, what it would do, and how one stands.

use campanile_core::backfill::{Backfill as CoreBackfill, BackfillState};
use campanile_core::definition::{Overlap, ScheduleName};
use campanile_core::id::BackfillId;
use campanile_core::time::{Span, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::orders::read;
use super::payload::Body;
use super::policy::read_overlap;
use super::read::{Fields, Flaws};
use super::time::{Instant, Length};
use crate::problem::Problem;

/// How many firings of a backfill are live at once when nothing is said.
pub const DEFAULT_MAX_LIVE: u32 = 10;
/// The most that may be asked for.
const MAX_LIVE: u64 = 10_000;
/// What the id of a backfill begins with.
const PREFIX: &str = "bkf_";

/// A range of nominal instants of a schedule to go through again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackfillRequest {
    /// `namespace/name`.
    pub schedule: String,
    /// The range begins after this instant.
    pub after: Instant,
    /// The last instant of the range; what is not decided yet is left to the schedule. Left out: up to what is decided.
    #[serde(default)]
    pub until: Option<Instant>,
    /// Fire again what has fired, as another run of it.
    #[serde(default)]
    pub again: bool,
    /// What becomes of an instant while another firing of the schedule runs. Left out: `allow` when the schedule itself
    /// says so, else `queue_all`, which fires one after another and skips none.
    #[serde(default)]
    #[schema(pattern = "^(allow|skip|queue_one|queue_all|replace|terminate)$")]
    pub overlap: Option<String>,
    /// The least distance between two firings.
    #[serde(default = "no_pace")]
    #[schema(required = false)]
    pub pace: Length,
    /// The most firings of it that are not settled at once.
    #[serde(default = "max_live")]
    #[schema(default = 10, minimum = 1, maximum = 10000)]
    pub max_live: u32,
    /// Count only.
    #[serde(default)]
    pub dry_run: bool,
}

const fn no_pace() -> Length {
    Length(Span::ZERO)
}

const fn max_live() -> u32 {
    DEFAULT_MAX_LIVE
}

/// What a backfill would do if it began now (`dry_run`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackfillCounts {
    /// Always true: nothing was created.
    pub dry_run: bool,
    /// `namespace/name`.
    pub schedule: String,
    /// The range begins after this instant.
    pub after: Instant,
    /// The last instant of the range, as it would be: not later than what is decided.
    pub until: Instant,
    /// How many nominal instants the range has.
    pub instants: u64,
    /// How many of them would fire, before the overlap rule.
    pub would_fire: u64,
    /// How many would be passed over, since they have fired.
    pub passed: u64,
}

/// A backfill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Backfill {
    /// `bkf_` and a number.
    pub id: String,
    /// `namespace/name`.
    pub schedule: String,
    /// The incarnation of the schedule.
    pub uid: String,
    /// The range begins after this instant.
    pub after: Instant,
    /// The last instant of the range.
    pub until: Instant,
    /// Whether it fires again what has fired.
    pub again: bool,
    /// What becomes of an instant while another firing of the schedule runs.
    pub overlap: String,
    /// The least distance between two firings.
    pub pace: Length,
    /// The most firings of it that are not settled at once.
    pub max_live: u32,
    /// `running`, `completed`, `cancelled` or `failed`.
    #[schema(pattern = "^(running|completed|cancelled|failed)$")]
    pub state: String,
    /// Why it failed.
    pub reason: Option<String>,
    /// How many nominal instants the range had when it was created.
    pub instants: u64,
    /// Everything up to here has been gone through.
    pub position: Instant,
    /// How many firings it has made.
    pub fired: u64,
    /// How many instants it passed over, since they had fired.
    pub passed: u64,
    /// How many its overlap rule skipped.
    pub skipped: u64,
    /// How many of its firings are not settled.
    pub live: u32,
    /// How many have settled well.
    pub succeeded: u64,
    /// How many have settled otherwise.
    pub failed: u64,
    /// How much of the range has been gone through, between 0 and 1; 1 when it is completed.
    pub progress: f64,
    /// When it was created.
    pub created_at: Instant,
    /// When it ended.
    pub ended_at: Option<Instant>,
    /// Who created it.
    pub created_by: String,
}

impl From<&CoreBackfill> for Backfill {
    fn from(backfill: &CoreBackfill) -> Self {
        let plan = &backfill.plan;
        Self {
            id: backfill_id(backfill.id),
            schedule: backfill.name.to_string(),
            uid: backfill.uid.to_string(),
            after: Instant(plan.after),
            until: Instant(plan.until),
            again: plan.again,
            overlap: plan.overlap.as_str().into(),
            pace: Length(plan.pace),
            max_live: plan.max_live,
            state: backfill_word(&backfill.state).into(),
            reason: match &backfill.state {
                BackfillState::Failed(reason) => Some(reason.to_string()),
                _ => None,
            },
            instants: backfill.instants,
            position: Instant(backfill.position),
            fired: backfill.fired,
            passed: backfill.passed,
            skipped: backfill.skipped,
            live: backfill.live,
            succeeded: backfill.succeeded,
            failed: backfill.failed,
            progress: progress(backfill),
            created_at: Instant(backfill.created_at),
            ended_at: backfill.ended_at.map(Instant),
            created_by: backfill.by.to_string(),
        }
    }
}

/// An edit in the midst can make the range longer or shorter than it was counted.
fn progress(backfill: &CoreBackfill) -> f64 {
    let gone_through = backfill.fired + backfill.passed + backfill.skipped;
    match backfill.state {
        BackfillState::Completed => 1.0,
        _ if backfill.instants == 0 => 0.0,
        _ => (gone_through as f64 / backfill.instants as f64).min(1.0),
    }
}

/// A backfill that was ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackfillOrder {
    /// Of which schedule.
    pub name: ScheduleName,
    /// The range begins after this instant.
    pub after: Timestamp,
    /// The last instant of the range; `None` for as far as instants are decided.
    pub until: Option<Timestamp>,
    /// Fire again what has fired.
    pub again: bool,
    /// `None` for what suits the schedule.
    pub overlap: Option<Overlap>,
    /// The least distance between two firings.
    pub pace: Span,
    /// The most firings of it that are live at once.
    pub max_live: u32,
    /// Count only.
    pub dry_run: bool,
}

/// Reads the body of a new backfill.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read_backfill(body: &Body) -> Result<BackfillOrder, Problem> {
    let order = read(body, |fields, flaws| {
        let name = read_name(fields, flaws);
        let after = fields.instant("after", flaws);
        if after.is_none() && fields.get("after").is_none() {
            flaws.add(fields.at("after"), "is missing", "the instant after which the range begins");
        }
        let order = (
            fields.instant("until", flaws),
            fields.flag("again", flaws).unwrap_or(false),
            read_overlap(fields, flaws),
            fields.span("pace", flaws).unwrap_or(Span::ZERO),
            read_max_live(fields, flaws),
            fields.flag("dry_run", flaws).unwrap_or(false),
        );
        let (until, again, overlap, pace, max_live, dry_run) = order;
        Some(BackfillOrder { name: name?, after: after?, until, again, overlap, pace, max_live, dry_run })
    })?;
    // What is missing was told as a flaw, so that `read` has refused already.
    order.ok_or_else(|| Problem::bad_request("the backfill cannot be read"))
}

fn read_name(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<ScheduleName> {
    const HINT: &str = "the schedule as namespace/name";
    let Some(given) = fields.text("schedule", flaws) else {
        if fields.get("schedule").is_none() {
            flaws.add(fields.at("schedule"), "is missing", HINT);
        }
        return None;
    };
    match ScheduleName::parse(given) {
        Ok(name) => Some(name),
        Err(bad) => {
            flaws.add(fields.at("schedule"), format!("the {} {}", bad.segment, bad.why), HINT);
            None
        }
    }
}

fn read_max_live(fields: &mut Fields<'_>, flaws: &mut Flaws) -> u32 {
    match fields.number("max_live", MAX_LIVE, flaws) {
        Some(0) => {
            flaws.add(fields.at("max_live"), "0 lets nothing fire", "between 1 and 10000");
            1
        }
        Some(most) => u32::try_from(most).unwrap_or(u32::MAX),
        None => DEFAULT_MAX_LIVE,
    }
}

/// What a backfill is called outside: `bkf_` and its number.
#[must_use]
pub fn backfill_id(id: BackfillId) -> String {
    format!("{PREFIX}{id}")
}

/// A backfill from what it is called.
#[must_use]
pub fn parse_backfill_id(text: &str) -> Option<BackfillId> {
    let digits = text.strip_prefix(PREFIX)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number).map(BackfillId)
}

/// The words for how backfills stand.
pub const STATES: [&str; 4] = ["running", "completed", "cancelled", "failed"];

/// The word for how a backfill stands.
#[must_use]
pub const fn backfill_word(state: &BackfillState) -> &'static str {
    match state {
        BackfillState::Running => STATES[0],
        BackfillState::Completed => STATES[1],
        BackfillState::Cancelled => STATES[2],
        BackfillState::Failed(_) => STATES[3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_and_another_text_is_none() {
        assert_eq!(parse_backfill_id(&backfill_id(BackfillId(42))), Some(BackfillId(42)));
        for bad in ["", "42", "bkf_", "bkf_+1", "bkf_x", "frg_1", "bkf_99999999999999999999"] {
            assert_eq!(parse_backfill_id(bad), None, "{bad}");
        }
    }
}
