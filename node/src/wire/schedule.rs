//! A schedule as an answer: its definition, what the log made of it, and its status.
//!
//! The status is put together by `crate::service`; here is its shape.

use campanile_core::firing::EndState;
use campanile_core::schedule::{PastFiring, Schedule as CoreSchedule, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::definition::Definition;
use super::firing::id_of;
use super::time::Instant;

/// A schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// The namespace.
    pub namespace: String,
    /// The name in it.
    pub name: String,
    /// When, what and how.
    #[serde(flatten)]
    pub definition: Definition,
    /// This incarnation: delete and create again gives a new one.
    pub uid: String,
    /// Grows by one with each change of the definition.
    pub revision: u32,
    /// When it was created.
    pub created_at: Instant,
    /// When its definition or state was last changed.
    pub updated_at: Instant,
    /// Who did that.
    pub updated_by: String,
    /// How it stands.
    pub status: Status,
}

/// How a schedule stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// `active`, `paused`, `parked` or `finished`.
    #[schema(pattern = "^(active|paused|parked|finished)$")]
    pub state: String,
    /// Why it is paused or parked.
    pub note: Option<String>,
    /// When a pause ends by itself.
    pub until: Option<Instant>,
    /// The next instants; a list of schedules tells only the first.
    pub next: Vec<Instant>,
    /// Everything up to here is decided.
    pub mark: Instant,
    /// The specs in English.
    pub text: String,
    /// What its newest settled firing came to.
    pub last: Option<Last>,
    /// How many instants have fired.
    pub fired: u64,
    /// Firings that a holder works on.
    pub running: u32,
    /// Firings that wait to begin.
    pub queued: u32,
    /// Firings that wait for those before them to settle (`overlap`).
    pub waiting: u32,
    /// Failed firings since the last success.
    pub consecutive_failures: u32,
    /// What is allowed and often not meant; lists of schedules leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<Warning>>,
}

/// What a settled firing came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Last {
    /// Which firing.
    pub firing: String,
    /// When it should have happened.
    pub nominal: Instant,
    /// How it ended.
    pub state: String,
    /// From its nominal instant to its decision.
    pub lateness_ms: u64,
    /// How many attempts it took.
    pub attempts: u32,
}

/// Something that is allowed and often not meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// A stable name.
    pub code: String,
    /// Which spec, as a JSON pointer.
    pub pointer: String,
    /// In words.
    pub message: String,
}

impl Schedule {
    /// A schedule with its status.
    #[must_use]
    pub fn of(schedule: &CoreSchedule, status: Status) -> Self {
        Self {
            namespace: schedule.name.namespace().to_owned(),
            name: schedule.name.name().to_owned(),
            definition: (&*schedule.definition).into(),
            uid: schedule.uid.to_string(),
            revision: schedule.revision.0,
            created_at: Instant(schedule.created_at),
            updated_at: Instant(schedule.updated_at),
            updated_by: schedule.updated_by.to_string(),
            status,
        }
    }
}

impl Last {
    /// What one firing of a schedule came to.
    #[must_use]
    pub fn of(schedule: &CoreSchedule, past: &PastFiring) -> Self {
        Self {
            firing: id_of(schedule.uid, past.nominal, past.run).to_string(),
            nominal: Instant(past.nominal),
            state: end_word(past.state).into(),
            lateness_ms: u64::from(past.lateness_ms),
            attempts: past.attempts.into(),
        }
    }
}

/// The words for the states of a schedule, in the order of the enumeration.
pub const STATES: [&str; 4] = ["active", "paused", "parked", "finished"];

/// The word for a state.
#[must_use]
pub const fn state_word(state: &State) -> &'static str {
    match state {
        State::Active => STATES[0],
        State::Paused { .. } => STATES[1],
        State::Parked { .. } => STATES[2],
        State::Finished => STATES[3],
    }
}

/// The word for how a firing ended.
#[must_use]
pub const fn end_word(state: EndState) -> &'static str {
    match state {
        EndState::Succeeded => "succeeded",
        EndState::Failed => "failed",
        EndState::TimedOut => "timed_out",
        EndState::Cancelled => "cancelled",
        EndState::Unknown => "unknown",
    }
}
