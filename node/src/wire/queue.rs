//! Queues as JSON: their limits, and how they stand.

use campanile_core::definition::check_segment;
use campanile_core::machine::Machine;
use campanile_core::query;
use campanile_core::queue::{QueueSettings, Rate as CoreRate};
use campanile_core::time::{Span, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

use super::orders;
use super::payload::Body;
use super::read::{Fields, Flaws};
use super::text::check_free;
use super::time::{Instant, Length};
use crate::problem::{Code, Flaw, Problem};

/// Fields that answers add.
const READ_ONLY: [&str; 8] =
    ["name", "paused", "depth", "leased", "oldest_at", "opens_at", "updated_at", "updated_by"];
/// The longest note of a pause, in characters.
const MAX_NOTE: usize = 1000;

/// The limits of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueRequest {
    /// At most so many of its firings are leased at once; no limit when it is left out.
    #[serde(default)]
    pub max_in_flight: Option<u32>,
    /// At most so many with the same concurrency key; 1 when it is left out.
    #[serde(default)]
    pub max_in_flight_per_key: Option<u32>,
    /// How fast leases are given; no limit when it is left out.
    #[serde(default)]
    pub rate: Option<Rate>,
}

/// So many leases in each period; after a quiet time a whole period's at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rate {
    /// How many.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub count: u32,
    /// In how long: `1s` to `1d`.
    pub per: Length,
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// At most so many of its firings are leased at once; `null` for no limit.
    pub max_in_flight: Option<u32>,
    /// At most so many with the same concurrency key.
    pub max_in_flight_per_key: u32,
    /// How fast leases are given; `null` for no limit.
    pub rate: Option<Rate>,
    /// Why nothing of it is leased; `null` when it is not paused.
    pub paused: Option<Paused>,
    /// How many of its firings wait: ready, or for a retry.
    pub depth: u32,
    /// How many are leased.
    pub leased: u32,
    /// Since when the oldest of those that may be leased has waited.
    pub oldest_at: Option<Instant>,
    /// When something of it can be leased next: in the past when it can be now, `null` when nothing waits, or what waits is
    /// held back by a pause or a limit until somebody changes something.
    #[serde(default)]
    pub opens_at: Option<Instant>,
    /// When it was last changed; `null` for one that nobody has put: it has the default limits.
    pub updated_at: Option<Instant>,
    /// Who did that.
    pub updated_by: Option<String>,
}

/// A queue is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Paused {
    /// Why, for people.
    pub note: String,
    /// Since when.
    pub at: Instant,
    /// Who did it.
    pub by: String,
}

/// Lease nothing more of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct QueuePause {
    /// Why, for people.
    #[serde(default)]
    pub note: String,
}

impl Queue {
    /// A queue as it stands.
    #[must_use]
    pub fn of(machine: &Machine, name: &Arc<str>, now: Timestamp) -> Self {
        let known = machine.queue(name);
        let QueueSettings { max_in_flight, max_in_flight_per_key, rate } = machine.queue_settings(name);
        let counts = machine.due().queued().counts(name);
        Self {
            name: name.to_string(),
            max_in_flight,
            max_in_flight_per_key,
            rate: rate.map(|CoreRate { count, per }| Rate { count, per: Length(per) }),
            paused: known.and_then(|queue| queue.paused.as_ref()).map(|paused| Paused {
                note: paused.note.to_string(),
                at: Instant(paused.at),
                by: paused.by.to_string(),
            }),
            depth: counts.waiting,
            leased: counts.leased,
            oldest_at: machine.due().queued().opens_at(name).filter(|at| *at <= now).map(Instant),
            opens_at: query::queue_opens_at(machine, name, now).map(Instant),
            updated_at: known.map(|queue| Instant(queue.updated_at)),
            updated_by: known.map(|queue| queue.updated_by.to_string()),
        }
    }
}

/// Why a text is no name of a queue.
///
/// # Errors
/// `invalid_schedule` with what a name has.
pub fn check_queue_name(name: &str) -> Result<(), Problem> {
    check_name("queue", name)
}

/// The same for a thing of that kind.
pub(crate) fn check_name(kind: &str, name: &str) -> Result<(), Problem> {
    check_segment(name).map_err(|why| {
        let flaw = Flaw {
            pointer: "/name".into(),
            detail: format!("the name of a {kind} {why}"),
            hint: "1-200 letters, digits, '.', '_' and '-'".into(),
            column: None,
        };
        Problem::with_errors(Code::InvalidSchedule, vec![flaw])
    })
}

/// Reads the limits of a queue.
///
/// # Errors
/// `unknown_field` or `invalid_schedule`, with every flaw.
pub fn read_queue(body: &Body) -> Result<QueueSettings, Problem> {
    orders::read(body, |fields, flaws| {
        for name in READ_ONLY {
            fields.get(name);
        }
        let most = u64::from(u32::MAX);
        let mut number =
            |name| fields.number(name, most, flaws).and_then(|number| u32::try_from(number).ok());
        let defaults = QueueSettings::default();
        let settings = QueueSettings {
            max_in_flight: number("max_in_flight"),
            max_in_flight_per_key: number("max_in_flight_per_key").unwrap_or(defaults.max_in_flight_per_key),
            rate: read_rate(fields, flaws),
        };
        if flaws.is_empty()
            && let Err((pointer, detail, hint)) = settings.check()
        {
            flaws.add(pointer, detail, hint);
        }
        settings
    })
}

fn read_rate(fields: &mut Fields<'_>, flaws: &mut Flaws) -> Option<CoreRate> {
    let mut rate = fields.inner("rate", flaws)?;
    for name in ["count", "per"] {
        if rate.get(name).is_none() {
            flaws.add(
                rate.at(name),
                "a rate is so many leases in so long",
                "such as {\"count\": 10, \"per\": \"1s\"}",
            );
        }
    }
    let count = rate.number("count", u64::from(u32::MAX), flaws).and_then(|count| u32::try_from(count).ok());
    let per: Option<Span> = rate.span("per", flaws);
    rate.close(flaws);
    Some(CoreRate { count: count?, per: per? })
}

/// Reads the body of a pause: its note.
///
/// # Errors
/// As [`read_queue`].
pub fn read_queue_pause(body: &Body) -> Result<Box<str>, Problem> {
    orders::read(body, |fields, flaws| {
        let note = fields.text("note", flaws).unwrap_or_default();
        if let Err(why) = check_free(note, MAX_NOTE, true) {
            flaws.add(fields.at("note"), why, "shorten it");
        }
        note.into()
    })
}
