//! What must hold in every world: one property a file, each with the sentence of the documents that it comes from.
//!
//! They are told the committed log as one machine replays it, and what happened at its edges. They must not ask a node
//! anything. What a fault excuses stands in the [`Story`](super::story::Story) or in the [`Bounds`], and nowhere else.

mod once;

mod phantom;

mod order;

mod early;

mod complete;

mod catch_up;

mod paused;

mod overlap;

mod log_time;

mod epochs;

mod refused;

mod machine;

mod bounds;

mod leases;

mod settles;

mod ended;

mod sent;

mod delivered;

mod at_most_once;

mod queues;

mod followed;

mod answers;

mod keys;

mod kept;

mod reported;

mod linear;

mod ledgers;

mod verified;

#[cfg(test)]
mod handmade;
#[cfg(test)]
mod planted;

use campanile_core::event::{Event, Row};
use campanile_core::firing::{FiringId, Kind};
use campanile_core::id::{Revision, Uid};
use campanile_core::reply::{Rejection, Reply};
use campanile_core::time::{Span, Timestamp};

use super::story::{End, Moment, Step};

/// A property. It is told every step in order, then the end.
pub trait Invariant {
    /// Its name in findings: lower case, words with spaces.
    fn name(&self) -> &'static str;

    /// One more committed entry.
    fn step(&mut self, _step: &Step<'_>, _found: &mut Findings) {}

    /// The world has ended.
    fn end(&mut self, _end: &End<'_>, _found: &mut Findings) {}
}

/// What was found against the properties, the first few of each in words.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Findings {
    /// Name of the property, and what contradicts it.
    pub told: Vec<(&'static str, String)>,
    /// How many there were in all.
    pub count: usize,
}

/// How many are told of one property.
const TOLD: usize = 5;

impl Findings {
    /// One more, of that property.
    pub fn add(&mut self, name: &'static str, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.told.iter().filter(|(known, _)| *known == name).count() < TOLD {
            self.told.push((name, what()));
        }
    }

    /// Nothing was found.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.count == 0
    }
}

/// What a world allows: its clocks, its settings, and how closely it is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How long a healthy cluster may take for what is due.
    pub lateness: Span,
    /// How long it may be without a leader each time that one is lost while a majority can work.
    pub failover: Span,
    /// How far a majority of clocks may be from true time, `max_clock_ahead` included, to either side.
    pub clocks: Span,
    /// How long a process may be stopped between a plan and its proposal.
    pub stall: Span,
    /// How long after the first node has applied an entry the world may notice it.
    pub watch: Span,
    /// The cluster's setting: instants younger than this are never missed.
    pub failover_grace: Span,
    /// The cluster's setting: at most so many missed instants of one schedule fire at once.
    pub max_catch_up: usize,
    /// The cluster's setting: about so many instants fit into a tick.
    pub instants_per_tick: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            lateness: Span::from_secs(10),
            failover: Span::from_secs(15),
            clocks: Span::from_secs(60),
            stall: Span::from_secs(60),
            watch: Span::from_millis(10),
            failover_grace: Span::from_secs(30),
            max_catch_up: 1_000,
            instants_per_tick: 3_000,
        }
    }
}

/// All properties, for a world with the default bounds.
#[must_use]
pub fn all() -> Vec<Box<dyn Invariant>> {
    with(Bounds::default())
}

/// All properties, for a world with these bounds.
#[must_use]
pub fn with(bounds: Bounds) -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(once::Once::default()),
        Box::new(phantom::Phantom::default()),
        Box::new(order::Order::default()),
        Box::new(early::Early::new(bounds)),
        Box::new(complete::Complete::new(bounds)),
        Box::new(catch_up::CatchUps::new(bounds)),
        Box::new(paused::Paused),
        Box::new(overlap::Overlaps),
        Box::new(log_time::LogTime::default()),
        Box::new(epochs::Epochs::default()),
        Box::new(refused::Refused),
        Box::new(machine::Sound::default()),
        Box::new(bounds::Bounded::new(bounds)),
        Box::new(leases::Leases::default()),
        Box::new(settles::Settles::default()),
        Box::new(ended::Ended::new(bounds)),
        Box::new(sent::Sent::new(bounds)),
        Box::new(delivered::Delivered::default()),
        Box::new(at_most_once::AtMostOnce::default()),
        Box::new(queues::Queues),
        Box::new(followed::Followed::default()),
        Box::new(keys::Keys::default()),
        Box::new(kept::Kept::new(bounds)),
        Box::new(reported::Reported::new(bounds)),
        Box::new(linear::Linear::new(bounds)),
        Box::new(ledgers::Ledgers),
        Box::new(verified::Verified),
    ]
}

/// Properties that walk the whole machine do so at each step whose index this divides.
const SAMPLE: u64 = 256;

/// Whether the machine let the command in: its proposer was in office, and it did not run time back. Others are as if they
/// had not been.
fn is_admitted(step: &Step<'_>) -> bool {
    !matches!(step.reply, Reply::Rejected(Rejection::StaleEpoch(_) | Rejection::ClockBehind(_)))
}

/// The firing of a row, when an instant of the plan made it, and by which revision.
fn by_plan(row: &Row) -> Option<(FiringId, Revision, Kind)> {
    match row.event {
        Event::Fired { firing, revision, kind: kind @ (Kind::Scheduled | Kind::CatchUp) } => {
            Some((firing, revision, kind))
        }
        _ => None,
    }
}

/// Whether that entry ended a pause of a schedule, or released it.
fn resumes(step: &Step<'_>, uid: Uid) -> bool {
    step.rows.iter().any(|row| matches!(row.event, Event::Resumed { uid: of, .. } if of == uid))
}

/// True time as a moment of the world, as one step or the end shows how they go together; instants before the world are 0.
fn moment_of(at: Timestamp, now: Timestamp, moment: Moment) -> Moment {
    if at >= now {
        moment.saturating_add(at.since(now).as_millis())
    } else {
        moment.saturating_sub(now.since(at).as_millis())
    }
}
