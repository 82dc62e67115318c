//! A change of the mark as JSON.

use campanile_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::backfill::Backfill;
use super::orders::read;
use super::payload::Body;
use super::time::Instant;
use crate::problem::Problem;

/// Rewind or skip ahead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MarkRequest {
    /// Earlier than the mark: everything after it fires again, by a backfill. Later than now: everything up to it is
    /// skipped.
    pub to: Instant,
    /// Count only.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a change of the mark did, or would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Marked {
    /// `namespace/name`.
    pub schedule: String,
    /// Where it was asked to be.
    pub to: Instant,
    /// The mark as it stands. A rewind does not move it: it fires what lies behind it again.
    pub mark: Instant,
    /// `back` or `ahead`.
    pub direction: String,
    /// Whether it was counted only.
    pub dry_run: bool,
    /// How many instants it would fire, before the overlap rule; `null` unless it was counted only.
    pub fires: Option<u64>,
    /// How many it would skip; `null` unless it was counted only.
    pub skips: Option<u64>,
    /// The backfill that a rewind made.
    pub backfill: Option<Backfill>,
}

/// The word for a direction.
#[must_use]
pub const fn direction_word(is_back: bool) -> &'static str {
    if is_back { "back" } else { "ahead" }
}

/// Reads the body of a change of the mark: where to, and whether it is counted only.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read_mark(body: &Body) -> Result<(Timestamp, bool), Problem> {
    let (to, dry_run) = read(body, |fields, flaws| {
        let to = fields.instant("to", flaws);
        if to.is_none() && fields.get("to").is_none() {
            flaws.add(fields.at("to"), "is missing", "an instant before the mark, or after now");
        }
        (to, fields.flag("dry_run", flaws).unwrap_or(false))
    })?;
    // What is missing was told as a flaw, so that `read` has refused already.
    Ok((to.ok_or_else(|| Problem::bad_request("the instant cannot be read"))?, dry_run))
}
