//! What stands in the state by name beside schedules: calendars, queues, secrets; what waits to be looked at or to follow;
//! and how many schedules name what.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use super::{NamedCalendar, State};
use crate::chain::{Chain, ChainId};
use crate::id::Uid;
use crate::letter::Letters;
use crate::queue::{Queue, QueueSettings};
use crate::secret::Secret;

/// Everything after a name; everything without one.
fn behind(after: Option<&str>) -> (Bound<&str>, Bound<&str>) {
    (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded)
}

/// How many schedules name a thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Users(OrdMap<Arc<str>, u32>);

impl Users {
    /// Of that name.
    #[must_use]
    pub fn of(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Counts one schedule more or less; it counts once for a name however often it names it.
    pub(super) fn count<'a>(&mut self, names: impl Iterator<Item = &'a str>, by: i32) {
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            match self.of(name).saturating_add_signed(by) {
                0 => self.0.remove(name),
                users => self.0.insert(name.into(), users),
            };
        }
    }
}

impl State {
    /// The calendar of that name.
    #[must_use]
    pub fn calendar(&self, name: &str) -> Option<&Arc<NamedCalendar>> {
        self.calendars.get(name)
    }

    /// The calendars after that name, or all, in the order of their names.
    pub fn calendars_after<'a>(
        &'a self,
        after: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<NamedCalendar>)> {
        self.calendars.range::<_, str>(behind(after))
    }

    /// How many schedules name a calendar.
    #[must_use]
    pub fn calendar_users(&self, name: &str) -> u32 {
        self.calendar_users.of(name)
    }

    /// The queue of that name, if it has settings of its own.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<&Arc<Queue>> {
        self.queues.get(name)
    }

    /// All queues that have settings of their own, in the order of their names.
    pub fn queues(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Queue>)> {
        self.queues.iter()
    }

    /// The names of queues after that one, in order, at most so many: of those that have settings of their own, or
    /// firings, or a schedule that names them.
    #[must_use]
    pub fn queue_names_after(&self, after: Option<&str>, most: usize) -> Vec<Arc<str>> {
        let put = self.queues.range::<_, str>(behind(after)).map(|(name, _)| name).take(most);
        let named = self.queue_users.0.range::<_, str>(behind(after)).map(|(name, _)| name).take(most);
        let filled = self.due().queued().names_within(behind(after)).take(most);
        let names: BTreeSet<&Arc<str>> = put.chain(named).chain(filled).collect();
        names.into_iter().take(most).cloned().collect()
    }

    /// The settings of a queue, whether it has been put or not.
    #[must_use]
    pub fn queue_settings(&self, name: &str) -> QueueSettings {
        self.queue(name).map(|queue| queue.settings.clone()).unwrap_or_default()
    }

    /// The secret of that name.
    #[must_use]
    pub fn secret(&self, name: &str) -> Option<&Arc<Secret>> {
        self.secrets.get(name)
    }

    /// The secrets after that name, or all, in the order of their names.
    pub fn secrets_after<'a>(
        &'a self,
        after: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Secret>)> {
        self.secrets.range::<_, str>(behind(after))
    }

    /// How many schedules name a secret.
    #[must_use]
    pub fn secret_users(&self, name: &str) -> u32 {
        self.secret_users.of(name)
    }

    /// Firings that came to nothing.
    #[must_use]
    pub fn letters(&self) -> &Letters {
        &self.letters
    }

    /// What is to follow the ends of firings, in the order of those.
    pub fn chains(&self) -> impl Iterator<Item = &Arc<Chain>> {
        self.chains.values()
    }

    pub(crate) fn insert_queue(&mut self, name: &Arc<str>, queue: Queue) {
        self.due.set_room_of_key(name, queue.settings.max_in_flight_per_key);
        self.queues.insert(name.clone(), Arc::new(queue));
    }

    pub(crate) fn remove_queue(&mut self, name: &Arc<str>) {
        self.due.set_room_of_key(name, QueueSettings::default().max_in_flight_per_key);
        self.queues.remove(name);
    }

    pub(crate) fn insert_chain(&mut self, chain: Chain) {
        self.touch(chain.from, |schedule| schedule.chained += 1);
        self.chains.insert(chain.id, Arc::new(chain));
    }

    pub(crate) fn remove_chain(&mut self, id: ChainId) -> Option<Arc<Chain>> {
        let chain = self.chains.remove(&id)?;
        self.touch(chain.from, |schedule| schedule.chained -= 1);
        Some(chain)
    }

    /// What was to follow the firings of a schedule that is about to be removed.
    pub(crate) fn remove_chains_of(&mut self, uid: Uid) -> Vec<Arc<Chain>> {
        if self.schedule(uid).is_none_or(|schedule| schedule.chained == 0) {
            return Vec::new();
        }
        let ids: Vec<ChainId> =
            self.chains().filter(|chain| chain.from == uid).map(|chain| chain.id).collect();
        ids.into_iter().filter_map(|id| self.remove_chain(id)).collect()
    }
}
