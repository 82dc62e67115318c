//! Who may send: seats, all together and a host, and the firings that are under way from this node.
//!
//! A **seat** is held while a request is under way; a **claim** until its report is settled, so that a firing is not begun
//! twice while the machine does not know yet. Both free themselves when they are dropped, whatever happens to the attempt.
//! With each claim there is a line to its attempt, so that it can be told to stop ([`super::stops`]).
//! It decides nothing that matters: were it wrong, `apply` would refuse the Begin.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use campanile_core::definition::ScheduleName;
use campanile_core::firing::{Firing, FiringId};
use campanile_core::machine::Machine;
use campanile_core::query;
use campanile_core::time::Timestamp;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use super::stops::Line;
use super::{next_attempt, webhook_of};

/// How many entries of the work index one look passes, when hosts at their limit are in the way: about a millisecond.
const SCAN: usize = 4_096;

/// How many requests at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// All together.
    pub in_flight: usize,
    /// To one host and port.
    pub per_host: usize,
}

/// The seats of one node.
#[derive(Debug)]
pub struct Desk {
    limits: Limits,
    taken: Arc<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    book: Mutex<Book>,
    /// Told whenever a seat or a claim is freed. Carries nothing.
    freed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Book {
    seats: usize,
    hosts: HashMap<Box<str>, usize>,
    claims: HashMap<FiringId, Arc<Line>>,
}

/// What one look found.
#[derive(Debug)]
pub(super) enum Look {
    /// These may begin.
    Found(Vec<Place>),
    /// Nothing waits.
    Idle,
    /// What waits has to wait for a seat or a claim to be freed.
    Full,
}

/// A firing that may begin, with its seat and its claim.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) firing: Arc<Firing>,
    pub(super) name: ScheduleName,
    pub(super) seat: Seat,
    pub(super) claim: Claim,
}

/// One request under way.
#[derive(Debug)]
pub(super) struct Seat {
    taken: Arc<Taken>,
    host: Box<str>,
}

/// One firing that is not to be begun from here.
#[derive(Debug)]
pub(super) struct Claim {
    taken: Arc<Taken>,
    firing: FiringId,
    line: Arc<Line>,
}

impl Desk {
    /// An empty desk.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, taken: Arc::default() }
    }

    /// Seats for firings that may begin at `now`, those that may longest first, at most `most`. A host at its limit is
    /// passed over, so that it does not hold up the others.
    pub(super) fn look(&self, machine: &Machine, now: Timestamp, most: usize) -> Look {
        let mut book = self.taken.lock();
        let (mut places, mut full) = (Vec::new(), false);
        for firing in query::work_now(machine, now).take(SCAN) {
            if places.len() == most {
                break;
            }
            // Its claim is about to go: the machine knows more than the desk has heard.
            if book.claims.contains_key(&firing.id) {
                full = true;
                continue;
            }
            let host = host_of(firing);
            if book.seats >= self.limits.in_flight {
                full = true;
                break;
            }
            if book.hosts.get(&*host).is_some_and(|taken| *taken >= self.limits.per_host) {
                full = true;
                continue;
            }
            // Without its schedule it is about to be cancelled.
            let Some(schedule) = machine.schedule(firing.id.uid) else { continue };
            places.push(self.seat(&mut book, firing, schedule.name.clone(), &host));
        }
        match (places.is_empty(), full) {
            (false, _) => Look::Found(places),
            (true, true) => Look::Full,
            (true, false) => Look::Idle,
        }
    }

    fn seat(&self, book: &mut Book, firing: &Arc<Firing>, name: ScheduleName, host: &str) -> Place {
        book.seats += 1;
        *book.hosts.entry(host.into()).or_default() += 1;
        let line = Arc::new(Line::of(next_attempt(firing)));
        book.claims.insert(firing.id, Arc::clone(&line));
        let seat = Seat { taken: Arc::clone(&self.taken), host: host.into() };
        let claim = Claim { taken: Arc::clone(&self.taken), firing: firing.id, line };
        Place { firing: Arc::clone(firing), name, seat, claim }
    }

    /// Resolves once a seat or a claim is freed after this call.
    pub(super) fn freed(&self) -> OwnedNotified {
        Arc::clone(&self.taken.freed).notified_owned()
    }

    /// The line to each attempt that is claimed.
    pub(super) fn lines(&self) -> Vec<(FiringId, Arc<Line>)> {
        let book = self.taken.lock();
        book.claims.iter().map(|(firing, line)| (*firing, Arc::clone(line))).collect()
    }

    /// How many requests are under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.taken.lock().seats
    }

    /// Returns once nothing is under way and every report is settled or dropped.
    pub async fn idle(&self) {
        loop {
            let freed = Arc::clone(&self.taken.freed).notified_owned();
            if self.taken.lock().claims.is_empty() {
                return;
            }
            freed.await;
        }
    }
}

impl Claim {
    /// The line on which its attempt hears that it is to stop.
    pub(super) fn line(&self) -> Arc<Line> {
        Arc::clone(&self.line)
    }
}

impl Taken {
    fn lock(&self) -> MutexGuard<'_, Book> {
        // A panic elsewhere leaves counts, not secrets: the worst is a seat too few.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut book = self.taken.lock();
        book.seats -= 1;
        if let Some(taken) = book.hosts.get_mut(&self.host) {
            *taken -= 1;
            if *taken == 0 {
                book.hosts.remove(&self.host);
            }
        }
        drop(book);
        self.taken.freed.notify_waiters();
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.taken.lock().claims.remove(&self.firing);
        self.taken.freed.notify_waiters();
    }
}

/// Host and port of a firing's target, as text: what stands between the scheme and the path, without user and password.
/// Asked of every entry that is passed over, so it allocates only for capitals.
fn host_of(firing: &Firing) -> Cow<'_, str> {
    let url = &*webhook_of(firing).url;
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        host.to_ascii_lowercase().into()
    } else {
        host.into()
    }
}
