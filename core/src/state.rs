//! The data of the machine and its indexes, kept consistent here and nowhere else.
//!
//! Every change of a schedule or a firing goes through `State::change`, `State::change_firing` and their like, so that
//! no rule can forget an index. No rule is decided here. Maps are persistent: a clone is a shallow copy, which is how
//! readers and images get theirs between two applies.

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use crate::definition::{Definition, ScheduleName};
use crate::due::DueIndex;
use crate::firing::{Firing, FiringId};
use crate::id::{Epoch, LogIndex, NodeId, Run, Term, Uid};
use crate::request::Requests;
use crate::schedule::Schedule;
use crate::shared::Shared;
use crate::time::Timestamp;

/// The first id that is given to a node which joins later; those of the first configuration are below.
pub const FIRST_ADMITTED_NODE: u64 = 1000;

/// Everything that is replicated, and what is derived from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The last entry that was applied.
    pub(crate) applied: LogIndex,
    /// The log's time: the `at` of the last command that moved it.
    pub(crate) clock: Timestamp,
    /// The leader in office.
    pub(crate) office: Office,
    /// The id that the next node gets.
    pub(crate) next_node: NodeId,
    pub(crate) names: OrdMap<ScheduleName, Uid>,
    pub(crate) schedules: OrdMap<Uid, Arc<Schedule>>,
    pub(crate) firings: OrdMap<FiringId, Arc<Firing>>,
    pub(crate) requests: Requests,
    /// Derived.
    pub(crate) due: DueIndex,
    /// Derived: equal policies and principals of schedules are kept once.
    pub(crate) shared: Shared,
}

/// The leader that may propose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Office {
    /// Its right; zero before the first leader.
    pub epoch: Epoch,
    /// Who.
    pub node: NodeId,
    /// Its Raft term.
    pub term: Term,
}

impl Default for State {
    fn default() -> Self {
        Self {
            applied: LogIndex(0),
            clock: Timestamp::EPOCH,
            office: Office::default(),
            next_node: NodeId(FIRST_ADMITTED_NODE),
            names: OrdMap::new(),
            schedules: OrdMap::new(),
            firings: OrdMap::new(),
            requests: Requests::default(),
            due: DueIndex::default(),
            shared: Shared::default(),
        }
    }
}

impl State {
    /// The last entry that was applied.
    #[must_use]
    pub fn applied(&self) -> LogIndex {
        self.applied
    }

    /// The log's time.
    #[must_use]
    pub fn clock(&self) -> Timestamp {
        self.clock
    }

    /// The leader in office.
    #[must_use]
    pub fn office(&self) -> Office {
        self.office
    }

    /// The epoch in force.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.office.epoch
    }

    /// The schedule of that identity, if it exists.
    #[must_use]
    pub fn schedule(&self, uid: Uid) -> Option<&Arc<Schedule>> {
        self.schedules.get(&uid)
    }

    /// The schedule of that name, if it exists.
    #[must_use]
    pub fn named(&self, name: &ScheduleName) -> Option<&Arc<Schedule>> {
        self.schedules.get(self.names.get(name)?)
    }

    /// All schedules in the order of their names, from that bound on.
    pub fn by_name(&self, from: Bound<ScheduleName>) -> impl Iterator<Item = &Arc<Schedule>> {
        self.names.range((from, Bound::Unbounded)).filter_map(|(_, uid)| self.schedules.get(uid))
    }

    /// How many schedules exist.
    #[must_use]
    pub fn schedule_count(&self) -> usize {
        self.schedules.len()
    }

    /// The firing of that identity, if it is not settled.
    #[must_use]
    pub fn firing(&self, id: FiringId) -> Option<&Arc<Firing>> {
        self.firings.get(&id)
    }

    /// All firings that are not settled.
    pub fn live(&self) -> impl Iterator<Item = &Arc<Firing>> {
        self.firings.values()
    }

    /// The firings of one schedule that are not settled, by nominal.
    pub fn live_of(&self, uid: Uid) -> impl Iterator<Item = &Arc<Firing>> {
        let first = FiringId { uid, nominal: Timestamp::from_millis(i64::MIN), run: Run(0) };
        let last = FiringId { uid, nominal: Timestamp::NEVER, run: Run(u32::MAX) };
        self.firings.range(first..=last).map(|(_, firing)| firing)
    }

    /// How many firings are not settled.
    #[must_use]
    pub fn live_count(&self) -> usize {
        self.firings.len()
    }

    /// Who is due when.
    #[must_use]
    pub fn due(&self) -> &DueIndex {
        &self.due
    }

    /// Remembered answers.
    #[must_use]
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    pub(crate) fn insert(&mut self, mut schedule: Schedule) {
        self.shared.share(&mut schedule);
        self.due.enter(&schedule);
        self.names.insert(schedule.name.clone(), schedule.uid);
        let before = self.schedules.insert(schedule.uid, Arc::new(schedule));
        assert!(before.is_none(), "a uid is the index of the entry that made it, so it is new");
    }

    pub(crate) fn remove(&mut self, uid: Uid) -> Option<Arc<Schedule>> {
        let schedule = self.schedules.remove(&uid)?;
        self.due.leave(&schedule);
        self.names.remove(&schedule.name);
        Some(schedule)
    }

    /// Changes a schedule that exists, with its place in the due index.
    pub(crate) fn change<T>(&mut self, uid: Uid, change: impl FnOnce(&mut Schedule) -> T) -> Option<T> {
        let schedule = Arc::make_mut(self.schedules.get_mut(&uid)?);
        self.due.leave(schedule);
        let result = change(schedule);
        self.due.enter(schedule);
        Some(result)
    }

    /// Gives a schedule another definition.
    pub(crate) fn redefine(&mut self, uid: Uid, definition: &Arc<Definition>) {
        if let Some(schedule) = self.schedules.get_mut(&uid) {
            let schedule = Arc::make_mut(schedule);
            schedule.definition = definition.clone();
            self.shared.share(schedule);
        }
    }

    /// Changes what no index depends on.
    pub(crate) fn touch<T>(&mut self, uid: Uid, change: impl FnOnce(&mut Schedule) -> T) -> Option<T> {
        Some(change(Arc::make_mut(self.schedules.get_mut(&uid)?)))
    }

    pub(crate) fn insert_firing(&mut self, firing: Firing) {
        self.due.enter_firing(&firing);
        let before = self.firings.insert(firing.id, Arc::new(firing));
        assert!(before.is_none(), "a firing is decided once: the mark is behind its nominal");
    }

    /// Changes a live firing, with its place in the indexes.
    pub(crate) fn change_firing(&mut self, id: FiringId, change: impl FnOnce(&mut Firing)) {
        if let Some(firing) = self.firings.get_mut(&id) {
            let firing = Arc::make_mut(firing);
            self.due.leave_firing(firing);
            change(firing);
            self.due.enter_firing(firing);
        }
    }

    pub(crate) fn remove_firing(&mut self, id: FiringId) -> Option<Arc<Firing>> {
        let firing = self.firings.remove(&id)?;
        self.due.leave_firing(&firing);
        self.touch(id.uid, |schedule| schedule.live -= 1);
        Some(firing)
    }
}
