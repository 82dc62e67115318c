//! The bodies of pause, resume and trigger. Each may be `{}`.

use campanile_core::definition::{MAX_PAYLOAD, Overlap};
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
    /// From the mark, under the catch-up rule, instead of from now.
    #[serde(default)]
    pub catch_up: bool,
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
    /// Another nominal instant than now: not carried by this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<Instant>,
}

/// A trigger that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerOrder {
    /// Instead of the definition's payload.
    pub payload: Option<Box<str>>,
    /// Instead of the definition's overlap policy.
    pub overlap: Option<Overlap>,
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

/// Reads the body of a resume: whether to catch up from the mark.
///
/// # Errors
/// As [`read_pause`].
pub fn read_resume(body: &Body) -> Result<bool, Problem> {
    read(body, |fields, flaws| fields.flag("catch_up", flaws).unwrap_or(false))
}

/// Reads the body of a trigger.
///
/// # Errors
/// As [`read_pause`].
pub fn read_trigger(body: &Body) -> Result<TriggerOrder, Problem> {
    read(body, |fields, flaws| {
        let payload = fields.get("payload").map(|_| body.payload.clone());
        if body.payload.len() > MAX_PAYLOAD {
            flaws.add(
                "/payload",
                format!("{} bytes; at most {MAX_PAYLOAD}", body.payload.len()),
                "send a reference to it",
            );
        }
        if fields.get("nominal").is_some() {
            flaws.unsupported(fields.at("nominal"), "another nominal instant than now");
        }
        TriggerOrder { payload, overlap: read_overlap(fields, flaws) }
    })
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
