//! Watchdogs: what a node does about a part of itself that stands still without having failed.
//!
//! ```text
//!   disk     a write of the log does not end: no office here, the leadership to another voter; later: stop
//!   quorum   no majority answers, though its nodes answer `hello`: stop, and be started again
//! ```
//! They look four times a second and count time from look to look, so that a process that was paused has seen nothing hang.
//! Nothing is repaired and nothing is retried here: what stands still cannot be trusted to stop, so the process does, and
//! whoever started it starts it again (decision 0024).

pub mod disk;
pub mod quorum;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

use crate::runtime::watch;

/// How often they look.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(250);
/// What lies between two looks counts as so much at most: whoever looks later was kept from looking, and so perhaps was what
/// is looked at.
const MOST_A_LOOK: Duration = Duration::from_secs(1);

/// After how long they bark; `None` is never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A write of the log that takes so long ends the office of this node, which gives the leadership away.
    pub disk_hand_over: Option<Duration>,
    /// One that takes so long ends this node.
    pub disk_stop: Option<Duration>,
    /// Consensus that stands still for so many leases, each of `election_max`, ends this node.
    pub quorum_leases: Option<u32>,
}

impl Default for Limits {
    /// 5 s is longer than a sync of a disk that is merely busy, and not much longer than a failover in which nobody helps;
    /// 30 s is what a kernel gives a command of a disk before it resets it. Ten leases are two rounds of silence and probing
    /// by a leader without a quorum, each of four, and a failover.
    fn default() -> Self {
        Self {
            disk_hand_over: Some(Duration::from_secs(5)),
            disk_stop: Some(Duration::from_secs(30)),
            quorum_leases: Some(10),
        }
    }
}

/// What the watchdogs of one node have seen and done since its start.
#[derive(Debug)]
pub struct Alarms {
    hangs: watch::Sender<bool>,
    disk_hangs: AtomicU64,
    disk_hand_overs: AtomicU64,
    consensus_stops: AtomicU64,
}

/// [`Alarms`] at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Whether the disk hangs now.
    pub disk_hangs_now: bool,
    /// How often it began to.
    pub disk_hangs: u64,
    /// How often the leadership was given away for that.
    pub disk_hand_overs: u64,
    /// How often consensus stood still, and this node had to stop for it: one at most, since it does.
    pub consensus_stops: u64,
}

impl Default for Alarms {
    fn default() -> Self {
        Self {
            hangs: watch::Sender::new(false),
            disk_hangs: AtomicU64::default(),
            disk_hand_overs: AtomicU64::default(),
            consensus_stops: AtomicU64::default(),
        }
    }
}

impl Alarms {
    /// None yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Whether the disk hangs. Nobody takes or holds an office meanwhile.
    #[must_use]
    pub fn disk_hangs(&self) -> bool {
        *self.hangs.borrow()
    }

    /// Told when the disk begins to hang, and when it works again.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.hangs.subscribe()
    }

    /// All of them.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            disk_hangs_now: self.disk_hangs(),
            disk_hangs: count(&self.disk_hangs),
            disk_hand_overs: count(&self.disk_hand_overs),
            consensus_stops: count(&self.consensus_stops),
        }
    }

    /// How the disk is; whether that is new.
    fn note_disk(&self, hangs: bool) -> bool {
        let begins = |before: &mut bool| std::mem::replace(before, hangs) != hangs;
        let is_new = self.hangs.send_if_modified(begins);
        self.disk_hangs.fetch_add(u64::from(is_new && hangs), Ordering::Relaxed);
        is_new
    }

    fn note_hand_over(&self) {
        self.disk_hand_overs.fetch_add(1, Ordering::Relaxed);
    }

    fn note_stop(&self) {
        self.consensus_stops.fetch_add(1, Ordering::Relaxed);
    }
}

/// How long something has held, from look to look.
#[derive(Debug, Default)]
struct Lasting {
    /// The last look, if it held then.
    held: Option<Instant>,
    lasted: Duration,
}

impl Lasting {
    /// It holds now, or not; for how long it has.
    fn look(&mut self, holds: bool, now: Instant) -> Duration {
        let before = std::mem::replace(&mut self.held, holds.then_some(now));
        self.lasted = match before.filter(|_| holds) {
            Some(before) => self.lasted + (now - before).min(MOST_A_LOOK),
            None => Duration::ZERO,
        };
        self.lasted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_paused_has_seen_little() {
        let (mut lasting, start) = (Lasting::default(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        let told = [(true, 0), (true, 250), (true, 60_000), (true, 60_250), (false, 60_500), (true, 60_750)]
            .map(|(holds, millis)| lasting.look(holds, at(millis)).as_millis());
        assert_eq!(told, [0, 250, 1_250, 1_500, 0, 0]);
    }

    #[test]
    fn a_hang_is_counted_when_it_begins() {
        let alarms = Alarms::default();
        let new = [false, true, true, false, true].map(|hangs| alarms.note_disk(hangs));
        assert_eq!(new, [false, true, false, true, true]);
        assert_eq!(alarms.counts(), Counts { disk_hangs_now: true, disk_hangs: 2, ..Counts::default() });
    }
}
