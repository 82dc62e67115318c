//! The bodies of pause, resume, trigger and rerun. Each may be `{}`.

use campanile_core::definition::MAX_PAYLOAD;
use campanile_core::plan::{Instead, ResumeFrom};
use campanile_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::payload::{Body, Payload};
use super::policy::read_overlap;
use super::read::{Fields, Flaws};
use super::text::check_free;
use super::time::Instant;
use crate::problem::Problem;

/// The longest note of a pause, in characters.
const MAX_NOTE: usize = 1000;

/// Stop deciding instants.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Pause {
    /// Why, for people.
    #[serde(default)]
    pub note: String,
    /// Resumes by itself at this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
}

/// Decide them again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Resume {
    /// `true`: from the mark, under the catch-up rule; `false`: from now. Left out, from now, but for a schedule whose rule
    /// is `{"mode": "all", "window": "unlimited"}` (`automatic_backfill`): that one goes on from the mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<bool>,
}

/// Fire once, now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Trigger {
    /// Instead of the definition's payload.
    #[serde(default)]
    pub payload: Payload,
    /// Instead of the definition's overlap policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
    /// In the name of this instant, which is not later than now. One that fired fires once more, as another run of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<Instant>,
}

/// Fire a nominal instant once more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Rerun {
    /// Instead of the definition's payload.
    #[serde(default)]
    pub payload: Payload,
    /// Instead of the definition's overlap policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
}

/// A trigger that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerOrder {
    /// Instead of what the definition says.
    pub instead: Instead,
    /// In the name of this instant; `None` for now.
    pub nominal: Option<Timestamp>,
}

/// Reads the body of a pause.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read_pause(body: &Body) -> Result<(Box<str>, Option<Timestamp>), Problem> {
    read(body, |fields, flaws| {
        let note = fields.text("note", flaws).unwrap_or_default();
        if let Err(why) = check_free(note, MAX_NOTE, true) {
            flaws.add(fields.at("note"), why, "shorten it");
        }
        (note.into(), fields.instant("until", flaws))
    })
}

/// Reads the body of a resume: where to go on, if it says so.
///
/// # Errors
/// As [`read_pause`].
pub fn read_resume(body: &Body) -> Result<Option<ResumeFrom>, Problem> {
    let from = |catch_up| if catch_up { ResumeFrom::Mark } else { ResumeFrom::Now };
    read(body, |fields, flaws| fields.flag("catch_up", flaws).map(from))
}

/// Reads the body of a trigger.
///
/// # Errors
/// As [`read_pause`].
pub fn read_trigger(body: &Body) -> Result<TriggerOrder, Problem> {
    read(body, |fields, flaws| TriggerOrder {
        instead: read_instead(body, fields, flaws),
        nominal: fields.instant("nominal", flaws),
    })
}

/// Reads the body of a re-run.
///
/// # Errors
/// As [`read_pause`].
pub fn read_rerun(body: &Body) -> Result<Instead, Problem> {
    read(body, |fields, flaws| read_instead(body, fields, flaws))
}

/// Reads the body of an order that has no words.
///
/// # Errors
/// As [`read_pause`].
pub fn read_nothing(body: &Body) -> Result<(), Problem> {
    read(body, |_, _| ())
}

/// What a firing that a user asks for has of its own.
fn read_instead(body: &Body, fields: &mut Fields<'_>, flaws: &mut Flaws) -> Instead {
    if body.payload.len() > MAX_PAYLOAD {
        flaws.add(
            "/payload",
            format!("{} bytes; at most {MAX_PAYLOAD}", body.payload.len()),
            "send a reference to it",
        );
    }
    Instead {
        payload: fields.get("payload").map(|_| body.payload.clone()),
        overlap: read_overlap(fields, flaws),
    }
}

/// Reads an object whose fields `read` knows.
pub(crate) fn read<T>(
    body: &Body,
    read: impl FnOnce(&mut Fields<'_>, &mut Flaws) -> T,
) -> Result<T, Problem> {
    let mut flaws = Flaws::default();
    let order = Fields::of(&body.value, "", &mut flaws).map(|mut fields| {
        let order = read(&mut fields, &mut flaws);
        fields.close(&mut flaws);
        order
    });
    flaws.settle(order)
}
