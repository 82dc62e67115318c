//! The data of the machine and its indexes, kept consistent here and nowhere else.
//!
//! Every change of a schedule or a firing goes through `State::change`, `State::change_firing` and their like, so that
//! no rule can forget an index. No rule is decided here. Maps are persistent: a clone is a shallow copy, which is how
//! readers and images get theirs between two applies.

mod keeping;
mod named;
mod rules;

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use crate::backfill::Backfill;
use crate::calendar::Calendar;
use crate::chain::{Chain, ChainId};
use crate::definition::{Definition, ScheduleName};
use crate::due::DueIndex;
use crate::firing::{Firing, FiringId, Phase};
use crate::format::FormatLevel;
use crate::id::{BackfillId, Epoch, LogIndex, NodeId, Run, Term, Uid};
use crate::letter::Letters;
use crate::queue::Queue;
use crate::request::Requests;
use crate::schedule::Schedule;
use crate::secret::Secret;
use crate::series::Calendars;
use crate::shared::Shared;
use crate::spec::Exclusion;
use crate::time::Timestamp;

pub use keeping::{KEPT_RESTATEMENTS, Keeping, Restated, Restating};
pub use named::Users;
pub use rules::{KEPT_VERSIONS, NamedCalendar, Refreshing, Rules};

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
    pub(crate) backfills: OrdMap<BackfillId, Arc<Backfill>>,
    pub(crate) calendars: OrdMap<Arc<str>, Arc<NamedCalendar>>,
    pub(crate) queues: OrdMap<Arc<str>, Arc<Queue>>,
    pub(crate) secrets: OrdMap<Arc<str>, Arc<Secret>>,
    /// Firings that came to nothing.
    pub(crate) letters: Letters,
    /// What is to follow the ends of firings.
    pub(crate) chains: OrdMap<ChainId, Arc<Chain>>,
    /// What planning depends on beside definitions.
    pub(crate) rules: Rules,
    /// How far the ledger reaches back.
    pub(crate) keeping: Keeping,
    pub(crate) format_level: FormatLevel,
    /// Derived.
    pub(crate) due: DueIndex,
    /// Derived: how many schedules name a calendar.
    pub(crate) calendar_users: Users,
    /// Derived: how many schedules name a secret.
    pub(crate) secret_users: Users,
    /// Derived: how many schedules name a queue.
    pub(crate) queue_users: Users,
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
            backfills: OrdMap::new(),
            calendars: OrdMap::new(),
            queues: OrdMap::new(),
            secrets: OrdMap::new(),
            letters: Letters::default(),
            chains: OrdMap::new(),
            rules: Rules::default(),
            keeping: Keeping::default(),
            format_level: FormatLevel::OLDEST,
            due: DueIndex::default(),
            calendar_users: Users::default(),
            secret_users: Users::default(),
            queue_users: Users::default(),
            shared: Shared::default(),
        }
    }
}

impl Calendars for State {
    fn calendar(&self, name: &str) -> Option<Arc<Calendar>> {
        self.calendars.get(name).map(|named| named.calendar.clone())
    }

    fn before(&self, name: &str) -> Vec<(Arc<Calendar>, Timestamp)> {
        self.calendars.get(name).map(|named| named.before.clone()).unwrap_or_default()
    }

    fn changed_at(&self) -> LogIndex {
        self.rules.changed_at
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

    /// The backfill of that identity, if it is still known.
    #[must_use]
    pub fn backfill(&self, id: BackfillId) -> Option<&Arc<Backfill>> {
        self.backfills.get(&id)
    }

    /// All backfills that are known, the oldest first.
    pub fn backfills(&self) -> impl DoubleEndedIterator<Item = &Arc<Backfill>> {
        self.backfills.values()
    }

    /// What planning depends on beside definitions.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Where what planning depends on was last changed.
    #[must_use]
    pub fn rules_at(&self) -> LogIndex {
        self.rules.changed_at
    }

    /// Schedules by uid, from the first after that one on.
    pub fn schedules_after(&self, after: Option<Uid>) -> impl Iterator<Item = &Arc<Schedule>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.schedules.range((from, Bound::Unbounded)).map(|(_, schedule)| schedule)
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
        self.count_names(&schedule.definition, 1);
        self.names.insert(schedule.name.clone(), schedule.uid);
        let before = self.schedules.insert(schedule.uid, Arc::new(schedule));
        assert!(before.is_none(), "a uid is the index of the entry that made it, so it is new");
    }

    pub(crate) fn remove(&mut self, uid: Uid) -> Option<Arc<Schedule>> {
        let schedule = self.schedules.remove(&uid)?;
        self.due.leave(&schedule);
        self.count_names(&schedule.definition, -1);
        self.names.remove(&schedule.name);
        Some(schedule)
    }

    /// Keeps count of who names which calendar, secret and queue.
    fn count_names(&mut self, definition: &Definition, by: i32) {
        self.calendar_users.count(definition.exclude.iter().filter_map(Exclusion::calendar), by);
        self.secret_users.count(definition.secrets().map(|name| &**name), by);
        self.queue_users.count(definition.queues().map(|name| &**name), by);
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
        let Some(before) = self.schedules.get(&uid).map(|schedule| schedule.definition.clone()) else {
            return;
        };
        self.count_names(&before, -1);
        self.count_names(definition, 1);
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
        let (held, notice) = (u32::from(firing.phase == Phase::Held), u32::from(firing.is_notice()));
        self.touch(id.uid, |schedule| {
            schedule.live -= 1;
            schedule.held -= held;
            schedule.notices -= notice;
        });
        Some(firing)
    }

    pub(crate) fn insert_backfill(&mut self, backfill: Backfill) {
        self.due.enter_backfill(&backfill);
        self.backfills.insert(backfill.id, Arc::new(backfill));
    }

    /// Changes a backfill that is known, with its place in the due index.
    pub(crate) fn change_backfill<T>(
        &mut self,
        id: BackfillId,
        change: impl FnOnce(&mut Backfill) -> T,
    ) -> Option<T> {
        let backfill = Arc::make_mut(self.backfills.get_mut(&id)?);
        self.due.leave_backfill(backfill);
        let result = change(backfill);
        self.due.enter_backfill(backfill);
        Some(result)
    }
}
