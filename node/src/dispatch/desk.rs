//! Who may send: seats, all together and a host, and the firings that are under way from this node.
//!
//! A **seat** is held while a request is under way; a **claim** until its report is settled, so that a firing is not begun
//! twice while the machine does not know yet. Both free themselves when they are dropped, whatever happens to the attempt.
//! With each claim there is a line to its attempt, so that it can be told to stop ([`super::stops`]).
//! It decides nothing that matters: were it wrong, `apply` would refuse the Begin.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

use campanile_core::definition::ScheduleName;
use campanile_core::firing::{Firing, FiringId};
use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::query;
use campanile_core::time::{Span, Timestamp};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use super::breaker::{BreakerState, Breakers, Ended, Gate, Probe};
use super::next_attempt;
use super::stops::Line;

/// How many schedules one look passes in all: about a millisecond.
const SCAN: usize = 4_096;
/// So many times as many firings as may be sent at once may wait for their reports to be settled; beyond, nothing begins.
const UNSETTLED: usize = 4;

/// How many requests at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// All together.
    pub in_flight: usize,
    /// To one host and port. One schedule takes at most half of them, so that a slow one slows itself.
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
    hosts: HashMap<Arc<str>, Host>,
    claims: BTreeMap<FiringId, Arc<Line>>,
    breakers: Breakers,
}

/// The seats of one host.
#[derive(Debug, Default)]
struct Host {
    seats: usize,
    of: HashMap<Uid, usize>,
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

/// What a look has come across.
struct Found {
    candidates: Vec<(Timestamp, FiringId, Arc<str>)>,
    /// Something waits that had no room.
    full: bool,
    /// How many more schedules may be passed.
    scan: usize,
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
    host: Arc<str>,
    uid: Uid,
    probe: Option<Probe>,
    ended: Ended,
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

    /// Seats for firings that may begin at `now`, those that may longest first, at most `most`, of those that `sends` says
    /// are this node's by schedule and by how long they have waited. What cannot be sent now (its host or its schedule has
    /// all the seats it may, its circuit is open) is passed over as a whole and holds nobody up.
    pub(super) fn look(
        &self,
        machine: &Machine,
        now: Timestamp,
        most: usize,
        sends: impl Fn(Uid, Span) -> bool,
    ) -> Look {
        let mut book = self.taken.lock();
        let free = self.limits.in_flight.saturating_sub(book.seats);
        if free == 0 || book.claims.len() >= UNSETTLED * self.limits.in_flight {
            let waits = query::next_work(machine).is_some_and(|at| at <= now);
            return if waits { Look::Full } else { Look::Idle };
        }
        // Who has work of its own helps nobody: when all are behind, every node would ask for the same oldest firings.
        let mut found = self.collect(&book, machine, now, |uid, _| sends(uid, Span::ZERO));
        if found.candidates.is_empty() {
            let own_is_full = found.full;
            found = self.collect(&book, machine, now, sends);
            found.full |= own_is_full;
        }
        found.candidates.sort_unstable_by_key(|(at, id, _)| (*at, *id));
        found.full |= found.candidates.len() > free.min(most);
        let chosen = found.candidates.into_iter().take(free.min(most));
        let places: Vec<Place> =
            chosen.filter_map(|(_, id, host)| self.seat(&mut book, machine, id, &host)).collect();
        match (places.is_empty(), found.full) {
            (false, _) => Look::Found(places),
            (true, true) => Look::Full,
            (true, false) => Look::Idle,
        }
    }

    /// What may be sent now, host by host.
    fn collect(
        &self,
        book: &Book,
        machine: &Machine,
        now: Timestamp,
        sends: impl Fn(Uid, Span) -> bool,
    ) -> Found {
        let mut found = Found { candidates: Vec::new(), full: false, scan: SCAN };
        for (host, at) in machine.due().sends().hosts() {
            if at <= now && found.scan > 0 {
                self.look_at(book, machine, host, now, &sends, &mut found);
            }
        }
        found
    }

    /// The firings to one host that have room.
    fn look_at(
        &self,
        book: &Book,
        machine: &Machine,
        host: &Arc<str>,
        now: Timestamp,
        sends: &impl Fn(Uid, Span) -> bool,
        found: &mut Found,
    ) {
        if book.breakers.waits(host, Instant::now()) {
            found.full = true;
            return;
        }
        let taken = book.hosts.get(host);
        let mut room = self.limits.per_host.saturating_sub(taken.map_or(0, |taken| taken.seats));
        if book.breakers.probes(host) {
            room = room.min(1);
        }
        let share = self.limits.per_host.div_ceil(2);
        for (at, uid) in machine.due().sends().lanes(host).take_while(|(at, _)| *at <= now) {
            if room == 0 || found.scan == 0 {
                found.full = true;
                return;
            }
            found.scan -= 1;
            if !sends(uid, now.since(at)) {
                continue;
            }
            let own = taken.and_then(|taken| taken.of.get(&uid)).copied().unwrap_or(0);
            let most = share.saturating_sub(own).min(room);
            if most == 0 {
                found.full = true;
                continue;
            }
            let ready = machine.due().sends().of_lane(host, uid).take_while(|(at, _)| *at <= now);
            // A claim is about to go: the machine knows more than the desk has heard. There are as few as there are seats,
            // so that no more of a long backlog is passed than is taken.
            let claimed = |id: &FiringId| book.claims.contains_key(id);
            let mut free = ready.filter(|(_, id)| {
                found.full |= claimed(id);
                !claimed(id)
            });
            let before = found.candidates.len();
            found.candidates.extend(free.by_ref().take(most).map(|(at, id)| (at, id, host.clone())));
            let more = free.next().is_some();
            drop(free);
            found.full |= more;
            room -= found.candidates.len() - before;
        }
    }

    /// Takes a seat; none while the circuit of its host is open, or when its schedule is gone.
    fn seat(&self, book: &mut Book, machine: &Machine, id: FiringId, host: &Arc<str>) -> Option<Place> {
        let firing = machine.firing(id)?;
        // Without its schedule it is about to be cancelled.
        let name = machine.schedule(id.uid)?.name.clone();
        // Asked last: to pass is to be the probe of a host that is to be tried again.
        let probe = match book.breakers.may_send(host, Instant::now()) {
            Gate::Wait(_) => return None,
            gate => gate.probe(),
        };
        book.seats += 1;
        let taken = book.hosts.entry(host.clone()).or_default();
        taken.seats += 1;
        *taken.of.entry(id.uid).or_default() += 1;
        let line = Arc::new(Line::of(next_attempt(firing)));
        book.claims.insert(id, Arc::clone(&line));
        let taken = Arc::clone(&self.taken);
        let seat = Seat { taken, host: host.clone(), uid: id.uid, probe, ended: Ended::Abandoned };
        let claim = Claim { taken: Arc::clone(&self.taken), firing: id, line };
        Some(Place { firing: Arc::clone(firing), name, seat, claim })
    }

    /// The circuits of the hosts that fail, by name.
    #[must_use]
    pub fn breakers(&self) -> Vec<BreakerState> {
        self.taken.lock().breakers.list(Instant::now())
    }

    /// How many hosts are asked less often since they did not answer.
    #[must_use]
    pub fn circuits_open(&self) -> usize {
        self.taken.lock().breakers.not_closed()
    }

    /// The hosts that requests are under way to, and how many, by name.
    #[must_use]
    pub fn hosts(&self) -> Vec<(Arc<str>, usize)> {
        let book = self.taken.lock();
        let mut hosts: Vec<_> = book.hosts.iter().map(|(host, taken)| (host.clone(), taken.seats)).collect();
        hosts.sort_unstable();
        hosts
    }

    /// Resolves once a seat or a claim is freed after this call.
    pub(super) fn freed(&self) -> OwnedNotified {
        Arc::clone(&self.taken.freed).notified_owned()
    }

    /// The line to each attempt that is claimed, in the order of the firings.
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

impl Seat {
    /// Says what the request tells of its host.
    pub(super) fn ended(&mut self, how: Ended) {
        self.ended = how;
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
            taken.seats -= 1;
            if let Some(own) = taken.of.get_mut(&self.uid) {
                *own -= 1;
                if *own == 0 {
                    taken.of.remove(&self.uid);
                }
            }
            if taken.seats == 0 {
                book.hosts.remove(&self.host);
            }
        }
        book.breakers.ended(&self.host, self.probe, self.ended, Instant::now());
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
