//! Who is due when: ordered indexes over the state. Derived, so never in an image; [`crate::invariant`] rebuilds them
//! and compares.
//!
//! The tick loop of a schedule *is* its entry in the due index: one ticker serves all of them, and retries, lease ends and
//! pauses come back through the same door.

use imbl::OrdSet;

use crate::firing::{Firing, FiringId, Phase};
use crate::id::Uid;
use crate::schedule::{Schedule, State};
use crate::time::Timestamp;

/// The indexes. Three sets rather than one, so that an entry of a schedule takes 16 bytes, and a long backlog of work
/// costs the ticker nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DueIndex {
    /// For the ticker: when a schedule has something to decide. Its state says whether that is its next nominal instant
    /// or the end of its pause.
    schedules: OrdSet<(Timestamp, Uid)>,
    /// For the ticker: when a lease ends.
    leases: OrdSet<(Timestamp, FiringId)>,
    /// For the dispatcher: firings that may begin, from that instant on.
    work: OrdSet<(Timestamp, FiringId)>,
}

impl DueIndex {
    /// Enters a schedule as it is now; [`DueIndex::leave`] it first when it was in before.
    pub(crate) fn enter(&mut self, schedule: &Schedule) {
        if let Some(at) = due_at(schedule) {
            self.schedules.insert((at, schedule.uid));
        }
    }

    /// Takes a schedule out as it was entered.
    pub(crate) fn leave(&mut self, schedule: &Schedule) {
        if let Some(at) = due_at(schedule) {
            self.schedules.remove(&(at, schedule.uid));
        }
    }

    /// Enters a firing by its phase.
    pub(crate) fn enter_firing(&mut self, firing: &Firing) {
        let (set, at) = self.place_of(firing);
        set.insert((at, firing.id));
    }

    /// Takes a firing out as it was entered.
    pub(crate) fn leave_firing(&mut self, firing: &Firing) {
        let (set, at) = self.place_of(firing);
        set.remove(&(at, firing.id));
    }

    fn place_of(&mut self, firing: &Firing) -> (&mut OrdSet<(Timestamp, FiringId)>, Timestamp) {
        match firing.phase {
            Phase::Running(lease) => (&mut self.leases, lease.until),
            Phase::Waiting { until } => (&mut self.work, until),
            Phase::Queued => (&mut self.work, firing.decided.at),
        }
    }

    /// When a Tick has something to decide next.
    #[must_use]
    pub fn next_tick(&self) -> Option<Timestamp> {
        let schedule = self.schedules.get_min().map(|(at, _)| *at);
        let lease = self.leases.get_min().map(|(at, _)| *at);
        schedule.into_iter().chain(lease).min()
    }

    /// Schedules by when they have something to decide, the earliest first.
    pub fn schedules(&self) -> impl Iterator<Item = (Timestamp, Uid)> + '_ {
        self.schedules.iter().copied()
    }

    /// The same, from the first entry after `(at, uid)` on.
    pub fn schedules_after(&self, at: Timestamp, uid: Uid) -> impl Iterator<Item = (Timestamp, Uid)> + '_ {
        use std::ops::Bound::{Excluded, Unbounded};
        self.schedules.range((Excluded((at, uid)), Unbounded)).copied()
    }

    /// Running firings by the end of their lease, the earliest first.
    pub fn leases(&self) -> impl Iterator<Item = (Timestamp, FiringId)> + '_ {
        self.leases.iter().copied()
    }

    /// Firings that may begin from an instant on, the earliest first.
    pub fn work(&self) -> impl Iterator<Item = (Timestamp, FiringId)> + '_ {
        self.work.iter().copied()
    }
}

/// When a schedule has something to decide: its next nominal instant, or the end of its pause.
fn due_at(schedule: &Schedule) -> Option<Timestamp> {
    match schedule.state {
        State::Active => schedule.next_at,
        State::Paused { until, .. } => until,
        State::Parked { .. } | State::Finished => None,
    }
}
