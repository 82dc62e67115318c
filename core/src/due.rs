//! Who is due when: two ordered indexes over the state. Derived, so never in an image; [`crate::invariant`] rebuilds them
//! and compares.
//!
//! The tick loop of a schedule *is* its entry in the due index: one ticker serves all of them, and retries, lease ends and
//! pauses come back through the same door.

use imbl::OrdSet;

use crate::firing::{Firing, FiringId, Phase};
use crate::id::Uid;
use crate::schedule::{Schedule, State};
use crate::time::Timestamp;

/// What the ticker decides when its instant comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The next nominal instant of a schedule.
    Schedule(Uid),
    /// The `until` of a pause.
    PauseEnd(Uid),
    /// The end of a lease.
    LeaseEnd(FiringId),
}

/// Both indexes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DueIndex {
    /// For the ticker: what a Tick decides.
    ticks: OrdSet<(Timestamp, Due)>,
    /// For the dispatcher: firings that may begin, from that instant on. Apart from the other, so that a long backlog of
    /// work costs the ticker nothing.
    work: OrdSet<(Timestamp, FiringId)>,
}

impl DueIndex {
    /// Enters a schedule as it is now; [`DueIndex::leave`] it first when it was in before.
    pub(crate) fn enter(&mut self, schedule: &Schedule) {
        if let Some(entry) = entry_of(schedule) {
            self.ticks.insert(entry);
        }
    }

    /// Takes a schedule out as it was entered.
    pub(crate) fn leave(&mut self, schedule: &Schedule) {
        if let Some(entry) = entry_of(schedule) {
            self.ticks.remove(&entry);
        }
    }

    /// Enters a firing by its phase.
    pub(crate) fn enter_firing(&mut self, firing: &Firing) {
        match firing.phase {
            Phase::Running(lease) => self.ticks.insert((lease.until, Due::LeaseEnd(firing.id))).is_some(),
            Phase::Queued | Phase::Waiting { .. } => {
                self.work.insert((available_at(firing), firing.id)).is_some()
            }
        };
    }

    /// Takes a firing out as it was entered.
    pub(crate) fn leave_firing(&mut self, firing: &Firing) {
        match firing.phase {
            Phase::Running(lease) => self.ticks.remove(&(lease.until, Due::LeaseEnd(firing.id))).is_some(),
            Phase::Queued | Phase::Waiting { .. } => {
                self.work.remove(&(available_at(firing), firing.id)).is_some()
            }
        };
    }

    /// What a Tick decides, the earliest first.
    pub fn ticks(&self) -> impl Iterator<Item = (Timestamp, Due)> + '_ {
        self.ticks.iter().copied()
    }

    /// The same, from the first entry after `(at, due)` on.
    pub fn ticks_after(&self, at: Timestamp, due: Due) -> impl Iterator<Item = (Timestamp, Due)> + '_ {
        use std::ops::Bound::{Excluded, Unbounded};
        self.ticks.range((Excluded((at, due)), Unbounded)).copied()
    }

    /// Firings that may begin from an instant on, the earliest first.
    pub fn work(&self) -> impl Iterator<Item = (Timestamp, FiringId)> + '_ {
        self.work.iter().copied()
    }

    /// How many entries both have.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ticks.len() + self.work.len()
    }

    /// Whether nothing will ever be due.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn entry_of(schedule: &Schedule) -> Option<(Timestamp, Due)> {
    match schedule.state {
        State::Active => schedule.next_at.map(|next_at| (next_at, Due::Schedule(schedule.uid))),
        State::Paused { until, .. } => until.map(|until| (until, Due::PauseEnd(schedule.uid))),
        State::Parked { .. } | State::Finished => None,
    }
}

/// From when on a firing that does not run may begin.
fn available_at(firing: &Firing) -> Timestamp {
    match firing.phase {
        Phase::Waiting { until } => until,
        Phase::Queued | Phase::Running(_) => firing.decided.at,
    }
}
