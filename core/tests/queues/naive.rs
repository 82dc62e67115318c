//! A queue as a list that is walked: what is leased next is searched in all of it, and every limit is counted anew.

use std::collections::BTreeMap;

use campanile_core::firing::FiringId;
use campanile_core::id::{AttemptNumber, FencingToken, Uid};
use campanile_core::queue::QueueSettings;
use campanile_core::time::Timestamp;

/// A firing that is not settled.
#[derive(Debug, Clone)]
pub struct Item {
    pub id: FiringId,
    pub queue: &'static str,
    pub priority: i8,
    pub key: Option<&'static str>,
    /// It may begin from here on.
    pub at: Timestamp,
    /// The last attempt that has begun.
    pub attempt: AttemptNumber,
    pub leased: bool,
}

/// The list, and the settings of the queues.
#[derive(Debug, Default)]
pub struct Naive {
    pub items: Vec<Item>,
    pub settings: BTreeMap<&'static str, QueueSettings>,
    pub paused: Vec<&'static str>,
    /// When leases were given, since the rate of the queue was last changed.
    pub given: BTreeMap<&'static str, Vec<Timestamp>>,
    tokens: BTreeMap<Uid, FencingToken>,
}

impl Naive {
    pub fn of(&self, id: FiringId) -> Option<&Item> {
        self.items.iter().find(|item| item.id == id)
    }

    pub fn change(&mut self, id: FiringId, change: impl FnOnce(&mut Item)) {
        change(self.items.iter_mut().find(|item| item.id == id).expect("it is live"));
    }

    pub fn end(&mut self, id: FiringId) {
        self.items.retain(|item| item.id != id);
    }

    /// What a take gets now, one after the other.
    pub fn take(&mut self, queue: &'static str, most: u32, now: Timestamp) -> Vec<(FiringId, AttemptNumber)> {
        let mut got = Vec::new();
        while got.len() < most as usize && self.is_open(queue, now) {
            let Some(next) = self.next(queue, now).cloned() else { break };
            let attempt = AttemptNumber(next.attempt.0 + 1);
            self.change(next.id, |item| (item.leased, item.attempt) = (true, attempt));
            self.given.entry(queue).or_default().push(now);
            got.push((next.id, attempt));
        }
        got
    }

    fn next(&self, queue: &str, now: Timestamp) -> Option<&Item> {
        let place = |item: &&Item| (-item.priority, item.at, item.id);
        let waiting = || self.items.iter().filter(|item| item.queue == queue && !item.leased);
        // Of a key the first may, whether its time has come or not.
        let is_first = |item: &&Item| {
            item.key.is_none()
                || waiting().filter(|other| other.key == item.key).min_by_key(place).map(|it| it.id)
                    == Some(item.id)
        };
        waiting().filter(|item| item.at <= now && self.has_room(item)).filter(is_first).min_by_key(place)
    }

    fn has_room(&self, item: &Item) -> bool {
        let most = self.settings.get(item.queue).cloned().unwrap_or_default().max_in_flight_per_key;
        let same = |other: &&Item| other.queue == item.queue && other.leased && other.key == item.key;
        item.key.is_none() || self.items.iter().filter(same).count() < most as usize
    }

    fn is_open(&self, queue: &'static str, now: Timestamp) -> bool {
        let settings = self.settings.get(queue).cloned().unwrap_or_default();
        let leased = self.items.iter().filter(|item| item.queue == queue && item.leased).count();
        !self.paused.contains(&queue)
            && settings.max_in_flight.is_none_or(|most| leased < most as usize)
            && settings.rate.is_none_or(|rate| self.rate_gives(queue, rate.count, rate.per.as_millis(), now))
    }

    /// Whether one more now would leave every stretch of time, from each lease up to now, with no more leases than a whole
    /// period's and those that its length gives back.
    fn rate_gives(&self, queue: &str, count: u32, per: u64, now: Timestamp) -> bool {
        let given = self.given.get(queue).map(Vec::as_slice).unwrap_or_default();
        given.iter().enumerate().all(|(place, from)| {
            let leases = (given.len() - place + 1) as u64;
            let back = now.since(*from).as_millis() * u64::from(count);
            leases * per <= u64::from(count) * per + back
        })
    }

    /// Tokens of a schedule only grow.
    pub fn see(&mut self, id: FiringId, token: FencingToken) {
        let before = self.tokens.insert(id.uid, token);
        assert!(before < Some(token), "the token {token} of {id:?} comes after {before:?}");
    }
}
