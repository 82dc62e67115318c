//! Dead letters as JSON, and what is asked of many of them at once.

use std::sync::Arc;

use campanile_core::definition::{Overlap, ScheduleName};
use campanile_core::firing::EndState;
use campanile_core::letter::Letter;
use campanile_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::orders::read;
use super::payload::Body;
use super::policy::read_overlap;
use super::read::{Fields, Flaws};
use super::schedule::end_word;
use super::time::Instant;
use crate::problem::Problem;

/// How many are run again when nothing is said.
const DEFAULT_MAX: u32 = 100;
/// The most that are run again at once.
pub const MAX_RERUNS: u32 = 1_000;
/// The states that a dead letter can be in.
pub const LETTER_STATES: [(&str, EndState); 3] =
    [("failed", EndState::Failed), ("timed_out", EndState::TimedOut), ("unknown", EndState::Unknown)];

/// A firing that came to nothing and waits for somebody to look at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetter {
    /// Which firing.
    pub firing: String,
    /// Of which schedule, `namespace/name`.
    pub schedule: String,
    /// The queue that it stood in; `null` for a webhook.
    pub queue: Option<String>,
    /// Why it existed.
    pub kind: String,
    /// When it should have happened.
    pub nominal: Instant,
    /// Zero, or the number of the re-run.
    pub run: u32,
    /// `failed`, `timed_out` or `unknown`.
    pub state: String,
    /// When it ended.
    pub ended_at: Instant,
    /// How many attempts it took.
    pub attempts: u32,
    /// The receiver's last status, if it answered.
    pub status: Option<u16>,
    /// What went wrong last.
    pub error: Option<String>,
}

/// Which dead letters. What is left out does not matter; a body that names nothing needs `"all": true`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct LetterFilter {
    /// Of this schedule, `namespace/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Of schedules in this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// That stood in this queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// In this state: `failed`, `timed_out` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// That ended after this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Instant>,
    /// That ended before this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Instant>,
    /// `true`: all of them, where nothing else is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
}

/// Run dead letters again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct LetterRerun {
    /// Which.
    #[serde(flatten)]
    pub filter: LetterFilter,
    /// At most so many, those that ended first; 100 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub max: Option<u32>,
    /// Instead of the overlap policy of their definitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
}

/// What came of running dead letters again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Rerun {
    /// Those that run again.
    pub rerun: Vec<RerunAs>,
    /// Those that cannot; they stay.
    pub refused: Vec<RefusedRerun>,
    /// How many more there are of those that were asked for.
    pub left: u32,
}

/// A dead letter that runs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RerunAs {
    /// The firing that came to nothing.
    pub firing: String,
    /// The new one.
    #[serde(rename = "as")]
    pub as_firing: String,
}

/// A dead letter that cannot be run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedRerun {
    /// The firing.
    pub firing: String,
    /// Why not.
    pub why: String,
}

/// So many were put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiscardedLetters {
    /// How many.
    pub discarded: u32,
    /// How many more there are of those that were asked for: what came to nothing meanwhile.
    pub left: u32,
}

/// A filter that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Which {
    /// Of this schedule.
    pub schedule: Option<ScheduleName>,
    /// Of schedules in this namespace.
    pub namespace: Option<Box<str>>,
    /// That stood in this queue.
    pub queue: Option<Box<str>>,
    /// In this state.
    pub state: Option<EndState>,
    /// That ended after this.
    pub after: Option<Timestamp>,
    /// That ended before this.
    pub before: Option<Timestamp>,
}

/// An order to run again that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RerunOrder {
    /// Which.
    pub which: Which,
    /// At most so many.
    pub max: u32,
    /// Instead of the overlap policy of their definitions.
    pub overlap: Option<Overlap>,
}

impl DeadLetter {
    /// A letter as an answer.
    #[must_use]
    pub fn of(letter: &Letter) -> Self {
        Self {
            firing: letter.firing.to_string(),
            schedule: letter.schedule.to_string(),
            queue: letter.queue.as_ref().map(|queue| queue.to_string()),
            kind: letter.kind.as_str().into(),
            nominal: Instant(letter.firing.nominal),
            run: letter.firing.run.0,
            state: end_word(letter.state).into(),
            ended_at: Instant(letter.ended_at),
            attempts: letter.attempts.0,
            status: letter.status,
            error: (!letter.error.is_empty()).then(|| letter.error.to_string()),
        }
    }
}

impl Which {
    /// Whether a letter is one of those.
    #[must_use]
    pub fn holds(&self, letter: &Letter) -> bool {
        let queue = letter.queue.as_deref();
        self.schedule.as_ref().is_none_or(|name| letter.schedule == *name)
            && self.namespace.as_deref().is_none_or(|namespace| letter.schedule.namespace() == namespace)
            && self.queue.as_deref().is_none_or(|wanted| queue == Some(wanted))
            && self.state.is_none_or(|state| letter.state == state)
            && self.after.is_none_or(|after| letter.ended_at > after)
            && self.before.is_none_or(|before| letter.ended_at < before)
    }

    /// Those of all letters, the newest first.
    pub fn among<'a>(
        &'a self,
        newest: impl Iterator<Item = &'a Arc<Letter>> + 'a,
    ) -> impl Iterator<Item = &'a Arc<Letter>> + 'a {
        newest.filter(|letter| self.holds(letter))
    }
}

/// Reads an order to put dead letters aside.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read_discard(body: &Body) -> Result<Which, Problem> {
    read(body, read_which)
}

/// Reads an order to run dead letters again.
///
/// # Errors
/// As [`read_discard`].
pub fn read_letter_rerun(body: &Body) -> Result<RerunOrder, Problem> {
    read(body, |fields, flaws| {
        let max = fields.number("max", MAX_RERUNS.into(), flaws);
        if max == Some(0) {
            flaws.add(fields.at("max"), "0 are none", format!("from 1 to {MAX_RERUNS}"));
        }
        RerunOrder {
            which: read_which(fields, flaws),
            max: max.map_or(DEFAULT_MAX, |max| u32::try_from(max).unwrap_or(MAX_RERUNS)),
            overlap: read_overlap(fields, flaws),
        }
    })
}

fn read_which(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Which {
    let before = flaws.count();
    let which = Which {
        schedule: read_schedule(fields, flaws),
        namespace: fields.text("namespace", flaws).map(Into::into),
        queue: fields.text("queue", flaws).map(Into::into),
        state: fields.word("state", &LETTER_STATES, flaws),
        after: fields.instant("after", flaws),
        before: fields.instant("before", flaws),
    };
    let all = fields.flag("all", flaws).unwrap_or(false);
    if which == Which::default() && !all && flaws.count() == before {
        flaws.add(
            fields.at("all"),
            "nothing says which dead letters are meant",
            "name a schedule, namespace, queue, state or time, or write \"all\": true",
        );
    }
    which
}

fn read_schedule(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<ScheduleName> {
    let text = fields.text("schedule", flaws)?;
    match ScheduleName::parse(text) {
        Ok(name) => Some(name),
        Err(bad) => {
            flaws.add(fields.at("schedule"), format!("the {} {}", bad.segment, bad.why), "namespace/name");
            None
        }
    }
}
