//! What specs would do, without storing them.

use campanile_core::cron::Occurrence;
use campanile_core::definition::check_times;
use campanile_core::spec::{Exclusion as CoreExclusion, Spec as CoreSpec, Window};
use campanile_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::exclusion::{Exclusion, read_exclusions};
use super::orders::read;
use super::payload::Body;
use super::read::{Fields, Flaws};
use super::schedule::Warning;
use super::spec::{Spec, read_specs};
use super::time::Instant;
use crate::problem::Problem;

/// How many instants are shown when nothing is said.
pub const DEFAULT_COUNT: usize = 10;
/// The most instants that are shown.
pub const MAX_COUNT: usize = 1000;

/// The question: specs and a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PreviewRequest {
    /// When: the union of these.
    pub specs: Vec<Spec>,
    /// When not.
    #[serde(default)]
    pub exclude: Vec<Exclusion>,
    /// The first instant that may be nominal; inclusive.
    #[serde(default)]
    pub start_at: Option<Instant>,
    /// The last instant that may be nominal; inclusive.
    #[serde(default)]
    pub end_at: Option<Instant>,
    /// Instants strictly after this; now when left out.
    #[serde(default)]
    pub after: Option<Instant>,
    /// How many.
    #[serde(default = "default_count")]
    #[schema(default = 10, minimum = 1, maximum = 1000)]
    pub count: usize,
}

const fn default_count() -> usize {
    DEFAULT_COUNT
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Preview {
    /// The specs in English.
    pub text: String,
    /// The next instants.
    pub next: Vec<NextInstant>,
    /// What is allowed and often not meant.
    pub warnings: Vec<Warning>,
}

/// The next instants of a stored schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextInstants {
    /// The instants.
    pub items: Vec<NextInstant>,
    /// The specs in English.
    pub text: String,
    /// Why there are fewer than were asked for, when there may be more.
    pub warnings: Vec<Warning>,
}

/// A nominal instant to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextInstant {
    /// When it should happen.
    pub nominal: Instant,
    /// The same on the wall clock of the spec's zone, with its offset.
    pub local: String,
    /// How it stands to daylight saving: `normal`, `moved_from_gap`, `first_pass` or `second_pass`.
    #[schema(pattern = "^(normal|moved_from_gap|first_pass|second_pass)$")]
    pub note: String,
}

impl NextInstant {
    /// An instant as people of `time_zone` see it.
    #[must_use]
    pub fn of(occurrence: Occurrence, time_zone: &str) -> Self {
        let nominal = Instant(occurrence.at);
        Self {
            nominal,
            local: campanile_core::cron::local_text(occurrence.at, time_zone)
                .unwrap_or_else(|| nominal.to_string()),
            note: occurrence.note.as_str().into(),
        }
    }
}

/// A question that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// When.
    pub specs: Vec<CoreSpec>,
    /// When not.
    pub exclude: Box<[CoreExclusion]>,
    /// Inside of it.
    pub window: Window,
    /// Strictly after it; `None` is now.
    pub after: Option<Timestamp>,
    /// How many.
    pub count: usize,
}

/// Reads the body of a preview.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read_question(body: &Body) -> Result<Question, Problem> {
    let question = read(body, |fields, flaws| {
        let specs = read_specs(fields, flaws);
        let exclude = read_exclusions(fields, flaws);
        let window =
            Window { start_at: fields.instant("start_at", flaws), end_at: fields.instant("end_at", flaws) };
        let after = fields.instant("after", flaws);
        let count = read_count(fields, flaws);
        check(specs.as_deref().unwrap_or_default(), &exclude, window, flaws);
        specs.map(|specs| Question { specs, exclude, window, after, count })
    })?;
    // Without specs there was a flaw, so that `read` has refused already.
    question.ok_or_else(|| Problem::bad_request("the specs cannot be read"))
}

fn read_count(fields: &mut Fields<'_>, flaws: &mut Flaws) -> usize {
    match fields.number("count", MAX_COUNT as u64, flaws) {
        Some(0) => {
            flaws.add(fields.at("count"), "0 shows nothing", "between 1 and 1000");
            0
        }
        Some(count) => usize::try_from(count).unwrap_or(MAX_COUNT),
        None => DEFAULT_COUNT,
    }
}

/// The bounds of a definition that a preview shares.
fn check(specs: &[CoreSpec], exclude: &[CoreExclusion], window: Window, flaws: &mut Flaws) {
    check_times(specs, exclude, window, &mut |pointer: &str, detail: String, hint: &str| {
        flaws.add(pointer, detail, hint);
    });
}
